#include "kai/ingest/pod_resize.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kai/ingest/resource_list.h"

namespace kai {
namespace {

// Only CPU and memory can be resized.
FieldStatus ReadCpuAndMemory(JsonValue& list, ResourceAmounts* out) {
  return ForEachResource(list, [&](ResourceKind, std::string_view name, int64_t amount) {
    if (name == "cpu" || name == "memory") MaxAmounts(out, {{std::string(name), amount}});
  });
}

}  // namespace

FieldStatus PodResize::ReadConditions(JsonValue& conditions) {
  return ForEachElement(conditions, [&](JsonValue& element) {
    JsonText type, status, reason;  // no copies: every pod has conditions
    KAI_RETURN_IF_BAD(ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "type") return type.Read(value);
      if (key == "status") return status.Read(value);
      return key == "reason" ? reason.Read(value) : Skip();
    }));
    if (type.view() == "PodResizePending" && status.view() == "True" &&
        reason.view() == "Infeasible")
      is_infeasible_ = true;
    return FieldStatus();
  });
}

FieldStatus PodResize::ReadContainerStatuses(JsonValue& statuses) {
  return ForEachElement(statuses, [&](JsonValue& element) {
    Held held;
    KAI_RETURN_IF_BAD(ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "name") return held.container.Read(value);
      if (key == "allocatedResources") return ReadCpuAndMemory(value, &held.amounts);
      if (key != "resources") return Skip();
      return ForEachMember(value, [&](std::string_view part, JsonValue& list) {
        return part == "requests" ? ReadCpuAndMemory(list, &held.amounts) : Skip();
      });
    }));
    if (!held.amounts.empty()) held_.push_back(std::move(held));
    return FieldStatus();
  });
}

void PodResize::Settle(std::string_view container, ResourceAmounts* request) const {
  const auto found = std::ranges::find_if(
      held_, [&](const Held& each) { return each.container.view() == container; });
  if (found == held_.end()) return;
  if (!is_infeasible_) return MaxAmounts(request, found->amounts);
  for (const auto& [name, amount] : found->amounts) SetAmount(request, name, amount);
}

}  // namespace kai

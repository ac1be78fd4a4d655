#include "kai/ingest/pod_resize.h"

#include <algorithm>
#include <utility>

#include "kai/ingest/resource_list.h"

namespace kai {
namespace {

// Nothing else can be resized.
FieldStatus ReadCpuAndMemory(JsonValue& list, ResourceAmounts* out) {
  return ForEachResource(list, [&](ResourceKind, std::string_view name, int64_t amount) {
    if (name != "cpu" && name != "memory") return;
    ResourceAmounts one;
    SetAmount(&one, name, amount);
    MaxAmounts(out, one);
  });
}

}  // namespace

FieldStatus PodResize::ReadConditions(JsonValue& conditions) {
  return ForEachElement(conditions, [&](JsonValue& element) {
    std::string type, status, reason;
    KAI_RETURN_IF_BAD(ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "type") return ReadString(value, &type);
      if (key == "status") return ReadString(value, &status);
      return key == "reason" ? ReadString(value, &reason) : Skip();
    }));
    if (type == "PodResizePending" && status == "True" && reason == "Infeasible")
      is_infeasible_ = true;
    return FieldStatus();
  });
}

FieldStatus PodResize::ReadContainerStatuses(JsonValue& statuses) {
  return ForEachElement(statuses, [&](JsonValue& element) {
    Held held;
    KAI_RETURN_IF_BAD(ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "name") return ReadString(value, &held.container);
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
  const auto found = std::ranges::find(held_, container, &Held::container);
  if (found == held_.end()) return;
  if (!is_infeasible_) return MaxAmounts(request, found->amounts);
  for (const auto& [name, amount] : found->amounts) SetAmount(request, name, amount);
}

}  // namespace kai

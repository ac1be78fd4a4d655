#include "kai/ingest/node_reader.h"

#include <string_view>

#include "kai/ingest/metadata_reader.h"
#include "kai/ingest/resource_list.h"
#include "kai/ingest/scheduling_terms.h"

namespace kai {
namespace {

FieldStatus ReadConditions(JsonValue& conditions, NodeRow* row) {
  return ForEachElement(conditions, [&](JsonValue& element) {
    JsonText type, status;
    KAI_RETURN_IF_BAD(ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "type") return type.Read(value);
      if (key == "status") return status.Read(value);
      return Skip();
    }));
    ConditionStatus* const condition = type.view() == "Ready"                ? &row->ready
                                       : type.view() == "MemoryPressure"     ? &row->memory_pressure
                                       : type.view() == "DiskPressure"       ? &row->disk_pressure
                                       : type.view() == "PIDPressure"        ? &row->pid_pressure
                                       : type.view() == "NetworkUnavailable" ? &row->network_unavailable
                                                                             : nullptr;
    if (condition == nullptr) return FieldStatus();
    *condition = status.view() == "True"    ? ConditionStatus::kTrue
                 : status.view() == "False" ? ConditionStatus::kFalse
                                            : ConditionStatus::kUnknown;  // also what is no status at all: present, and not known
    return FieldStatus();
  });
}

FieldStatus ReadFields(JsonObject object, NodeRow* row) {
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "metadata") return ReadMetadata(value, row);
    if (key == "spec") {
      return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
        if (member == "taints") return ReadTaints(part, &row->taints);
        if (member == "unschedulable") return ReadBool(part, &row->unschedulable);
        return Skip();
      });
    }
    if (key == "status") {
      return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
        if (member == "conditions") return ReadConditions(part, row);
        if (member != "allocatable") return Skip();
        row->allocatable.clear();
        return ForEachResource(part, [&](ResourceKind, std::string_view name, int64_t amount) { SetAmount(&row->allocatable, name, amount); });
      });
    }
    return Skip();
  }));
  return RequireName(row->name);
}

}  // namespace

std::optional<Rejection> ReadNode(JsonObject object, NodeRow* row) { return RejectIfBad("Node", object, ReadFields(object, row)); }

}  // namespace kai

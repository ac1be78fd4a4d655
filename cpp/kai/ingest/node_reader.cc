#include "kai/ingest/node_reader.h"

#include <string_view>

#include "kai/ingest/metadata_reader.h"
#include "kai/ingest/resource_list.h"
#include "kai/ingest/scheduling_terms.h"

namespace kai {
namespace {

// The row's field for a condition; nullptr if the scheduler does not use this condition.
ConditionStatus* FindCondition(std::string_view type, NodeRow* row) {
  if (type == "Ready") return &row->ready;
  if (type == "MemoryPressure") return &row->memory_pressure;
  if (type == "DiskPressure") return &row->disk_pressure;
  if (type == "PIDPressure") return &row->pid_pressure;
  if (type == "NetworkUnavailable") return &row->network_unavailable;
  return nullptr;
}

// An invalid status counts as unknown: the condition exists, but has no known status.
ConditionStatus StatusFromText(std::string_view status) {
  if (status == "True") return ConditionStatus::kTrue;
  return status == "False" ? ConditionStatus::kFalse : ConditionStatus::kUnknown;
}

FieldStatus ReadConditions(JsonValue& conditions, NodeRow* row) {
  return ForEachElement(conditions, [&](JsonValue& element) {
    JsonText type, status;
    KAI_RETURN_IF_BAD(ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "type") return type.Read(value);
      if (key == "status") return status.Read(value);
      return Skip();
    }));
    if (ConditionStatus* condition = FindCondition(type.view(), row)) {
      *condition = StatusFromText(status.view());
    }
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
        return ForEachResource(part, [&](ResourceKind, std::string_view name, int64_t amount) {
          SetAmount(&row->allocatable, name, amount);
        });
      });
    }
    return Skip();
  }));
  return RequireName(row->name);
}

}  // namespace

std::optional<Rejection> ReadNode(JsonObject object, NodeRow* row) {
  return RejectIfBad("Node", object, ReadFields(object, row));
}

}  // namespace kai

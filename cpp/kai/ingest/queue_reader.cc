#include "kai/ingest/queue_reader.h"

#include <cmath>
#include <string_view>

#include "kai/api/units.h"
#include "kai/ingest/metadata_reader.h"

namespace kai {
namespace {

// Kubernetes quantities end at 2^63 - 1. Sums of such amounts are far from the largest double.
constexpr double kLargestAmount = 0x1p63;

FieldStatus ReadAmount(JsonValue& value, double* out) {
  KAI_RETURN_IF_BAD(ReadDouble(value, out));
  if (std::abs(*out) <= kLargestAmount) return FieldStatus();
  return FieldStatus::Bad("is more than the largest amount of Kubernetes, 2^63");
}

FieldStatus ReadQuota(JsonValue& quota, QuotaRow* out) {
  *out = QuotaRow();
  return ForEachMember(quota, [&](std::string_view key, JsonValue& value) {
    if (key == "quota") return ReadAmount(value, &out->quota);
    if (key == "overQuotaWeight") return ReadAmount(value, &out->over_quota_weight);
    if (key == "limit") return ReadAmount(value, &out->limit);
    return Skip();
  });
}

FieldStatus ReadSpec(JsonValue& spec, QueueRow* row) {
  return ForEachMember(spec, [&](std::string_view key, JsonValue& value) {
    if (key == "displayName") return ReadString(value, &row->display_name);
    if (key == "parentQueue") return ReadString(value, &row->parent);
    if (key == "priority") return ReadInt(value, &row->priority);
    if (key == "preemptMinRuntime") return ReadDuration(value, &row->preempt_min_runtime_ns);
    if (key == "reclaimMinRuntime") return ReadDuration(value, &row->reclaim_min_runtime_ns);
    if (key == "resources") {
      return ForEachMember(value, [&](std::string_view resource, JsonValue& quota) {
        if (resource == "cpu") return ReadQuota(quota, &row->resources[kQuotaCpu]);
        if (resource == "memory") return ReadQuota(quota, &row->resources[kQuotaMemory]);
        if (resource == "gpu") return ReadQuota(quota, &row->resources[kQuotaGpu]);
        return Skip();
      });
    }
    return Skip();
  });
}

FieldStatus ReadFields(JsonObject object, QueueRow* row) {
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "metadata") return ReadMetadata(value, row);
    if (key == "spec") return ReadSpec(value, row);
    return Skip();
  }));
  return RequireName(row->name);
}

}  // namespace

std::optional<Rejection> ReadQueue(JsonObject object, QueueRow* row) {
  return RejectIfBad("Queue", object, ReadFields(object, row));
}

}  // namespace kai

#include "kai/ingest/pod_group_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "kai/api/keys.h"
#include "kai/base/parse.h"
#include "kai/base/quote.h"
#include "kai/base/text.h"
#include "kai/ingest/metadata_reader.h"
#include "kai/ingest/timestamp.h"

namespace kai {
namespace {

// The scheduler writes these annotations itself; if one is invalid, it is ignored and written again
// (spec 2 G16).
FieldStatus ReadLenientTimestamp(JsonValue& value, std::optional<int64_t>* out_ns) {
  JsonText text;
  KAI_RETURN_IF_BAD(text.Read(value));
  const absl::StatusOr<int64_t> nanos = ParseTimestamp(text.view());
  if (nanos.ok()) *out_ns = *nanos;
  return FieldStatus();
}

// A part of "run=3600 gpu=28800 evictions=1 until=2026-01-01T00:00:00Z"; false if it is invalid.
bool ReadServicePart(std::string_view part, ServiceRow* service) {
  const size_t equals = part.find('=');
  if (equals == part.npos) return false;
  const std::string_view name = part.substr(0, equals);
  const std::string_view text = part.substr(equals + 1);
  if (name == "until") {
    const absl::StatusOr<int64_t> nanos = ParseTimestamp(text);
    if (nanos.ok()) service->until_ns = *nanos;
    return nanos.ok();
  }
  if (name == "evictions") {
    const std::optional<int64_t> count = ParseInteger(text);
    if (!count || *count < 0 || *count > kMaxInt32) return false;
    service->evictions = static_cast<int32_t>(*count);
    return true;
  }
  constexpr double kMostSeconds = 1e9;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || !(seconds >= 0) ||
      seconds > kMostSeconds)
    return false;
  if (name != "run" && name != "gpu") return false;
  (name == "run" ? service->run_ns : service->gpu_ns) = std::llround(seconds * 1e9);
  return true;
}

// Ignores invalid values, like the timestamps.
FieldStatus ReadLenientService(JsonValue& value, ServiceRow* out) {
  JsonText text;
  KAI_RETURN_IF_BAD(text.Read(value));
  ServiceRow service;
  std::string_view rest = text.view();
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(' '));
    if (!part.empty() && !ReadServicePart(part, &service)) return FieldStatus();
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  }
  *out = service;
  return FieldStatus();
}

FieldStatus ReadEstimate(JsonValue& value, std::optional<int64_t>* out) {
  KAI_RETURN_IF_BAD(ReadDuration(value, out));
  if (*out && **out < 0) return FieldStatus::Bad("is negative");
  return FieldStatus();
}

FieldStatus ReadCount(JsonValue& value, int64_t* out) {
  JsonText text;
  KAI_RETURN_IF_BAD(text.Read(value));
  const std::optional<int64_t> count = ParseInteger(text.view());
  if (!count || *count < 1 || *count > kMaxInt32)
    return FieldStatus::Bad(StrCat(Quote(text.view()), " is not a number of domains: 1 or more"));
  *out = *count;
  return FieldStatus();
}

FieldStatus ReadYesOrNo(JsonValue& value, bool* out) {
  JsonText text;
  KAI_RETURN_IF_BAD(text.Read(value));
  if (text.view() != "true" && text.view() != "false")
    return FieldStatus::Bad(StrCat(Quote(text.view()), " is not true or false"));
  *out = text.view() == "true";
  return FieldStatus();
}

// The line "name: ..." in a few lines of YAML.
FieldStatus ReadOwnerName(JsonValue& value, std::string* out) {
  constexpr std::string_view kName = "name: ";
  JsonText text;
  KAI_RETURN_IF_BAD(text.Read(value));
  std::string_view rest = text.view();
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (line.starts_with(kName)) *out = line.substr(kName.size());
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  return FieldStatus();
}

FieldStatus ReadAnnotations(JsonValue& annotations, PodGroupRow* row) {
  return ForEachEntry(annotations, [&](std::string_view key, JsonValue& value) {
    if (key == keys::kLeastDomains) return ReadCount(value, &row->domain_count.least);
    if (key == keys::kMostDomains) return ReadCount(value, &row->domain_count.most);
    if (key == keys::kBalancedDomains) return ReadYesOrNo(value, &row->domain_count.balanced);
    if (key == keys::kTopOwner) return ReadOwnerName(value, &row->owner_name);
    if (key == keys::kLastStart) {
      return ReadLenientTimestamp(value, &row->last_start_ns);
    }
    if (key == keys::kStaleSince) {
      return ReadLenientTimestamp(value, &row->stale_since_ns);
    }
    if (key == keys::kLastEviction) {
      return ReadLenientTimestamp(value, &row->last_eviction_ns);
    }
    if (key == keys::kAttainedService) return ReadLenientService(value, &row->service);
    if (key == keys::kRunTimeEstimate) return ReadEstimate(value, &row->estimate_ns);
    return Skip();
  });
}

FieldStatus ReadTopologyConstraint(JsonValue& constraint, TopologyConstraintRow* out) {
  *out = TopologyConstraintRow();
  return ForEachMember(constraint, [&](std::string_view key, JsonValue& value) {
    if (key == "topology") return ReadString(value, &out->topology);
    if (key == "requiredTopologyLevel") return ReadString(value, &out->required_level);
    if (key == "preferredTopologyLevel") return ReadString(value, &out->preferred_level);
    return Skip();
  });
}

FieldStatus ReadSubGroups(JsonValue& list, std::vector<SubGroupRow>* out) {
  out->clear();
  return ForEachElement(list, [&](JsonValue& element) {
    SubGroupRow& group = out->emplace_back();
    KAI_RETURN_IF_BAD(ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "name") return ReadString(value, &group.name);
      if (key == "parent") return ReadString(value, &group.parent.emplace());
      if (key == "minMember") return ReadInt(value, &group.min_member, 0, kMaxInt32);
      if (key == "minSubGroup") return ReadInt(value, &group.min_sub_group, 0, kMaxInt32);
      if (key == "topologyConstraint") return ReadTopologyConstraint(value, &group.topology);
      return Skip();
    }));
    return group.name.empty() ? FieldStatus::Bad("name", "is missing") : FieldStatus();
  });
}

FieldStatus ReadPreemptibility(JsonValue& value, std::string* out) {
  KAI_RETURN_IF_BAD(ReadString(value, out));
  if (out->empty() || *out == "preemptible" || *out == "non-preemptible") return FieldStatus();
  return FieldStatus::Bad(StrCat(Quote(*out), " is not preemptible or non-preemptible"));
}

FieldStatus ReadSpec(JsonValue& spec, PodGroupRow* row) {
  return ForEachMember(spec, [&](std::string_view key, JsonValue& value) {
    if (key == "queue") return ReadString(value, &row->queue);
    if (key == "priorityClassName") return ReadString(value, &row->priority_class);
    if (key == "preemptibility") return ReadPreemptibility(value, &row->preemptibility);
    if (key == "minMember") return ReadInt(value, &row->min_member, 0, kMaxInt32);
    if (key == "minSubGroup") return ReadInt(value, &row->min_sub_group, 0, kMaxInt32);
    if (key == "subGroups") return ReadSubGroups(value, &row->sub_groups);
    if (key == "topologyConstraint") return ReadTopologyConstraint(value, &row->topology);
    if (key == "preemptionDelay") return ReadDuration(value, &row->preemption_delay_ns);
    if (key == "stalenessGracePeriod") return ReadDuration(value, &row->staleness_grace_ns);
    if (key == "schedulingBackoff") {
      return ReadInt(value, &row->scheduling_backoff, kMinInt32, kMaxInt32);
    }
    if (key == "markUnschedulable") return ReadBool(value, &row->mark_unschedulable);
    return Skip();
  });
}

// Uses the condition with the highest transitionID; an ID that is negative or not a number counts
// as 0 (spec 5 A18). If IDs are equal, the last one wins.
FieldStatus ReadSchedulingConditions(JsonValue& conditions, std::string* latest_node_pool) {
  int64_t latest = 0;
  latest_node_pool->clear();
  return ForEachElement(conditions, [&](JsonValue& element) {
    std::string node_pool;
    JsonText id;
    KAI_RETURN_IF_BAD(ForEachMember(element, [&](std::string_view key, JsonValue& value) {
      if (key == "nodePool") return ReadString(value, &node_pool);
      if (key == "transitionID") return id.Read(value);
      return Skip();
    }));
    const int64_t transition = std::max<int64_t>(ParseInteger(id.view()).value_or(0), 0);
    if (transition >= latest) {
      latest = transition;
      *latest_node_pool = std::move(node_pool);
    }
    return FieldStatus();
  });
}

FieldStatus ReadFields(JsonObject object, PodGroupRow* row) {
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "metadata") {
      return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
        return member == "annotations" ? ReadAnnotations(part, row)
                                       : ReadMetadataMember(member, part, row);
      });
    }
    if (key == "spec") return ReadSpec(value, row);
    if (key == "status") {
      return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
        return member == "schedulingConditions"
                   ? ReadSchedulingConditions(part, &row->latest_condition_node_pool)
                   : Skip();
      });
    }
    return Skip();
  }));
  return RequireName(row->name);
}

}  // namespace

std::optional<Rejection> ReadPodGroup(JsonObject object, PodGroupRow* row) {
  return RejectIfBad("PodGroup", object, ReadFields(object, row));
}

}  // namespace kai

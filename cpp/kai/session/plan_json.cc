#include "kai/session/plan_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/api/units.h"
#include "kai/model/building/numbering.h"
#include "kai/session/json_writer.h"
#include "kai/session/plan_texts.h"

namespace kai {
namespace {

void WriteOptional(std::optional<std::string_view> value, JsonWriter* json) {
  value ? json->String(*value) : json->Null();
}

void WriteStrings(const std::vector<std::string>& values, JsonWriter* json) {
  json->Begin('[');
  for (const std::string& value : values) json->String(value);
  json->End(']');
}

void WriteZones(const std::vector<NamedZone>& zones, JsonWriter* json) {
  json->Begin('[');
  for (const NamedZone& zone : zones) {
    json->Begin('{');
    json->Key("zone");
    json->String(zone.zone);
    json->Key("amount");
    json->Begin('{');
    for (const auto& [name, amount] : zone.amounts) {
      json->Key(name);
      json->Plain(amount);
    }
    json->End('}');
    json->End('}');
  }
  json->End(']');
}

void WriteEviction(const DecisionTable& decisions, size_t row, JsonWriter* json) {
  json->Key("action");
  WriteOptional(decisions.action.Text(row), json);
  json->Key("for");
  WriteOptional(decisions.for_group.Text(row), json);
  json->Key("message");
  WriteOptional(decisions.message.Text(row), json);
}

void WritePlacement(const DecisionTable& decisions, size_t row, JsonWriter* json) {
  json->Key("node");
  WriteOptional(decisions.node.Text(row), json);
  json->Key("gpus");
  json->Plain(decisions.gpus[row]);
  if (decisions.devices[row] != 0) {
    json->Key("devices");
    json->Int(decisions.devices[row]);
    json->Key("portion");
    json->Plain(decisions.portion[row]);
    json->Key("gpu_memory_mib");
    const int64_t memory_mib = decisions.gpu_memory_mib[row];
    memory_mib == 0 ? json->Null() : json->Int(memory_mib);
    json->Key("gpu_groups");
    const auto groups = decisions.gpu_groups.find(row);
    WriteStrings(groups == decisions.gpu_groups.end() ? std::vector<std::string>() : groups->second,
                 json);
  }
  if (const auto zones = decisions.zones.find(row); zones != decisions.zones.end()) {
    json->Key("numa_zones");
    WriteZones(zones->second, json);
  }
}

void WriteRequirements(std::string_view key, const std::vector<Requirement>& requirements,
                       const Cluster& cluster, JsonWriter* json) {
  if (requirements.empty()) return;
  json->Key(key);
  json->Begin('[');
  for (const NamedRequirement& each : RequirementsOf(requirements, cluster)) {
    json->Begin('{');
    json->Key("key");
    json->String(each.key);
    json->Key("operator");
    json->String(each.op);
    if (!each.values.empty()) {
      json->Key("values");
      WriteStrings(each.values, json);
    }
    json->End('}');
  }
  json->End(']');
}

// In Kubernetes' format.
void WriteAllocation(const Cluster& cluster, const ClaimAllocation& allocation, JsonWriter* json) {
  json->Key("allocation");
  json->Begin('{');
  json->Key("devices");
  json->Begin('{');
  json->Key("results");
  json->Begin('[');
  for (const ClaimAllocation::Given& given : allocation.devices) {
    json->Begin('{');
    json->Pair("request", given.request);
    json->Pair("driver", given.device.driver);
    json->Pair("pool", given.device.pool);
    json->Pair("device", given.device.device);
    json->End('}');
  }
  json->End(']');
  json->End('}');
  if (!allocation.anywhere) {
    json->Key("nodeSelector");
    json->Begin('{');
    json->Key("nodeSelectorTerms");
    json->Begin('[');
    for (const NodeTerm& term : allocation.nodes) {
      json->Begin('{');
      WriteRequirements("matchExpressions", term.expressions, cluster, json);
      WriteRequirements("matchFields", term.fields, cluster, json);
      json->End('}');
    }
    json->End(']');
    json->End('}');
  }
  json->End('}');
}

void WriteExtendedClaim(const Cluster& cluster, const GivenClaim& claim, JsonWriter* json) {
  json->Key("extended_claim");
  json->Begin('{');
  json->Pair("name", kExtendedClaim);
  WriteAllocation(cluster, *claim.allocation, json);
  json->Key("deviceRequests");
  json->Begin('[');
  for (const ExtendedClaim::Request& each : claim.extended.requests) {
    json->Begin('{');
    json->Pair("name", each.name);
    json->Key("exactly");
    json->Begin('{');
    json->Pair("deviceClassName", each.class_name);
    json->Pair("allocationMode", "ExactCount");
    json->Key("count");
    json->Int(each.count);
    json->End('}');
    json->End('}');
  }
  json->End(']');
  json->Key("containerMappings");
  json->Begin('[');
  for (const ExtendedClaim::Container& each : claim.extended.containers) {
    json->Begin('{');
    json->Pair("containerName", each.container);
    json->Pair("requestName", each.request);
    json->Pair("resourceName", each.resource);
    json->End('}');
  }
  json->End(']');
  json->End('}');
}

void WriteClaims(const Cluster& cluster, const std::vector<GivenClaim>& claims, JsonWriter* json) {
  const auto is_extended = [](const GivenClaim& claim) { return !claim.extended.empty(); };
  if (!std::ranges::all_of(claims, is_extended)) {
    json->Key("claims");
    json->Begin('[');
    for (const GivenClaim& claim : claims) {
      if (is_extended(claim)) continue;
      json->Begin('{');
      json->Pair("name", cluster.Text(claim.use));
      json->Pair("claim", cluster.Text(claim.claim));
      WriteAllocation(cluster, *claim.allocation, json);
      json->End('}');
    }
    json->End(']');
  }
  const auto extended = std::ranges::find_if(claims, is_extended);
  if (extended != claims.end()) WriteExtendedClaim(cluster, *extended, json);
}

void WriteRank(const Cluster& cluster, const Plan::TopologyRank& rank, JsonWriter* json) {
  json->Key("topology");
  json->Begin('{');
  json->Key("rank");
  json->Int(rank.rank);
  json->Key("domain");
  if (rank.domain.valid()) {
    json->String(cluster.topologies()[rank.topology].Text(rank.domain, cluster.names()));
  } else {
    json->Null();
  }
  json->End('}');
}

void WriteDecisions(const Plan& plan, const DecisionTable& decisions, JsonWriter* json) {
  absl::flat_hash_map<PodId, const Plan::TopologyRank*> ranks;
  for (const Plan::TopologyRank& rank : plan.ranks) ranks[rank.pod] = &rank;
  absl::flat_hash_map<PodId, const std::vector<GivenClaim>*> claims;
  for (const auto& [pod, given] : plan.claims) claims[pod] = &given;
  json->Key("decisions");
  json->Begin('[');
  for (size_t row = 0; row < decisions.size(); ++row) {
    json->Begin('{');
    json->Key("kind");
    json->String(decisions.Kind(row));
    json->Key("pod");
    json->String(decisions.pod[row]);
    decisions.IsEviction(row) ? WriteEviction(decisions, row, json)
                              : WritePlacement(decisions, row, json);
    if (plan.decisions[row].kind == CycleLog::Decision::Kind::kBind) {
      const PodId pod = plan.decisions[row].pod;
      if (const auto given = claims.find(pod); given != claims.end())
        WriteClaims(*plan.cluster, *given->second, json);
      if (const auto rank = ranks.find(pod); rank != ranks.end())
        WriteRank(*plan.cluster, *rank->second, json);
    }
    json->End('}');
  }
  json->End(']');
}

void WriteFacts(const Facts& facts, JsonWriter* json) {
  json->Begin('{');
  for (const Fact& fact : facts) {
    json->Key(fact.name);
    std::visit(
        [&]<typename Value>(const Value& value) {
          if constexpr (std::is_same_v<Value, std::monostate>) {
            json->Null();
          } else if constexpr (std::is_same_v<Value, bool>) {
            json->Bool(value);
          } else if constexpr (std::is_same_v<Value, int64_t>) {
            json->Int(value);
          } else if constexpr (std::is_same_v<Value, double>) {
            json->Float(value);
          } else if constexpr (std::is_same_v<Value, std::string>) {
            json->String(value);
          } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
            WriteStrings(value, json);
          } else {
            json->Begin('[');
            for (const Facts& each : value) WriteFacts(each, json);
            json->End(']');
          }
        },
        fact.value);
  }
  json->End('}');
}

void WriteReasons(const Plan& plan, PodGroupId group, JsonWriter* json) {
  json->Begin('[');
  for (const ReportedReason& reason : ReasonsOf(plan, group)) {
    json->Begin('{');
    json->Key("code");
    json->String(reason.code);
    json->Key("message");
    json->String(reason.message);
    json->Key("pod");
    reason.pod.valid() ? json->String(plan.cluster->PodName(reason.pod)) : json->Null();
    json->Key("facts");
    WriteFacts(FactsOf(plan, reason, group), json);
    json->End('}');
  }
  json->End(']');
}

void WriteWrites(const GroupOutcome& outcome, std::string_view stamp, JsonWriter* json) {
  const auto write = [&](std::string_view key, bool is_written) {
    json->Key(key);
    is_written ? json->String(stamp) : json->Null();
  };
  json->Begin('{');
  write("last_start", outcome.writes.last_start);
  if (outcome.writes.stale_since == StampWrite::kRemove) {
    json->Key("stale_since");
    json->String("");
  } else {
    write("stale_since", outcome.writes.stale_since == StampWrite::kNow);
  }
  write("last_eviction", outcome.writes.last_eviction);
  if (outcome.writes.service) json->Pair("attained_service", ServiceText(*outcome.writes.service));
  json->End('}');
}

void WriteGroups(const Plan& plan, std::string_view stamp, JsonWriter* json) {
  const Cluster& cluster = *plan.cluster;
  std::vector<std::pair<std::string, PodGroupId>> groups;
  for (const PodGroupId group : InOrderOfNames(cluster.names(), cluster.pod_groups()))
    groups.emplace_back(cluster.PodGroupName(group), group);
  std::ranges::sort(groups);  // "a-b/x" comes before "a/x"
  json->Key("pod_groups");
  json->Begin('{');
  for (const auto& [name, group] : groups) {
    const GroupOutcome& outcome = plan.OutcomeOf(group);
    json->Key(name);
    json->Begin('{');
    json->Key("queue");
    json->String(cluster.Text(cluster.pod_groups().queue_name[group]));
    json->Key("verdict");
    json->String(VerdictName(outcome.verdict));
    json->Key("messages");
    WriteStrings(EventsOf(plan, group), json);
    json->Key("reasons");
    WriteReasons(plan, group, json);
    json->Key("writes");
    WriteWrites(outcome, stamp, json);
    json->End('}');
  }
  json->End('}');
}

void WritePods(const Plan& plan, JsonWriter* json) {
  std::vector<std::pair<std::string, std::string>> messages;
  for (auto& [pod, message] : ConditionsOf(plan))
    messages.emplace_back(plan.cluster->PodName(pod), std::move(message));
  std::ranges::sort(messages);
  json->Key("pods");
  json->Begin('{');
  for (const auto& [pod, message] : messages) {
    json->Key(pod);
    json->Begin('{');
    json->Key("message");
    json->String(message);
    json->End('}');
  }
  json->End('}');
}

void WriteQueues(const Plan& plan, JsonWriter* json) {
  const Cluster& cluster = *plan.cluster;
  json->Key("queues");
  json->Begin('{');
  for (const QueueId queue : InOrderOfNames(cluster.names(), cluster.queues())) {
    if (!plan.has_queue_numbers) break;
    json->Key(cluster.Text(cluster.queues().name[queue]));
    json->Begin('{');
    for (const auto& [name, resource] : {std::pair("gpu", kQuotaGpu), std::pair("cpu", kQuotaCpu),
                                         std::pair("memory", kQuotaMemory)}) {
      json->Key(name);
      json->Begin('{');
      for (const auto& [number, value] : QueueNumbersOf(plan, queue, resource)) {
        json->Key(number);
        value ? json->Plain(*value) : json->Null();
      }
      json->End('}');
    }
    json->End('}');
  }
  json->End('}');
}

}  // namespace

QueueNumbers QueueNumbersOf(const Plan& plan, QueueId queue, QuotaResource resource) {
  const auto for_people = [&](double amount) -> std::optional<double> {
    if (amount == kUnlimited) return std::nullopt;
    return resource == kQuotaCpu ? amount / kMillicpuPerCore : amount;
  };
  const Share& share = plan.queues[queue][resource];
  const QueueSums& sums = plan.cluster->queues().sums[queue];
  return {{{"deserved", for_people(share.deserved)},
           {"fair_share", for_people(share.fair_share)},
           {"limit", for_people(share.limit)},
           {"allocated", for_people(sums.allocated[resource])},
           {"allocated_non_preemptible", for_people(sums.allocated_non_preemptible[resource])},
           {"request", for_people(share.request)},
           {"over_quota_weight", share.over_quota_weight},
           {"usage", share.usage}}};
}

std::string_view NameOf(SelectorOp op) {
  switch (op) {
    case SelectorOp::kIn:
      return "In";
    case SelectorOp::kNotIn:
      return "NotIn";
    case SelectorOp::kExists:
      return "Exists";
    case SelectorOp::kDoesNotExist:
      return "DoesNotExist";
    case SelectorOp::kGt:
      return "Gt";
    case SelectorOp::kLt:
      return "Lt";
  }
  return "";
}

std::vector<NamedRequirement> RequirementsOf(const std::vector<Requirement>& requirements,
                                             const Cluster& cluster) {
  std::vector<NamedRequirement> named;
  for (const Requirement& each : requirements) {
    NamedRequirement& row =
        named.emplace_back(NamedRequirement{.key = std::string(cluster.Text(each.key)),
                                            .op = std::string(NameOf(each.op)),
                                            .values = {}});
    for (const NameId value : each.values) row.values.emplace_back(cluster.Text(value));
    if (each.bound) row.values.push_back(std::to_string(*each.bound));
    std::ranges::sort(row.values);
  }
  std::ranges::sort(named);
  return named;
}

std::string PlanJson(const Plan& plan, const DecisionTable& decisions, std::string_view stamp) {
  JsonWriter json;
  WriteDecisions(plan, decisions, &json);
  WriteGroups(plan, stamp, &json);
  WritePods(plan, &json);
  WriteQueues(plan, &json);
  return std::move(json).Take();
}

}  // namespace kai

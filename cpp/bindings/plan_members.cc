#include "plan_members.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "kai/model/building/numbering.h"
#include "kai/session/plan_json.h"
#include "kai/session/plan_texts.h"
#include "page_rows.h"

namespace kai::bindings {
namespace {

namespace py = pybind11;

py::dict ZonesAvailable(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  py::dict nodes;
  for (const auto& [node, left] : plan.zones_available) {
    const NumaNode& zones = *cluster.numa().Find(node);
    ZonePlacement all;
    for (size_t at = 0; at < left.size(); ++at) {
      all.push_back({.zone = static_cast<int32_t>(at / zones.resources.size()),
                     .resource = static_cast<int32_t>(at % zones.resources.size()),
                     .amount = left[at]});
    }
    nodes[ToPython(cluster.Text(cluster.nodes().name[node]))] =
        ToPython(ZonesOf(cluster, node, all));
  }
  return nodes;
}

py::list Requirements(const std::vector<Requirement>& requirements, const Cluster& cluster) {
  py::list rows;
  for (const NamedRequirement& each : RequirementsOf(requirements, cluster))
    rows.append(py::make_tuple(each.key, each.op, each.values));
  return rows;
}

// `frozen` converts a dict into one that cannot be changed.
py::object ToDict(const Facts& facts, const py::object& frozen) {
  py::dict members;
  for (const Fact& fact : facts) {
    members[py::str(fact.name.data(), fact.name.size())] = std::visit(
        [&]<typename Value>(const Value& value) -> py::object {
          if constexpr (std::is_same_v<Value, std::monostate>) {
            return py::none();
          } else if constexpr (std::is_same_v<Value, std::vector<Facts>>) {
            py::tuple rows(value.size());
            for (size_t i = 0; i < value.size(); ++i) rows[i] = ToDict(value[i], frozen);
            return rows;
          } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
            return py::tuple(py::cast(value));
          } else {
            return py::cast(value);
          }
        },
        fact.value);
  }
  return frozen(members);
}

// By pod: its rank, and its narrowest domain or None.
py::dict TopologyRanks(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  py::dict pods;
  for (const Plan::TopologyRank& each : plan.ranks) {
    py::object domain = py::none();
    if (each.domain.valid())
      domain = py::str(cluster.topologies()[each.topology].Text(each.domain, cluster.names()));
    pods[py::str(cluster.PodName(each.pod))] = py::make_tuple(each.rank, domain);
  }
  return pods;
}

py::dict Claims(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  py::dict pods;
  for (const auto& [pod, claims] : plan.claims) {
    py::list rows;
    for (const GivenClaim& claim : claims) {
      py::list devices;
      for (const ClaimAllocation::Given& given : claim.allocation->devices) {
        devices.append(py::make_tuple(given.request, given.device.driver, given.device.pool,
                                      given.device.device));
      }
      py::object terms = py::none();
      if (!claim.allocation->anywhere) {
        py::list all;
        for (const NodeTerm& term : claim.allocation->nodes) {
          all.append(py::make_tuple(Requirements(term.expressions, cluster),
                                    Requirements(term.fields, cluster)));
        }
        terms = all;
      }
      py::object extended = py::none();
      if (!claim.extended.empty()) {
        py::list requests;
        for (const ExtendedClaim::Request& each : claim.extended.requests)
          requests.append(py::make_tuple(each.name, each.class_name, each.count));
        py::list containers;
        for (const ExtendedClaim::Container& each : claim.extended.containers)
          containers.append(py::make_tuple(each.container, each.resource, each.request));
        extended = py::make_tuple(requests, containers);
      }
      rows.append(py::make_tuple(std::string(cluster.Text(claim.use)),
                                 std::string(cluster.Text(claim.claim)), devices, terms, extended));
    }
    pods[py::str(cluster.PodName(pod))] = rows;
  }
  return pods;
}

py::dict PodGroups(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  const GroupRowMaker maker(plan, /*evictions=*/true);
  py::dict groups;
  for (const PodGroupId group : InOrderOfNames(cluster.names(), cluster.pod_groups()))
    groups[py::str(cluster.PodGroupName(group))] = maker.Make(group);
  return groups;
}

py::dict PodMessages(const Plan& plan) {
  py::dict messages;
  for (const auto& [pod, text] : ConditionsOf(plan))
    messages[py::str(plan.cluster->PodName(pod))] = text;
  return messages;
}

py::dict Queues(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  py::dict queues;
  for (const QueueId queue : InOrderOfNames(cluster.names(), cluster.queues())) {
    if (!plan.has_queue_numbers) break;
    py::dict resources;
    for (const auto& [name, resource] : {std::pair("gpu", kQuotaGpu), std::pair("cpu", kQuotaCpu),
                                         std::pair("memory", kQuotaMemory)}) {
      const QueueNumbers numbers = QueueNumbersOf(plan, queue, resource);
      py::tuple row(numbers.size());
      for (size_t i = 0; i < numbers.size(); ++i) row[i] = py::cast(numbers[i].second);
      resources[name] = row;
    }
    queues[ToPython(cluster.Text(cluster.queues().name[queue]))] = resources;
  }
  return queues;
}

}  // namespace

GroupRowMaker::GroupRowMaker(const Plan& plan, bool evictions)
    : plan_(plan),
      evictions_(evictions),
      frozen_(py::module_::import("kai.engine.frozen").attr("Frozen")) {}

py::tuple GroupRowMaker::Make(PodGroupId group) const {
  const Cluster& cluster = *plan_.cluster;
  const GroupOutcome& outcome = plan_.OutcomeOf(group);
  py::list reasons;
  for (const ReportedReason& reason : ReasonsOf(plan_, group, evictions_)) {
    py::object pod = py::none();
    if (reason.pod.valid()) pod = py::str(cluster.PodName(reason.pod));
    reasons.append(py::make_tuple(ToPython(reason.code), reason.message, pod,
                                  ToDict(FactsOf(plan_, reason, group), frozen_)));
  }
  const auto stamp = [&](bool written) -> py::object {
    return written ? py::object(py::int_(plan_.now_ns)) : py::object(py::none());
  };
  py::object stale_since = stamp(outcome.writes.stale_since == StampWrite::kNow);
  if (outcome.writes.stale_since == StampWrite::kRemove) stale_since = py::str("");
  py::object service = py::none();
  if (outcome.writes.service) service = py::str(ServiceText(*outcome.writes.service));
  return py::make_tuple(ToPython(cluster.Text(cluster.pod_groups().queue_name[group])),
                        ToPython(VerdictName(outcome.verdict)), EventsOf(plan_, group), reasons,
                        py::make_tuple(stamp(outcome.writes.last_start), stale_since,
                                       stamp(outcome.writes.last_eviction), service));
}

py::object ToPython(const Facts& facts) {
  return ToDict(facts, py::module_::import("kai.engine.frozen").attr("Frozen"));
}

py::str ToPython(std::string_view text) { return py::str(text.data(), text.size()); }

py::list ToPython(const std::vector<NamedZone>& zones) {
  py::list rows;
  for (const NamedZone& each : zones) {
    py::dict amounts;
    for (const auto& [name, amount] : each.amounts) amounts[py::str(name)] = amount;
    rows.append(py::make_tuple(each.zone, amounts));
  }
  return rows;
}

py::list ToPython(const std::vector<Rejection>& rejections) {
  py::list rows;
  for (const Rejection& each : rejections)
    rows.append(py::make_tuple(each.kind, each.name, each.field, each.message));
  return rows;
}

const std::map<std::string_view, MemberOfPlan>& MembersOfPlans() {
  static const std::map<std::string_view, MemberOfPlan> members = {
      {"claims", [](const Plan& plan) -> py::object { return Claims(plan); }},
      {"counts", [](const Plan& plan) -> py::object { return CountRows(plan); }},
      {"names", [](const Plan& plan) -> py::object { return NamesOf(plan); }},
      {"numa_zones_available", [](const Plan& plan) -> py::object { return ZonesAvailable(plan); }},
      {"pod_groups", [](const Plan& plan) -> py::object { return PodGroups(plan); }},
      {"pods", [](const Plan& plan) -> py::object { return PodMessages(plan); }},
      {"queues", [](const Plan& plan) -> py::object { return Queues(plan); }},
      {"queue_parents", [](const Plan& plan) -> py::object { return QueueParents(plan); }},
      {"topology_ranks", [](const Plan& plan) -> py::object { return TopologyRanks(plan); }},
      {"waiting", [](const Plan& plan) -> py::object { return WaitingRows(plan); }},
  };
  return members;
}

}  // namespace kai::bindings

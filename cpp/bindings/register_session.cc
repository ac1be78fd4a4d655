// kai._core: load_snapshot, Cluster, Config, Session, Plan.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "kai/api/rounding.h"
#include "kai/base/clock.h"
#include "kai/ingest/snapshot_reader.h"
#include "kai/model/building/numbering.h"
#include "kai/session/plan_texts.h"
#include "kai/session/session.h"
#include "register.h"
#include "situation.h"
#include "status.h"

namespace kai::bindings {
namespace {

namespace py = pybind11;

// A loaded cluster as Python holds it.
struct LoadedCluster {
  std::shared_ptr<Cluster> cluster;
  std::string config_json;
  int64_t load_ns = 0;
};

// A plan as Python holds it: converted member by member when asked.
struct HeldPlan {
  Plan plan;
  std::vector<std::string> warnings;
  int64_t load_ns = 0;
};

LoadedCluster LoadSnapshot(const py::bytes& data) {
  const std::string_view json = data;  // stays valid: the caller holds the bytes
  absl::StatusOr<SnapshotFile> file;
  int64_t load_ns = 0;
  {
    const py::gil_scoped_release release;
    const SystemClock clock;
    const int64_t start_ns = clock.NowNs();
    file = ReadSnapshot(json);
    load_ns = clock.NowNs() - start_ns;
  }
  SnapshotFile snapshot = ValueOrThrow(std::move(file), WhenInvalid::kInput);
  return {.cluster = std::move(snapshot.cluster),
          .config_json = std::move(snapshot.config_json),
          .load_ns = load_ns};
}

py::list Rejected(const LoadedCluster& self) {
  py::list rows;
  for (const Rejection& each : self.cluster->rejections()) {
    rows.append(py::make_tuple(each.kind, each.name, each.field, each.message));
  }
  return rows;
}

py::dict Counts(const LoadedCluster& self) {
  py::dict counts;
  counts["nodes"] = self.cluster->nodes().size();
  counts["pods"] = self.cluster->pods().size();
  counts["pod_groups"] = self.cluster->pod_groups().size();
  counts["queues"] = self.cluster->queues().size();
  return counts;
}

HeldPlan RunPlan(const Session& self, const LoadedCluster& loaded, int64_t now_ns) {
  absl::StatusOr<Plan> plan;
  {
    const py::gil_scoped_release release;
    const SystemClock clock;
    plan = self.Run(loaded.cluster, now_ns, &clock);
  }
  return {.plan = ValueOrThrow(std::move(plan), WhenInvalid::kInput),
          .warnings = self.config().warnings,
          .load_ns = loaded.load_ns};
}

const char* KindName(CycleLog::Decision::Kind kind) {
  switch (kind) {
    case CycleLog::Decision::Kind::kBind:
      return "bind";
    case CycleLog::Decision::Kind::kPipeline:
      return "pipeline";
    case CycleLog::Decision::Kind::kEvict:
      return "evict";
  }
  return "";
}

// [(zone, {resource: amount})], in the order of the zones.
py::list Zones(const Cluster& cluster, NodeId node, const ZonePlacement& placement) {
  py::list rows;
  if (placement.empty()) return rows;  // also of nodes that report no zones
  const NumaNode& zones = *cluster.numa().Find(node);
  for (size_t i = 0; i < placement.size();) {
    py::dict amounts;
    const int32_t zone = placement[i].zone;
    for (; i < placement.size() && placement[i].zone == zone; ++i) {
      const NumaNode::Resource& resource =
          zones.resources[static_cast<size_t>(placement[i].resource)];
      amounts[py::str(resource.name)] =
          ForPeople(cluster.slots(), resource.slot, placement[i].amount);
    }
    rows.append(py::make_tuple(zones.zones[static_cast<size_t>(zone)], amounts));
  }
  return rows;
}

py::dict ZonesAvailable(const HeldPlan& self) {
  const Cluster& cluster = *self.plan.cluster;
  py::dict nodes;
  for (const auto& [node, left] : self.plan.zones_available) {
    const NumaNode& zones = *cluster.numa().Find(node);
    ZonePlacement all;
    for (size_t at = 0; at < left.size(); ++at) {
      all.push_back({.zone = static_cast<int32_t>(at / zones.resources.size()),
                     .resource = static_cast<int32_t>(at % zones.resources.size()),
                     .amount = left[at]});
    }
    const std::string_view name = cluster.Text(cluster.nodes().name[node]);
    nodes[py::str(name.data(), name.size())] = Zones(cluster, node, all);
  }
  return nodes;
}

py::list Decisions(const HeldPlan& self) {
  const Cluster& cluster = *self.plan.cluster;
  py::list rows(self.plan.decisions.size());
  size_t at = 0;
  for (const CycleLog::Decision& each : self.plan.decisions) {
    py::object node = py::none();
    py::object gpus = py::none();
    py::object action = py::none();
    py::object for_group = py::none();
    py::object message = py::none();
    py::object devices = py::none();
    py::object portion = py::none();
    py::object gpu_memory_mib = py::none();
    py::tuple gpu_groups;
    py::list zones;
    if (each.kind == CycleLog::Decision::Kind::kEvict) {
      action = py::str(each.action.data(), each.action.size());
      if (each.for_group.valid()) for_group = py::str(cluster.PodGroupName(each.for_group));
      message = py::str(MessageOf(self.plan, each));
    } else {
      const std::string_view name = cluster.Text(cluster.nodes().name[each.node]);
      node = py::str(name.data(), name.size());
      gpus = py::float_(cluster.RequestOf(each.pod)[kGpuSlot.index()]);
      if (const GpuRequest& gpu = cluster.ClassOf(each.pod).gpu; gpu.IsShared()) {
        const PodClassId pod_class = cluster.pods().pod_class[each.pod];
        gpus = py::float_(cluster.AcceptedOn(pod_class, each.node)[kQuotaGpu]);
        devices = py::int_(gpu.count);
        portion = py::float_(cluster.PortionOn(pod_class, each.node));
        if (gpu.kind == GpuRequestKind::kMemory) gpu_memory_mib = py::int_(gpu.memory_mib);
        gpu_groups = py::tuple(py::cast(self.plan.GpuGroupsOf(each)));
      }
      if (each.zones >= 0) {
        const ZoneLedger::Record& record = self.plan.zones[static_cast<size_t>(each.zones)];
        // A pod that was given a second place has its last record only.
        if (record.node == each.node) zones = Zones(cluster, each.node, record.placement);
      }
    }
    rows[at++] =
        py::make_tuple(KindName(each.kind), cluster.PodName(each.pod), node, gpus, devices, portion,
                       gpu_memory_mib, gpu_groups, action, for_group, message, zones);
  }
  return rows;
}

const char* NameOf(SelectorOp op) {
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

py::list Requirements(const std::vector<Requirement>& requirements, const Cluster& cluster) {
  std::vector<std::tuple<std::string, std::string, std::vector<std::string>>> rows;
  for (const Requirement& each : requirements) {
    std::vector<std::string> values;
    for (const NameId value : each.values) values.emplace_back(cluster.Text(value));
    if (each.bound) values.push_back(std::to_string(*each.bound));
    std::sort(values.begin(), values.end());
    rows.emplace_back(cluster.Text(each.key), NameOf(each.op), std::move(values));
  }
  std::sort(rows.begin(), rows.end());
  return py::cast(rows);
}

py::dict ToDict(const Facts& facts) {
  py::dict members;
  for (const Fact& fact : facts) {
    members[py::str(fact.name.data(), fact.name.size())] = std::visit(
        []<typename Value>(const Value& value) -> py::object {
          if constexpr (std::is_same_v<Value, std::monostate>) {
            return py::none();
          } else if constexpr (std::is_same_v<Value, std::vector<Facts>>) {
            py::list rows;
            for (const Facts& each : value) rows.append(ToDict(each));
            return rows;
          } else {
            return py::cast(value);
          }
        },
        fact.value);
  }
  return members;
}

// By pod: its rank, and its narrowest domain or None.
py::dict TopologyRanks(const HeldPlan& self) {
  const Cluster& cluster = *self.plan.cluster;
  py::dict pods;
  for (const Plan::TopologyRank& each : self.plan.ranks) {
    py::object domain = py::none();
    if (each.domain.valid())
      domain = py::str(cluster.topologies()[each.topology].Text(each.domain, cluster.names()));
    pods[py::str(cluster.PodName(each.pod))] = py::make_tuple(each.rank, domain);
  }
  return pods;
}

py::dict Claims(const HeldPlan& self) {
  const Cluster& cluster = *self.plan.cluster;
  py::dict pods;
  for (const auto& [pod, claims] : self.plan.claims) {
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

py::dict PodGroups(const HeldPlan& self) {
  const Cluster& cluster = *self.plan.cluster;
  py::dict groups;
  for (const PodGroupId group : InOrderOfNames(cluster.names(), cluster.pod_groups())) {
    const GroupOutcome& outcome = self.plan.OutcomeOf(group);
    py::list reasons;
    for (const ToldReason& reason : ReasonsOf(self.plan, group)) {
      py::object pod = py::none();
      if (reason.pod.valid()) pod = py::str(cluster.PodName(reason.pod));
      reasons.append(py::make_tuple(py::str(reason.code.data(), reason.code.size()), reason.message,
                                    pod, ToDict(FactsOf(self.plan, reason, group))));
    }
    const auto stamp = [&](bool written) -> py::object {
      return written ? py::object(py::int_(self.plan.now_ns)) : py::object(py::none());
    };
    py::object stale_since = stamp(outcome.writes_stale_since == StampWrite::kNow);
    if (outcome.writes_stale_since == StampWrite::kRemove) stale_since = py::str("");
    const std::string_view verdict = VerdictName(outcome.verdict);
    const std::string queue(cluster.Text(cluster.pod_groups().queue_name[group]));
    groups[py::str(cluster.PodGroupName(group))] = py::make_tuple(
        queue, py::str(verdict.data(), verdict.size()), EventsOf(self.plan, group), reasons,
        py::make_tuple(stamp(outcome.writes_last_start), stale_since,
                       stamp(outcome.writes_last_eviction)));
  }
  return groups;
}

py::dict PodMessages(const HeldPlan& self) {
  py::dict messages;
  for (const auto& [pod, text] : ConditionsOf(self.plan))
    messages[py::str(self.plan.cluster->PodName(pod))] = text;
  return messages;
}

// Queues' numbers leave the engine here: cores instead of millicores, None instead of -1.
py::object ForPeople(double amount, QuotaResource resource) {
  if (amount == kUnlimited) return py::none();
  return py::float_(resource == kQuotaCpu ? amount / kMillicpuPerCore : amount);
}

py::dict Queues(const HeldPlan& self) {
  const Cluster& cluster = *self.plan.cluster;
  py::dict queues;
  for (const QueueId queue : InOrderOfNames(cluster.names(), cluster.queues())) {
    if (!self.plan.has_queue_numbers) break;
    py::dict resources;
    for (const auto& [name, resource] : {std::pair("gpu", kQuotaGpu), std::pair("cpu", kQuotaCpu),
                                         std::pair("memory", kQuotaMemory)}) {
      const Share& share = self.plan.queues[queue][resource];
      const QueueSums& sums = cluster.queues().sums[queue];
      resources[name] = py::make_tuple(
          ForPeople(share.deserved, resource), ForPeople(share.fair_share, resource),
          ForPeople(share.limit, resource), ForPeople(sums.allocated[resource], resource),
          ForPeople(sums.allocated_non_preemptible[resource], resource),
          ForPeople(share.request, resource), py::float_(share.over_quota_weight));
    }
    queues[py::str(std::string(cluster.Text(cluster.queues().name[queue])))] = resources;
  }
  return queues;
}

py::dict Timing(const HeldPlan& self) {
  py::dict timing;
  timing["load"] = self.load_ns;
  for (const auto& [name, ns] : self.plan.timing_ns)
    timing[py::str(name)] = name == "total" ? ns + self.load_ns : ns;
  return timing;
}

}  // namespace

void RegisterSession(py::module_& module) {
  py::class_<LoadedCluster>(module, "Cluster", py::is_final())
      .def_property_readonly("rejected", &Rejected)
      .def_readonly("config_json", &LoadedCluster::config_json)
      .def_readonly("load_ns", &LoadedCluster::load_ns)
      .def_property_readonly("counts", &Counts)
      .def("situation", [](const LoadedCluster& self) { return SituationOf(*self.cluster); });
  module.def("load_snapshot", &LoadSnapshot, py::arg("data"));

  py::class_<Config>(module, "Config", py::is_final())
      .def_static(
          "parse",
          [](const std::string& json, bool as_kai) {
            return ValueOrThrow(Config::Parse(json, {.as_kai = as_kai}), WhenInvalid::kConfig);
          },
          py::arg("json"), py::kw_only(), py::arg("as_kai") = false)
      .def_readonly("warnings", &Config::warnings)
      .def("to_json", &Config::ToJson);
  module.def("compat_switches", &Config::CompatSwitches);

  py::class_<Session>(module, "Session", py::is_final())
      .def(py::init<Config>(), py::arg("config"))
      .def("plan", &RunPlan, py::arg("cluster"), py::kw_only(), py::arg("now_ns"));

  py::class_<HeldPlan>(module, "Plan", py::is_final())
      .def_readonly("warnings", &HeldPlan::warnings)
      .def("decisions", &Decisions)
      .def("claims", &Claims)
      .def("topology_ranks", &TopologyRanks)
      .def("pod_groups", &PodGroups)
      .def("pods", &PodMessages)
      .def("queues", &Queues)
      .def("numa_zones_available", &ZonesAvailable)
      .def("spent_searches",
           [](const HeldPlan& self) {
             py::dict searches;
             for (const auto& [name, scenarios] : self.plan.spent_searches)
               searches[py::str(name)] = scenarios;
             return searches;
           })
      .def("score_keys", [](const HeldPlan& self) { return self.plan.score_keys; })
      .def("timing_ns", &Timing);
}

}  // namespace kai::bindings

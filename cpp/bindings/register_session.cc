// kai._core: load_snapshot, Cluster, Config, Session.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aftermath_rows.h"
#include "kai/session/known_names.h"
#include "live_cluster.h"
#include "plan_members.h"
#include "python_policies.h"
#include "register.h"
#include "status.h"

namespace kai::bindings {
namespace {

namespace py = pybind11;

// Counts existing objects: rows of deleted objects have no name.
template <typename Columns>
int64_t CountOf(const Columns& columns) {
  return std::ranges::count_if(columns.name.raw(), [](NameId name) { return name.valid(); });
}

py::dict Counts(LiveCluster& self) {
  return self.Look([](const Cluster& cluster) {
    py::dict counts;
    counts["nodes"] = CountOf(cluster.nodes());
    counts["pods"] = CountOf(cluster.pods());
    counts["pod_groups"] = CountOf(cluster.pod_groups());
    counts["queues"] = CountOf(cluster.queues());
    return counts;
  });
}

py::tuple Upsert(LiveCluster& self, const py::bytes& json) {
  const LiveCluster::Event event = self.Upsert(std::string_view(json));
  return py::make_tuple(event.kind, event.name, event.was_there, event.is_late);
}

// The members of a recorded case that a plan needs.
py::object CaseOf(const py::bytes& data) {
  const std::string_view json = data;  // valid: the caller holds the bytes
  std::string snapshot;
  std::string now;
  absl::Status status;
  {
    const py::gil_scoped_release release;
    JsonDocument document;
    const absl::StatusOr<JsonObject> top = document.Parse(json);
    status = top.status();
    if (top.ok()) {
      const FieldStatus is_case = ForEachMember(*top, [&](std::string_view key, JsonValue& value) {
        if (key == "snapshot") return ReadRawObject(value, &snapshot);
        return key == "now" ? ReadString(value, &now) : Skip();
      });
      if (!is_case.ok()) snapshot.clear();
    }
  }
  ThrowIfError(status, WhenInvalid::kInput);
  if (snapshot.empty()) return py::none();
  return py::make_tuple(py::bytes(snapshot), now);
}

// By queue: used parts of the cluster's GPUs, CPU and memory.
using UsageRows = std::map<std::string, std::tuple<double, double, double>>;

void SetUsage(LiveCluster& self, const UsageRows& rows) {
  PastUsages usages;
  for (const auto& [queue, row] : rows) {
    const auto& [gpu, cpu, memory] = row;
    usages[queue][kQuotaGpu] = gpu;
    usages[queue][kQuotaCpu] = cpu;
    usages[queue][kQuotaMemory] = memory;
  }
  self.SetPastUsages(std::move(usages));
}

UsageRows UsageOf(LiveCluster& self) {
  UsageRows rows;
  for (const auto& [queue, parts] : self.past_usages())
    rows[queue] = {parts[kQuotaGpu], parts[kQuotaCpu], parts[kQuotaMemory]};
  return rows;
}

// Names by place in the configuration.
py::dict ToDict(const std::vector<std::pair<std::string, std::vector<std::string>>>& levels) {
  py::dict dict;
  for (const auto& [place, names] : levels) dict[py::str(place)] = py::cast(names);
  return dict;
}

py::list Memory(LiveCluster& self) {
  py::list columns;
  for (const MemoryReport::Column& each : self.Memory().columns)
    columns.append(py::make_tuple(each.part, each.column, each.count, each.bytes));
  return columns;
}

void RegisterCluster(py::module_& module) {
  py::class_<LiveCluster, std::shared_ptr<LiveCluster>>(module, "Cluster", py::is_final())
      .def_property_readonly("rejected",
                             [](LiveCluster& self) {
                               return self.Look([](const Cluster& cluster) {
                                 return bindings::ToPython(cluster.rejections());
                               });
                             })
      .def("measured",
           [](LiveCluster& self) {
             return self.Look([](const Cluster& cluster) {
               return MeasuredRows(cluster, MeasuredShapesOf(cluster));
             });
           })
      .def_property_readonly("config_json", &LiveCluster::config_json)
      .def_property_readonly("memory_json", &LiveCluster::memory_json)
      .def_property_readonly("now", &LiveCluster::now)
      .def_property_readonly("load_ns", &LiveCluster::load_ns)
      .def_property_readonly("counts", &Counts)
      .def("upsert", &Upsert, py::arg("json"))
      .def("copy", &LiveCluster::Copy)
      .def("delete", &LiveCluster::Delete, py::arg("kind"), py::arg("name"))
      .def("has", &LiveCluster::Has, py::arg("kind"), py::arg("name"))
      .def(
          "upsert_planned",
          [](LiveCluster& self, const py::bytes& json) {
            return self.UpsertPlanned(std::string_view(json));
          },
          py::arg("json"))
      .def("withdraw", &LiveCluster::Withdraw, py::arg("kind"), py::arg("name"))
      .def("assign", &LiveCluster::Assign, py::arg("pod"), py::arg("uid"), py::arg("group"),
           py::arg("subgroup"))
      .def("avoid", &LiveCluster::Avoid, py::arg("group"), py::arg("nodes"))
      .def("hold_off", &LiveCluster::HoldOff, py::arg("group"), py::kw_only(), py::arg("since_ns"),
           py::arg("delay_ns"))
      .def("set_usage", &SetUsage, py::arg("usage"))
      .def("usage", &UsageOf)
      .def("ages", &LiveCluster::Ages)
      .def("serve_claims", &LiveCluster::ServeClaims, py::arg("serves"))
      .def("can_follow", &LiveCluster::CanFollow)
      .def("memory", &Memory);
  module.def("case_of", &CaseOf, py::arg("data"));
  module.def("live_cluster", &LiveCluster::Live, py::arg("params_json") = "");
  module.def("load_snapshot", &LiveCluster::Load, py::arg("data"));
}

void RegisterConfig(py::module_& module) {
  py::class_<Config>(module, "Config", py::is_final())
      .def_static(
          "parse",
          [](const std::string& json, bool as_kai) {
            return ValueOrThrow(Config::Parse(json, {.as_kai = as_kai}), WhenInvalid::kConfig);
          },
          py::arg("json"), py::kw_only(), py::arg("as_kai") = false)
      .def_property_readonly("warnings", &Config::WarningTexts)
      .def_property_readonly("located_warnings",
                             [](const Config& self) {
                               py::list located;
                               for (const ConfigWarning& each : self.warnings)
                                 located.append(py::make_tuple(each.path, each.text));
                               return located;
                             })
      .def(
          "with_policies",
          [](const Config& self, py::object runner) {
            Config with = self;
            with.policies = std::make_shared<PythonPolicies>(std::move(runner));
            return with;
          },
          py::arg("runner"))
      .def("to_json", &Config::ToJson);
  module.def("compat_switches", &Config::CompatSwitches);
  module.def("config_names", [] { return ToDict(ConfigNames()); });
  module.def("scheduler_param_names", [] { return ToDict(SchedulerParamNames()); });
}

void Trust(const std::shared_ptr<Session>& self, LiveCluster& cluster, int64_t from_ns,
           int64_t until_ns) {
  cluster.Trust(self, {.from_ns = from_ns, .until_ns = until_ns});
}

}  // namespace

void RegisterSession(py::module_& module) {
  RegisterCluster(module);
  RegisterConfig(module);
  py::class_<Session, std::shared_ptr<Session>>(module, "Session", py::is_final())
      .def(py::init<Config>(), py::arg("config"))
      .def(
          "plan",
          [](const std::shared_ptr<Session>& self, LiveCluster& cluster, int64_t now_ns) {
            return cluster.Plan(self, now_ns);
          },
          py::arg("cluster"), py::kw_only(), py::arg("now_ns"))
      .def(
          "assume_bound",
          [](const std::shared_ptr<Session>& self, LiveCluster& cluster, const py::bytes& json) {
            return cluster.AssumeBound(self, std::string_view(json));
          },
          py::arg("cluster"), py::arg("json"))
      .def(
          "assume_evicted",
          [](const std::shared_ptr<Session>& self, LiveCluster& cluster, const std::string& pod,
             int64_t now_ns) { return cluster.AssumeEvicted(self, pod, now_ns); },
          py::arg("cluster"), py::arg("pod"), py::kw_only(), py::arg("now_ns"))
      .def(
          "assume_bound_to",
          [](const std::shared_ptr<Session>& self, LiveCluster& cluster, const std::string& pod,
             const std::string& uid,
             const std::string& node) { return cluster.AssumeBoundTo(self, pod, uid, node); },
          py::arg("cluster"), py::arg("pod"), py::arg("uid"), py::arg("node"))
      .def(
          "assume_plan",
          [](const std::shared_ptr<Session>& self, LiveCluster& cluster, HeldPlan& plan,
             int64_t now_ns) { return cluster.AssumePlan(self, plan.decisions(), now_ns); },
          py::arg("cluster"), py::arg("plan"), py::kw_only(), py::arg("now_ns"))
      .def("trust", &Trust, py::arg("cluster"), py::kw_only(), py::arg("from_ns"),
           py::arg("until_ns"))
      .def(
          "has_changed",
          [](const std::shared_ptr<Session>& self, LiveCluster& cluster) {
            return cluster.HasChanged(self);
          },
          py::arg("cluster"))
      .def(
          "forget",
          [](const std::shared_ptr<Session>& self, LiveCluster& cluster, int64_t assumption) {
            return cluster.Forget(self, assumption);
          },
          py::arg("cluster"), py::arg("assumption"))
      .def(
          "broken",
          [](const std::shared_ptr<Session>& self, LiveCluster& cluster,
             const std::vector<AssumptionId>& assumptions) {
            return cluster.Broken(self, assumptions);
          },
          py::arg("cluster"), py::arg("assumptions"))
      .def(
          "next_wake",
          [](const std::shared_ptr<Session>& self,
             LiveCluster& cluster) -> std::optional<std::pair<int64_t, std::string>> {
            const std::optional<Engine::Wake> wake = cluster.NextWake(self);
            if (!wake) return std::nullopt;
            return std::pair(wake->at_ns, std::string(WakeReasonName(wake->reason)));
          },
          py::arg("cluster"))
      .def(
          "export_memory",
          [](const std::shared_ptr<Session>& self, LiveCluster& cluster) {
            return cluster.ExportMemory(self);
          },
          py::arg("cluster"))
      .def(
          "import_memory",
          [](const std::shared_ptr<Session>& self, LiveCluster& cluster, const std::string& json) {
            cluster.ImportMemory(self, json);
          },
          py::arg("cluster"), py::arg("json"));
}

}  // namespace kai::bindings

// kai._core: Simulation.
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "column_view.h"
#include "kai/ingest/snapshot_reader.h"
#include "kai/sim/first_moment.h"
#include "kai/sim/simulation.h"
#include "live_cluster.h"
#include "register.h"
#include "status.h"

namespace kai::bindings {
namespace {

namespace py = pybind11;

using Texts = std::vector<std::string>;
using Ints = py::array_t<int64_t, py::array::c_style | py::array::forcecast>;

// ---- in -----------------------------------------------------------------------------------------

// name, parent, priority, (quota, weight, limit) of cpu, memory, gpu, preempt and reclaim minimum
using QueueTuple =
    std::tuple<std::string, std::string, int64_t, std::array<std::array<double, 3>, 3>,
               std::optional<int64_t>, std::optional<int64_t>>;
// name, gpus, millicpu, bytes, pods, labels
using NodeTuple = std::tuple<std::string, int64_t, int64_t, int64_t, int64_t, StringPairs>;
// name, nodes, first, least, ready, idle, price
using PoolTuple = std::tuple<std::string, Texts, int32_t, int32_t, int64_t, int64_t, double>;
// index of the job, after, pods, min_pods
using ResizeTuple = std::tuple<int64_t, int64_t, int32_t, int32_t>;

QueueRow QueueOf(const QueueTuple& given) {
  QueueRow row;
  row.name = std::get<0>(given);
  row.parent = std::get<1>(given);
  row.priority = std::get<2>(given);
  for (size_t i = 0; i < row.resources.size(); ++i) {
    const auto& [quota, weight, limit] = std::get<3>(given)[i];
    row.resources[i] = {.quota = quota, .over_quota_weight = weight, .limit = limit};
  }
  row.preempt_min_runtime_ns = std::get<4>(given);
  row.reclaim_min_runtime_ns = std::get<5>(given);
  return row;
}

NodeRow NodeOf(const NodeTuple& given) {
  const auto& [name, gpus, millicpu, bytes, pods, labels] = given;
  NodeRow row;
  row.name = name;
  row.labels = labels;
  row.allocatable = {{"cpu", millicpu}, {"memory", bytes}, {"pods", pods}};
  if (gpus > 0) row.allocatable.emplace_back("nvidia.com/gpu", gpus);
  row.ready = ConditionStatus::kTrue;
  return row;
}

std::vector<SimJob> JobsOf(const Texts& names, const py::dict& columns, const Texts& classes) {
  std::vector<SimJob> jobs(names.size());
  for (size_t i = 0; i < names.size(); ++i) jobs[i].name = names[i];
  const auto fill = [&](const char* column, const auto& set) {
    const auto values = columns[column].cast<Ints>();
    if (values.size() != std::ssize(jobs)) {
      ThrowIfError(absl::InvalidArgumentError(std::string("jobs: column ") + column +
                                              " and the names differ in length"),
                   WhenInvalid::kInput);
    }
    for (size_t i = 0; i < jobs.size(); ++i) set(&jobs[i], values.data()[i]);
  };
  fill("queue", [](SimJob* job, int64_t value) { job->queue = static_cast<int32_t>(value); });
  fill("arrival_ns", [](SimJob* job, int64_t value) { job->arrival_ns = value; });
  fill("duration_ns", [](SimJob* job, int64_t value) { job->duration_ns = value; });
  fill("pods", [](SimJob* job, int64_t value) { job->pods = static_cast<int32_t>(value); });
  fill("min_pods", [](SimJob* job, int64_t value) { job->min_pods = static_cast<int32_t>(value); });
  fill("micro_gpus", [](SimJob* job, int64_t value) { job->micro_gpus = value; });
  fill("millicpu", [](SimJob* job, int64_t value) { job->millicpu = value; });
  fill("memory_bytes", [](SimJob* job, int64_t value) { job->memory_bytes = value; });
  fill("priority_class", [&](SimJob* job, int64_t value) {
    job->priority_class = classes.at(static_cast<size_t>(value));
  });
  fill("preemptible", [](SimJob* job, int64_t value) {
    if (value >= 0) job->preemptibility = value > 0 ? "preemptible" : "non-preemptible";
  });
  fill("models", [](SimJob* job, int64_t value) { job->models = static_cast<int32_t>(value); });
  fill("speeds", [](SimJob* job, int64_t value) { job->speeds = static_cast<int32_t>(value); });
  fill("estimate_ns", [](SimJob* job, int64_t value) { job->estimate_ns = value; });
  fill("checkpoint_ns", [](SimJob* job, int64_t value) { job->checkpoint_ns = value; });
  fill("restart_ns", [](SimJob* job, int64_t value) { job->restart_ns = value; });
  fill("given", [](SimJob* job, int64_t value) { job->given = static_cast<int32_t>(value); });
  return jobs;
}

UsageWindow UsageWindowOf(const py::dict& given) {
  UsageWindow window;
  const auto kind = given["kind"].cast<std::string>();
  window.kind = kind == "cron"       ? UsageWindow::Kind::kResets
                : kind == "tumbling" ? UsageWindow::Kind::kTumbling
                                     : UsageWindow::Kind::kSliding;
  window.size_ns = given["size_ns"].cast<int64_t>();
  window.start_ns = given["start_ns"].cast<int64_t>();
  window.half_life_ns = given["half_life_ns"].cast<double>();
  window.fetch_ns = given["fetch_ns"].cast<int64_t>();
  if (!given["next_reset"].is_none())
    window.next_reset = given["next_reset"].cast<std::function<int64_t(int64_t)>>();
  return window;
}

ShardParams ParamsOf(const std::string& json) {
  if (json.empty()) return {};
  absl::StatusOr<SnapshotRows> rows =
      ReadSnapshotRows("{\"schedulerParams\": " + json + ", \"rawObjects\": {}}");
  return ValueOrThrow(std::move(rows), WhenInvalid::kInput).cluster.params;
}

std::unique_ptr<Simulation> MakeSimulation(
    const Texts& job_names, const py::dict& job_columns, const std::vector<QueueTuple>& queues,
    const std::vector<NodeTuple>& nodes,
    const std::vector<std::pair<std::string, int64_t>>& priority_classes, const Texts& class_names,
    std::vector<Texts> model_sets,
    std::vector<std::vector<std::pair<std::string, double>>> speed_tables,
    const std::vector<std::tuple<std::string, int64_t, int64_t>>& outages,
    const std::vector<std::pair<int64_t, QueueTuple>>& queue_changes,
    const std::vector<std::tuple<std::string, int64_t, int64_t, bool>>& windows,
    const std::vector<PoolTuple>& pools, const std::vector<ResizeTuple>& resizes,
    std::shared_ptr<const FirstMoment> first, const Config& config, const std::string& params_json,
    const py::dict& options) {
  SimWorkload workload;
  workload.jobs = JobsOf(job_names, job_columns, class_names);
  for (const auto& [job, after_ns, pods, min_pods] : resizes) {
    workload.jobs.at(static_cast<size_t>(job))
        .resizes.push_back({.after_ns = after_ns, .pods = pods, .min_pods = min_pods});
  }
  for (const auto& [node, from_ns, until_ns, drains] : windows) {
    workload.windows.push_back(
        {.node = node, .from_ns = from_ns, .until_ns = until_ns, .drains = drains});
  }
  for (const auto& [name, its_nodes, first_nodes, least, ready_ns, idle_ns, price] : pools) {
    workload.pools.push_back({.name = name,
                              .nodes = its_nodes,
                              .first = first_nodes,
                              .least = least,
                              .ready_ns = ready_ns,
                              .idle_ns = idle_ns,
                              .price = price});
  }
  ShardParams params = first == nullptr ? ParamsOf(params_json) : first->params();
  workload.first = std::move(first);
  for (const QueueTuple& queue : queues) workload.queues.push_back(QueueOf(queue));
  for (const NodeTuple& node : nodes) workload.nodes.push_back(NodeOf(node));
  for (const auto& [name, value] : priority_classes)
    workload.priority_classes.push_back({.name = name, .value = value});
  workload.model_sets = std::move(model_sets);
  workload.speed_tables = std::move(speed_tables);
  for (const auto& [node, from_ns, until_ns] : outages)
    workload.outages.push_back({.node = node, .from_ns = from_ns, .until_ns = until_ns});
  for (const auto& [at_ns, queue] : queue_changes)
    workload.queue_changes.push_back({.at_ns = at_ns, .queue = QueueOf(queue)});
  SimOptions its;
  const std::pair<const char*, int64_t*> members[] = {
      {"period_ns", &its.period_ns},   {"until_ns", &its.until_ns},
      {"start_ns", &its.start_ns},     {"bind_ns", &its.bind_ns},
      {"startup_ns", &its.startup_ns}, {"terminate_ns", &its.terminate_ns},
      {"scale_ns", &its.scale_ns}};
  for (const auto& [name, member] : members)
    if (options.contains(name)) *member = options[name].cast<int64_t>();
  if (options.contains("usage")) its.usage = UsageWindowOf(options["usage"]);
  return ValueOrThrow(Simulation::Make(std::move(workload), config, std::move(params), its),
                      WhenInvalid::kInput);
}

// ---- the first moment ---------------------------------------------------------------------------

std::shared_ptr<FirstMoment> MakeFirstMoment(LiveCluster* cluster, const std::string& memory) {
  return cluster->WithStore([&](const Store* store) {
    const py::gil_scoped_release release;
    return std::make_shared<FirstMoment>(*store, cluster->params(), memory);
  });
}

py::list GroupsOf(const FirstMoment& first) {
  py::list groups;
  for (const FirstMoment::Group& group : first.groups()) {
    py::list pods;
    for (const FirstMoment::Pod& pod : group.pods)
      pods.append(py::make_tuple(pod.row.name, pod.node, pod.micro_gpus));
    groups.append(py::make_tuple(group.name, group.row.queue, group.row.priority_class,
                                 group.min_pods, pods));
  }
  return groups;
}

std::vector<NodeTuple> NodesOf(const FirstMoment& first) {
  std::vector<NodeTuple> nodes;
  for (const NodeRow& row : first.store().RowsOfKind<NodeRow>()) {
    const auto amount = [&](std::string_view resource) {
      for (const auto& [name, value] : row.allocatable)
        if (name == resource) return value;
      return int64_t{0};
    };
    nodes.emplace_back(row.name, amount("nvidia.com/gpu"), amount("cpu"), amount("memory"),
                       amount("pods"), row.labels);
  }
  std::ranges::sort(nodes);
  return nodes;
}

std::vector<QueueTuple> QueuesOf(const FirstMoment& first) {
  std::vector<QueueTuple> queues;
  for (const QueueRow& row : first.store().RowsOfKind<QueueRow>()) {
    std::array<std::array<double, 3>, 3> amounts;
    for (size_t i = 0; i < amounts.size(); ++i) {
      const QuotaRow& quota = row.resources[i];
      amounts[i] = {quota.quota, quota.over_quota_weight, quota.limit};
    }
    queues.emplace_back(row.name, row.parent, row.priority.value_or(100), amounts,
                        row.preempt_min_runtime_ns, row.reclaim_min_runtime_ns);
  }
  std::ranges::sort(queues);
  return queues;
}

std::vector<std::pair<std::string, int64_t>> PriorityClassesOf(const FirstMoment& first) {
  std::vector<std::pair<std::string, int64_t>> classes;
  for (const PriorityClassRow& row : first.store().RowsOfKind<PriorityClassRow>())
    classes.emplace_back(row.name, row.value);
  std::ranges::sort(classes);
  return classes;
}

// ---- out ----------------------------------------------------------------------------------------

py::dict TimelineOf(const py::object& owner) {
  const Timeline& timeline = owner.cast<const Simulation&>().timeline();
  const auto table = [&](std::initializer_list<std::pair<const char*, py::object>> columns) {
    py::dict made;
    for (const auto& [name, column] : columns) made[name] = column;
    return made;
  };
  const auto view = [&](const auto& column) { return ReadOnlyView(column, owner); };
  const auto& [stays, jobs, queues, usage, nodes, node_events, node_names, queue_names, end_ns,
               cycles, repeated, engine_ns] = timeline;
  py::dict all;
  all["stays"] = table({{"job", view(stays.job)},
                        {"pod", view(stays.pod)},
                        {"node", view(stays.node)},
                        {"shared_card", view(stays.shared_card)},
                        {"from_ns", view(stays.from_ns)},
                        {"runs_ns", view(stays.runs_ns)},
                        {"to_ns", view(stays.to_ns)},
                        {"end", view(stays.end)}});
  all["jobs"] = table({{"input", view(jobs.input)},
                       {"first_start_ns", view(jobs.first_start_ns)},
                       {"end_ns", view(jobs.end_ns)},
                       {"working_ns", view(jobs.working_ns)},
                       {"restarts", view(jobs.restarts)},
                       {"evictions", view(jobs.evictions)},
                       {"held_ns", view(jobs.held_ns)},
                       {"kept_ns", view(jobs.kept_ns)},
                       {"lost_ns", view(jobs.lost_ns)},
                       {"idle_ns", view(jobs.idle_ns)}});
  all["queues"] = table({{"at_ns", view(queues.at_ns)},
                         {"queue", view(queues.queue)},
                         {"allocated", view(queues.allocated)},
                         {"requested", view(queues.requested)},
                         {"fair_share", view(queues.fair_share)}});
  all["usage"] = table({{"at_ns", view(usage.at_ns)},
                        {"queue", view(usage.queue)},
                        {"gpu", view(usage.gpu)},
                        {"cpu", view(usage.cpu)},
                        {"memory", view(usage.memory)}});
  all["nodes"] = table({{"at_ns", view(nodes.at_ns)},
                        {"node", view(nodes.node)},
                        {"is_there", view(nodes.is_there)}});
  all["node_events"] = table({{"at_ns", view(node_events.at_ns)},
                              {"node", view(node_events.node)},
                              {"event", view(node_events.event)}});
  all["node_names"] = py::cast(node_names);
  all["queue_names"] = py::cast(queue_names);
  all["end_ns"] = end_ns;
  all["cycles"] = cycles;
  all["repeated_cycles"] = repeated;
  all["engine_ns"] = engine_ns;
  return all;
}

}  // namespace

void RegisterSimulation(py::module_& module) {
  py::class_<FirstMoment, std::shared_ptr<FirstMoment>>(module, "FirstMoment", py::is_final())
      .def(py::init(&MakeFirstMoment), py::arg("cluster"), py::kw_only(), py::arg("memory"))
      .def("groups", &GroupsOf)
      .def("nodes", &NodesOf)
      .def("queues", &QueuesOf)
      .def("priority_classes", &PriorityClassesOf);
  py::class_<Simulation>(module, "Simulation", py::is_final())
      .def(py::init(&MakeSimulation), py::kw_only(), py::arg("job_names"), py::arg("job_columns"),
           py::arg("queues"), py::arg("nodes"), py::arg("priority_classes"), py::arg("class_names"),
           py::arg("model_sets"), py::arg("speed_tables"), py::arg("outages"),
           py::arg("queue_changes"), py::arg("windows"), py::arg("pools"), py::arg("resizes"),
           py::arg("first").none(true), py::arg("config"), py::arg("params_json"),
           py::arg("options"))
      .def(
          "run",
          [](Simulation& self, int64_t steps) {
            absl::StatusOr<bool> ended = false;
            {
              const py::gil_scoped_release release;
              ended = self.Run(steps);
            }
            return ValueOrThrow(std::move(ended), WhenInvalid::kInput);
          },
          py::arg("steps"))
      .def("stop", &Simulation::Stop)
      .def_property_readonly("now_ns", &Simulation::now_ns)
      .def_property_readonly("jobs_ended", &Simulation::jobs_ended)
      .def_property_readonly("date_ns", &Simulation::date_ns)
      .def("state", [](Simulation& self) { return LiveCluster::Fixed(self.State()); })
      .def("timeline", [](const py::object& self) { return TimelineOf(self); });
}

}  // namespace kai::bindings

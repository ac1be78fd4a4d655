#include "python_policies.h"

#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "column_view.h"
#include "kai/placement/node_shapes.h"
#include "register.h"

namespace kai::bindings {
namespace {

namespace py = pybind11;

// What a policy can read besides its tables; it becomes empty after the run.
struct PolicyFacts {
  const Cluster* cluster = nullptr;
  std::shared_ptr<PolicyColumns> columns;
};

PolicyFacts& Open(PolicyFacts& facts) {
  if (facts.cluster == nullptr)
    throw py::value_error(
        "this table belongs to a cycle that has ended: copy the values that you keep");
  return facts;
}

// Keeps the columns for arrays that a policy stores.
template <typename Columns>
py::capsule OwnerOf(const std::shared_ptr<Columns>& columns) {
  using Owned = std::shared_ptr<Columns>;
  auto owned = std::make_unique<Owned>(columns);
  return {owned.release(), [](void* pointer) { delete static_cast<Owned*>(pointer); }};
}

py::dict NodesOf(PolicyFacts& facts) {
  const PolicyNodeColumns& from = Open(facts).columns->nodes;
  const py::capsule owner = OwnerOf(facts.columns);
  const auto rows = std::ssize(from.node);
  const auto cards = static_cast<py::ssize_t>(from.most_gpus);
  py::dict views;
  views["kind"] = ReadOnlyView(from.kind, owner);
  views["cpu_milli"] = ReadOnlyView(from.cpu_milli, owner);
  views["cpu_idle_milli"] = ReadOnlyView(from.cpu_idle_milli, owner);
  views["memory_bytes"] = ReadOnlyView(from.memory_bytes, owner);
  views["memory_idle_bytes"] = ReadOnlyView(from.memory_idle_bytes, owner);
  views["gpus"] = ReadOnlyView(from.gpus, owner);
  views["gpu_memory_mib"] = ReadOnlyView(from.gpu_memory_mib, owner);
  views["gpu_idle_milli"] = ReadOnlyView(from.gpu_idle_milli, owner).reshape({rows, cards});
  views["pod_gpu_milli"] = ReadOnlyView(from.pod_gpu_milli, owner);
  return views;
}

py::dict GroupsOf(PolicyFacts& facts) {
  const PolicyGroupColumns& from = *Open(facts).columns->groups;
  const py::capsule owner = OwnerOf(facts.columns->groups);
  py::dict views;
  views["queue"] = ReadOnlyView(from.queue, owner);
  views["priority"] = ReadOnlyView(from.priority, owner);
  views["waited_s"] = ReadOnlyView(from.waited_s, owner);
  views["pods"] = ReadOnlyView(from.pods, owner);
  views["running"] = ReadOnlyView(from.running, owner);
  views["gpus"] = ReadOnlyView(from.gpus, owner);
  views["cpu"] = ReadOnlyView(from.cpu, owner);
  views["evicted_s"] = ReadOnlyView(from.evicted_s, owner);
  views["started_s"] = ReadOnlyView(from.started_s, owner);
  views["attained_s"] = ReadOnlyView(from.attained_s, owner);
  views["attained_gpu_s"] = ReadOnlyView(from.attained_gpu_s, owner);
  views["evictions"] = ReadOnlyView(from.evictions, owner);
  views["estimate_s"] = ReadOnlyView(from.estimate_s, owner);
  views["preemptible"] = ReadOnlyView(from.preemptible, owner);
  return views;
}

py::dict AnswersOf(PolicyFacts& facts) {
  const PolicyColumns& to = *Open(facts).columns;
  const py::capsule owner = OwnerOf(facts.columns);
  py::dict views;
  views["score"] = WritableView(to.score, owner);
  views["gpu"] = WritableView(to.gpu, owner);
  views["allowed"] = WritableView(to.allowed, owner);
  views["key"] = WritableView(to.key, owner);
  return views;
}

py::list NodeNames(PolicyFacts& facts, size_t rows) {
  const Cluster& cluster = *Open(facts).cluster;
  py::list names;
  for (size_t row = 0; row < rows; ++row) {
    const NodeId node(facts.columns->nodes.node[row]);
    names.append(py::str(std::string(cluster.Text(cluster.nodes().name[node]))));
  }
  return names;
}

py::list GroupNames(PolicyFacts& facts, size_t rows) {
  const Cluster& cluster = *Open(facts).cluster;
  py::list names;
  for (size_t row = 0; row < rows; ++row)
    names.append(cluster.PodGroupName(PodGroupId(facts.columns->groups->group[row])));
  return names;
}

// Indexed by the numbers in the column `queue`.
py::list QueueNames(PolicyFacts& facts) {
  const Cluster& cluster = *Open(facts).cluster;
  py::list names;
  for (const NameId name : cluster.queues().name.raw())
    names.append(py::str(name.valid() ? std::string(cluster.Text(name)) : std::string()));
  return names;
}

// The typical pods: CPU, GPUs, thousandths of each, weight, and for each kind of node whether it
// accepts them.
py::list TypicalPods(PolicyFacts& facts) {
  const Cluster& cluster = *Open(facts).cluster;
  py::list rows;
  for (const packing::TypicalPod& each : TypicalPodsOf(cluster, packing::kTypicalPercent)) {
    std::vector<bool> is_open;
    for (const NodeClassId node_class : facts.columns->nodes.classes)
      is_open.push_back(each.kinds.empty() || each.kinds[node_class.index()] != 0);
    rows.append(py::make_tuple(each.pod.cpu_milli, each.pod.gpus, each.pod.gpu_milli, each.weight,
                               is_open));
  }
  return rows;
}

class PythonRun final : public PolicyRun {
 public:
  PythonRun(const py::object& runner, const Cluster& cluster,
            std::shared_ptr<PolicyColumns> columns)
      : facts_(py::cast(PolicyFacts{.cluster = &cluster, .columns = std::move(columns)})),
        run_(runner.attr("begin")(facts_)),
        score_(run_.attr("score")),
        filter_(run_.attr("filter")),
        order_(run_.attr("order")) {}
  PythonRun(const PythonRun&) = delete;
  PythonRun& operator=(const PythonRun&) = delete;
  ~PythonRun() override {
    const py::gil_scoped_acquire gil;
    facts_.cast<PolicyFacts&>() = {};
    for (py::object* each : {&order_, &filter_, &score_, &run_, &facts_}) *each = py::object();
  }

  absl::Status Score(size_t function, const PolicyPod& pod, size_t rows) override {
    return Call(score_, function, rows, pod.cpu_milli, pod.memory_bytes, pod.gpus, pod.gpu_milli);
  }
  absl::Status Filter(size_t function, const PolicyPod& pod, size_t rows) override {
    return Call(filter_, function, rows, pod.cpu_milli, pod.memory_bytes, pod.gpus, pod.gpu_milli);
  }
  absl::Status Order(size_t rows) override { return Call(order_, rows); }

 private:
  // The function returns None, or an error message.
  template <typename... Arguments>
  static absl::Status Call(const py::object& function, const Arguments&... arguments) {
    const py::gil_scoped_acquire gil;
    try {
      const py::object wrong = function(arguments...);
      return wrong.is_none() ? absl::OkStatus() : absl::AbortedError(wrong.cast<std::string>());
    } catch (const py::error_already_set& error) {
      return absl::AbortedError(error.what());
    }
  }

  py::object facts_;
  py::object run_;
  py::object score_;
  py::object filter_;
  py::object order_;
};

}  // namespace

PythonPolicies::PythonPolicies(py::object runner) : runner_(std::move(runner)) {
  const auto read = [](const py::object& functions) {
    std::vector<Function> all;
    for (const py::handle each : functions) {
      all.push_back({.name = each.attr("name").cast<std::string>(),
                     .whole = each.attr("whole").cast<bool>()});
    }
    return all;
  };
  scores_ = read(runner_.attr("scores"));
  filters_ = read(runner_.attr("filters"));
  orders_groups_ = !runner_.attr("order").is_none();
}

PythonPolicies::~PythonPolicies() {
  const py::gil_scoped_acquire gil;
  runner_ = py::object();
}

std::unique_ptr<PolicyRun> PythonPolicies::Begin(const Cluster& cluster,
                                                 std::shared_ptr<PolicyColumns> columns) const {
  const py::gil_scoped_acquire gil;
  return std::make_unique<PythonRun>(runner_, cluster, std::move(columns));
}

void RegisterPolicies(py::module_& module) {
  py::class_<PolicyFacts>(module, "PolicyFacts", py::is_final())
      .def("nodes", &NodesOf)
      .def("groups", &GroupsOf)
      .def("answers", &AnswersOf)
      .def("node_names", &NodeNames, py::arg("rows"))
      .def("group_names", &GroupNames, py::arg("rows"))
      .def("queue_names", &QueueNames)
      .def("typical_pods", &TypicalPods);
}

}  // namespace kai::bindings

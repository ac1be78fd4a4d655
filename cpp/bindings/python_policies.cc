#include "python_policies.h"

#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "kai/placement/node_shapes.h"
#include "register.h"

namespace kai::bindings {
namespace {

namespace py = pybind11;

// What a policy can read besides its tables; it becomes empty after the run.
struct PolicyFacts {
  const Cluster* cluster = nullptr;
  PolicyColumns* columns = nullptr;
};

PolicyFacts& Open(PolicyFacts& facts) {
  if (facts.cluster == nullptr)
    throw py::value_error(
        "this table belongs to a cycle that has ended: copy the values that you keep");
  return facts;
}

// A pointer that is not null, even for an empty column.
template <typename T>
T* DataOf(std::vector<T>* column) {
  static T none{};
  return column->empty() ? &none : column->data();
}

template <typename T>
py::memoryview TableView(std::vector<T>* column, bool readonly) {
  return py::memoryview::from_buffer(DataOf(column), {std::ssize(*column)},
                                     {static_cast<py::ssize_t>(sizeof(T))}, readonly);
}

template <typename T>
py::memoryview ReadOnly(std::vector<T>* column) {
  return TableView(column, /*readonly=*/true);
}

// GPUs of nodes as a two-dimensional view.
py::memoryview CardsOf(PolicyNodeColumns* nodes) {
  const auto size = static_cast<py::ssize_t>(sizeof(int64_t));
  const auto cards = static_cast<py::ssize_t>(nodes->most_gpus);
  return py::memoryview::from_buffer(DataOf(&nodes->gpu_idle_milli),
                                     {std::ssize(nodes->node), cards}, {size * cards, size},
                                     /*readonly=*/true);
}

py::dict NodesOf(PolicyFacts& facts) {
  PolicyNodeColumns& from = Open(facts).columns->nodes;
  py::dict views;
  views["kind"] = ReadOnly(&from.kind);
  views["cpu_milli"] = ReadOnly(&from.cpu_milli);
  views["cpu_idle_milli"] = ReadOnly(&from.cpu_idle_milli);
  views["memory_bytes"] = ReadOnly(&from.memory_bytes);
  views["memory_idle_bytes"] = ReadOnly(&from.memory_idle_bytes);
  views["gpus"] = ReadOnly(&from.gpus);
  views["gpu_memory_mib"] = ReadOnly(&from.gpu_memory_mib);
  if (from.most_gpus > 0) views["gpu_idle_milli"] = CardsOf(&from);
  views["pod_gpu_milli"] = ReadOnly(&from.pod_gpu_milli);
  return views;
}

py::dict GroupsOf(PolicyFacts& facts) {
  PolicyGroupColumns& from = Open(facts).columns->groups;
  py::dict views;
  views["queue"] = ReadOnly(&from.queue);
  views["priority"] = ReadOnly(&from.priority);
  views["waited_s"] = ReadOnly(&from.waited_s);
  views["pods"] = ReadOnly(&from.pods);
  views["running"] = ReadOnly(&from.running);
  views["gpus"] = ReadOnly(&from.gpus);
  views["cpu"] = ReadOnly(&from.cpu);
  views["evicted_s"] = ReadOnly(&from.evicted_s);
  views["started_s"] = ReadOnly(&from.started_s);
  views["attained_s"] = ReadOnly(&from.attained_s);
  views["attained_gpu_s"] = ReadOnly(&from.attained_gpu_s);
  views["evictions"] = ReadOnly(&from.evictions);
  views["estimate_s"] = ReadOnly(&from.estimate_s);
  views["preemptible"] = ReadOnly(&from.preemptible);
  return views;
}

py::dict AnswersOf(PolicyFacts& facts) {
  PolicyColumns& to = *Open(facts).columns;
  py::dict views;
  views["score"] = TableView(&to.score, /*readonly=*/false);
  views["gpu"] = TableView(&to.gpu, /*readonly=*/false);
  views["allowed"] = TableView(&to.allowed, /*readonly=*/false);
  views["key"] = TableView(&to.key, /*readonly=*/false);
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
    names.append(cluster.PodGroupName(PodGroupId(facts.columns->groups.group[row])));
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
  PythonRun(const py::object& runner, const Cluster& cluster, PolicyColumns* columns)
      : facts_(py::cast(PolicyFacts{.cluster = &cluster, .columns = columns})),
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
                                                 PolicyColumns* columns) const {
  const py::gil_scoped_acquire gil;
  return std::make_unique<PythonRun>(runner_, cluster, columns);
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

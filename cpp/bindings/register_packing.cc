// kai._core: fragments, the fragmentation of nodes; most_frequent, the typical ones of pods;
// fill_cluster, an experiment with placement policies on an empty cluster.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "column_bytes.h"
#include "kai/packing/fill.h"
#include "register.h"
#include "status.h"

namespace kai::bindings {
namespace {

namespace py = pybind11;

// Reads rows with this number of 64-bit integers each, in contiguous memory.
std::vector<int64_t> NumbersOf(const py::buffer& rows, py::ssize_t columns, const char* what) {
  const py::buffer_info info = rows.request();
  const bool fits = info.ndim == 2 && info.shape[1] == columns && info.itemsize == 8 &&
                    info.strides[1] == 8 && info.strides[0] == 8 * columns;
  if (!fits) throw py::value_error(std::string(what) + ": expected rows of 64-bit integers");
  std::vector<int64_t> numbers(static_cast<size_t>(info.shape[0] * columns));
  if (!numbers.empty()) std::memcpy(numbers.data(), info.ptr, numbers.size() * 8);
  return numbers;
}

packing::FillInput InputOf(const std::vector<int64_t>& nodes, const std::vector<int64_t>& pods,
                           std::vector<std::vector<uint8_t>> constraints) {
  packing::FillInput input;
  input.constraints = std::move(constraints);
  size_t kinds = 1;
  for (size_t i = 0; i < nodes.size(); i += 4) {
    const bool is_valid = nodes[i] >= 0 && nodes[i + 1] >= 0 && nodes[i + 2] >= 0 &&
                          nodes[i + 2] <= 1000 && nodes[i + 3] >= 0 && nodes[i + 3] <= 10'000;
    if (!is_valid) throw py::value_error("a node has an amount out of range");
    kinds = std::max(kinds, static_cast<size_t>(nodes[i + 3]) + 1);
    input.nodes.push_back({.cpu_milli = nodes[i],
                           .memory_mib = nodes[i + 1],
                           .gpus = static_cast<int32_t>(nodes[i + 2]),
                           .kind = static_cast<int32_t>(nodes[i + 3])});
  }
  for (const std::vector<uint8_t>& each : input.constraints) {
    if (!each.empty() && each.size() < kinds)
      throw py::value_error("a constraint must have an entry for each kind of node, or no entry");
  }
  for (size_t i = 0; i < pods.size(); i += 5) {
    const bool is_valid = pods[i] >= 0 && pods[i + 1] >= 0 && pods[i + 2] >= 0 &&
                          pods[i + 2] <= 1000 && pods[i + 3] >= 0 &&
                          pods[i + 3] <= packing::kWholeGpu && pods[i + 4] >= 0 &&
                          static_cast<size_t>(pods[i + 4]) < input.constraints.size();
    if (!is_valid) throw py::value_error("a pod has an amount out of range");
    input.pods.push_back({.shape = {.cpu_milli = pods[i],
                                    .gpus = static_cast<int32_t>(pods[i + 2]),
                                    .gpu_milli = static_cast<int32_t>(pods[i + 3])},
                          .memory_mib = pods[i + 1],
                          .constraint = static_cast<int32_t>(pods[i + 4])});
  }
  return input;
}

py::dict FillCluster(const py::buffer& nodes, const py::buffer& pods,
                     std::vector<std::vector<uint8_t>> constraints, const std::string& policy,
                     int64_t seed, bool exact, bool random_ties, double demand, int typical_percent,
                     double learn_every, bool migrate) {
  const std::optional<packing::Policy> known = packing::PolicyOf(policy);
  if (!known) throw py::value_error("there is no placement policy " + policy);
  const packing::FillInput input =
      InputOf(NumbersOf(nodes, 4, "nodes"), NumbersOf(pods, 5, "pods"), std::move(constraints));
  packing::FillResult result;
  {
    const py::gil_scoped_release release;
    result = packing::RunFill(input,
                              {.rating = {.policy = *known, .exact = exact},
                               .ties = random_ties ? packing::Ties::kRandom : packing::Ties::kName,
                               .seed = seed,
                               .demand = demand,
                               .typical_percent = typical_percent,
                               .learn_every = learn_every,
                               .migrate = migrate});
  }
  py::dict columns;
  columns["pod"] = BytesOf(result.pod);
  columns["node"] = BytesOf(result.node);
  columns["arrived_milli"] = BytesOf(result.arrived_milli);
  columns["used_milli"] = BytesOf(result.used_milli);
  columns["fragment_milli"] = BytesOf(result.fragment_milli);
  columns["node_order"] = BytesOf(result.node_order);
  return columns;
}

// Idle CPU, kind, and thousandths idle on each GPU; CPU, GPUs, thousandths of each, weight, and
// the kinds of nodes that are open to the pod.
using IdleNodeTuple = std::tuple<int64_t, int32_t, std::vector<int32_t>>;
using TypicalPodTuple = std::tuple<int64_t, int32_t, int32_t, int64_t, std::vector<uint8_t>>;

packing::PodMix MixOf(const std::vector<TypicalPodTuple>& rows) {
  packing::PodMix pods;
  for (const auto& [cpu_milli, gpus, gpu_milli, weight, kinds] : rows) {
    pods.push_back({.pod = {.cpu_milli = cpu_milli, .gpus = gpus, .gpu_milli = gpu_milli},
                    .weight = weight,
                    .kinds = kinds});
  }
  return pods;
}

std::vector<TypicalPodTuple> MostFrequent(const std::vector<TypicalPodTuple>& pods) {
  std::vector<TypicalPodTuple> found;
  for (packing::TypicalPod& each : packing::MostFrequent(MixOf(pods), packing::kTypicalPercent)) {
    const packing::PodShape& pod = each.pod;
    found.emplace_back(pod.cpu_milli, pod.gpus, pod.gpu_milli, each.weight, std::move(each.kinds));
  }
  return found;
}

std::vector<double> Fragments(const std::vector<IdleNodeTuple>& nodes,
                              const std::vector<TypicalPodTuple>& mix) {
  const packing::Fragmentation fragmentation(MixOf(mix));
  std::vector<double> fragments;
  for (const auto& [cpu_milli, kind, gpu_milli] : nodes) {
    packing::NodeShape shape{.cpu_milli = cpu_milli, .kind = kind};
    shape.gpu_milli.assign(gpu_milli.begin(), gpu_milli.end());
    fragments.push_back(fragmentation.weight() == 0
                            ? 0.0
                            : static_cast<double>(fragmentation.Of(shape)) /
                                  static_cast<double>(fragmentation.weight()));
  }
  return fragments;
}

}  // namespace

void RegisterPacking(py::module_& module) {
  module.def("most_frequent", &MostFrequent, py::arg("pods"));
  module.def("fragments", &Fragments, py::kw_only(), py::arg("nodes"), py::arg("mix"));
  module.def("fill_cluster", &FillCluster, py::kw_only(), py::arg("nodes"), py::arg("pods"),
             py::arg("constraints"), py::arg("policy"), py::arg("seed"), py::arg("exact"),
             py::arg("random_ties"), py::arg("demand"), py::arg("typical_percent"),
             py::arg("learn_every"), py::arg("migrate"));
}

}  // namespace kai::bindings

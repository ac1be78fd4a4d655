#include "situation.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "kai/model/building/numbering.h"

namespace kai::bindings {
namespace {

namespace py = pybind11;

py::object TextOrNone(NameId name, const Cluster& cluster) {
  if (!name.valid()) return py::none();
  const std::string_view text = cluster.Text(name);
  return py::str(text.data(), text.size());
}

const char* StateOf(PodStatus status) {
  if (status == PodStatus::kPending || status == PodStatus::kGated) return "waits";
  if (status == PodStatus::kReleasing || status == PodStatus::kStuckInReleasing) return "leaves";
  return IsActiveUsed(status) ? "holds" : "ended";
}

py::list NodesOf(const Cluster& cluster) {
  py::list rows;
  for (const NodeId node : InOrderOfNames(cluster.names(), cluster.nodes())) {
    rows.append(py::make_tuple(TextOrNone(cluster.nodes().name[node], cluster),
                               cluster.nodes().allocatable[node][kGpuSlot.index()]));
  }
  return rows;
}

py::list PodsOf(const Cluster& cluster) {
  const PodColumns& pods = cluster.pods();
  py::list rows;
  for (const PodId pod : InOrderOfNames(cluster.names(), pods)) {
    const GpuRequest& gpu = cluster.ClassOf(pod).gpu;
    const bool shares = gpu.IsShared();
    py::object group = py::none();
    if (pods.group[pod].valid()) group = py::str(cluster.PodGroupName(pods.group[pod]));
    py::object node = py::none();
    if (pods.node[pod].valid()) node = TextOrNone(cluster.nodes().name[pods.node[pod]], cluster);
    rows.append(py::make_tuple(cluster.PodName(pod), group, node, StateOf(pods.status[pod]),
                               shares ? 0.0 : cluster.RequestOf(pod)[kGpuSlot.index()],
                               shares ? gpu.count : 0,
                               gpu.kind == GpuRequestKind::kFraction ? gpu.portion : 0.0,
                               gpu.kind == GpuRequestKind::kMemory ? gpu.memory_mib : 0));
  }
  return rows;
}

// Pods that have to start together: of a set the least that enough of its children need.
int64_t LeastPodsOf(SubGroupId set, const SubGroupColumns& sets) {
  const auto minimum = static_cast<size_t>(std::max(sets.minimum[set], 0));
  if (sets.is_pod_set[set] != 0) return static_cast<int64_t>(minimum);
  std::vector<int64_t> children;
  for (const SubGroupId child : sets.ChildrenOf(set)) children.push_back(LeastPodsOf(child, sets));
  std::sort(children.begin(), children.end());
  children.resize(std::min(children.size(), minimum));
  return std::accumulate(children.begin(), children.end(), int64_t{0});
}

py::list PodGroupsOf(const Cluster& cluster) {
  const PodGroupColumns& groups = cluster.pod_groups();
  py::list rows;
  for (const PodGroupId group : InOrderOfNames(cluster.names(), groups)) {
    rows.append(py::make_tuple(cluster.PodGroupName(group),
                               TextOrNone(groups.queue_name[group], cluster),
                               LeastPodsOf(groups.root[group], cluster.sub_groups()),
                               TextOrNone(groups.owner_name[group], cluster)));
  }
  return rows;
}

py::list QueuesOf(const Cluster& cluster) {
  const QueueColumns& queues = cluster.queues();
  py::list rows;
  for (const QueueId queue : InOrderOfNames(cluster.names(), queues)) {
    py::object parent = py::none();
    if (queues.parent[queue].valid())
      parent = TextOrNone(queues.name[queues.parent[queue]], cluster);
    rows.append(py::make_tuple(TextOrNone(queues.name[queue], cluster), parent));
  }
  return rows;
}

}  // namespace

py::dict SituationOf(const Cluster& cluster) {
  py::dict lists;
  lists["nodes"] = NodesOf(cluster);
  lists["pods"] = PodsOf(cluster);
  lists["pod_groups"] = PodGroupsOf(cluster);
  lists["queues"] = QueuesOf(cluster);
  return lists;
}

}  // namespace kai::bindings

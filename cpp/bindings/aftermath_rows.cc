#include "aftermath_rows.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "kai/session/group_story.h"
#include "plan_members.h"

namespace kai::bindings {
namespace {

namespace py = pybind11;

py::object TimeOrNone(int64_t ns) {
  if (ns == std::numeric_limits<int64_t>::min()) return py::none();
  return py::int_(ns);
}

const char* NameOf(ElasticState state) {
  switch (state) {
    case ElasticState::kBelow:
      return "below";
    case ElasticState::kAt:
      return "at";
    case ElasticState::kAbove:
      return "above";
  }
  return "below";
}

py::object NodeOrNone(const Cluster& cluster, NodeId node) {
  if (!node.valid()) return py::none();
  return ToPython(cluster.Text(cluster.nodes().name[node]));
}

// What a pod of a pod group does when the cycle begins.
const char* StageOf(PodStatus status) {
  if (status == PodStatus::kPending || status == PodStatus::kGated) return "waiting";
  if (status == PodStatus::kReleasing || status == PodStatus::kStuckInReleasing)
    return "terminating";
  return IsActiveAllocated(status) ? "running" : "ended";
}

// Why a node takes no new pods; "" if it does.
const char* StateOf(const NodeClass& node) {
  if ((node.state & kNotReady) != 0) return "not ready";
  if ((node.state & kCordoned) != 0) return "cordoned";
  return node.state == 0 ? "" : "under pressure";
}

}  // namespace

py::list OrderRows(const Plan& plan, const Aftermath& after) {
  const Cluster& cluster = *plan.cluster;
  const PodGroupColumns& groups = cluster.pod_groups();
  py::list rows;
  for (const Aftermath::Turn& turn : after.order) {
    py::list queues;
    for (const auto& [queue, standing] : turn.queues) {
      queues.append(py::make_tuple(ToPython(cluster.Text(cluster.queues().name[queue])),
                                   standing.over_utilised, standing.starved, standing.priority,
                                   standing.takes_of_nothing, standing.next_share, standing.share,
                                   TimeOrNone(standing.created_ns)));
    }
    rows.append(py::make_tuple(
        cluster.PodGroupName(turn.group), groups.priority[turn.group], NameOf(turn.elastic_state),
        TimeOrNone(groups.created_ns[turn.group]), turn.request[kQuotaGpu],
        turn.request[kQuotaCpu] / kMillicpuPerCore, turn.request[kQuotaMemory], queues));
  }
  return rows;
}

py::list NodeRows(const Plan& plan, const Aftermath& after) {
  const Cluster& cluster = *plan.cluster;
  const NodeColumns& nodes = cluster.nodes();
  py::list rows;
  for (const Aftermath::NodeRoom& room : after.nodes) {
    const std::span<const double> all = nodes.allocatable[room.node];
    rows.append(py::make_tuple(
        ToPython(cluster.Text(nodes.name[room.node])), all[kGpuSlot.index()], room.free_gpus,
        room.leaving_gpus, room.parts, all[kCpuSlot.index()] / kMillicpuPerCore,
        room.free_millicpu / kMillicpuPerCore, all[kMemorySlot.index()], room.free_bytes,
        StateOf(cluster.node_classes()[nodes.node_class[room.node]])));
  }
  return rows;
}

py::list PodRows(const Plan& plan, std::string_view name) {
  const Cluster& cluster = *plan.cluster;
  py::list rows;
  for (const PodId pod : PodsCalled(cluster, name)) {
    const char* stage =
        cluster.pods().group[pod].valid() ? StageOf(cluster.pods().status[pod]) : "";
    rows.append(
        py::make_tuple(cluster.PodName(pod), stage, NodeOrNone(cluster, cluster.pods().node[pod])));
  }
  return rows;
}

py::tuple ScoreRows(const Plan& plan, const ScoreWatch& scores) {
  const Cluster& cluster = *plan.cluster;
  const auto sheet_of = [&](const ScoreSheet& sheet) {
    py::list rows;
    for (const ScoreSheet::Row& row : sheet.rows)
      rows.append(py::make_tuple(NodeOrNone(cluster, row.node), row.now, row.sum, row.scores));
    return py::make_tuple(sheet.searched, rows);
  };
  const ScoreSheet* placed = scores.placed();
  return py::make_tuple(scores.start().plugins, sheet_of(scores.start()),
                        placed == nullptr ? py::object(py::none()) : sheet_of(*placed),
                        NodeOrNone(cluster, scores.node()));
}

py::tuple MeasuredRows(const Cluster& cluster, const MeasuredShapes& measured) {
  py::list names;
  py::list nodes;
  for (size_t i = 0; i < measured.node.size(); ++i) {
    const packing::NodeShape& shape = measured.shape[i];
    names.append(ToPython(cluster.Text(cluster.nodes().name[measured.node[i]])));
    nodes.append(
        py::make_tuple(shape.cpu_milli, shape.kind,
                       std::vector<int32_t>(shape.gpu_milli.begin(), shape.gpu_milli.end())));
  }
  py::list mix;
  for (const packing::TypicalPod& each : measured.mix) {
    mix.append(py::make_tuple(each.pod.cpu_milli, each.pod.gpus, each.pod.gpu_milli, each.weight,
                              each.kinds));
  }
  return py::make_tuple(names, nodes, mix);
}

}  // namespace kai::bindings

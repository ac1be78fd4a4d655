#include "kai/placement/node_shapes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "kai/model/building/numbering.h"
#include "kai/placement/node_index.h"

namespace kai {
namespace {

int32_t ThousandthsOf(double part) {
  return static_cast<int32_t>(
      std::clamp(std::round(part * packing::kWholeGpu), 0.0, double{packing::kWholeGpu}));
}

// The request of a pod of the class on any node; GPU memory counts as in its queue.
packing::PodShape ShapeAnywhere(const Cluster& cluster, PodClassId pod_class) {
  const PodClass& info = cluster.pod_classes().info[pod_class];
  const std::span<const double> request = cluster.pod_classes().request[pod_class];
  packing::PodShape shape{.cpu_milli = static_cast<int64_t>(std::ceil(request[kCpuSlot.index()]))};
  if (!info.gpu.IsShared()) {
    shape.gpus = static_cast<int32_t>(std::clamp(request[kGpuSlot.index()], 0.0, 1e6));
    shape.gpu_milli = shape.gpus > 0 ? packing::kWholeGpu : 0;
    return shape;
  }
  shape.gpus = static_cast<int32_t>(std::clamp<int64_t>(info.gpu.count, 0, 1'000'000));
  const double portion = info.gpu.kind == GpuRequestKind::kMemory
                             ? info.requested[kQuotaGpu] / std::max(1, shape.gpus)
                             : info.gpu.portion;
  shape.gpu_milli = std::max(1, ThousandthsOf(portion));
  return shape;
}

// By class of nodes: whether the pods' selectors and required affinity match; empty: all.
std::vector<uint8_t> KindsOf(const Cluster& cluster, ConstraintId id) {
  if (cluster.IsCheckedPerNode(id)) return {};
  std::vector<uint8_t> kinds;
  for (const NodeClassId node_class : cluster.node_classes().ids()) {
    const LabelSet& labels = cluster.node_classes()[node_class].labels;
    kinds.push_back(MatchesNode(cluster.constraints()[id], labels, NameId(), cluster.names()));
  }
  return std::ranges::all_of(kinds, [](uint8_t is_open) { return is_open != 0; })
             ? std::vector<uint8_t>()
             : kinds;
}

// Whether only ids could order these two entries of a mix.
bool AreLevel(const packing::TypicalPod& a, const packing::TypicalPod& b) {
  return a.weight == b.weight && a.pod == b.pod &&
         std::ranges::count(a.kinds, 1) == std::ranges::count(b.kinds, 1);
}

}  // namespace

NodeShapes::NodeShapes(const Cluster& cluster, Clusters clusters) : cluster_(cluster) {
  clusters_.Resize(cluster.nodes().size());
  if (clusters == Clusters::kUnknown) return;
  const PodColumns& pods = cluster.pods();
  for (const PodId pod : pods.name.ids()) {
    if (pods.name[pod].valid() && IsActiveUsed(pods.status[pod]))
      Moved(pod, NodeId(), pods.node[pod]);
  }
}

uint64_t NodeShapes::ClusterBitOf(PodId pod) const {
  return ShapeAnywhere(cluster_, cluster_.pods().pod_class[pod]).ClusterBit();
}

void NodeShapes::Count(NodeId node, uint64_t bit, int32_t sign) {
  int32_t& count = counts_[node][static_cast<size_t>(std::countr_zero(bit))];
  count += sign;
  if (count > 0) {
    clusters_[node] |= bit;
  } else {
    clusters_[node] &= ~bit;
  }
}

void NodeShapes::Moved(PodId pod, NodeId from, NodeId to) {
  const uint64_t bit = from == to ? 0 : ClusterBitOf(pod);
  if (bit == 0) return;
  if (from.valid()) Count(from, bit, -1);
  if (to.valid()) Count(to, bit, 1);
}

packing::NodeShape NodeShapes::Of(NodeId node) const {
  const NodeColumns& nodes = cluster_.nodes();
  packing::NodeShape shape{
      .cpu_milli = static_cast<int64_t>(std::floor(RoomOf(cluster_, node, kCpuSlot))),
      .kind = static_cast<int32_t>(nodes.node_class[node].index()),
      .clusters = clusters_[node]};
  const int64_t capacity = std::max<int64_t>(cluster_.GpuCapacityMib(node), 1);
  for (const SharedGpu& gpu : nodes.shared_gpus[node]) {
    const int64_t left = capacity - gpu.allocated + gpu.releasing;
    if (gpu.IsOpen())
      shape.gpu_milli.push_back(
          ThousandthsOf(static_cast<double>(left) / static_cast<double>(capacity)));
  }
  const double idle = std::floor(std::max(0.0, RoomOf(cluster_, node, kGpuSlot)));
  shape.gpu_milli.resize(shape.gpu_milli.size() + static_cast<size_t>(idle), packing::kWholeGpu);
  const auto all = static_cast<size_t>(std::max(0.0, nodes.gpu_count[node]));
  if (shape.gpu_milli.size() < all) shape.gpu_milli.resize(all, 0);
  return shape;
}

packing::PodShape NodeShapes::Of(PodClassId pod_class, NodeId node) const {
  packing::PodShape shape = ShapeAnywhere(cluster_, pod_class);
  if (shape.shares()) {
    const auto mib = static_cast<double>(cluster_.MibPerGpu(pod_class, node));
    const auto capacity = static_cast<double>(std::max<int64_t>(cluster_.GpuCapacityMib(node), 1));
    shape.gpu_milli = std::max(1, ThousandthsOf(mib / capacity));
  }
  return shape;
}

packing::PodShape NodeShapes::Anywhere(PodClassId pod_class) const {
  return ShapeAnywhere(cluster_, pod_class);
}

int32_t NodeShapes::PlaceOf(NodeId node, int32_t gpu) const {
  const std::vector<SharedGpu>& listed = cluster_.nodes().shared_gpus[node];
  for (size_t place = 0; place < listed.size(); ++place) {
    if (listed[place].IsOpen() && gpu-- == 0) return static_cast<int32_t>(place);
  }
  return static_cast<int32_t>(listed.size());
}

packing::Rater::Largest NodeShapes::largest() const {
  packing::Rater::Largest largest{.cpu_milli = 1, .gpu_milli = packing::kWholeGpu};
  for (const NodeId node : cluster_.nodes().name.ids()) {
    largest.cpu_milli =
        std::max(largest.cpu_milli, cluster_.nodes().allocatable[node][kCpuSlot.index()]);
    largest.gpu_milli =
        std::max(largest.gpu_milli, cluster_.nodes().gpu_count[node] * packing::kWholeGpu);
  }
  return largest;
}

packing::PodMix TypicalPodsOf(const Cluster& cluster, int percent) {
  IndexVector<PodClassId, int64_t> counts(cluster.pod_classes().size(), 0);
  const PodColumns& pods = cluster.pods();
  for (const PodId pod : pods.name.ids()) {
    if (pods.name[pod].valid() && pods.group[pod].valid()) ++counts[pods.pod_class[pod]];
  }
  // Larger requests come first, then pods with fewer possible kinds of nodes.
  using Key = std::tuple<int64_t, int32_t, int32_t, int64_t, std::vector<uint8_t>>;
  std::map<Key, int64_t> merged;
  std::map<ConstraintId, std::vector<uint8_t>> kinds;
  for (const PodClassId pod_class : counts.ids()) {
    if (counts[pod_class] == 0) continue;
    const packing::PodShape shape = ShapeAnywhere(cluster, pod_class);
    std::vector<uint8_t> open;
    if (shape.gpus > 0) {
      const ConstraintId constraint = cluster.pod_classes().info[pod_class].constraint;
      const auto [found, is_new] = kinds.try_emplace(constraint);
      if (is_new) found->second = KindsOf(cluster, constraint);
      open = found->second;
    }
    const int64_t closed = std::ranges::count(open, 0);
    merged[{-shape.cpu_milli, -shape.gpu_milli, -shape.gpus, -closed, std::move(open)}] +=
        counts[pod_class];
  }
  packing::PodMix all;
  for (const auto& [key, count] : merged) {
    const auto& [cpu_milli, gpu_milli, gpus, closed, open] = key;
    all.push_back({.pod = {.cpu_milli = -cpu_milli, .gpus = -gpus, .gpu_milli = -gpu_milli},
                   .weight = count,
                   .kinds = open});
  }
  std::ranges::stable_sort(all, [](const packing::TypicalPod& a, const packing::TypicalPod& b) {
    return a.weight > b.weight;
  });
  packing::PodMix mix = packing::MostFrequent(all, percent);
  while (!mix.empty() && mix.size() < all.size() && AreLevel(mix.back(), all[mix.size()]))
    mix.push_back(all[mix.size()]);
  return mix;
}

MeasuredShapes MeasuredShapesOf(const Cluster& cluster) {
  MeasuredShapes measured{
      .node = {}, .shape = {}, .mix = TypicalPodsOf(cluster, packing::kTypicalPercent)};
  const NodeShapes shapes(cluster, NodeShapes::Clusters::kUnknown);
  for (const NodeId node : InOrderOfNames(cluster.names(), cluster.nodes())) {
    if (cluster.node_classes()[cluster.nodes().node_class[node]].state != 0) continue;
    measured.node.push_back(node);
    measured.shape.push_back(shapes.Of(node));
  }
  return measured;
}

}  // namespace kai

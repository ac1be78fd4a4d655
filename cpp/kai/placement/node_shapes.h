// Shapes of a cluster's nodes and pods, for placement policies (kai/packing), and its typical mix
// of pods.
//
//   rater_.Rate(shapes_.Of(node), shapes_.Of(pod_class, node))
//
// The GPUs of a node come in this order: shared ones in the node's order, then idle ones, then GPUs
// that pods hold whole. GPUs that are being freed count as idle, as in packing (spec 3 W3). Nodes
// of one class have one kind. An entry of a mix lists the classes of nodes that the pod's selectors
// and required node affinity match; it ignores volumes, and labels with a different value on nearly
// every node.
//
// Invariants: a shape is for the current state of the cluster, except for the clusters of pods on a
// node, which are those after the last Moved(). Cost: Of() is O(GPUs of the node), a mix O(pods +
// constraints * classes of nodes). Threads: one writer.
#ifndef KAI_PLACEMENT_NODE_SHAPES_H_
#define KAI_PLACEMENT_NODE_SHAPES_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/model/changes/listener.h"
#include "kai/model/columns/cluster.h"
#include "kai/packing/fragmentation.h"
#include "kai/packing/policies.h"
#include "kai/packing/shapes.h"

namespace kai {

class NodeShapes {
 public:
  // kUnknown: the clusters of pods on nodes are not counted, and Moved() is not needed. This saves
  // the time to count them.
  enum class Clusters : uint8_t { kUnknown, kKnown };

  explicit NodeShapes(const Cluster& cluster, Clusters clusters = Clusters::kKnown);

  packing::NodeShape Of(NodeId node) const;
  packing::PodShape Of(PodClassId pod_class, NodeId node) const;
  // The shape on any node; GPU memory counts as in its queue.
  packing::PodShape Anywhere(PodClassId pod_class) const;
  // The position of a GPU of the node's shape in the node's list of shared GPUs, or behind its end.
  int32_t PlaceOf(NodeId node, int32_t gpu) const;
  // The largest amounts that any node offers.
  packing::Rater::Largest largest() const;

  // The pod left one node and was added to another one; either may be invalid.
  void Moved(PodId pod, NodeId from, NodeId to);

 private:
  // The number of pods of each cluster (PodShape::ClusterBit()) on a node.
  using ClusterCounts = std::array<int32_t, 64>;

  uint64_t ClusterBitOf(PodId pod) const;
  void Count(NodeId node, uint64_t bit, int32_t sign);

  const Cluster& cluster_;
  IndexVector<NodeId, uint64_t> clusters_;
  absl::flat_hash_map<NodeId, ClusterCounts> counts_;
};

// The most frequent kinds of pods in pod groups, waiting or placed, that make up at least `percent`
// of them.
packing::PodMix TypicalPodsOf(const Cluster& cluster, int percent);

// What the fragmentation of a cluster is measured on: the shapes of the nodes that take pods, in
// the order of names, and the typical pods.
struct MeasuredShapes {
  std::vector<NodeId> node;
  std::vector<packing::NodeShape> shape;  // of each
  packing::PodMix mix;
};
MeasuredShapes MeasuredShapesOf(const Cluster& cluster);

}  // namespace kai

#endif  // KAI_PLACEMENT_NODE_SHAPES_H_

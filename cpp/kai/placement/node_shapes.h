// Shapes of a cluster's nodes and pods, for policies of placement (kai/packing), and the mix of
// pods that is typical of it.
//
//   rater_.Rate(shapes_.Of(node), shapes_.Of(pod_class, node))
//
// A node's GPUs are those that pods share, in the node's order, then idle ones, then those that
// pods hold whole. What is being freed counts as idle, as for packing (spec 3 W3). Nodes of one
// class are of one kind. A mix is open to the classes of nodes that a pod's selectors and required
// node affinity match; of volumes and of labels that nearly every node has its own value of nothing
// is known.
//
// Invariants: a shape is that of the cluster as it stands, but for what runs where, which is as of
// the last Moved(). Cost: Of() is O(GPUs of the node), a mix O(pods + constraints * classes of
// nodes). Threads: one writer.
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
  // kUnknown: of what runs where nothing is known, and Moved() is not needed. Then it is made in
  // no time.
  enum class Clusters : uint8_t { kUnknown, kKnown };

  explicit NodeShapes(const Cluster& cluster, Clusters clusters = Clusters::kKnown);

  packing::NodeShape Of(NodeId node) const;
  packing::PodShape Of(PodClassId pod_class, NodeId node) const;
  // Wherever it goes; of GPU memory as its queue counts it.
  packing::PodShape Anywhere(PodClassId pod_class) const;
  // Of a GPU of the node's shape: its place among the node's shared ones, or behind them.
  int32_t PlaceOf(NodeId node, int32_t gpu) const;
  // By the largest amounts that any node offers.
  packing::Rater::Largest largest() const;

  // The pod stands on one node less, and on one more; either may be invalid.
  void Moved(PodId pod, NodeId from, NodeId to);

 private:
  // How many pods of each cluster (PodShape::ClusterBit()) stand on a node.
  using ClusterCounts = std::array<int32_t, 64>;

  uint64_t ClusterBitOf(PodId pod) const;
  void Count(NodeId node, uint64_t bit, int32_t sign);

  const Cluster& cluster_;
  IndexVector<NodeId, uint64_t> clusters_;
  absl::flat_hash_map<NodeId, ClusterCounts> counts_;
};

// The most frequent of all pods that belong to pod groups, waiting and placed, which are at least
// `percent` of them.
packing::PodMix TypicalPodsOf(const Cluster& cluster, int percent);

// What the fragmentation of a cluster is measured on: the shapes of the nodes that take pods, in
// the order of names, and the typical pods.
struct MeasuredShapes {
  std::vector<NodeId> node;
  std::vector<packing::NodeShape> shape;  // of each
  packing::PodMix mix;
};
MeasuredShapes MeasuredShapesOf(const Cluster& cluster, int percent);

}  // namespace kai

#endif  // KAI_PLACEMENT_NODE_SHAPES_H_

// Waste: what of a node's GPUs will stay idle, however many typical pods come, and what it costs
// others that a pod takes its place. The policy `least-waste` puts a pod where the sum grows least.
//
//   Waste waste(mix, {});
//   waste.Of(node)                    // thousandths of a GPU that stay idle
//
// FGD asks which typical pods could use what is idle now. Waste asks what is left once such pods
// have come: a node is offered 64 rows of 100 pods each, drawn from the mix once and for all,
// and takes each that fits, on the fullest GPU that holds it; Of() is the mean of what is idle at
// the end. Pods without GPUs are left out: other nodes have CPU to spare. Pods with n GPUs are
// drawn n times as often, as each is offered to every node and can use few. All nodes of a kind are
// offered the same pods, so that two of them can be compared.
//
// Two prices are added. A GPU to which other pods are restricted costs 0.4 of it, times the GPUs
// that these pods would request of this kind of nodes if all pods requested all GPUs, as a fraction
// of the GPUs of this kind; pods restricted to several kinds request a share of each, by size. The
// first GPU of a node with several costs 2.5 for each of its GPUs.
//
// Example: every pod of the mix requests half a GPU. A node with 1,000 and 300 idle ends with 0 and
// 300: Of() is 300. A pod with 0.3 GPU on the second one makes it 0: the waste falls by 300; on the
// first it leaves 200 and 300: the waste rises by 200. On an idle node with 8 GPUs 20 is added.
//
// Invariants: the same mix gives the same waste, whatever its order; there is no source of chance
// but a fixed hash. Cost: about 40 us for a shape of a node that was not asked about before, then a
// look-up. Not thread-safe: reading remembers.
#ifndef KAI_PACKING_WASTE_H_
#define KAI_PACKING_WASTE_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/packing/fragmentation.h"
#include "kai/packing/shapes.h"

namespace kai::packing {

class Waste {
 public:
  // `supply_milli`: of GPUs, by kind of nodes.
  Waste(const PodMix& mix, std::span<const int64_t> supply_milli);

  double Of(const NodeShape& node);

  // How much more is wasted, and taken from others, once the pod has its place.
  struct Rise {
    double milli = 0;
    int32_t gpu = -1;  // that a pod gets which shares one; -1: any would be as good
  };
  Rise RiseOf(const NodeShape& node, const PodShape& pod);

  double ScarcityOf(int32_t kind) const { return At(scarcity_, kind); }
  using Row = std::vector<PodShape>;
  // What nodes of the kind are offered.
  const std::vector<Row>& OffersTo(int32_t kind) const { return At(offers_, kind); }

 private:
  // By kind, the last one for kinds that the mix does not mention.
  template <typename T>
  static const T& At(const std::vector<T>& by_kind, int32_t kind) {
    return by_kind[std::min(static_cast<size_t>(kind), by_kind.size() - 1)];
  }

  void DrawOffers(const PodMix& mix, size_t kinds);
  void FindScarcity(const PodMix& mix, std::span<const int64_t> supply_milli);
  static int64_t IdleAfter(const Row& row, NodeShape node);

  std::vector<std::vector<Row>> offers_;
  std::vector<double> scarcity_;
  absl::flat_hash_map<NodeShape, double> known_;
};

}  // namespace kai::packing

#endif  // KAI_PACKING_WASTE_H_

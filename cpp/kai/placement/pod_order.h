// The order of sub-groups and pods inside a pod group, and which of its pods one attempt works on
// (spec 2 G11-G15).
//
//   PodOrder order(cluster, {.comparators = {PodComparator::kKubeflow, PodComparator::kRay}});
//   for (PodId pod : order.PodsToPlace(group)) ...
//   order.NextRequest(group);         // what they ask for together
//
// What is cached holds until a pod of the group changes: it is a listener of the statement.
//
// Example: of a gang of 2 with five waiting pods and room for three, the first attempt works on two
// pods, the next ones on one each.
#ifndef KAI_PLACEMENT_POD_ORDER_H_
#define KAI_PLACEMENT_POD_ORDER_H_

#include <span>
#include <vector>

#include "kai/model/cluster.h"
#include "kai/model/listener.h"

namespace kai {

enum class PodComparator : uint8_t { kKubeflow, kRay, kTaskPriority };

// The elastic state of a pod group (spec 1 F73): some pod set below its minimum, all exactly at it,
// or some above.
enum class ElasticState : uint8_t { kBelow, kAt, kAbove };

class PodOrder final : public Listener {
 public:
  struct Options {
    std::vector<PodComparator> comparators;  // in plugin order; then creation time, then UID
    bool by_satisfaction = true;  // plugin subgrouporder: sub-groups below their minimum first
  };

  PodOrder(const Cluster& cluster, const Options& options);

  // Pods of a pod set, first to place first.
  std::span<const PodId> PodsOf(SubGroupId pod_set) const;

  // Direct children of a set, first to place first.
  std::vector<SubGroupId> ChildrenOf(SubGroupId set) const;

  // spec 2 G13; grouped by pod set, in placing order.
  std::vector<PodId> PodsToPlace(PodGroupId group) const;

  // Their requests summed (spec 1 F27).
  const QuotaVector& NextRequest(PodGroupId group);

  // Cached likewise: every comparison of pod groups asks.
  ElasticState ElasticStateOf(PodGroupId group);
  bool IsReady(PodGroupId group) const {
    return SetIsReady(cluster_.pod_groups().root[group]);
  }  // spec 2 G7
  bool HasStarted(PodGroupId group) const;  // some pod is allocated (spec 2 S4)
  int32_t CountOf(PodGroupId group, PodStatus status) const;
  int32_t ActiveAllocated(PodGroupId group) const;

  void Applied(const Change& change, UndoStack* undo) override;
  void Undone(const Change& change, UndoStack* undo) override;

 private:
  bool SetIsReady(SubGroupId set) const;
  bool AllocationSatisfied(SubGroupId set) const;  // spec 2 G9
  int32_t SatisfiedChildren(SubGroupId set) const;
  bool MayBePlaced(PodId pod) const;  // spec 2 S6
  void Collect(SubGroupId set, std::vector<PodId>* pods) const;
  void CollectPodSet(SubGroupId pod_set, std::vector<PodId>* pods) const;
  std::span<const SubGroupId> PodSetsOf(PodGroupId group) const;
  ElasticState FindElasticState(PodGroupId group) const;

  enum Known : uint8_t { kNothing = 0, kRequest = 1, kState = 2 };

  const Cluster& cluster_;
  Options options_;
  std::vector<PodId> ordered_;  // the cluster's pod_list, every pod set in placing order
  IndexVector<PodGroupId, uint8_t> known_;  // which of the following hold: Known bits
  IndexVector<PodGroupId, QuotaVector> next_request_;
  IndexVector<PodGroupId, ElasticState> elastic_state_;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_POD_ORDER_H_

// GroupPart: limits a pod group to a part during a search for victims (spec 2 V2): its active pods
// and some of its waiting ones. The minima of the part are at most its number of pods.
//
//   part_.Narrow(Group("ns/g"), std::vector{Pod("ns/g-1")});   // one pod of a gang of three
//   part_.HoldsBack(Pod("ns/g-0"))
//   part_.Widen();     // the group has no waiting pods now, and its own minima
//   part_.Forget();    // all waiting pods are back
//
// Invariants: only one group at a time has a part; for all others, and for this one after Forget(),
// the answers are those of the placing order. Cost: Narrow() and Widen() read the pods of the part;
// the first Narrow() for a group also reads its pods, and the very first one allocates memory for
// every pod. Threads: many readers while no part changes.
#ifndef KAI_PLACEMENT_GROUP_PART_H_
#define KAI_PLACEMENT_GROUP_PART_H_

#include <span>
#include <utility>
#include <vector>

#include "kai/model/columns/cluster.h"
#include "kai/placement/placing_order.h"

namespace kai {

class GroupPart {
 public:
  // `placing` must live longer than this object.
  explicit GroupPart(const PlacingOrder& placing)
      : cluster_(placing.cluster()), placing_(placing), minima_(&placing.minima()) {}
  GroupPart(const GroupPart&) = delete;
  GroupPart& operator=(const GroupPart&) = delete;

  int32_t MinimumOf(SubGroupId id) const { return (*minima_)[id]; }
  // True: the pod waits, but is not in the part of its group.
  bool HoldsBack(PodId pod) const { return group_.valid() && held_back_[pod] != 0; }
  // Invalid: no group has a part.
  PodGroupId group() const { return group_; }

  void Narrow(PodGroupId group, std::span<const PodId> pods);
  void Widen();
  void Forget();
  // Removes all data of parts, because the cluster has changed.
  void Reset();

 private:
  bool LowerMinima(SubGroupId set);
  template <typename Visit>
  void ForEachPod(const Visit& visit) const;

  const Cluster& cluster_;
  const PlacingOrder& placing_;
  PodGroupId group_;
  std::vector<PodId> pods_;
  // Empty until some group is narrowed.
  IndexVector<PodId, uint8_t> held_back_;
  IndexVector<SubGroupId, int32_t> pod_count_;   // pods of the part, by pod set
  IndexVector<SubGroupId, int32_t> own_minima_;  // those of the placing order, changed for the part
  const IndexVector<SubGroupId, int32_t>* minima_;
  std::vector<SubGroupId> lowered_;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_GROUP_PART_H_

// PodOrder: the order of sub-groups and pods inside a pod group, and the pods that one attempt
// places (spec 2 G11-G15).
//
//   const PlacingOrder placing(*cluster, {.comparators = {}, .count_completed = false});
//   const PodOrder as_kai(placing, {});
//   as_kai.IsReady(PodGroupNamed(*cluster, "ns/g"))
//
//   for (const PodId pod : rig.order.PodsToPlace(group)) rig.statement->Place(pod, NodeId(0));
//
// Example: a gang of 2 has five waiting pods, and there is room for three. The first attempt places
// two pods, the next attempts try one pod each.
//
// It can be kept from one cycle to the next, like the placing order, if Begin() and Look() are
// called for changes between cycles.
//
// Invariants: answers are for the current state of the cluster, because this is a listener of the
// statement. Cost: a query for a group reads its sub-groups, and PodsToPlace() their pods; the next
// request and the elastic state are cached until a pod of the group changes. Threads: one; const
// functions any number, while nothing changes.
#ifndef KAI_PLACEMENT_POD_ORDER_H_
#define KAI_PLACEMENT_POD_ORDER_H_

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "kai/model/changes/listener.h"
#include "kai/model/columns/cluster.h"
#include "kai/placement/group_part.h"
#include "kai/placement/placing_order.h"

namespace kai {

// Most groups have few.
using PodList = absl::InlinedVector<PodId, 8>;
using SubGroupList = absl::InlinedVector<SubGroupId, 4>;

class PodOrder final : public Listener {
 public:
  struct Options {
    bool by_satisfaction = true;  // plugin subgrouporder: sub-groups below their minimum first
    bool satisfy_tree = true;     // switch min_sub_group: enough children satisfy a set
    bool choose_members = true;   // switch optional_members: a set that does not need all children
                                  // starts as many as it lacks, of those that are ready; no other
                                  // child starts before its pods exist
    bool spare_new = true;        // switch same_cycle_eviction: pods placed in this cycle stay
  };

  // `placing` must live longer than the order.
  PodOrder(const PlacingOrder& placing, const Options& options);

  const Cluster& cluster() const { return cluster_; }
  // The pods of a pod set in the order of placing.
  std::span<const PodId> PodsOf(SubGroupId pod_set) const { return placing_.PodsOf(pod_set); }

  // By name.
  std::span<const SubGroupId> PodSetsOf(PodGroupId group) const;

  // True: the set itself or one of its ancestors is `ancestor`.
  bool IsWithin(SubGroupId set, SubGroupId ancestor) const {
    while (set.valid() && set != ancestor) set = cluster_.sub_groups().parent[set];
    return set.valid();
  }

  // The number of pods that a pod set needs, or of children that a set needs (spec 2 G5).
  int32_t MinimumOf(SubGroupId id) const { return part_.MinimumOf(id); }

  // Direct children of a set in the order of placing, with the current counts or with those of
  // `count_of`: pods of a pod set, satisfied children of a set (spec 2 G11).
  SubGroupList ChildrenOf(SubGroupId set) const;
  template <typename Counter>
  SubGroupList ChildrenOf(SubGroupId set, const Counter& count_of) const;

  // spec 2 G13; grouped by pod set, in placing order. For sets that do not need all children,
  // leaves out the children in `passed_over`.
  PodList PodsToPlace(PodGroupId group, std::span<const SubGroupId> passed_over = {}) const;
  // True: the set of this child has not started and can start without it and without those in
  // `passed_over`.
  bool IsOptional(SubGroupId child, std::span<const SubGroupId> passed_over) const;
  // True: some set of the group has not started and could start with other children than
  // PodsToPlace() takes. Results for these pods then need not hold for the group.
  bool HasChoice(PodGroupId group) const {
    return options_.choose_members && SetHasChoice(cluster_.pod_groups().root[group]);
  }

  // The sum of the requests of PodsToPlace() (spec 1 F27).
  const QuotaCount& NextRequest(PodGroupId group);

  // Cached as well, because every comparison of pod groups needs it.
  ElasticState ElasticStateOf(PodGroupId group) {
    if ((known_[group] & kState) == 0) {
      known_[group] |= kState;
      elastic_state_[group] = FindElasticState(group);
    }
    return elastic_state_[group];
  }
  // True: the elastic state of some group may differ from the start of the cycle.
  bool AnyStateChanged() const { return any_changed_; }
  bool IsReady(PodGroupId group) const {
    return SetIsReady(cluster_.pod_groups().root[group]);
  }  // spec 2 G7
  bool SetIsReady(SubGroupId set) const;  // the same for a set
  // True: the group is not ready, or its waiting pods belong to sub-groups that wait for other pods
  // of their own.
  bool WaitsForPods(PodGroupId group) const;
  // True: enough pods below it hold nodes or have a promised one; leaving pods do not count (spec 2
  // G9).
  bool AllocationSatisfied(SubGroupId set) const;
  bool HasStarted(PodGroupId group) const;  // some pod is allocated (spec 2 S4)
  int32_t CountOf(PodGroupId group, PodStatus status) const;
  int32_t ActiveAllocated(PodGroupId group) const;
  int32_t ActiveUsed(PodGroupId group) const;
  int32_t Alive(PodGroupId group) const;
  // True: enough pods hold nodes, including leaving pods (spec 2 G8).
  bool IsGangSatisfied(PodGroupId group) const;

  // Limits a group to a part until the next call (group_part.h).
  void Narrow(PodGroupId group, std::span<const PodId> pods);
  void Widen();
  void ForgetParts();

  // Adds the next pods to evict from a victim, in order (spec 2 G14): one pod above a minimum, else
  // a whole child that a set does not need, else all remaining pods. `gone`, if given, marks pods
  // that are already evicted. Adds nothing if one of these pods must stay. True: active pods remain
  // after it.
  bool NextToEvict(PodGroupId group, const IndexVector<PodId, uint8_t>* gone,
                   std::vector<PodId>* pods) const;
  // True: the pod cannot be a victim in this cycle, because it was placed or promised a place in
  // it.
  bool IsSpared(PodId pod) const {
    const PodStatus status = cluster_.pods().status[pod];
    return options_.spare_new &&
           (status == PodStatus::kAllocated || status == PodStatus::kPipelined);
  }
  ElasticState ElasticStateWithout(PodGroupId group, const IndexVector<PodId, uint8_t>& gone) const;

  void Applied(const Change& change) override;
  void Undone(const Change& change) override;
  void Settled(const Change& change) override;

  // A cycle begins: the state is that of the cluster.
  void Begin() {
    ForgetParts();
    any_changed_ = !placing_.lowered().empty();
  }
  // Between cycles: the group is new, or pods of it were added, removed or changed.
  void Look(PodGroupId group);
  size_t HeapBytes() const;

 private:
  bool SetHasChoice(SubGroupId set) const;
  bool SetIsGangSatisfied(SubGroupId set) const;
  int32_t SatisfiedChildren(SubGroupId set) const;
  bool MayBePlaced(PodId pod) const;  // spec 2 S6
  // True: the pods that hold nodes and the pods that may be placed are enough for the set.
  bool PodsSuffice(SubGroupId set) const;
  bool AnyEvicted(SubGroupId set) const;  // in this simulation: such pods only return
  void Collect(SubGroupId set, std::span<const SubGroupId> passed_over, PodList* pods) const;
  // The children that a set below its minimum starts next, in placing order.
  SubGroupList MissingMembers(SubGroupId set, std::span<const SubGroupId> passed_over) const;
  void CollectPodSet(SubGroupId pod_set, PodList* pods) const;
  ElasticState FindElasticState(PodGroupId group) const;
  // The elastic state for the given number of active pods in each pod set.
  template <typename ActiveOf>
  ElasticState StateFrom(PodGroupId group, const ActiveOf& active_of) const;

  void Forget(PodGroupId group) {
    known_[group] = kNothing;
    any_changed_ = true;
  }

  enum Known : uint8_t { kNothing = 0, kRequest = 1, kState = 2 };

  const Cluster& cluster_;
  const PlacingOrder& placing_;
  Options options_;
  GroupPart part_;
  bool any_changed_ = false;
  IndexVector<PodGroupId, uint8_t> known_;  // valid caches: Known bits
  union Request {                           // not written before it is used
    Request() {}
    QuotaCount amount;
  };
  size_t requests_ = 0;                      // allocated size of next_request_
  std::unique_ptr<Request[]> next_request_;  // by group
  IndexVector<PodGroupId, ElasticState> elastic_state_;
};

template <typename Counter>
SubGroupList PodOrder::ChildrenOf(SubGroupId set, const Counter& count_of) const {
  const SubGroupColumns& sets = cluster_.sub_groups();
  const std::span<const SubGroupId> listed = sets.ChildrenOf(set);
  SubGroupList children(listed.begin(), listed.end());
  if (children.size() < 2 || !options_.by_satisfaction) return children;
  struct Standing {
    SubGroupId id;
    double count = 0;
    double threshold = 0;
    bool below() const { return count < threshold; }
  };
  std::vector<Standing> standings;
  for (const SubGroupId child : children) {
    standings.push_back({.id = child,
                         .count = static_cast<double>(count_of(child)),
                         .threshold = static_cast<double>(MinimumOf(child))});
  }
  // Children are sorted by name, and a stable sort keeps this order among equals.
  std::stable_sort(standings.begin(), standings.end(), [](const Standing& a, const Standing& b) {
    if (a.below() || b.below()) return a.below() && !b.below();
    if ((a.threshold > 0) != (b.threshold > 0)) return a.threshold > 0;
    if (a.threshold == 0) return a.count < b.count;
    return a.count / a.threshold < b.count / b.threshold;
  });
  for (size_t i = 0; i < children.size(); ++i) children[i] = standings[i].id;
  return children;
}

template <typename ActiveOf>
ElasticState PodOrder::StateFrom(PodGroupId group, const ActiveOf& active_of) const {
  bool all_at = true;
  for (const SubGroupId pod_set : PodSetsOf(group)) {
    const int32_t active = active_of(pod_set);
    if (active < MinimumOf(pod_set)) return ElasticState::kBelow;
    all_at = all_at && active == MinimumOf(pod_set);
  }
  return all_at ? ElasticState::kAt : ElasticState::kAbove;
}

}  // namespace kai

#endif  // KAI_PLACEMENT_POD_ORDER_H_

// PodOrder: the order of sub-groups and pods inside a pod group, and which of its pods one attempt
// works on (spec 2 G11-G15).
//
//   const PlacingOrder placing(*cluster, {.comparators = {}, .count_completed = false});
//   const PodOrder as_kai(placing, {});
//   as_kai.IsReady(PodGroupNamed(*cluster, "ns/g"))
//
//   for (const PodId pod : rig.order.PodsToPlace(group)) rig.statement->Place(pod, NodeId(0));
//
// Of a gang of 2 with five waiting pods and room for three, the first attempt works on two pods,
// the next ones on one each.
//
// It can be kept from one cycle to the next, like the placing order, as long as it hears of what
// happens between them as well (Begin(), Look()).
//
// Invariants: each answer is that of the cluster as it stands, because it hears each change of the
// statement. Cost: a question about a group looks at its sub-groups, and PodsToPlace() at their
// pods; the next request and the elastic state are kept until a pod of the group changes. Threads:
// one; const functions any number, while nothing changes.
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

// Few in most groups.
using PodList = absl::InlinedVector<PodId, 8>;
using SubGroupList = absl::InlinedVector<SubGroupId, 4>;

class PodOrder final : public Listener {
 public:
  struct Options {
    bool by_satisfaction = true;  // plugin subgrouporder: sub-groups below their minimum first
    bool satisfy_tree = true;     // mend min_sub_group: enough children satisfy a set
    bool choose_members = true;   // mend optional_members: a set of which some suffice asks for as
                                  // many as it lacks, of those that are ready; no other member
                                  // starts before its pods are there
    bool spare_new = true;        // mend same_cycle_eviction: pods placed in this cycle stay
  };

  // It has to outlive the order.
  PodOrder(const PlacingOrder& placing, const Options& options);

  const Cluster& cluster() const { return cluster_; }
  // Pods of a pod set, first to place first.
  std::span<const PodId> PodsOf(SubGroupId pod_set) const { return placing_.PodsOf(pod_set); }

  // By name.
  std::span<const SubGroupId> PodSetsOf(PodGroupId group) const;

  // The set itself, or one above it, is `ancestor`.
  bool IsWithin(SubGroupId set, SubGroupId ancestor) const {
    while (set.valid() && set != ancestor) set = cluster_.sub_groups().parent[set];
    return set.valid();
  }

  // How many pods a pod set needs, or children a set (spec 2 G5).
  int32_t MinimumOf(SubGroupId id) const { return part_.MinimumOf(id); }

  // Direct children of a set, first to place first; as they stand, or with counts of one's own:
  // pods of a pod set, satisfied children of a set (spec 2 G11).
  SubGroupList ChildrenOf(SubGroupId set) const;
  template <typename Counter>
  SubGroupList ChildrenOf(SubGroupId set, const Counter& count_of) const;

  // spec 2 G13; grouped by pod set, in placing order. Of sets of which some children suffice, not
  // those passed over.
  PodList PodsToPlace(PodGroupId group, std::span<const SubGroupId> passed_over = {}) const;
  // The set of this child, which has not started, can start without it and those passed over.
  bool CanDoWithout(SubGroupId child, std::span<const SubGroupId> passed_over) const;
  // Some set of the group that has not started could start with other children than PodsToPlace()
  // takes: what holds for these pods need not hold for the group.
  bool HasChoice(PodGroupId group) const {
    return options_.choose_members && SetHasChoice(cluster_.pod_groups().root[group]);
  }

  // Their requests summed (spec 1 F27).
  const QuotaCount& NextRequest(PodGroupId group);

  // Cached likewise: every comparison of pod groups asks.
  ElasticState ElasticStateOf(PodGroupId group) {
    if ((known_[group] & kState) == 0) {
      known_[group] |= kState;
      elastic_state_[group] = FindElasticState(group);
    }
    return elastic_state_[group];
  }
  // Some group's may differ from what it was when the cycle began.
  bool AnyStateChanged() const { return any_changed_; }
  bool IsReady(PodGroupId group) const {
    return SetIsReady(cluster_.pod_groups().root[group]);
  }  // spec 2 G7
  bool SetIsReady(SubGroupId set) const;  // likewise
  // It is not ready, or its waiting pods belong to sub-groups that wait for other pods of theirs.
  bool WaitsForPods(PodGroupId group) const;
  // Enough pods below it hold nodes, or are promised some; leaving ones do not count (spec 2 G9).
  bool AllocationSatisfied(SubGroupId set) const;
  bool HasStarted(PodGroupId group) const;  // some pod is allocated (spec 2 S4)
  int32_t CountOf(PodGroupId group, PodStatus status) const;
  int32_t ActiveAllocated(PodGroupId group) const;
  int32_t ActiveUsed(PodGroupId group) const;
  int32_t Alive(PodGroupId group) const;
  // Enough pods hold nodes, leaving ones included (spec 2 G8).
  bool IsGangSatisfied(PodGroupId group) const;

  // The part of a group that is there until the next call (group_part.h).
  void Narrow(PodGroupId group, std::span<const PodId> pods);
  void Widen();
  void ForgetParts();

  // Adds what a victim gives up next, first to go first (spec 2 G14): one pod above a minimum, else
  // a whole child that a set can do without, else everything that is left. `gone`, where given,
  // marks pods that have been given up already. Nothing, where a pod would have to go that must
  // stay. True: something active is left after it.
  bool NextToEvict(PodGroupId group, const IndexVector<PodId, uint8_t>* gone,
                   std::vector<PodId>* pods) const;
  // In this cycle the pod is no victim: it was placed or promised a place in it.
  bool IsSpared(PodId pod) const {
    const PodStatus status = cluster_.pods().status[pod];
    return options_.spare_new &&
           (status == PodStatus::kAllocated || status == PodStatus::kPipelined);
  }
  ElasticState ElasticStateWithout(PodGroupId group, const IndexVector<PodId, uint8_t>& gone) const;

  void Applied(const Change& change) override;
  void Undone(const Change& change) override;
  void Settled(const Change& change) override;

  // A cycle begins: all is as the cluster has it.
  void Begin() {
    ForgetParts();
    any_changed_ = !placing_.lowered().empty();
  }
  // Between cycles: the group is new, or pods of it came, went or changed.
  void Look(PodGroupId group);
  size_t HeapBytes() const;

 private:
  bool SetHasChoice(SubGroupId set) const;
  bool SetIsGangSatisfied(SubGroupId set) const;
  int32_t SatisfiedChildren(SubGroupId set) const;
  bool MayBePlaced(PodId pod) const;  // spec 2 S6
  // Those that hold nodes and those that may be placed are enough for the set.
  bool PodsSuffice(SubGroupId set) const;
  bool AnyEvicted(SubGroupId set) const;  // in this what-if: they only return
  void Collect(SubGroupId set, std::span<const SubGroupId> passed_over, PodList* pods) const;
  // Children that a set below its minimum starts next, in placing order.
  SubGroupList MissingMembers(SubGroupId set, std::span<const SubGroupId> passed_over) const;
  void CollectPodSet(SubGroupId pod_set, PodList* pods) const;
  ElasticState FindElasticState(PodGroupId group) const;
  // The elastic state, given how many active pods each pod set has.
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
  IndexVector<PodGroupId, uint8_t> known_;  // which of the following hold: Known bits
  union Request {                           // not written before it is needed
    Request() {}
    QuotaCount amount;
  };
  size_t requests_ = 0;                      // there is room for
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
  // Children come by name, and a stable sort keeps that among equals.
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

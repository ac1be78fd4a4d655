// The next pods to evict from a victim (spec 2 G14).
#include <algorithm>

#include "kai/placement/pod_order.h"

namespace kai {
namespace {

// The tree of sub-groups of one victim, without the evicted pods (`gone`).
class Shrinking {
 public:
  Shrinking(const Cluster& cluster, const PodOrder& order, const IndexVector<PodId, uint8_t>* gone)
      : cluster_(cluster), sets_(cluster.sub_groups()), order_(order), gone_(gone) {}

  bool IsLeft(PodId pod) const {
    return IsActiveAllocated(cluster_.pods().status[pod]) &&
           (gone_ == nullptr || (*gone_)[pod] == 0);
  }
  int32_t Active(SubGroupId pod_set) const {
    if (gone_ == nullptr) return sets_.counts[pod_set].active_allocated();
    const std::span<const PodId> pods = order_.PodsOf(pod_set);
    return static_cast<int32_t>(
        std::count_if(pods.begin(), pods.end(), [this](PodId pod) { return IsLeft(pod); }));
  }

  // Takes the last `limit` remaining pods of a pod set, the last one first; -1: all.
  void TakeActive(SubGroupId pod_set, int32_t limit, std::vector<PodId>* pods) const {
    const std::span<const PodId> ordered = order_.PodsOf(pod_set);
    for (auto pod = ordered.rbegin(); pod != ordered.rend() && limit != 0; ++pod) {
      if (!IsLeft(*pod) || (limit == 1 && order_.IsSpared(*pod))) continue;
      pods->push_back(*pod);
      --limit;
    }
  }

  // Takes one pod, or one child, that the set does not need; nothing if it needs all.
  void TakeSurplus(SubGroupId set, std::vector<PodId>* pods) const {
    if (IsLeaf(set)) {
      if (Active(set) > order_.MinimumOf(set)) TakeActive(set, 1, pods);
      return;
    }
    int32_t satisfied = 0;
    const SubGroupList children = LastFirst(set, &satisfied);
    if (satisfied == 0) return;
    const int32_t needed = order_.MinimumOf(set);
    if (satisfied > needed || HasSurplus(set)) {
      for (const SubGroupId child : children) {
        TakeSurplus(child, pods);
        if (!pods->empty()) return;
      }
    }
    if (satisfied <= needed) return;
    for (const SubGroupId child : children) {
      TakeAll(child, pods);
      if (AnySpared(*pods)) pods->clear();
      if (!pods->empty()) return;
    }
  }

  void TakeAll(SubGroupId set, std::vector<PodId>* pods) const {
    if (IsLeaf(set)) return TakeActive(set, -1, pods);
    int32_t satisfied = 0;
    for (const SubGroupId child : LastFirst(set, &satisfied)) TakeAll(child, pods);
  }

  int32_t ActiveBelow(SubGroupId set) const {
    if (IsLeaf(set)) return Active(set);
    int32_t active = 0;
    ForEachChild(set, [&](SubGroupId child) { active += ActiveBelow(child); });
    return active;
  }

  bool AnySpared(std::span<const PodId> pods) const {
    return std::any_of(pods.begin(), pods.end(),
                       [this](PodId pod) { return order_.IsSpared(pod); });
  }

 private:
  bool IsLeaf(SubGroupId set) const { return sets_.is_pod_set[set] != 0; }

  template <typename Visit>
  void ForEachChild(SubGroupId set, const Visit& visit) const {
    for (const SubGroupId child : sets_.ChildrenOf(set)) visit(child);
  }

  int32_t CountOf(SubGroupId set) const {
    if (IsLeaf(set)) return Active(set);
    int32_t satisfied = 0;
    ForEachChild(set, [&](SubGroupId child) { satisfied += IsSatisfied(child) ? 1 : 0; });
    return satisfied;
  }
  bool IsSatisfied(SubGroupId set) const { return CountOf(set) >= order_.MinimumOf(set); }
  // True: some set in it is above its minimum.
  bool HasSurplus(SubGroupId set) const {
    bool any = CountOf(set) > order_.MinimumOf(set);
    if (IsLeaf(set)) return any;
    ForEachChild(set, [&](SubGroupId child) { any = any || HasSurplus(child); });
    return any;
  }

  // The children in reverse placing order (spec 2 G11).
  SubGroupList LastFirst(SubGroupId set, int32_t* satisfied) const {
    *satisfied = CountOf(set);
    SubGroupList children =
        order_.ChildrenOf(set, [this](SubGroupId child) { return CountOf(child); });
    std::reverse(children.begin(), children.end());
    return children;
  }

  const Cluster& cluster_;
  const SubGroupColumns& sets_;
  const PodOrder& order_;
  const IndexVector<PodId, uint8_t>* gone_;
};

}  // namespace

bool PodOrder::NextToEvict(PodGroupId group, const IndexVector<PodId, uint8_t>* gone,
                           std::vector<PodId>* pods) const {
  KAI_DCHECK(pods->empty());
  const SubGroupId root = cluster_.pod_groups().root[group];
  const Shrinking shrinking(cluster_, *this, gone);
  const std::span<const SubGroupId> pod_sets = PodSetsOf(group);
  if (pod_sets.size() == 1 && cluster_.sub_groups().parent[pod_sets[0]] == root) {
    // A fast path for the tree of most groups, with the same result: one pod above the minimum, or
    // everything.
    const int32_t active = shrinking.Active(pod_sets[0]);
    const bool has_surplus = active > MinimumOf(pod_sets[0]);
    shrinking.TakeActive(pod_sets[0], has_surplus ? 1 : -1, pods);
    if (shrinking.AnySpared(*pods)) pods->clear();
    if (has_surplus && pods->empty()) {  // all these pods must stay
      return false;
    }
    return has_surplus && active > 1;
  }
  shrinking.TakeSurplus(root, pods);
  if (pods->empty()) {
    // Takes everything, by pod set, sorted by name.
    for (const SubGroupId pod_set : pod_sets) shrinking.TakeAll(pod_set, pods);
    if (shrinking.AnySpared(*pods)) pods->clear();
    return false;
  }
  return static_cast<int32_t>(pods->size()) < shrinking.ActiveBelow(root);
}

ElasticState PodOrder::ElasticStateWithout(PodGroupId group,
                                           const IndexVector<PodId, uint8_t>& gone) const {
  const Shrinking shrinking(cluster_, *this, &gone);
  return StateFrom(group, [&](SubGroupId pod_set) { return shrinking.Active(pod_set); });
}

}  // namespace kai

#include "kai/placement/group_part.h"

#include <algorithm>

#include "kai/base/check.h"

namespace kai {

template <typename Visit>
void GroupPart::ForEachPod(const Visit& visit) const {
  for (const SubGroupId pod_set : cluster_.pod_groups().PodSetsOf(group_)) {
    for (const PodId pod : placing_.PodsOf(pod_set)) visit(pod);
  }
}

void GroupPart::Narrow(PodGroupId group, std::span<const PodId> pods) {
  if (minima_ != &own_minima_) {
    own_minima_ = placing_.minima();
    minima_ = &own_minima_;
    held_back_.Resize(cluster_.pods().size());
    pod_count_.Resize(cluster_.sub_groups().size());
  }
  if (group_ != group) {
    Forget();
    group_ = group;
    ForEachPod([this](PodId pod) { held_back_[pod] = 1; });
  }
  KAI_DCHECK(pods_.empty());
  pods_.assign(pods.begin(), pods.end());
  for (const PodId pod : pods) {
    held_back_[pod] = 0;
    ++pod_count_[cluster_.pods().pod_set[pod]];
  }
  LowerMinima(cluster_.pod_groups().root[group]);
}

// Leaves first, because a set counts the children with any pods left. True: pods are left.
bool GroupPart::LowerMinima(SubGroupId set) {
  const SubGroupColumns& sets = cluster_.sub_groups();
  int32_t there = 0;
  if (sets.is_pod_set[set] != 0) {
    there = sets.counts[set].active_allocated() + pod_count_[set];
  } else {
    for (const SubGroupId child : sets.ChildrenOf(set)) there += LowerMinima(child) ? 1 : 0;
  }
  if (sets.is_pod_set[set] != 0 || sets.minimum_given[set] != 0) {
    lowered_.push_back(set);
    own_minima_[set] = std::min(own_minima_[set], there);
  }
  return there > 0;
}

void GroupPart::Reset() {
  Forget();
  minima_ = &placing_.minima();
}

void GroupPart::Widen() {
  for (const SubGroupId set : lowered_) own_minima_[set] = placing_.minima()[set];
  lowered_.clear();
  for (const PodId pod : pods_) {
    held_back_[pod] = 1;
    pod_count_[cluster_.pods().pod_set[pod]] = 0;
  }
  pods_.clear();
}

void GroupPart::Forget() {
  if (!group_.valid()) return;
  Widen();
  ForEachPod([this](PodId pod) { held_back_[pod] = 0; });
  group_ = PodGroupId();
}

}  // namespace kai

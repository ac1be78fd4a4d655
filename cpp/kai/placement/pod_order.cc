#include "kai/placement/pod_order.h"

#include <algorithm>

#include "kai/base/heap_bytes.h"

namespace kai {

PodOrder::PodOrder(const PlacingOrder& placing, const Options& options)
    : cluster_(placing.cluster()),
      placing_(placing),
      options_(options),
      part_(placing),
      known_(cluster_.pod_groups().size(), kState),
      requests_(cluster_.pod_groups().size()),
      next_request_(std::make_unique_for_overwrite<Request[]>(requests_)),
      elastic_state_(cluster_.pod_groups().elastic_state) {
  for (const PodGroupId group : placing.lowered()) Forget(group);
}

std::span<const SubGroupId> PodOrder::PodSetsOf(PodGroupId group) const {
  return cluster_.pod_groups().PodSetsOf(group);
}

int32_t PodOrder::SatisfiedChildren(SubGroupId set) const {
  const auto satisfied = [this](SubGroupId child) { return AllocationSatisfied(child); };
  return static_cast<int32_t>(
      std::ranges::count_if(cluster_.sub_groups().ChildrenOf(set), satisfied));
}

bool PodOrder::AllocationSatisfied(SubGroupId set) const {
  const SubGroupColumns& sets = cluster_.sub_groups();
  if (sets.is_pod_set[set] != 0) return sets.counts[set].active_allocated() >= MinimumOf(set);
  return SatisfiedChildren(set) >= MinimumOf(set);
}

SubGroupList PodOrder::ChildrenOf(SubGroupId set) const {
  return ChildrenOf(set, [this](SubGroupId child) {
    const SubGroupColumns& sets = cluster_.sub_groups();
    return sets.is_pod_set[child] != 0 ? sets.counts[child].active_allocated()
                                       : SatisfiedChildren(child);
  });
}

bool PodOrder::MayBePlaced(PodId pod) const {
  if (part_.HoldsBack(pod)) return false;
  const PodStatus status = cluster_.pods().status[pod];
  return status == PodStatus::kPending ||
         (status == PodStatus::kReleasing && cluster_.pods().is_virtual[pod] != 0);
}

void PodOrder::CollectPodSet(SubGroupId pod_set, PodList* pods) const {
  const SubGroupColumns& sets = cluster_.sub_groups();
  const int32_t missing = MinimumOf(pod_set) - sets.counts[pod_set].active_allocated();
  int32_t wanted = missing > 0 ? missing : 1;
  for (const PodId pod : PodsOf(pod_set)) {
    if (wanted == 0) return;
    if (!MayBePlaced(pod)) continue;
    pods->push_back(pod);
    --wanted;
  }
}

SubGroupList PodOrder::MissingMembers(SubGroupId set,
                                      std::span<const SubGroupId> passed_over) const {
  const SubGroupList children = ChildrenOf(set);
  const auto minimum = static_cast<size_t>(MinimumOf(set));
  SubGroupList missing;
  if (!options_.choose_members) {  // spec 4 W5
    for (size_t i = 0; i < std::min(minimum, children.size()); ++i) {
      if (!AllocationSatisfied(children[i])) missing.push_back(children[i]);
    }
    return missing;
  }
  size_t satisfied = 0;
  for (const SubGroupId child : children) {
    if (AllocationSatisfied(child)) {
      ++satisfied;
    } else if (std::ranges::find(passed_over, child) == passed_over.end()) {
      missing.push_back(child);
    }
  }
  const size_t wanted = minimum - std::min(satisfied, minimum);
  // Uses children that are not ready only if too few are ready.
  for (size_t i = missing.size(); i-- > 0 && missing.size() > wanted;) {
    if (!SetIsReady(missing[i])) missing.erase(missing.begin() + static_cast<ptrdiff_t>(i));
  }
  if (missing.size() > wanted) missing.resize(wanted);
  return missing;
}

bool PodOrder::IsOptional(SubGroupId child, std::span<const SubGroupId> passed_over) const {
  const SubGroupId set = cluster_.sub_groups().parent[child];
  const auto is_passed_over = [&](SubGroupId each) {
    return std::ranges::find(passed_over, each) != passed_over.end();
  };
  // A set that has its minimum starts one child at a time, so there is no alternative.
  if (!options_.choose_members || !set.valid() || AllocationSatisfied(set) || is_passed_over(child))
    return false;
  int32_t can_start = 0;
  for (const SubGroupId each : ChildrenOf(set)) {
    const bool stays_out = each == child || is_passed_over(each);
    can_start += AllocationSatisfied(each) || (!stays_out && SetIsReady(each)) ? 1 : 0;
  }
  return can_start >= MinimumOf(set);
}

bool PodOrder::SetHasChoice(SubGroupId set) const {
  if (cluster_.sub_groups().is_pod_set[set] != 0) return false;
  int32_t can_start = 0;
  for (const SubGroupId child : cluster_.sub_groups().ChildrenOf(set)) {
    if (SetHasChoice(child)) return true;
    can_start += AllocationSatisfied(child) || SetIsReady(child) ? 1 : 0;
  }
  return can_start > MinimumOf(set) && !AllocationSatisfied(set);
}

bool PodOrder::PodsSuffice(SubGroupId set) const {
  const SubGroupColumns& sets = cluster_.sub_groups();
  const int32_t minimum = MinimumOf(set);
  if (sets.is_pod_set[set] == 0) {
    const auto suffice = [this](SubGroupId child) { return PodsSuffice(child); };
    return std::ranges::count_if(sets.ChildrenOf(set), suffice) >= minimum;
  }
  const int32_t missing = minimum - sets.counts[set].active_allocated();
  if (missing <= 0) return true;
  const auto may_be_placed = [this](PodId pod) { return MayBePlaced(pod); };
  return std::ranges::count_if(PodsOf(set), may_be_placed) >= missing;
}

bool PodOrder::AnyEvicted(SubGroupId set) const {
  const SubGroupColumns& sets = cluster_.sub_groups();
  if (sets.is_pod_set[set] == 0)
    return std::ranges::any_of(sets.ChildrenOf(set),
                               [this](SubGroupId child) { return AnyEvicted(child); });
  return std::ranges::any_of(PodsOf(set), [this](PodId pod) {
    return cluster_.pods().status[pod] == PodStatus::kReleasing && MayBePlaced(pod);
  });
}

bool PodOrder::WaitsForPods(PodGroupId group) const {
  if (!IsReady(group)) return true;
  return options_.choose_members && CountOf(group, PodStatus::kPending) > 0 &&
         PodsToPlace(group).empty();
}

void PodOrder::Collect(SubGroupId set, std::span<const SubGroupId> passed_over,
                       PodList* pods) const {
  const SubGroupColumns& sets = cluster_.sub_groups();
  if (sets.is_pod_set[set] != 0) return CollectPodSet(set, pods);
  // Both phases below choose an only child if it is enough for the set.
  const std::span<const SubGroupId> children = sets.ChildrenOf(set);
  if (children.size() == 1 && passed_over.empty() && MinimumOf(set) == 1)
    return Collect(children.front(), passed_over, pods);
  if (!AllocationSatisfied(set)) {  // the gang phase: never elastic extras
    for (const SubGroupId child : MissingMembers(set, passed_over))
      Collect(child, passed_over, pods);
    return;
  }
  for (const SubGroupId child : ChildrenOf(set)) {  // the elastic phase: one child at a time
    if (options_.choose_members && !PodsSuffice(child) && !AnyEvicted(child)) continue;
    const size_t before = pods->size();
    Collect(child, passed_over, pods);
    if (pods->size() > before) return;
  }
}

PodList PodOrder::PodsToPlace(PodGroupId group, std::span<const SubGroupId> passed_over) const {
  PodList pods;
  Collect(cluster_.pod_groups().root[group], passed_over, &pods);
  return pods;
}

const QuotaCount& PodOrder::NextRequest(PodGroupId group) {
  QuotaCount& request = next_request_[group.index()].amount;
  if ((known_[group] & kRequest) == 0) {
    known_[group] |= kRequest;
    request = {};
    for (const PodId pod : PodsToPlace(group)) request += cluster_.ClassOf(pod).requested;
  }
  return request;
}

ElasticState PodOrder::FindElasticState(PodGroupId group) const {
  return StateFrom(group, [&](SubGroupId pod_set) {
    return cluster_.sub_groups().counts[pod_set].active_allocated();
  });
}

bool PodOrder::SetIsReady(SubGroupId set) const {
  const SubGroupColumns& sets = cluster_.sub_groups();
  if (sets.is_pod_set[set] != 0) {
    return sets.counts[set].alive() - sets.counts[set][PodStatus::kGated] >= MinimumOf(set);
  }
  int32_t ready = 0;
  for (const SubGroupId child : sets.ChildrenOf(set)) ready += SetIsReady(child) ? 1 : 0;
  return ready >= MinimumOf(set);
}

bool PodOrder::HasStarted(PodGroupId group) const {
  for (const SubGroupId pod_set : PodSetsOf(group)) {
    if (cluster_.sub_groups().counts[pod_set].allocated() > 0) return true;
  }
  return false;
}

int32_t PodOrder::CountOf(PodGroupId group, PodStatus status) const {
  int32_t count = 0;
  for (const SubGroupId pod_set : PodSetsOf(group))
    count += cluster_.sub_groups().counts[pod_set][status];
  return count;
}

int32_t PodOrder::ActiveAllocated(PodGroupId group) const {
  int32_t active = 0;
  for (const SubGroupId pod_set : PodSetsOf(group))
    active += cluster_.sub_groups().counts[pod_set].active_allocated();
  return active;
}

int32_t PodOrder::ActiveUsed(PodGroupId group) const {
  int32_t active = 0;
  for (const SubGroupId pod_set : PodSetsOf(group))
    active += cluster_.sub_groups().counts[pod_set].active_used();
  return active;
}

int32_t PodOrder::Alive(PodGroupId group) const {
  int32_t alive = 0;
  for (const SubGroupId pod_set : PodSetsOf(group))
    alive += cluster_.sub_groups().counts[pod_set].alive();
  return alive;
}

bool PodOrder::SetIsGangSatisfied(SubGroupId set) const {
  const SubGroupColumns& sets = cluster_.sub_groups();
  if (sets.is_pod_set[set] != 0) return sets.counts[set].active_used() >= MinimumOf(set);
  int32_t satisfied = 0;
  for (const SubGroupId child : sets.ChildrenOf(set))
    satisfied += SetIsGangSatisfied(child) ? 1 : 0;
  return satisfied >= MinimumOf(set);
}

bool PodOrder::IsGangSatisfied(PodGroupId group) const {
  if (options_.satisfy_tree) return SetIsGangSatisfied(cluster_.pod_groups().root[group]);
  const std::span<const SubGroupId> pod_sets = PodSetsOf(group);
  return std::all_of(pod_sets.begin(), pod_sets.end(),
                     [&](SubGroupId pod_set) { return SetIsGangSatisfied(pod_set); });
}

void PodOrder::Narrow(PodGroupId group, std::span<const PodId> pods) {
  if (part_.group() != group) ForgetParts();
  part_.Narrow(group, pods);
  Forget(group);
}

void PodOrder::Widen() {
  part_.Widen();
  if (part_.group().valid()) Forget(part_.group());
}

void PodOrder::ForgetParts() {
  if (part_.group().valid()) Forget(part_.group());
  part_.Forget();
}

void PodOrder::Look(PodGroupId group) {
  const size_t groups = cluster_.pod_groups().size();
  known_.Resize(groups, kNothing);
  elastic_state_.Resize(groups);
  if (requests_ < groups) {
    requests_ = 2 * groups;
    next_request_ = std::make_unique_for_overwrite<Request[]>(requests_);
    for (const PodGroupId each : known_.ids()) known_[each] &= kState;
  }
  part_.Reset();
  Forget(group);
}

void PodOrder::Applied(const Change& change) {
  if (const PodGroupId group = cluster_.pods().group[change.pod]; group.valid()) Forget(group);
}
void PodOrder::Undone(const Change& change) { Applied(change); }
void PodOrder::Settled(const Change& change) { Applied(change); }

size_t PodOrder::HeapBytes() const {
  return BlockBytes(requests_ * sizeof(Request)) + HeapBytesOfAll(known_, elastic_state_);
}

}  // namespace kai

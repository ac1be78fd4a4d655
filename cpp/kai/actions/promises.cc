#include "kai/actions/promises.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "kai/actions/candidates.h"
#include "kai/actions/grant.h"

namespace kai {
namespace {

// True: the pod of the place has started, so the promise is fulfilled.
bool IsGiven(const CycleView& cycle, const PromisedPlace& place) {
  return place.pod.valid() && IsActiveAllocated(cycle.cluster->pods().status[place.pod]);
}

// The pod that takes each place; invalid: none.
std::vector<PodId> TakersOf(const CycleView& cycle, std::span<const PromisedPlace> places) {
  const Cluster& cluster = *cycle.cluster;
  const IndexVector<PodId, PodStatus>& status = cluster.pods().status;
  std::vector<PodId> takers(places.size());
  absl::flat_hash_set<PodId> taken;
  bool is_missing = false;
  for (size_t i = 0; i < places.size(); ++i) {
    const PodId pod = places[i].pod;
    if (pod.valid() && status[pod] == PodStatus::kPending && taken.insert(pod).second)
      takers[i] = pod;
    is_missing = is_missing || (!takers[i].valid() && !IsGiven(cycle, places[i]));
  }
  if (!is_missing) return takers;
  // Pods with other names that replace pods that left.
  for (size_t i = 0; i < places.size(); ++i) {
    if (takers[i].valid() || IsGiven(cycle, places[i])) continue;
    for (const PodId pod : cycle.order->PodsOf(places[i].pod_set)) {
      if (status[pod] != PodStatus::kPending || !taken.insert(pod).second) continue;
      takers[i] = pod;
      break;
    }
  }
  // The claims of a leaving pod leave with it.
  for (size_t i = 0; i < places.size(); ++i) {
    const PodId pod = places[i].pod;
    if (!takers[i].valid() && pod.valid() && status[pod] == PodStatus::kReleasing &&
        cluster.pods().node[pod] != places[i].node && !cluster.ClassOf(pod).claims.valid() &&
        taken.insert(pod).second)
      takers[i] = pod;
  }
  return takers;
}

// Handles the places of one group.
class GroupKeeper {
 public:
  GroupKeeper(CycleView& cycle, std::span<const PromisedPlace> places)
      : cycle_(cycle), places_(places), group_(places.front().group), states_(places.size()) {}

  // Adds the places that are still promised, with indices from `first`.
  void Run(size_t first, std::vector<KeptPlace>* kept) {
    if (!cycle_.MayRun(group_) ||
        !IsCandidate(*cycle_.cluster, *cycle_.order, group_, {.ready = false, .pending = false}))
      return;
    const BeforeGrant before = BeforeGrantTo(group_, cycle_);
    const std::vector<PodId> takers = TakersOf(cycle_, places_);
    for (size_t i = 0; i < places_.size(); ++i) {
      states_[i] = takers[i].valid()             ? State::kHeld
                   : IsGiven(cycle_, places_[i]) ? State::kEnds
                                                 : State::kRests;
    }
    // Each round holds fewer places.
    do {
      cycle_.statement->RollBackTo(before.changes);
      for (size_t i = 0; i < places_.size(); ++i) {
        if (states_[i] == State::kHeld &&
            !cycle_.placer->PlaceOn(takers[i], places_[i].node, cycle_.statement))
          states_[i] = State::kEnds;
      }
    } while (ReleaseParts());
    if (cycle_.statement->Mark() > before.changes) Grant(cycle_, group_, before);
    for (size_t i = 0; i < places_.size(); ++i) {
      const bool is_held = states_[i] == State::kHeld;
      if (is_held || (states_[i] == State::kRests &&
                      !cycle_.time->HasCome(places_[i].ends_ns, WakeReason::kPromiseEnds)))
        kept->push_back({.place = first + i, .pod = is_held ? takers[i] : PodId()});
    }
  }

 private:
  enum class State : uint8_t { kHeld, kRests, kEnds };

  // A gang, and each part of a group with a minimum of its own, is held completely or not at all.
  // True: some held places were given up.
  bool ReleaseParts() {
    const SubGroupColumns& sets = cycle_.cluster->sub_groups();
    for (size_t i = 0; i < places_.size(); ++i) {
      if (states_[i] != State::kHeld) continue;
      SubGroupId broken;
      for (SubGroupId set = places_[i].pod_set; set.valid(); set = sets.parent[set]) {
        if (!cycle_.order->AllocationSatisfied(set)) broken = set;
      }
      if (!broken.valid()) continue;
      // Its missing pods may still come.
      Release(broken, cycle_.order->SetIsReady(broken) ? State::kEnds : State::kRests);
      return true;
    }
    if (std::ranges::count(states_, State::kHeld) == 0 || cycle_.placer->IsInItsDomains(group_))
      return false;
    Release(cycle_.cluster->pod_groups().root[group_], State::kEnds);
    return true;
  }

  void Release(SubGroupId set, State state) {
    for (size_t i = 0; i < places_.size(); ++i) {
      if (states_[i] == State::kHeld && cycle_.order->IsWithin(places_[i].pod_set, set))
        states_[i] = state;
    }
  }

  CycleView& cycle_;
  std::span<const PromisedPlace> places_;
  PodGroupId group_;
  std::vector<State> states_;
};

}  // namespace

void KeepPromises(CycleView& cycle, std::span<const PromisedPlace> places,
                  std::vector<KeptPlace>* kept) {
  size_t first = 0;
  while (first < places.size()) {
    size_t end = first + 1;
    while (end < places.size() && places[end].group == places[first].group) ++end;
    GroupKeeper(cycle, places.subspan(first, end - first)).Run(first, kept);
    first = end;
  }
}

}  // namespace kai

#include "kai/actions/promises.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "kai/actions/candidates.h"
#include "kai/actions/grant.h"

namespace kai {
namespace {

// The pod of the place has started: what was promised was given.
bool IsGiven(const CycleView& cycle, const PromisedPlace& place) {
  return place.pod.valid() && IsActiveAllocated(cycle.cluster->pods().status[place.pod]);
}

// Which pod takes each place; invalid: none does.
std::vector<PodId> TakersOf(const CycleView& cycle, std::span<const PromisedPlace> places) {
  const Cluster& cluster = *cycle.cluster;
  const IndexVector<PodId, PodStatus>& status = cluster.pods().status;
  std::vector<PodId> takers(places.size());
  absl::flat_hash_set<PodId> taken;
  bool is_missing = false;
  for (size_t i = 0; i < places.size(); ++i) {
    const PodId pod = places[i].pod;
    if (pod.valid() && status[pod] == PodStatus::kPending) {
      takers[i] = pod;
      taken.insert(pod);
    }
    is_missing = is_missing || (!takers[i].valid() && !IsGiven(cycle, places[i]));
  }
  if (!is_missing) return takers;
  // Pods under other names that were made in the place of those that left.
  for (size_t i = 0; i < places.size(); ++i) {
    if (takers[i].valid() || IsGiven(cycle, places[i])) continue;
    for (const PodId pod : cycle.order->PodsOf(places[i].pod_set)) {
      if (status[pod] != PodStatus::kPending || !taken.insert(pod).second) continue;
      takers[i] = pod;
      break;
    }
  }
  // Claims of a pod that leaves go with it.
  for (size_t i = 0; i < places.size(); ++i) {
    const PodId pod = places[i].pod;
    if (!takers[i].valid() && pod.valid() && status[pod] == PodStatus::kReleasing &&
        cluster.pods().node[pod] != places[i].node && !cluster.ClassOf(pod).claims.valid())
      takers[i] = pod;
  }
  return takers;
}

// The places of one group, numbered from `first`.
void KeepOfGroup(CycleView& cycle, std::span<const PromisedPlace> places, size_t first,
                 std::vector<KeptPlace>* kept) {
  const PodGroupId group = places.front().group;
  if (!cycle.MayRun(group) ||
      !IsCandidate(*cycle.cluster, *cycle.order, group, {.ready = false, .pending = false}))
    return;
  const BeforeGrant before = BeforeGrantTo(group, cycle);
  const std::vector<PodId> takers = TakersOf(cycle, places);
  std::vector<PodId> held(places.size());
  std::vector<uint8_t> rests(places.size());
  bool any_held = false;
  for (size_t i = 0; i < places.size(); ++i) {
    rests[i] = !takers[i].valid() && !IsGiven(cycle, places[i]) ? 1 : 0;
    if (!takers[i].valid() || !cycle.placer->PlaceOn(takers[i], places[i].node, cycle.statement))
      continue;
    held[i] = takers[i];
    any_held = true;
  }
  const bool is_ready = cycle.order->IsReady(group);
  if (any_held && is_ready && cycle.order->IsGangSatisfied(group) &&
      cycle.placer->IsInItsDomains(group)) {
    Grant(cycle, group, before);
  } else {
    cycle.statement->RollBackTo(before.changes);
    if (any_held && is_ready) return;
    for (size_t i = 0; i < places.size(); ++i) {
      rests[i] = rests[i] != 0 || (!is_ready && takers[i].valid()) ? 1 : 0;
      held[i] = PodId();
    }
  }
  for (size_t i = 0; i < places.size(); ++i) {
    const bool stays =
        held[i].valid() ||
        (rests[i] != 0 && !cycle.time->HasCome(places[i].ends_ns, WakeReason::kPromiseEnds));
    if (stays) kept->push_back({.place = first + i, .pod = held[i]});
  }
}

}  // namespace

void KeepPromises(CycleView& cycle, std::span<const PromisedPlace> places,
                  std::vector<KeptPlace>* kept) {
  size_t first = 0;
  while (first < places.size()) {
    size_t end = first + 1;
    while (end < places.size() && places[end].group == places[first].group) ++end;
    KeepOfGroup(cycle, places.subspan(first, end - first), first, kept);
    first = end;
  }
}

}  // namespace kai

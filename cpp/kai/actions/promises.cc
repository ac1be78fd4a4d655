#include "kai/actions/promises.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
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
  // Pods that are still leaving their old nodes. A pod that leaves without having had a node does
  // not come back, and the claims of a leaving pod leave with it.
  for (size_t i = 0; i < places.size(); ++i) {
    const PodId pod = places[i].pod;
    if (!takers[i].valid() && pod.valid() && status[pod] == PodStatus::kReleasing &&
        cluster.pods().node[pod].valid() && cluster.pods().node[pod] != places[i].node &&
        !cluster.ClassOf(pod).claims.valid() && taken.insert(pod).second)
      takers[i] = pod;
  }
  return takers;
}

// Devices that no pod shared before this cycle: pods that were promised one device share it again.
class NewDevices {
 public:
  // Positions in the list of the node. A device that is not listed any more is opened again.
  GpuList GpusOf(const PromisedPlace& place, const Cluster& cluster) {
    const std::vector<SharedGpu>& listed = cluster.nodes().shared_gpus[place.node];
    auto next = static_cast<int32_t>(listed.size());
    GpuList gpus;
    for (const int32_t gpu : place.gpus) {
      if (gpu >= 0) {
        gpus.push_back(gpu);
        continue;
      }
      int32_t& at = opened_.try_emplace(gpu, -1).first->second;
      const bool is_open = at >= 0 && static_cast<size_t>(at) < listed.size() &&
                           !listed[static_cast<size_t>(at)].name.valid() &&
                           listed[static_cast<size_t>(at)].used > 0;
      if (!is_open) at = next++;
      gpus.push_back(at);
    }
    return gpus;
  }

 private:
  absl::flat_hash_map<int32_t, int32_t> opened_;  // their positions
};

// Handles the places of one group.
class GroupKeeper {
 public:
  GroupKeeper(CycleView& cycle, std::span<const PromisedPlace> places, NewDevices* new_devices)
      : cycle_(cycle),
        places_(places),
        new_devices_(*new_devices),
        group_(places.front().group),
        states_(places.size()) {}

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
        if (states_[i] == State::kHeld && !Place(takers[i], places_[i])) states_[i] = State::kEnds;
      }
    } while (ReleaseParts());
    if (cycle_.statement->Mark() > before.changes) Grant(cycle_, group_, before);
    if (cycle_.unkept != nullptr) NoteUnkept();
    const int64_t rest_ns = cycle_.cluster->params().stuck_in_releasing_threshold_ns;
    for (size_t i = 0; i < places_.size(); ++i) {
      const bool is_held = states_[i] == State::kHeld;
      const int64_t ends_ns = cycle_.time->EndOf(places_[i].ends_ns, rest_ns);
      if (is_held ||
          (states_[i] == State::kRests && !cycle_.time->HasCome(ends_ns, WakeReason::kPromiseEnds)))
        kept->push_back({.place = first + i, .pod = is_held ? takers[i] : PodId()});
    }
  }

 private:
  enum class State : uint8_t { kHeld, kRests, kEnds };

  void NoteUnkept() {
    bool is_unkept = false;
    for (size_t i = 0; i < places_.size(); ++i)
      is_unkept = is_unkept || (states_[i] == State::kEnds && !IsGiven(cycle_, places_[i]));
    // The time is part of the next cycle's input.
    if (is_unkept && cycle_.unkept->Add(group_, cycle_.time->now_ns())) cycle_.time->ExpireAtOnce();
  }

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

  bool Place(PodId pod, const PromisedPlace& place) {
    return cycle_.placer->PlaceOn(pod, place.node, cycle_.statement,
                                  new_devices_.GpusOf(place, *cycle_.cluster));
  }

  CycleView& cycle_;
  std::span<const PromisedPlace> places_;
  NewDevices& new_devices_;
  PodGroupId group_;
  std::vector<State> states_;
};

}  // namespace

void KeepPromises(CycleView& cycle, std::span<const PromisedPlace> places,
                  std::vector<KeptPlace>* kept) {
  NewDevices new_devices;
  size_t first = 0;
  while (first < places.size()) {
    size_t end = first + 1;
    while (end < places.size() && places[end].group == places[first].group) ++end;
    GroupKeeper(cycle, places.subspan(first, end - first), &new_devices).Run(first, kept);
    first = end;
  }
}

}  // namespace kai

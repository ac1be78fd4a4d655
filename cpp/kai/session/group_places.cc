#include "kai/session/group_places.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kai/placement/class_plans.h"
#include "kai/session/gpu_account.h"
#include "kai/session/registry.h"

namespace kai {
namespace {

// Rules that a survey asks: no zones and no policies that are functions, which read what is placed.
PlacementRules RulesFor(const Config& config, const Cluster& cluster) {
  return {.checks = MakePodChecks(config, cluster),
          .filters = MakeFilters(config, cluster, nullptr, nullptr),
          .scorers = {}};
}

class Surveyor {
 public:
  Surveyor(const Plan& plan, const GpuAccount& account, const Config& config)
      : cluster_(*plan.cluster), account_(account), plans_(cluster_, RulesFor(config, cluster_)) {
    for (const CycleLog::Decision& each : plan.decisions) {
      if (each.kind != CycleLog::Decision::Kind::kEvict) placed_.insert(each.pod);
    }
  }

  std::vector<GroupPlaces> Run(std::span<const PodGroupId> groups) {
    std::vector<GroupPlaces> all(groups.size());
    absl::flat_hash_map<PodGroupId, size_t> place;
    for (size_t i = 0; i < groups.size(); ++i) place.emplace(groups[i], i);
    const PodColumns& pods = cluster_.pods();
    for (const PodId pod : pods.name.ids()) {
      if (!pods.name[pod].valid() || !pods.group[pod].valid() || !Waits(pod)) continue;
      const auto found = place.find(pods.group[pod]);
      if (found != place.end()) Add(pod, &all[found->second]);
    }
    for (GroupPlaces& each : all) Finish(&each);
    return all;
  }

 private:
  bool Waits(PodId pod) const {
    const PodStatus status = cluster_.pods().status[pod];
    return (status == PodStatus::kPending || status == PodStatus::kGated) && !placed_.contains(pod);
  }

  void Add(PodId pod, GroupPlaces* group) {
    const PodClassId pod_class = cluster_.pods().pod_class[pod];
    auto found = std::ranges::find_if(group->classes, [&](const GroupPlaces::Waiting& each) {
      return cluster_.pods().pod_class[each.first] == pod_class;
    });
    if (found == group->classes.end()) {
      group->classes.push_back({.first = pod, .pods = 0, .places = nullptr, .refusals = {}});
      found = std::prev(group->classes.end());
    }
    ++found->pods;
    if (cluster_.IsNamedBefore(pod, found->first)) found->first = pod;
  }

  void Finish(GroupPlaces* group) {
    std::ranges::sort(group->classes, [&](const auto& a, const auto& b) {
      return a.pods != b.pods ? a.pods > b.pods : cluster_.IsNamedBefore(a.first, b.first);
    });
    for (GroupPlaces::Waiting& each : group->classes) {
      each.places = PlacesOfClass(each.first);
      each.refusals = plans_.RefusalsOf(each.first);
    }
  }

  bool LacksPartner(PodClassId pod_class) const {
    const PodClass& pods = cluster_.pod_classes().info[pod_class];
    if (pods.matches_own_required) return false;
    return std::ranges::any_of(pods.affinity.required, [&](AffinityTermId term) {
      return cluster_.affinity().TotalMatching(term) == 0;
    });
  }

  PodRoom MostOf(PodId pod, std::span<const NodeId> nodes) const {
    PodRoom most{.pods = 0, .slot = {}};
    int64_t fewest = -1;  // of the nodes, with the resource that limits the pods there
    for (const NodeId node : nodes) {
      const PodRoom room = RoomFor(pod, cluster_.nodes().allocatable[node], kNanoOfAGpu, cluster_);
      most.pods += room.pods;
      if (fewest < 0 || room.pods < fewest) {
        fewest = room.pods;
        most.slot = room.slot;
      }
    }
    return most;
  }

  std::shared_ptr<const ClassPlaces> PlacesOfClass(PodId pod) {
    const PodClassId pod_class = cluster_.pods().pod_class[pod];
    std::shared_ptr<const ClassPlaces>& known = of_class_[pod_class];
    if (known != nullptr) return known;
    auto places = std::make_shared<ClassPlaces>();
    places->pod_class = pod_class;
    places->standing = StandingOf(pod_class, &plans_);
    places->lacks_partner = LacksPartner(pod_class);
    std::map<double, int64_t> capacity;
    std::map<int64_t, int64_t> free;
    int64_t leaving = 0;
    for (const NodeId node : places->standing.possible) {
      ++capacity[cluster_.nodes().allocatable[node][kGpuSlot.index()]];
      ++free[account_.free_on[node]];
      leaving += account_.leaving_on[node];
    }
    places->leaving = static_cast<double>(leaving) / kNanoOfAGpu;
    places->most = MostOf(pod, places->standing.possible);
    places->capacity.assign(capacity.begin(), capacity.end());
    for (const auto& [nano, nodes] : free)
      places->free.emplace_back(static_cast<double>(nano) / kNanoOfAGpu, nodes);
    return known = std::move(places);
  }

  const Cluster& cluster_;
  const GpuAccount& account_;
  ClassPlans plans_;
  absl::flat_hash_set<PodId> placed_;  // bound, or promised a place
  absl::flat_hash_map<PodClassId, std::shared_ptr<const ClassPlaces>> of_class_;
};

}  // namespace

std::vector<GroupPlaces> PlacesOf(const Plan& plan, const GpuAccount& account, const Config& config,
                                  std::span<const PodGroupId> groups) {
  return Surveyor(plan, account, config).Run(groups);
}

}  // namespace kai

#include "kai/actions/lasting_places.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace kai {
namespace {

struct GivenPlace {
  PodId pod;
  size_t change = 0;  // its index in the statement
};

// The pods that hold a place from this cycle, the last one first.
std::vector<GivenPlace> GivenPlaces(const CycleView& cycle) {
  const PodColumns& pods = cycle.cluster->pods();
  const std::span<const Change> changes = cycle.statement->ChangesSince(0);
  std::vector<GivenPlace> given;
  absl::flat_hash_set<PodId> known;
  for (size_t i = changes.size(); i > 0; --i) {
    const Change& change = changes[i - 1];
    if (change.Stays() || !change.to_node.valid() || pods.node[change.pod] != change.to_node)
      continue;
    const PodStatus now = pods.status[change.pod];
    const bool holds = now == PodStatus::kAllocated || now == PodStatus::kPipelined;
    if (holds && known.insert(change.pod).second)
      given.push_back({.pod = change.pod, .change = i - 1});
  }
  return given;
}

std::vector<GivenPlace> ShortLived(const CycleView& cycle) {
  const Cluster& cluster = *cycle.cluster;
  const AffinityIndex& affinity = cluster.affinity();
  const std::vector<GivenPlace> given = GivenPlaces(cycle);
  std::vector<GivenPlace> found;
  if (std::ranges::all_of(given, [&](const GivenPlace& each) {
        return cluster.ClassOf(each.pod).affinity.required.empty();
      }))
    return found;
  // Pods with this place and those that got theirs later: they do not count for it.
  absl::flat_hash_map<std::pair<AffinityTermId, DomainId>, int32_t> later;
  for (const GivenPlace& place : given) {
    const PodClass& pods = cluster.ClassOf(place.pod);
    const NodeId node = cluster.pods().node[place.pod];
    for (const AffinityTermId term : pods.matched_terms)
      ++later[{term, affinity.DomainOf(term, node)}];
    bool all_here = true;
    bool any_elsewhere = false;
    for (const AffinityTermId term : pods.affinity.required) {
      const DomainId domain = affinity.DomainOf(term, node);
      const int64_t here =
          domain.valid() ? affinity.Matching(term, domain) - affinity.LeavingMatching(term, domain)
                         : 0;
      const auto after = later.find({term, domain});
      all_here = all_here && here > (after == later.end() ? 0 : after->second);
      any_elsewhere = any_elsewhere ||
                      affinity.TotalMatching(term) - affinity.TotalLeavingMatching(term) > here;
    }
    if (!all_here && (any_elsewhere || !pods.matches_own_required)) found.push_back(place);
  }
  return found;
}

}  // namespace

LastingPlaces::LastingPlaces(const CycleView& cycle)
    : cycle_(cycle),
      counts_(!cycle.cluster->affinity().empty() && cycle.placer->options().check_nodes &&
              cycle.switches->on(Switch::kLeavingPods)) {
  if (!counts_) return;
  for (const GivenPlace& place : ShortLived(cycle)) short_lived_now_.insert(place.pod);
}

bool LastingPlaces::Last(Statement::Checkpoint start) const {
  if (!counts_) return true;
  return std::ranges::all_of(ShortLived(cycle_), [&](const GivenPlace& place) {
    return place.change < start && short_lived_now_.contains(place.pod);
  });
}

}  // namespace kai

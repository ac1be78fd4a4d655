// The free storage that CSI drivers report must hold the claims of a pod that are not bound yet,
// and those of pods that were placed there before (spec 3 P12).
//
// A driver's report does not include claims that are not bound: these are counted per capacity,
// which several nodes may reach. The storage that leaving pods free is counted per node, because
// KAI only sees there that they leave.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "kai/placement/filters/filters.h"
#include "kai/placement/placed_pods.h"

namespace kai {
namespace {

class StorageFilter final : public Filter, private Listener {
 public:
  explicit StorageFilter(const Cluster& cluster)
      : cluster_(cluster), map_(cluster.storage()), taken_(map_.capacities.size()) {
    ForEachPlacedPod(cluster, [&](PodId pod, NodeId node, bool is_leaving) {
      // KAI does not count the claims of pods that are being bound, until they are evicted.
      const int32_t all = cluster.pods().status[pod] == PodStatus::kBinding ? 0 : 1;
      Count(pod, node, {.all = all, .leaving = is_leaving ? 1 : 0}, 1);
    });
  }

  Scope ScopeFor(PodClassId pod_class) const override {
    const VolumeNeeds* needs = NeedsOf(pod_class);
    const bool needs_room =
        needs != nullptr && (!needs->deleted_claims.empty() ||
                             std::any_of(needs->storage.begin(), needs->storage.end(),
                                         [](const StorageNeed& need) { return need.needs_room; }));
    return needs_room ? Scope::kNode : Scope::kNothing;
  }
  bool LooksBeyondNode(PodClassId pod_class) const override {
    return ScopeFor(pod_class) == Scope::kNode &&
           std::any_of(map_.capacities.begin(), map_.capacities.end(),
                       [](const StorageMap::Capacity& capacity) { return capacity.nodes > 1; });
  }
  bool CountsRoom() const override { return true; }

  bool Check(PodClassId pod_class, NodeId node, FitReport* report) const override {
    const VolumeNeeds& needs = *NeedsOf(pod_class);
    const bool fits = Fits(needs, node, Room::kLater);
    if (!fits && report != nullptr) report->Count(WhyNotNow(needs, node));
    return fits;
  }
  bool MustWait(PodClassId pod_class, NodeId node) const override {
    const VolumeNeeds& needs = *NeedsOf(pod_class);
    return !needs.deleted_claims.empty() || !Fits(needs, node, Room::kNow);
  }

  Listener* listener() override { return this; }

 private:
  enum class Room : uint8_t { kNow, kLater };

  const VolumeNeeds* NeedsOf(PodClassId pod_class) const {
    const VolumeNeedsId id = cluster_.ConstraintOf(pod_class).volumes;
    return id.valid() ? &cluster_.volume_needs()[id] : nullptr;
  }

  bool Fits(const StorageNeed& need, NodeId node, int32_t capacity, Room room) const {
    double free = map_.capacities[static_cast<size_t>(capacity)].bytes -
                  taken_[static_cast<size_t>(capacity)];
    if (room == Room::kLater) {
      const auto leaving = leaving_.find({node, capacity});
      if (leaving != leaving_.end()) free += leaving->second;
    }
    return need.request <= free;
  }

  bool Fits(const VolumeNeeds& needs, NodeId node, Room room) const {
    return std::all_of(needs.storage.begin(), needs.storage.end(), [&](const StorageNeed& need) {
      if (!need.needs_room) return true;
      const int32_t capacity = map_.CapacityOn(node, need.storage_class);
      return capacity >= 0 && Fits(need, node, capacity, room);
    });
  }

  // What is missing now, without storage that is being freed: KAI reports only that.
  NamedRefusal WhyNotNow(const VolumeNeeds& needs, NodeId node) const {
    if (!needs.deleted_claims.empty()) return ClaimsAreDeleted{.claims = needs.deleted_claims};
    NotEnoughStorage refusal;
    for (const StorageNeed& need : needs.storage) {
      if (!need.needs_room) continue;
      const int32_t capacity = map_.CapacityOn(node, need.storage_class);
      if (capacity >= 0 && Fits(need, node, capacity, Room::kNow)) continue;
      refusal.classes.push_back({.name = need.storage_class, .has_none = capacity < 0});
    }
    return refusal;
  }

  void Count(PodId pod, NodeId node, const PodCountChange& by, int32_t sign) {
    if (!node.valid()) return;
    const VolumeNeeds* needs = NeedsOf(cluster_.pods().pod_class[pod]);
    if (needs == nullptr) return;
    for (const StorageNeed& need : needs->storage) {
      const int32_t capacity = map_.CapacityOn(node, need.storage_class);
      if (capacity < 0) continue;
      if (const int32_t times = sign * by.all; times != 0) {
        double& taken = taken_[static_cast<size_t>(capacity)];
        taken += times * need.own;
        for (const auto& [claim, bytes] : need.shared) {  // counts once for all its pods
          int32_t& users = users_[{capacity, claim}];
          const bool was_used = users > 0;
          users += times;
          taken += ((users > 0 ? 1 : 0) - (was_used ? 1 : 0)) * bytes;
        }
      }
      if (by.leaving != 0 && need.owned > 0)
        leaving_[{node, capacity}] += sign * by.leaving * need.owned;
    }
  }

  static PodCountChange ChangeOf(const Change& change) {
    PodCountChange by = PodCountChangeOf(change);
    if (change.Stays()) {
      by.all += change.from == PodStatus::kBinding ? 1 : 0;
      by.all -= change.to == PodStatus::kBinding ? 1 : 0;
    }
    return by;
  }
  void Applied(const Change& change) override {
    Count(change.pod, change.to_node, ChangeOf(change), 1);
  }
  void Undone(const Change& change) override {
    Count(change.pod, change.to_node, ChangeOf(change), -1);
  }

  const Cluster& cluster_;
  const StorageMap& map_;
  std::vector<double> taken_;  // bytes, for each of map_.capacities
  absl::flat_hash_map<std::pair<int32_t, NameId>, int32_t> users_;  // pods of shared claims
  absl::flat_hash_map<std::pair<NodeId, int32_t>, double> leaving_;
};

}  // namespace

std::unique_ptr<Filter> MakeStorageFilter(const Cluster& cluster) {
  return std::make_unique<StorageFilter>(cluster);
}

}  // namespace kai

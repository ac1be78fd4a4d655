// A node can attach a limited number of volumes of a CSI driver (kube-scheduler's
// NodeVolumeLimits). Not in KAI, and off by default (docs/reference/config.md). A volume counts
// once on a node for all pods that use it. If only leaving pods use a volume, a pod waits for them.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "kai/placement/filters/filters.h"
#include "kai/placement/placed_pods.h"

namespace kai {
namespace {

class VolumeLimitFilter final : public Filter, private Listener {
 public:
  explicit VolumeLimitFilter(const Cluster& cluster) : cluster_(cluster) {
    const auto& needs = cluster.volume_needs().raw();
    is_needed_ = std::any_of(needs.begin(), needs.end(),
                             [](const VolumeNeeds& each) { return !each.attached.empty(); });
    if (!is_needed_) return;
    ForEachPlacedPod(cluster, [&](PodId pod, NodeId node, bool is_leaving) {
      Count(pod, node, {.all = 1, .leaving = is_leaving ? 1 : 0}, 1);
    });
  }

  Scope ScopeFor(PodClassId pod_class) const override {
    return VolumesOf(pod_class).empty() ? Scope::kNothing : Scope::kNode;
  }

  bool Check(PodClassId pod_class, NodeId node, FitReport* report) const override {
    const bool fits = Fits(pod_class, node, [](const PodCountChange& attached) {
      return attached.all - attached.leaving;
    });
    if (!fits && report != nullptr) report->Count(Refusal::kTooManyVolumes);
    return fits;
  }
  bool MustWait(PodClassId pod_class, NodeId node) const override {
    return !Fits(pod_class, node, [](const PodCountChange& attached) { return attached.all; });
  }

  Listener* listener() override { return is_needed_ ? this : nullptr; }

 private:
  using Counts = absl::flat_hash_map<std::pair<NodeId, NameId>, PodCountChange>;

  std::span<const AttachedVolumes> VolumesOf(PodClassId pod_class) const {
    const VolumeNeedsId id = cluster_.ConstraintOf(pod_class).volumes;
    if (!id.valid()) return {};
    return cluster_.volume_needs()[id].attached;
  }

  static PodCountChange Find(const Counts& counts, NodeId node, NameId name) {
    const auto found = counts.find({node, name});
    return found == counts.end() ? PodCountChange() : found->second;
  }

  // `counted`: the number that counts of a PodCountChange.
  template <typename Counted>
  bool Fits(PodClassId pod_class, NodeId node, const Counted& counted) const {
    const std::span<const AttachedVolumes> all = VolumesOf(pod_class);
    return std::all_of(all.begin(), all.end(), [&](const AttachedVolumes& volumes) {
      const StorageMap::Limit* limit = cluster_.storage().LimitOn(node, volumes.driver);
      if (limit == nullptr) return true;
      const auto more =
          volumes.own +
          std::count_if(volumes.shared.begin(), volumes.shared.end(),
                        [&](NameId volume) { return counted(Find(users_, node, volume)) == 0; });
      return more == 0 ||
             more + counted(Find(attached_, node, volumes.driver)) <= limit->most_volumes;
    });
  }

  // The count of the volume itself from the counts of its users: it leaves with the last user.
  static PodCountChange AsOne(const PodCountChange& users) {
    return {.all = users.all > 0 ? 1 : 0,
            .leaving = users.all > 0 && users.leaving == users.all ? 1 : 0};
  }

  void Count(PodId pod, NodeId node, const PodCountChange& by, int32_t sign) {
    if (!node.valid()) return;
    for (const AttachedVolumes& volumes : VolumesOf(cluster_.pods().pod_class[pod])) {
      PodCountChange& attached = attached_[{node, volumes.driver}];
      attached.all += sign * by.all * volumes.own;
      attached.leaving += sign * by.leaving * volumes.own;
      for (const NameId volume : volumes.shared) {
        PodCountChange& users = users_[{node, volume}];
        const PodCountChange before = AsOne(users);
        users.all += sign * by.all;
        users.leaving += sign * by.leaving;
        const PodCountChange after = AsOne(users);
        attached.all += after.all - before.all;
        attached.leaving += after.leaving - before.leaving;
      }
    }
  }

  void Applied(const Change& change) override {
    Count(change.pod, change.to_node, PodCountChangeOf(change), 1);
  }
  void Undone(const Change& change) override {
    Count(change.pod, change.to_node, PodCountChangeOf(change), -1);
  }

  const Cluster& cluster_;
  bool is_needed_ = false;
  Counts attached_;  // by node and driver; for look-ups only, like users_
  Counts users_;     // by node and volume, only for shared volumes
};

}  // namespace

std::unique_ptr<Filter> MakeVolumeLimitFilter(const Cluster& cluster) {
  return std::make_unique<VolumeLimitFilter>(cluster);
}

}  // namespace kai

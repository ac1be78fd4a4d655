#include "kai/actions/consolidation.h"

#include <algorithm>
#include <optional>

#include "kai/actions/eviction_action.h"
#include "kai/model/columns/gpu_sums.h"

namespace kai {
namespace {

constexpr int64_t kNoLimit = -1;

class Consolidation final : public EvictionAction {
 public:
  explicit Consolidation(int64_t depth)
      : EvictionAction("consolidation", EvictionNote::kConsolidated, depth) {}

 protected:
  bool IsOff(const CycleView& cycle) const override {
    return cycle.cluster->params().max_consolidation_preemptees == 0;
  }
  bool OnlyForPreemptible() const override { return true; }
  bool RemembersPerQueue() const override { return false; }

  bool IsHopeless(CycleView& cycle, PodGroupId group) override {
    // Moving pods makes no GPU (spec 2 R2).
    const Cluster& cluster = *cycle.cluster;
    double wanted_gpus = 0, wanted_mib = 0;
    for (const PodId pod : cycle.order->PodsToPlace(group)) {
      wanted_gpus += cluster.slots().TotalGpus(cluster.RequestOf(pod));
      wanted_mib += static_cast<double>(cluster.ClassOf(pod).gpu.memory_mib);  // of one device
    }
    const Room& room = RoomNow(cycle);
    return room.gpus < wanted_gpus - kGpuSumTolerance || room.mib < wanted_mib;
  }

  std::vector<PodGroupId> CandidatesFor(CycleView& cycle, PodGroupId group) override {
    if (!FirstPodFitsWhatIsFree(cycle, group)) return {};
    std::vector<PodGroupId> candidates = MayLose(cycle);
    EraseWithoutAlive(cycle, &candidates);
    std::erase(candidates, group);
    int64_t limit = cycle.cluster->params().max_consolidation_preemptees;
    if (limit == kNoLimit) return candidates;
    if (!cycle.mends->on(Mend::kConsolidationLimit)) ++limit;  // KAI counts one too far (R2)
    if (candidates.size() <= static_cast<size_t>(limit)) return candidates;
    // Those that a victim queue would give up first; KAI draws them at random (spec 2 W10).
    VictimPool pool(cycle, candidates);
    VictimQueue queue(&pool);
    const PodMarks nobody(0);
    std::vector<PodGroupId> first;
    while (first.size() < static_cast<size_t>(limit)) {
      const std::optional<VictimBatch> batch = queue.Next(nobody);
      if (!batch) break;
      if (std::find(first.begin(), first.end(), batch->group) == first.end())
        first.push_back(batch->group);
    }
    const IndexVector<PodGroupId, int64_t>& rank = cycle.cluster->pod_groups().creation_rank;
    std::sort(first.begin(), first.end(),
              [&](PodGroupId a, PodGroupId b) { return rank[a] < rank[b]; });
    return first;
  }

  bool Accepts(CycleView& cycle, PodGroupId, const Scenario& scenario, const QuotaCount&) override {
    return std::none_of(scenario.victims.begin(), scenario.victims.end(),
                        [&](const Victim& victim) {
                          return cycle.cluster->pods().status[victim.pod] == PodStatus::kReleasing;
                        });
  }

 private:
  // Of nodes that take pods: what is free or leaving.
  struct Room {
    double gpus = 0;
    double mib = 0;
  };

  // A search that comes to nothing leaves the statement, and with it the room, as it was.
  const Room& RoomNow(const CycleView& cycle) {
    if (room_ && changes_ == cycle.statement->Mark()) return *room_;
    const Cluster& cluster = *cycle.cluster;
    room_.emplace();
    changes_ = cycle.statement->Mark();
    const bool counts_memory = cluster.shares_gpus();
    for (const NodeId node : cluster.nodes().name.ids()) {
      if (cluster.node_classes()[cluster.nodes().node_class[node]].state != 0) continue;
      room_->gpus += AllGpusOf(cluster, node);
      if (!counts_memory) continue;
      const GpuSums sums = GpuSumsOf(cluster, node);
      room_->mib += sums.idle_mib + sums.releasing_mib;
    }
    return *room_;
  }

  std::optional<Room> room_;
  Statement::Checkpoint changes_ = 0;
};

}  // namespace

std::unique_ptr<Action> MakeConsolidation(int64_t depth) {
  return std::make_unique<Consolidation>(depth);
}

}  // namespace kai

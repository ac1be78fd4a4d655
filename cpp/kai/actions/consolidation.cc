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
  bool SharesFailuresPerQueue() const override { return false; }
  ReturnBounds* Returns(CycleView& cycle) override {
    return cycle.plain_search ? nullptr : &CurrentState(cycle).returns;
  }

  bool CannotSucceed(CycleView& cycle, PodGroupId group) override {
    // Moving pods does not add GPUs (spec 2 R2).
    const Cluster& cluster = *cycle.cluster;
    double wanted_gpus = 0, wanted_mib = 0;
    for (const PodId pod : cycle.order->PodsToPlace(group)) {
      wanted_gpus += cluster.slots().TotalGpus(cluster.RequestOf(pod));
      wanted_mib += static_cast<double>(cluster.ClassOf(pod).gpu.memory_mib);  // of one device
    }
    State& state = CurrentState(cycle);
    if (state.room.gpus < wanted_gpus - kGpuSumTolerance || state.room.mib < wanted_mib)
      return true;
    if (cycle.plain_search) return false;
    return !FirstPodFitsWhatIsFree(cycle, group) || !MayReturn(cycle, group);
  }

  Candidates CandidatesFor(CycleView& cycle, PodGroupId group, VictimLists*) override {
    State& state = CurrentState(cycle);
    if (!IsMovable(state, group)) return Candidates(FirstOf(cycle, &state));
    std::vector<PodGroupId> others = state.movable;
    std::erase(others, group);
    return Candidates(FirstToMove(cycle, std::move(others)));
  }

  bool Accepts(CycleView& cycle, PodGroupId, const Scenario& scenario, const QuotaCount&) override {
    return std::none_of(scenario.victims.begin(), scenario.victims.end(),
                        [&](const Victim& victim) {
                          return cycle.cluster->pods().status[victim.pod] == PodStatus::kReleasing;
                        });
  }

 private:
  // Free or releasing resources of nodes that accept pods.
  struct Room {
    double gpus = 0;
    double mib = 0;
  };

  // Data that all searches share until one of them changes the cluster.
  struct State {
    State(const CycleView& cycle, std::vector<PodGroupId> groups)
        : changes(cycle.statement->Mark()),
          movable(std::move(groups)),
          room(RoomOf(*cycle.cluster)),
          returns(cycle),
          with_all(movable) {}

    Statement::Checkpoint changes;
    std::vector<PodGroupId> movable;               // groups that may lose pods
    std::optional<std::vector<PodGroupId>> first;  // the first ones of these, up to the limit
    Room room;
    ReturnBounds returns;
    ReturnBounds::Movable with_all;
    std::optional<ReturnBounds::Movable> with_first;
  };

  // A pod that no controller creates again would be lost instead of moved.
  static void LeaveBarePods(CycleView& cycle, std::vector<PodGroupId>* movable) {
    if (!cycle.switches->on(Switch::kBarePods)) return;
    const IndexVector<PodGroupId, uint8_t>& has_bare = cycle.cluster->pod_groups().has_bare;
    const auto bare = std::ranges::stable_partition(
        *movable, [&](PodGroupId group) { return has_bare[group] == 0; });
    cycle.log->bare_groups.assign(bare.begin(), bare.end());
    movable->erase(bare.begin(), bare.end());
  }

  // False: it is proved without a search that some victim would find no new place.
  bool MayReturn(CycleView& cycle, PodGroupId group) {
    State& state = CurrentState(cycle);
    state.returns.StartPart(WholePart(cycle, group));
    if (!state.returns.MayFitWithAnyOf(&state.with_all)) return false;
    if (IsMovable(state, group)) return true;
    const std::vector<PodGroupId>& first = FirstOf(cycle, &state);
    if (first.size() == state.movable.size()) return true;
    if (!state.with_first) state.with_first.emplace(first);
    return state.returns.MayFitWithAnyOf(&*state.with_first);
  }

  // The pods that must be placed, of the next pods of the group: if some leaves have no pods yet,
  // fewer than all may be enough.
  static PodList WholePart(CycleView& cycle, PodGroupId group) {
    PodList all = cycle.order->PodsToPlace(group);
    if (cycle.order->PodSetsOf(group).size() == 1) return all;
    cycle.order->Narrow(group, all);
    PodList part = cycle.order->PodsToPlace(group);
    cycle.order->ForgetParts();
    return part;
  }

  static bool IsMovable(const State& state, PodGroupId group) {
    return std::ranges::find(state.movable, group) != state.movable.end();
  }

  static const std::vector<PodGroupId>& FirstOf(CycleView& cycle, State* state) {
    if (!state->first) state->first = FirstToMove(cycle, state->movable);
    return *state->first;
  }

  State& CurrentState(CycleView& cycle) {
    if (state_ == nullptr || state_->changes != cycle.statement->Mark()) {
      std::vector<PodGroupId> movable = MayLose(cycle);
      EraseWithoutAlive(cycle, &movable);
      LeaveBarePods(cycle, &movable);
      state_ = std::make_unique<State>(cycle, std::move(movable));
    }
    return *state_;
  }

  static std::vector<PodGroupId> FirstToMove(CycleView& cycle, std::vector<PodGroupId> candidates) {
    int64_t limit = cycle.cluster->params().max_consolidation_preemptees;
    if (limit == kNoLimit) return candidates;
    if (!cycle.switches->on(Switch::kConsolidationLimit))
      ++limit;  // KAI takes one more (spec 2 R2)
    if (candidates.size() <= static_cast<size_t>(limit)) return candidates;
    // The groups that a victim queue would give up first; KAI chooses them at random (spec 2 W10).
    VictimPool pool(cycle, Candidates(candidates));
    VictimQueue queue(&pool);
    const PodMarks none(0);
    std::vector<PodGroupId> first;
    while (first.size() < static_cast<size_t>(limit)) {
      const std::optional<VictimBatch> batch = queue.Next(none);
      if (!batch) break;
      if (std::find(first.begin(), first.end(), batch->group) == first.end())
        first.push_back(batch->group);
    }
    const IndexVector<PodGroupId, int64_t>& rank = cycle.cluster->pod_groups().creation_rank;
    std::sort(first.begin(), first.end(),
              [&](PodGroupId a, PodGroupId b) { return rank[a] < rank[b]; });
    return first;
  }

  static Room RoomOf(const Cluster& cluster) {
    Room room;
    const bool counts_memory = cluster.shares_gpus();
    for (const NodeId node : cluster.nodes().name.ids()) {
      if (cluster.node_classes()[cluster.nodes().node_class[node]].state != 0) continue;
      room.gpus += AllGpusOf(cluster, node);
      if (!counts_memory) continue;
      const GpuSums sums = GpuSumsOf(cluster, node);
      room.mib += sums.idle_mib + sums.releasing_mib;
    }
    return room;
  }

  std::unique_ptr<State> state_;
};

}  // namespace

std::unique_ptr<Action> MakeConsolidation(int64_t depth) {
  return std::make_unique<Consolidation>(depth);
}

}  // namespace kai

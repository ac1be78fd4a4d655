#include "kai/actions/stale_gang_eviction.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "kai/actions/candidates.h"
#include "kai/base/saturating.h"

namespace kai {
namespace {

constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();

class StaleGangEviction final : public Action {
 public:
  void Run(CycleView& cycle) override {
    for (const PodGroupId group : SinglesAndChanged(cycle)) Visit(cycle, group);
  }

 private:
  static void Visit(CycleView& cycle, PodGroupId group) {
    int64_t since_ns = cycle.StaleSince(group);
    if (!IsStale(cycle, group)) {
      if (since_ns != kNoTime) cycle.log->stale_since_ns[group] = kNoTime;
      cycle.log->Unmark(group, CycleLog::kIsStale);
      return;
    }
    if (since_ns == kNoTime) since_ns = cycle.log->stale_since_ns[group] = cycle.time->now_ns();
    const int64_t grace_ns = cycle.cluster->pod_groups().staleness_grace_ns[group];
    if (grace_ns < 0 ||
        !cycle.time->HasCome(cycle.time->EndOf(AddSaturating(since_ns, grace_ns), grace_ns),
                             WakeReason::kGangStale))
      return;
    // This cycle does not evict what it has placed; the next one may.
    if (cycle.switches->on(Switch::kSameCycleEviction) && cycle.log->Has(group, CycleLog::kPlaced))
      return;
    cycle.log->Mark(group, CycleLog::kIsStale);
    EvictAll(cycle, group);
  }

  // spec 2 D5. One succeeded pod is enough for its whole group.
  static bool IsStale(const CycleView& cycle, PodGroupId group) {
    return cycle.order->CountOf(group, PodStatus::kSucceeded) == 0 &&
           cycle.order->ActiveUsed(group) > 0 && !cycle.order->IsGangSatisfied(group);
  }

  // By name, across sub-groups.
  static std::vector<PodId> ActivePodsOf(const CycleView& cycle, PodGroupId group) {
    const Cluster& cluster = *cycle.cluster;
    std::vector<PodId> active;
    for (const SubGroupId pod_set : cluster.pod_groups().PodSetsOf(group)) {
      for (const PodId pod : cycle.order->PodsOf(pod_set)) {
        if (IsActiveAllocated(cluster.pods().status[pod])) active.push_back(pod);
      }
    }
    std::ranges::sort(active, [&](PodId a, PodId b) { return cluster.IsNamedBefore(a, b); });
    return active;
  }

  static void EvictAll(CycleView& cycle, PodGroupId group) {
    for (const PodId pod : ActivePodsOf(cycle, group)) {
      cycle.log->decisions.push_back({.kind = CycleLog::Decision::Kind::kEvict,
                                      .note = EvictionNote::kStale,
                                      .pod = pod,
                                      .node = NodeId(),
                                      .for_group = PodGroupId(),
                                      .action = kStaleGangEviction});
      cycle.statement->Evict(pod);
    }
  }
};

}  // namespace

std::unique_ptr<Action> MakeStaleGangEviction() { return std::make_unique<StaleGangEviction>(); }

}  // namespace kai

// Tests one scenario, by its number of pieces. All numbers are *information*.
#include <benchmark/benchmark.h>

#include <vector>

#include "kai/fairshare/reclaim_rule.h"

namespace kai {
namespace {

// Ten departments with ten teams of ten queues each; the last queue takes GPUs one by one from all
// the others in turn.
void BM_Accepts(benchmark::State& state) {
  QueueColumns queues;
  IndexVector<QueueId, QueueShare> shares;
  IndexVector<QueueId, QueueSums> sums;
  std::vector<QueueId> leaves;
  const auto add = [&](QueueId parent) {
    queues.name.Add(NameId());
    QueueShare share;
    share.fill({.limit = kUnlimited, .fair_share = 1});
    shares.Add(share);
    sums.Add({.allocated = {1e9, 1e9, 1e9}});
    return queues.parent.Add(parent);
  };
  for (int i = 0; i < 10; ++i) {
    const QueueId department = add(QueueId());
    for (int j = 0; j < 10; ++j) {
      const QueueId team = add(department);
      for (int k = 0; k < 10; ++k) leaves.push_back(add(team));
    }
  }
  const QueueId reclaimer = leaves.back();
  for (QueueId queue = reclaimer; queue.valid(); queue = queues.parent[queue]) {
    shares[queue].fill({.limit = kUnlimited, .fair_share = 1e9});
    sums[queue] = {};
  }
  leaves.pop_back();

  std::vector<QueueLoss> losses;
  for (size_t i = 0; i < static_cast<size_t>(state.range(0)); ++i)
    losses.push_back({leaves[i % leaves.size()], {1000, 1e9, 1}, 1});
  ReclaimRule rule({queues, shares, sums}, {.queue = reclaimer}, {});
  for (auto unused : state) {
    if (!rule.Accepts(losses, {1000, 1e9, 1})) state.SkipWithError("refused");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Accepts)->RangeMultiplier(10)->Range(1, 10'000);

}  // namespace
}  // namespace kai

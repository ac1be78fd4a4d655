// One search and one change of the node index, compared with a walk over all nodes. All numbers are
// *information*.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "kai/base/text.h"
#include "kai/model/changes/statement.h"
#include "kai/model/rows/cluster_rows.h"
#include "kai/placement/node_index.h"

namespace kai {
namespace {

constexpr size_t kWithGpus = NodeIndex::GroupOf(/*cpu_only=*/false, /*offers=*/true);
constexpr int64_t kGib = int64_t{1} << 30;

// Nodes with 8 GPUs, and one waiting pod with 4 GPUs, 4 cores and 8 GiB. Of every ten nodes, `full`
// have no GPU left. With `either`, half of the nodes have no core left and the others no memory: no
// node fits the pod, and neighbours refuse it for different reasons.
std::unique_ptr<Cluster> Nodes(int64_t count, int64_t full, bool either) {
  ClusterRows rows;
  PodGroupRow group;
  group.namespace_name = "ns";
  group.name = "group";
  const auto pod = [](std::string name, int64_t gpus, int64_t cores, int64_t gib,
                      std::string node) {
    PodRow row;
    row.namespace_name = "ns";
    row.name = std::move(name);
    row.scheduler_name = "kai-scheduler";
    row.pod_group = "group";
    row.requests = {{"cpu", cores * 1000}, {"memory", gib * kGib}};
    row.gpu.count = gpus;
    row.gpu.portion = gpus > 0 ? 1 : 0;
    row.phase = node.empty() ? Phase::kPending : Phase::kRunning;
    row.node_name = std::move(node);
    return row;
  };
  for (int64_t i = 0; i < count; ++i) {
    NodeRow node;
    node.name = StrCat("node-", i);
    node.allocatable = {
        {"cpu", 64'000}, {"memory", 64 * kGib}, {"pods", 110}, {"nvidia.com/gpu", 8}};
    node.ready = ConditionStatus::kTrue;
    if (either) {
      rows.pods.push_back(i % 2 == 0 ? pod(StrCat("cores-", i), 0, 64, 1, node.name)
                                     : pod(StrCat("memory-", i), 0, 1, 60, node.name));
    } else {
      const int64_t gpus = i % 10 < full ? 8 : i * 7919 % 5;
      rows.pods.push_back(pod(StrCat("gpus-", i), gpus, 1, 1, node.name));
    }
    rows.nodes.push_back(std::move(node));
  }
  rows.pods.push_back(pod("waits", 4, 4, 8, ""));
  rows.pod_groups.push_back(std::move(group));
  return std::move(rows).Build();
}

PodId WaitingPod(const Cluster& cluster) {
  for (const PodId pod : cluster.pods().name.ids()) {
    if (cluster.pods().status[pod] == PodStatus::kPending) return pod;
  }
  return PodId();
}

void BM_FirstFit(benchmark::State& state, int64_t full, bool either) {
  const auto cluster = Nodes(state.range(0), full, either);
  const NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  const std::vector<uint8_t> all_ok(cluster->node_classes().size(), 1);
  const auto request = cluster->RequestOf(WaitingPod(*cluster));
  NodeId node;
  for (auto unused : state) {
    node = index.FirstFit(kWithGpus, request, all_ok, Room::kNow);
    benchmark::DoNotOptimize(node);
  }
  if (node.valid() == either) state.SkipWithError("not the answer that was built");
}
BENCHMARK_CAPTURE(BM_FirstFit, some_are_full, 3, false)->Arg(100)->Arg(5'000)->Arg(50'000);
BENCHMARK_CAPTURE(BM_FirstFit, nearly_all_are_full, 9, false)->Arg(100)->Arg(5'000)->Arg(50'000);
// The worst case: every subtree has cores on some nodes and memory on others, and must be searched.
BENCHMARK_CAPTURE(BM_FirstFit, cores_here_memory_there, 0, true)->Arg(100)->Arg(5'000)->Arg(50'000);

// The rival of the index.
void BM_LookAtEveryNode(benchmark::State& state) {
  const auto cluster = Nodes(state.range(0), 3, false);
  const auto request = cluster->RequestOf(WaitingPod(*cluster));
  const NodeColumns& nodes = cluster->nodes();
  for (auto unused : state) {
    NodeId best;
    for (const NodeId node : nodes.name.ids()) {
      if (!Fits(request, nodes.idle[node])) continue;
      if (!best.valid() || RoomOf(*cluster, node, kGpuSlot) < RoomOf(*cluster, best, kGpuSlot)) {
        best = node;
      }
    }
    benchmark::DoNotOptimize(best);
  }
}
BENCHMARK(BM_LookAtEveryNode)->Arg(100)->Arg(5'000)->Arg(50'000);

// A pod is placed and removed: two changes, each followed by a refresh.
void BM_ChangeAndRefresh(benchmark::State& state) {
  const auto cluster = Nodes(state.range(0), 3, false);
  NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
  const auto statement = Statement::Open(cluster.get(), {});
  const PodId pod = WaitingPod(*cluster);
  const auto count = static_cast<size_t>(state.range(0));
  size_t at = 0;
  for (auto unused : state) {
    const NodeId node(at);
    at = (at + 7919) % count;
    statement->Pipeline(pod, node);
    index.Touch(node);
    index.Refresh();
    statement->RollBackTo(0);
    index.Touch(node);
    index.Refresh();
  }
  state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(BM_ChangeAndRefresh)->Arg(100)->Arg(5'000)->Arg(50'000);

void BM_Build(benchmark::State& state) {
  const auto cluster = Nodes(state.range(0), 3, false);
  for (auto unused : state) {
    NodeIndex index(*cluster, kGpuSlot, Strategy::kBinpack);
    benchmark::DoNotOptimize(index.most_room());
  }
}
BENCHMARK(BM_Build)->Arg(100)->Arg(5'000)->Arg(50'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace kai

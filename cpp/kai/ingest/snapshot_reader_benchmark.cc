// From bytes to rows, in pods per second: the workload is eight pods and eight groups a node, as
// compact as KAI writes them. Information, not a gate.

#include <benchmark/benchmark.h>

#include <string>

#include "kai/base/check.h"
#include "kai/base/text.h"
#include "kai/ingest/json_check.h"
#include "kai/ingest/snapshot_reader.h"

namespace kai {
namespace {

constexpr int kPodsPerNode = 8;

std::string MakeSnapshot(int nodes) {
  std::string json = R"({"config":{},"rawObjects":{"nodes":[)";
  for (int i = 0; i < nodes; ++i) {
    StrAppend(&json, i > 0 ? "," : "", R"({"metadata":{"name":"node-)", i,
              R"(","labels":{"kubernetes.io/hostname":"node-)", i,
              R"(","nvidia.com/gpu.count":"8","nvidia.com/gpu.memory":"81920"}},)",
              R"("status":{"allocatable":{"cpu":"128","memory":"1024Gi","pods":"110",)",
              R"("nvidia.com/gpu":"8"},"conditions":[{"type":"Ready","status":"True"}]}})");
  }
  json += R"(],"podGroups":[)";
  for (int i = 0; i < nodes * kPodsPerNode; ++i) {
    StrAppend(&json, i > 0 ? "," : "", R"({"metadata":{"name":"job-)", i,
              R"(","namespace":"team","creationTimestamp":"2024-02-01T00:19:05Z"},)",
              R"("spec":{"queue":"team-a","minMember":1,"priorityClassName":"train"}})");
  }
  json += R"(],"pods":[)";
  for (int i = 0; i < nodes * kPodsPerNode; ++i) {
    StrAppend(&json, i > 0 ? "," : "", R"({"metadata":{"name":"job-)", i,
              R"(-0","namespace":"team","uid":"u)", i,
              R"(","creationTimestamp":"2024-02-01T00:19:05Z","annotations":)",
              R"({"pod-group-name":"job-)", i, R"("}},"spec":{"schedulerName":"kai-scheduler",)",
              R"("containers":[{"name":"main","resources":{"requests":{"cpu":"1",)",
              R"("memory":"4Gi","nvidia.com/gpu":"1"}}}]},"status":{"phase":"Pending"}})");
  }
  return json + "]}}";
}

void Count(benchmark::State& state, const std::string& json) {
  state.SetItemsProcessed(state.iterations() * state.range(0) * kPodsPerNode);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(json.size()));
}

void BM_CheckJson(benchmark::State& state) {
  const std::string json = MakeSnapshot(static_cast<int>(state.range(0)));
  for (auto unused : state) KAI_CHECK(CheckJson(json).ok());
  Count(state, json);
}
BENCHMARK(BM_CheckJson)->Arg(50)->Arg(500)->Arg(5000)->Unit(benchmark::kMillisecond);

void BM_ReadSnapshotRows(benchmark::State& state) {
  const std::string json = MakeSnapshot(static_cast<int>(state.range(0)));
  for (auto unused : state) {
    const absl::StatusOr<SnapshotRows> rows = ReadSnapshotRows(json);
    KAI_CHECK(rows.ok() && rows->cluster.rejections.empty());
    KAI_CHECK(rows->cluster.pods.size() == static_cast<size_t>(state.range(0)) * kPodsPerNode);
  }
  Count(state, json);
}
BENCHMARK(BM_ReadSnapshotRows)->Arg(50)->Arg(500)->Arg(5000)->Unit(benchmark::kMillisecond);

void BM_ReadSnapshot(benchmark::State& state) {
  const std::string json = MakeSnapshot(static_cast<int>(state.range(0)));
  for (auto unused : state) KAI_CHECK(ReadSnapshot(json).ok());
  Count(state, json);
}
BENCHMARK(BM_ReadSnapshot)->Arg(50)->Arg(500)->Arg(5000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kai

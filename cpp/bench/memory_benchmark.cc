// The cost of a cluster that arrives as a stream: objects are generated as JSON one by one and put
// into a Store, and an Engine builds its columns. Reports the time per object, including the
// generation of the JSON, and the resident memory in MB: the peak while loading, and what remains.
//
//   make bench-stream
//
// Ten pods a node, either in groups of ten or each in its own group.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kai/base/check.h"
#include "kai/base/text.h"
#include "kai/engine/engine.h"

namespace kai {
namespace {

constexpr int64_t kPodsPerNode = 10;

// A line of /proc/self/status: VmRSS is the current resident memory, VmHWM its peak.
double ResidentMb(std::string_view line_name) {
  std::ifstream status("/proc/self/status");
  std::string name;
  while (status >> name) {
    double kib = 0;
    if (name == line_name && status >> kib) return kib * 1024 / 1e6;
  }
  return 0;
}

// Resets the peak to the current resident memory.
void ForgetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

std::string NodeJson(int64_t index) {
  return StrCat(R"({"metadata":{"name":"node-)", index, R"(","labels":{"kubernetes.io/hostname":)",
                R"("node-)", index, R"(","nvidia.com/gpu.count":"8","nvidia.com/gpu.memory":)",
                R"("81920"}},"status":{"allocatable":{"cpu":"128","memory":"1024Gi","pods":"110",)",
                R"("nvidia.com/gpu":"8"},"conditions":[{"type":"Ready","status":"True"}]}})");
}

std::string GroupJson(int64_t index, int64_t pods) {
  return StrCat(R"({"metadata":{"name":"job-)", index, R"(","namespace":"team",)",
                R"("resourceVersion":")", index + 1, R"(","creationTimestamp":)",
                R"("2024-02-01T00:19:05Z"},"spec":{"queue":"team-a","minMember":)", pods,
                R"(,"priorityClassName":"train"}})");
}

std::string PodJson(int64_t index, int64_t group) {
  return StrCat(R"({"metadata":{"name":"job-)", group, "-", index, R"(","namespace":"team","uid":)",
                R"("0f8fad5b-d9cb-469f-a165-)", 100'000'000'000 + index, R"(","resourceVersion":")",
                index + 1, R"(","creationTimestamp":"2024-02-01T00:19:05Z","labels":{"app":)",
                R"("train","team":"a"},"annotations":{"pod-group-name":"job-)", group,
                R"("}},"spec":{"schedulerName":"kai-scheduler","containers":[{"name":"main",)",
                R"("resources":{"requests":{"cpu":"1","memory":"4Gi","nvidia.com/gpu":"1"}}}],)",
                R"("tolerations":[{"key":"nvidia.com/gpu","operator":"Exists"}]},)",
                R"("status":{"phase":"Pending"}})");
}

void BM_Stream(benchmark::State& state) {
  const int64_t nodes = state.range(0);
  const int64_t pods = nodes * kPodsPerNode;
  const int64_t pods_of_group = state.range(1);
  for (auto unused : state) {
    state.PauseTiming();
    malloc_trim(0);
    ForgetPeak();
    const double before_mb = ResidentMb("VmRSS:");
    auto store = std::make_unique<Store>();
    state.ResumeTiming();
    const auto add = [&](Kind kind, const std::string& json) {
      KAI_CHECK(store->Upsert(kind, json) == Store::Outcome::kApplied);
    };
    add(Kind::kQueue, R"({"metadata":{"name":"team-a"},"spec":{}})");
    for (int64_t i = 0; i < nodes; ++i) add(Kind::kNode, NodeJson(i));
    for (int64_t i = 0; i < pods / pods_of_group; ++i)
      add(Kind::kPodGroup, GroupJson(i, pods_of_group));
    for (int64_t i = 0; i < pods; ++i) add(Kind::kPod, PodJson(i, i / pods_of_group));
    const double rows_mb = ResidentMb("VmRSS:");
    absl::StatusOr<Config> config = Config::Parse("{}", {});
    KAI_CHECK(config.ok());
    auto engine = std::make_unique<Engine>(store.get(), *std::move(config), ShardParams());
    engine->Settled();
    state.PauseTiming();
    state.counters["peak_MB"] = ResidentMb("VmHWM:") - before_mb;
    state.counters["rows_MB"] = rows_mb - before_mb;
    malloc_trim(0);
    state.counters["after_MB"] = ResidentMb("VmRSS:") - before_mb;
    engine = nullptr;
    store = nullptr;
    state.ResumeTiming();
  }
  const double objects = static_cast<double>(nodes + pods / pods_of_group + pods);
  state.counters["objects/s"] = benchmark::Counter(
      objects * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Stream)
    ->Name("stream/information")
    ->ArgNames({"nodes", "pods_of_group"})
    ->Args({1'000, 10})
    ->Args({10'000, 10})
    ->Args({100'000, 10})
    ->Args({100'000, 1})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kai

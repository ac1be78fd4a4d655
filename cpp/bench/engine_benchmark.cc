// The cost of an event in a live cluster, including the plan after it.
//
//   make bench-event
//
// The cluster is full: on every device a GPU pod in its own group, on every node twenty pods
// without GPUs in groups of twenty, and waiting groups of a hundred shapes. In each round one GPU
// pod ends and the plan starts one group; then the pod is back and the plan starts none.
#include <benchmark/benchmark.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/base/check.h"
#include "kai/base/text.h"
#include "kai/engine/engine.h"

namespace kai {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kNowNs = 1'800'000'000 * kSecondNs;
constexpr int64_t kLongAgoNs = 1'700'000'000 * kSecondNs;
constexpr int64_t kGib = int64_t{1} << 30;
constexpr int64_t kGpus = 8;  // per node
constexpr int64_t kManyEvents = 500;

class FullCluster {
 public:
  FullCluster(int64_t nodes, int64_t waiting) {
    QueueRow queue;
    queue.name = "team-a";
    queue.created_ns = kLongAgoNs;
    for (QuotaRow& quota : queue.resources)
      quota = {.quota = kUnlimited, .over_quota_weight = 1, .limit = kUnlimited};
    store_.Upsert(queue);
    store_.Upsert(PriorityClassRow{.name = "train", .value = 50});
    for (int64_t i = 0; i < nodes; ++i) AddNode(StrCat("node-", i));
    for (int64_t i = 0; i < nodes; ++i) {
      for (int64_t gpu = 0; gpu < kGpus; ++gpu)
        AddGroup(StrCat("run-", i, "-", gpu), 1, 1, StrCat("node-", i), 1000);
      AddGroup(StrCat("cpu-", i), 20, 0, StrCat("node-", i), 1000);
    }
    for (int64_t i = 0; i < waiting; ++i)
      AddGroup(StrCat("wait-", i), 1, i % 2 == 0 ? 1 : 2, "", 1000 + i % 100);
  }

  Store& store() { return store_; }
  const PodRow& some_running() const { return running_.back(); }
  const NodeRow& some_node() const { return nodes_.back(); }
  // The first GPU pods of this many nodes.
  std::vector<PodRow> SomeRunning(int64_t count) const {
    std::vector<PodRow> pods;
    for (size_t i = 0; i < running_.size() && std::ssize(pods) < count; i += kGpus)
      pods.push_back(running_[i]);
    return pods;
  }

 private:
  void AddNode(std::string name) {
    NodeRow node;
    node.name = std::move(name);
    node.allocatable = {
        {"cpu", 128'000}, {"memory", 1024 * kGib}, {"pods", 110}, {"nvidia.com/gpu", kGpus}};
    node.ready = ConditionStatus::kTrue;
    nodes_.push_back(node);
    store_.Upsert(node);
  }

  void AddGroup(const std::string& name, int64_t pods, int64_t gpus, std::string_view node,
                int64_t millicpu) {
    PodGroupRow group;
    group.namespace_name = "ns";
    group.name = name;
    group.queue = "team-a";
    group.priority_class = "train";
    group.min_member = pods;
    group.created_ns = kLongAgoNs + ++groups_ * kSecondNs;
    store_.Upsert(group);
    for (int64_t i = 0; i < pods; ++i) {
      PodRow pod;
      pod.namespace_name = "ns";
      pod.name = StrCat(name, "-", i);
      pod.uid = StrCat("uid-", name, "-", i);
      pod.created_ns = group.created_ns;
      pod.pod_group = name;
      pod.scheduler_name = "kai-scheduler";
      pod.requests = {{"cpu", millicpu}, {"memory", kGib}};
      if (gpus > 0) {
        pod.gpu.count = gpus;
        pod.gpu.portion = 1;
      }
      pod.phase = node.empty() ? Phase::kPending : Phase::kRunning;
      pod.node_name = node;
      if (gpus > 0 && !node.empty()) running_.push_back(pod);
      store_.Upsert(pod);
    }
  }

  Store store_;
  int64_t groups_ = 0;
  std::vector<NodeRow> nodes_;
  std::vector<PodRow> running_;
};

Config ConfigOf(std::string_view json) {
  absl::StatusOr<Config> config = Config::Parse(json, {});
  KAI_CHECK(config.ok()) << config.status().ToString();
  return *std::move(config);
}

Engine::PlanPtr PlanOf(Engine* engine, int64_t now_ns = kNowNs) {
  return *engine->Plan(now_ns, nullptr);
}

void InBothSizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"nodes", "waiting"})
      ->Args({500, 1000})
      ->Args({5000, 10'000})
      ->Unit(benchmark::kMicrosecond);
}

void BM_EventAndPlan(benchmark::State& state) {
  FullCluster cluster(state.range(0), state.range(1));
  Engine engine(&cluster.store(), ConfigOf("{}"), ShardParams());
  KAI_CHECK(PlanOf(&engine)->decisions.empty());
  const PodRow pod = cluster.some_running();
  const std::string name = StrCat(pod.namespace_name, "/", pod.name);
  for (auto _ : state) {
    cluster.store().Delete(Kind::kPod, name);
    KAI_CHECK(PlanOf(&engine)->decisions.size() == 1);
    cluster.store().Upsert(pod);
    KAI_CHECK(PlanOf(&engine)->decisions.empty());
  }
  KAI_CHECK(engine.counts().built == 1);
}
BENCHMARK(BM_EventAndPlan)->Name("event/information")->Apply(InBothSizes);

// A pod on each of this many nodes ends, and as many groups start; then the previous state returns.
void BM_ManyEvents(benchmark::State& state) {
  FullCluster cluster(state.range(0), state.range(1));
  Engine engine(&cluster.store(), ConfigOf("{}"), ShardParams());
  PlanOf(&engine);
  const std::vector<PodRow> pods = cluster.SomeRunning(kManyEvents);
  for (auto _ : state) {
    for (const PodRow& pod : pods)
      cluster.store().Delete(Kind::kPod, StrCat(pod.namespace_name, "/", pod.name));
    KAI_CHECK(!PlanOf(&engine)->decisions.empty());
    for (const PodRow& pod : pods) cluster.store().Upsert(pod);
    KAI_CHECK(PlanOf(&engine)->decisions.empty());
  }
  KAI_CHECK(engine.counts().built == 1);
}
BENCHMARK(BM_ManyEvents)->Name("events/information")->Apply(InBothSizes);

// A node is cordoned, and then uncordoned.
void BM_CordonAndPlan(benchmark::State& state) {
  FullCluster cluster(state.range(0), state.range(1));
  Engine engine(&cluster.store(), ConfigOf("{}"), ShardParams());
  KAI_CHECK(PlanOf(&engine)->decisions.empty());
  const NodeRow node = cluster.some_node();
  NodeRow cordoned = node;
  cordoned.unschedulable = true;
  for (auto _ : state) {
    cluster.store().Upsert(cordoned);
    KAI_CHECK(PlanOf(&engine)->decisions.empty());
    cluster.store().Upsert(node);
    KAI_CHECK(PlanOf(&engine)->decisions.empty());
  }
  KAI_CHECK(engine.counts().built == 1);
}
BENCHMARK(BM_CordonAndPlan)->Name("cordon/information")->Apply(InBothSizes);

// A node goes while its pods remain; then it comes back.
void BM_NodeGoesAndComes(benchmark::State& state) {
  FullCluster cluster(state.range(0), state.range(1));
  Engine engine(&cluster.store(), ConfigOf("{}"), ShardParams());
  KAI_CHECK(PlanOf(&engine)->decisions.empty());
  const NodeRow node = cluster.some_node();
  for (auto _ : state) {
    cluster.store().Delete(Kind::kNode, node.name);
    KAI_CHECK(PlanOf(&engine)->decisions.empty());
    cluster.store().Upsert(node);
    KAI_CHECK(PlanOf(&engine)->decisions.empty());
  }
}
BENCHMARK(BM_NodeGoesAndComes)->Name("node/information")->Apply(InBothSizes);

void BM_QuietPlan(benchmark::State& state) {
  FullCluster cluster(state.range(0), state.range(1));
  Engine engine(&cluster.store(), ConfigOf("{}"), ShardParams());
  KAI_CHECK(PlanOf(&engine)->decisions.empty());
  int64_t now_ns = kNowNs;
  for (auto _ : state) KAI_CHECK(PlanOf(&engine, now_ns += kSecondNs)->decisions.empty());
}
BENCHMARK(BM_QuietPlan)->Name("quiet/information")->Apply(InBothSizes);

}  // namespace
}  // namespace kai

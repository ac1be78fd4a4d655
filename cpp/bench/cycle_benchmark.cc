// Whole cycles on named workloads: what a plan call costs, and what loading costs before it.
//
//   make bench ARGS=--benchmark_filter=fill
//   KAI_BENCH_SNAPSHOT=snapshot.json make bench ARGS=--benchmark_filter=snapshot
//
// A name ends in its size, and says before it what its number is for: *gate* where a number has to
// stay below a bar (named beside it), *information* elsewhere. Clusters are built outside the loop,
// every answer is checked, and `pods/s` counts the waiting pods that a cycle went through. KAI's
// own figures on some of these clusters stand in docs/performance.md.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kai/base/clock.h"
#include "kai/base/text.h"
#include "kai/ingest/snapshot_reader.h"
#include "kai/model/rows/cluster_rows.h"
#include "kai/session/config.h"
#include "kai/session/session.h"

namespace kai {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kGib = int64_t{1} << 30;
constexpr int64_t kGpusPerNode = 8;
constexpr int64_t kCoresPerNode = 128;
constexpr int64_t kGibPerNode = 1024;
constexpr int64_t kNowNs = 1'800'000'000 * kSecondNs;
constexpr int64_t kLongAgoNs = 1'700'000'000 * kSecondNs;
constexpr char kHostname[] = "kubernetes.io/hostname";

// What KAI's operator configures by default, for one GPU strategy.
std::string ConfigJson(std::string_view strategy) {
  std::string plugins;
  for (const std::string_view name :
       {"predicates", "proportion", "priority", "nodeavailability", "resourcetype", "podaffinity",
        "elastic", "kubeflow", "ray", "subgrouporder", "taskorder", "nominatednode",
        "dynamicresources", "minruntime", "topology", "snapshot"}) {
    StrAppend(&plugins, R"({"name":")", name, R"("},)");
  }
  StrAppend(&plugins, R"({"name":"nodeplacement","arguments":{"gpu":")", strategy, R"(","cpu":")",
            strategy, R"("}})");
  return StrCat(R"({"actions":"allocate","tiers":[{"plugins":[)", plugins, "]}]}");
}

std::string Padded(int64_t number, size_t width) {
  std::string digits = StrCat(number);
  return digits.size() < width ? std::string(width - digits.size(), '0') + digits : digits;
}

// A cluster being written down: nodes of 8 GPUs, two levels of queues, one pod group after another.
class Workload {
 public:
  explicit Workload(int64_t nodes, std::string_view strategy = "binpack")
      : config_json_(ConfigJson(strategy)), nodes_(nodes) {
    QuotaRow unlimited{.quota = kUnlimited, .over_quota_weight = 1, .limit = kUnlimited};
    const auto gpus = static_cast<double>(nodes * kGpusPerNode);
    for (const auto& [name, parent] : {std::pair("dept-a", ""), std::pair("team-a", "dept-a")}) {
      QueueRow queue;
      queue.name = name;
      queue.parent = parent;
      queue.created_ns = kLongAgoNs;
      queue.resources = {unlimited, unlimited,
                         QuotaRow{.quota = gpus, .over_quota_weight = 1, .limit = kUnlimited}};
      rows_.queues.push_back(queue);
    }
    rows_.priority_classes.push_back({.name = "train", .value = 50});
  }

  int64_t nodes() const { return nodes_; }
  std::string NodeName(int64_t index) const {
    return StrCat("node-", Padded(index + 1, StrCat(nodes_).size()));
  }
  NodeRow Node(int64_t index, int64_t gpus = kGpusPerNode) const {
    NodeRow node;
    node.name = NodeName(index);
    node.labels = {{kHostname, node.name}};
    node.allocatable = {
        {"cpu", kCoresPerNode * 1000}, {"memory", kGibPerNode * kGib}, {"pods", 110}};
    if (gpus > 0) {
      node.labels.emplace_back("nvidia.com/gpu.memory", "81920");
      node.labels.emplace_back("nvidia.com/gpu.count", StrCat(gpus));
      node.allocatable.emplace_back("nvidia.com/gpu", gpus);
    }
    node.ready = ConditionStatus::kTrue;
    return node;
  }
  void Add(NodeRow node) { rows_.nodes.push_back(std::move(node)); }
  void AddNodes() {
    for (int64_t i = 0; i < nodes_; ++i) Add(Node(i));
  }

  static PodRow GpuPod(int64_t gpus) {
    PodRow pod;
    pod.requests = {{"cpu", 1000 * std::max<int64_t>(gpus, 1)}, {"memory", 4 * kGib}};
    if (gpus > 0) {
      pod.gpu.count = gpus;
      pod.gpu.portion = 1;
    }
    return pod;
  }
  static PodRow RunningOn(std::string node, PodRow pod) {
    pod.node_name = std::move(node);
    return pod;
  }

  // A pod group of `pods` pods like this one, all of which it needs at once.
  void AddGroup(int64_t pods, const PodRow& like) {
    PodGroupRow group;
    group.namespace_name = "ns-team-a";
    group.name = StrCat(like.node_name.empty() ? "job-" : "run-", Padded(++groups_, 2));
    group.created_ns = kLongAgoNs + groups_ * 97 * kSecondNs;
    group.queue = "team-a";
    group.priority_class = "train";
    group.min_member = pods;
    for (int64_t i = 0; i < pods; ++i) {
      PodRow pod = like;
      pod.namespace_name = group.namespace_name;
      pod.name = StrCat(group.name, "-", i);
      pod.uid = StrCat((groups_ * 7919 + i) % 1'000'003, "-", pod.name);  // in no special order
      pod.created_ns = group.created_ns;
      pod.pod_group = group.name;
      pod.scheduler_name = "kai-scheduler";
      pod.phase = pod.node_name.empty() ? Phase::kPending : Phase::kRunning;
      rows_.pods.push_back(std::move(pod));
    }
    rows_.pod_groups.push_back(std::move(group));
  }

  std::shared_ptr<Cluster> Build() && { return std::move(rows_).Build(); }
  const std::string& config_json() const { return config_json_; }

 private:
  ClusterRows rows_;
  std::string config_json_;
  int64_t nodes_;
  int64_t groups_ = 0;
};

struct Situation {
  std::shared_ptr<Cluster> cluster;
  std::string config_json;
  int64_t waiting = 0;  // pods
  int64_t binds = 0;    // pods that must get a node
};

Situation Finish(Workload workload, int64_t waiting, int64_t binds) {
  std::string config_json = workload.config_json();
  return {.cluster = std::move(workload).Build(),
          .config_json = std::move(config_json),
          .waiting = waiting,
          .binds = binds};
}

void RunCycles(benchmark::State& state, const Situation& situation) {
  absl::StatusOr<Config> config = Config::Parse(situation.config_json, {});
  if (!config.ok()) return state.SkipWithError(std::string(config.status().message()).c_str());
  const Session session(*std::move(config));
  size_t decisions = 0;
  for (auto unused : state) {
    const absl::StatusOr<Plan> plan = session.Run(situation.cluster, kNowNs, nullptr);
    decisions = plan.ok() ? plan->decisions.size() : 0;
    benchmark::DoNotOptimize(decisions);
  }
  if (situation.binds >= 0 && decisions != static_cast<size_t>(situation.binds)) {
    const std::string error = StrCat("expected ", situation.binds, " binds, got ", decisions);
    return state.SkipWithError(error.c_str());
  }
  state.counters["nodes"] = static_cast<double>(situation.cluster->nodes().size());
  state.counters["binds"] = static_cast<double>(decisions);
  state.counters["pods/s"] = benchmark::Counter(
      static_cast<double>(situation.waiting) * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate);
}

// ---- workloads ----------------------------------------------------------------------------------

// Empty nodes, and as many one-GPU pods as there are GPUs, each a pod group of its own.
Situation Fill(int64_t nodes, std::string_view strategy) {
  Workload workload(nodes, strategy);
  workload.AddNodes();
  const int64_t pods = nodes * kGpusPerNode;
  for (int64_t i = 0; i < pods; ++i) workload.AddGroup(1, Workload::GpuPod(1));
  return Finish(std::move(workload), pods, pods);
}

void BM_Fill(benchmark::State& state) { RunCycles(state, Fill(state.range(0), "binpack")); }
BENCHMARK(BM_Fill)->Name("fill/information")->Arg(10)->Arg(100)->Unit(benchmark::kMillisecond);
// Bars: 500 nodes under 10 ms, built so that 2 ms is reachable; 5,000 nodes under 150 ms.
BENCHMARK(BM_Fill)->Name("fill/gate")->Arg(500)->Arg(5'000)->Unit(benchmark::kMillisecond);

void BM_Spread(benchmark::State& state) { RunCycles(state, Fill(state.range(0), "spread")); }
BENCHMARK(BM_Spread)
    ->Name("spread/information")
    ->Arg(500)
    ->Arg(5'000)
    ->Unit(benchmark::kMillisecond);

// A busy cluster with room for a gang of 3 and a gang of 250 one-GPU pods.
Situation Gangs(int64_t nodes) {
  Workload workload(nodes);
  workload.AddNodes();
  for (int64_t i = 0; i < nodes - 50; ++i) {
    workload.AddGroup(1, Workload::RunningOn(workload.NodeName(i), Workload::GpuPod(8)));
  }
  workload.AddGroup(3, Workload::GpuPod(1));
  workload.AddGroup(250, Workload::GpuPod(1));
  return Finish(std::move(workload), 253, 253);
}

void BM_Gangs(benchmark::State& state) { RunCycles(state, Gangs(state.range(0))); }
BENCHMARK(BM_Gangs)->Name("gang/information")->Arg(5'000)->Unit(benchmark::kMillisecond);

// Twenty shapes of pods on four models of GPUs, some of which are set apart by a taint: with and
// without GPUs, pinned to their model by a selector or a node affinity, tolerating the taint or
// not.
Situation MixedShapes(int64_t nodes) {
  constexpr int64_t kModels = 4;
  constexpr int64_t kShapesPerModel = 5;
  Workload workload(nodes);
  const auto model_name = [](int64_t model) { return StrCat("model-", model); };
  for (int64_t i = 0; i < nodes; ++i) {
    NodeRow node = workload.Node(i);
    node.labels.emplace_back("nvidia.com/gpu.product", model_name(i % kModels));
    if (i / kModels % 10 == 0) {
      node.taints.push_back(
          {.key = "dedicated", .value = "research", .effect = TaintEffect::kNoSchedule});
    }
    workload.Add(std::move(node));
  }
  // Per model and node: 2 + 1.6 x 2 + 1.6 x 1 GPUs of 8 are asked for, so that every pod fits.
  const int64_t pods = nodes * kGpusPerNode;
  constexpr int64_t kGpus[kShapesPerModel] = {1, 2, 1, 0, 0};
  for (int64_t i = 0; i < pods; ++i) {
    const int64_t model = i % kModels;
    const int64_t shape = i / kModels % kShapesPerModel;
    PodRow pod = Workload::GpuPod(kGpus[shape]);
    if (shape == 2) pod.requests = {{"cpu", 4000}, {"memory", 16 * kGib}};
    if (shape == 4) pod.requests = {{"cpu", 500}, {"memory", 1 * kGib}};
    if (shape % 2 == 0) {
      pod.node_selector = {{"nvidia.com/gpu.product", model_name(model)}};
    } else {
      pod.has_node_affinity = true;
      pod.node_affinity = {{.expressions = {{.key = "nvidia.com/gpu.product",
                                             .op = SelectorOp::kIn,
                                             .values = {model_name(model), "model-9"}}},
                            .fields = {}}};
    }
    if (shape == 2) pod.tolerations = {{.key = "dedicated", .exists = true, .value = {}}};
    workload.AddGroup(1, pod);
  }
  return Finish(std::move(workload), pods, pods);
}

void BM_MixedShapes(benchmark::State& state) { RunCycles(state, MixedShapes(state.range(0))); }
BENCHMARK(BM_MixedShapes)
    ->Name("mixed_shapes/information")
    ->Arg(500)
    ->Arg(5'000)
    ->Unit(benchmark::kMillisecond);

// Everything is taken, and 4,000 pods of `shapes` shapes learn that they have to wait.
Situation Saturated(int64_t nodes, int64_t shapes) {
  constexpr int64_t kWaiting = 4'000;
  Workload workload(nodes);
  workload.AddNodes();
  for (int64_t i = 0; i < nodes; ++i) {
    workload.AddGroup(1, Workload::RunningOn(workload.NodeName(i), Workload::GpuPod(8)));
  }
  for (int64_t i = 0; i < kWaiting; ++i) {
    PodRow pod = Workload::GpuPod(1 + i % 8);
    pod.requests[0].second += i % shapes;
    workload.AddGroup(1, pod);
  }
  return Finish(std::move(workload), kWaiting, 0);
}

void BM_Saturated(benchmark::State& state) {
  RunCycles(state, Saturated(state.range(0), state.range(1)));
}
BENCHMARK(BM_Saturated)
    ->Name("saturated/information")
    ->ArgNames({"nodes", "shapes"})
    ->Args({500, 8})
    ->Args({5'000, 8})
    ->Args({5'000, 200})
    ->Unit(benchmark::kMillisecond);

// Pods without GPUs, no two with the same request.
Situation CpuPods(int64_t nodes) {
  Workload workload(nodes);
  for (int64_t i = 0; i < nodes; ++i) workload.Add(workload.Node(i, i % 2 == 0 ? 0 : kGpusPerNode));
  const int64_t pods = nodes * kGpusPerNode;
  for (int64_t i = 0; i < pods; ++i) {
    PodRow pod = Workload::GpuPod(0);
    pod.requests = {{"cpu", 100 + i}, {"memory", kGib + (i * 7919 % pods) * (1 << 20)}};
    if (i >= 10'000) pod.requests[0].second = 100 + i % 10'000;
    workload.AddGroup(1, pod);
  }
  return Finish(std::move(workload), pods, pods);
}

void BM_CpuPods(benchmark::State& state) { RunCycles(state, CpuPods(state.range(0))); }
BENCHMARK(BM_CpuPods)
    ->Name("cpu_pods/information")
    ->Arg(500)
    ->Arg(2'000)
    ->Unit(benchmark::kMillisecond);

// Among 10,000 running pods one keeps pods of app=web off its host. Of 2,000 that wait, `web` are
// such pods: only they should pay for it.
Situation AntiAffinity(int64_t nodes, int64_t web) {
  constexpr int64_t kRunning = 10'000;
  constexpr int64_t kWaiting = 2'000;
  Workload workload(nodes);
  workload.AddNodes();
  for (int64_t i = 0; i < kRunning; ++i) {
    PodRow pod = Workload::RunningOn(workload.NodeName(i % nodes), Workload::GpuPod(1));
    if (i == 0) {
      pod.affinity.required_anti = {
          {.selector = LabelSelector{{.key = "app", .op = SelectorOp::kIn, .values = {"web"}}},
           .namespaces = {},
           .all_namespaces = false,
           .topology_key = kHostname}};
    }
    workload.AddGroup(1, pod);
  }
  for (int64_t i = 0; i < kWaiting; ++i) {
    PodRow pod = Workload::GpuPod(1);
    pod.labels = {{"app", i * web / kWaiting != (i + 1) * web / kWaiting ? "web" : "batch"}};
    workload.AddGroup(1, pod);
  }
  return Finish(std::move(workload), kWaiting, kWaiting);
}

void BM_AntiAffinity(benchmark::State& state) {
  RunCycles(state, AntiAffinity(state.range(0), state.range(1)));
}
BENCHMARK(BM_AntiAffinity)
    ->Name("anti_affinity/information")
    ->ArgNames({"nodes", "web"})
    ->Args({2'000, 0})
    ->Args({2'000, 100})
    ->Args({2'000, 2'000})
    ->Unit(benchmark::kMillisecond);

// ---- files --------------------------------------------------------------------------------------

// The cluster of `Fill` as KAI's snapshot.json has it.
std::string FillSnapshot(int64_t nodes) {
  const size_t width = StrCat(nodes).size();
  std::string json =
      StrCat(R"({"config": )", ConfigJson("binpack"), R"(, "rawObjects": {"nodes": [)");
  for (int64_t i = 0; i < nodes; ++i) {
    const std::string name = StrCat("node-", Padded(i + 1, width));
    constexpr std::string_view kAmounts =
        R"({"cpu": "128", "memory": "1024Gi", "pods": "110", "nvidia.com/gpu": "8"})";
    StrAppend(&json, i == 0 ? "" : ", ", R"({"metadata": {"name": ")", name, R"(", "uid": ")", name,
              R"(", "labels": {"kubernetes.io/hostname": ")", name,
              R"(", "nvidia.com/gpu.memory": "81920", "nvidia.com/gpu.count": "8"}}, )",
              R"("status": {"capacity": )", kAmounts, R"(, "allocatable": )", kAmounts,
              R"(, "conditions": [{"type": "Ready", "status": "True"}]}})");
  }
  json += R"(], "queues": [)";
  const std::string unlimited = R"({"quota": -1, "overQuotaWeight": 1, "limit": -1})";
  for (const auto& [name, parent] : {std::pair("dept-a", ""), std::pair("team-a", "dept-a")}) {
    StrAppend(&json, *parent == '\0' ? "" : ", ", R"({"metadata": {"name": ")", name,
              R"(", "creationTimestamp": "2024-02-01T00:00:00Z"}, "spec": {)");
    if (*parent != '\0') StrAppend(&json, R"("parentQueue": ")", parent, R"(", )");
    StrAppend(&json, R"("resources": {"gpu": {"quota": )", nodes * kGpusPerNode,
              R"(, "overQuotaWeight": 1, "limit": -1}, "cpu": )", unlimited, R"(, "memory": )",
              unlimited, "}}}");
  }
  std::string pods;
  std::string groups;
  for (int64_t i = 0; i < nodes * kGpusPerNode; ++i) {
    const std::string name = StrCat("job-", Padded(i + 1, 2));
    const std::string created =
        StrCat("2024-02-", Padded(1 + i / 3600 / 24 % 28, 2), "T", Padded(i / 3600 % 24, 2), ":",
               Padded(i / 60 % 60, 2), ":", Padded(i % 60, 2), "Z");
    StrAppend(&groups, i == 0 ? "" : ", ", R"({"metadata": {"name": ")", name,
              R"(", "namespace": "ns-team-a", "uid": ")", i, R"(", "creationTimestamp": ")",
              created,
              R"("}, "spec": {"queue": "team-a", "minMember": 1, "priorityClassName": "train"}})");
    StrAppend(
        &pods, i == 0 ? "" : ", ", R"({"metadata": {"name": ")", name,
        R"(-0", "namespace": "ns-team-a", "uid": ")", i * 7919 % 1'000'003,
        R"(", "creationTimestamp": ")", created, R"(", "annotations": {"pod-group-name": ")", name,
        R"("}}, "spec": {"schedulerName": "kai-scheduler", "containers": [{"name": "main", )",
        R"("resources": {"requests": {"cpu": "1", "memory": "4Gi", "nvidia.com/gpu": "1"}}}]}, )",
        R"("status": {"phase": "Pending"}})");
  }
  StrAppend(&json, R"(], "podGroups": [)", groups, R"(], "pods": [)", pods,
            R"(], "priorityClasses": [{"metadata": {"name": "train"}, "value": 50}]}})");
  return json;
}

void BM_Load(benchmark::State& state) {
  const std::string json = FillSnapshot(state.range(0));
  const auto pods = static_cast<size_t>(state.range(0) * kGpusPerNode);
  for (auto unused : state) {
    const absl::StatusOr<SnapshotFile> file = ReadSnapshot(json);
    if (!file.ok() || file->cluster->pods().size() != pods ||
        !file->cluster->rejections().empty()) {
      return state.SkipWithError("not the cluster that was written");
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(json.size()));
  state.counters["pods/s"] =
      benchmark::Counter(static_cast<double>(pods) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}
// Bar: the snapshot of 4,000 pods under 100 ms.
BENCHMARK(BM_Load)->Name("load/gate")->Arg(500)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Load)->Name("load/information")->Arg(5'000)->Unit(benchmark::kMillisecond);

// Any snapshot of yours: KAI_BENCH_SNAPSHOT names it.
void BM_Snapshot(benchmark::State& state, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string json{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  absl::StatusOr<SnapshotFile> snapshot = ReadSnapshot(json);
  if (!snapshot.ok()) {
    return state.SkipWithError(std::string(snapshot.status().message()).c_str());
  }
  int64_t waiting = 0;
  for (const PodStatus status : snapshot->cluster->pods().status.raw()) {
    waiting += status == PodStatus::kPending ? 1 : 0;
  }
  RunCycles(state, {.cluster = std::move(snapshot->cluster),
                    .config_json = snapshot->config_json,
                    .waiting = waiting,
                    .binds = -1});
}

[[maybe_unused]] const bool kHasSnapshot = [] {
  const char* path = std::getenv("KAI_BENCH_SNAPSHOT");
  if (path == nullptr) return false;
  benchmark::RegisterBenchmark("snapshot/information", BM_Snapshot, std::string(path))
      ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace kai

#include "kai/testing/makers/crowded_cluster.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kai/api/units.h"
#include "kai/base/clock.h"
#include "kai/base/text.h"
#include "kai/testing/makers/random_cluster.h"

namespace kai {
namespace {

class CrowdedClusterWriter {
 public:
  CrowdedClusterWriter(uint64_t seed, const CrowdedClusterOptions& options)
      : random_(seed), options_(options) {}

  CrowdedCluster Make() {
    MakeParams();
    for (int64_t i = random_.Between(1, 3); i > 0; --i) MakeQueue(StrCat("q", i), "", 1);
    rows_.priority_classes = {{.name = "low", .value = 25},
                              {.name = "train", .value = 50},
                              {.name = "high", .value = 75},
                              {.name = "build", .value = 100}};
    MakeNodes();
    for (int64_t i = random_.Between(2, options_.max_running_groups); i > 0; --i) MakeRunning();
    for (int64_t i = random_.Between(1, options_.max_waiting_groups); i > 0; --i) MakeWaiting();
    random_.Shuffle(&rows_.nodes);
    random_.Shuffle(&rows_.queues);
    random_.Shuffle(&rows_.pod_groups);
    random_.Shuffle(&rows_.pods);
    return {.rows = std::move(rows_), .config_json = Config()};
  }

 private:
  // The request of a pod of one shape.
  struct Shape {
    int64_t gpus = 0;
    int64_t millicpu = 0;
    int64_t mb = 0;
    int64_t scalars = 0;
  };

  std::optional<int64_t> CreatedNs() {
    if (random_.OneIn(16)) return std::nullopt;
    return random_.Between(1, 6) * kSecondNs;
  }
  int64_t LongAgoNs() {
    return kTestNowNs - random_.Pick(std::vector<int64_t>{5, 29, 30, 60, 600}) * kSecondNs;
  }

  void MakeParams() {
    ShardParams& params = rows_.params;
    params.allow_consolidating_reclaim = !random_.OneIn(3);
    params.use_scheduling_signatures = !random_.OneIn(4);
    if (random_.OneIn(3))
      params.max_consolidation_preemptees = random_.Pick(std::vector<int64_t>{-1, 0, 1, 2});
    if (random_.OneIn(4)) params.default_staleness_grace_ns = 0;
  }

  std::string Config() {
    std::string plugins;
    const auto add = [&](std::string_view name, std::string_view arguments = "") {
      StrAppend(&plugins, plugins.empty() ? "" : ", ", R"({"name": ")", name, R"(")");
      if (!arguments.empty()) StrAppend(&plugins, R"(, "arguments": {)", arguments, "}");
      plugins += "}";
    };
    const bool bare = random_.OneIn(10);
    add("predicates");
    if (!random_.OneIn(20))
      add("proportion", random_.OneIn(8) ? R"("relcaimerSaturationMultiplier": "1.5")" : "");
    if (!random_.OneIn(20)) add("priority");
    if (!bare) {
      for (const char* name : {"nodeavailability", "resourcetype", "podaffinity"}) add(name);
    }
    if (!random_.OneIn(12)) add("elastic");
    if (!bare) {
      for (const char* name : {"kubeflow", "ray", "subgrouporder", "taskorder", "nominatednode"})
        add(name);
    }
    if (!random_.OneIn(8)) {
      std::string arguments;
      if (random_.OneIn(4)) arguments = R"("defaultReclaimMinRuntime": "30s")";
      if (random_.OneIn(4)) {
        StrAppend(&arguments, arguments.empty() ? "" : ", ",
                  R"("defaultPreemptMinRuntime": "60s")");
      }
      if (random_.OneIn(4)) {
        StrAppend(&arguments, arguments.empty() ? "" : ", ", R"("reclaimResolveMethod": "queue")");
      }
      add("minruntime", arguments);
    }
    const char* strategy = random_.OneIn(4) ? "spread" : "binpack";
    const char* cpu_strategy = random_.OneIn(4) ? "spread" : strategy;
    if (options_.sharers) {
      add(std::string_view(strategy) == "spread" ? "gpuspread" : "gpupack");
    }
    add("nodeplacement", StrCat(R"("gpu": ")", strategy, R"(", "cpu": ")", cpu_strategy, R"(")"));
    if (options_.sharers && std::string_view(strategy) != "spread") add("gpusharingorder");
    if (options_.topology) add("topology");
    const int64_t generators = random_.Below(6);
    if (generators != 0) add("sg-nodelocalgreedy");
    if (generators != 1) add("sg-multinodegang");
    std::string depths;
    if (random_.OneIn(6)) {
      for (const char* action : {"allocate", "reclaim", "preempt", "consolidation"}) {
        if (!random_.Coin()) continue;
        StrAppend(&depths, depths.empty() ? "" : ", ", R"(")", action, R"(": )",
                  random_.Between(1, 2));
      }
    }
    return StrCat(R"({"actions": "allocate, consolidation, reclaim, preempt, stalegangeviction", )",
                  R"("tiers": [{"plugins": [)", plugins, "]}]",
                  depths.empty() ? "" : StrCat(R"(, "queueDepthPerAction": {)", depths, "}"), "}");
  }

  // ---- queues -----------------------------------------------------------------------------------

  QuotaRow Quota(const std::vector<double>& amounts) {
    QuotaRow quota;
    quota.quota = random_.Pick(amounts);
    quota.limit = random_.OneIn(options_.tight_limits ? 2 : 8) ? random_.Pick(amounts) : kUnlimited;
    if (quota.limit == 0) quota.limit = kUnlimited;
    quota.over_quota_weight = random_.Pick(std::vector<double>{0, 1, 1, 1, 2});
    return quota;
  }

  std::optional<int64_t> MinRuntimeNs() {
    if (!random_.OneIn(6)) return std::nullopt;
    return random_.Pick(std::vector<int64_t>{0, 30, 60}) * kSecondNs;
  }

  void MakeQueue(const std::string& name, const std::string& parent, int level) {
    QueueRow row;
    row.name = name;
    row.parent = parent;
    row.created_ns = CreatedNs();
    if (random_.OneIn(5)) row.priority = random_.Pick(std::vector<int64_t>{50, 100, 200});
    row.resources[kQuotaCpu] = Quota({kUnlimited, kUnlimited, kUnlimited, 2000, 8000});
    row.resources[kQuotaMemory] = Quota({kUnlimited, kUnlimited, kUnlimited, 8000});
    row.resources[kQuotaGpu] = Quota({kUnlimited, 0, 0, 1, 2, 2, 3, 4, 8});
    row.preempt_min_runtime_ns = MinRuntimeNs();
    row.reclaim_min_runtime_ns = MinRuntimeNs();
    rows_.queues.push_back(row);
    int64_t children = 0;
    if (level < 3 && random_.OneIn(2)) children = random_.Between(1, 3);
    for (int64_t i = 0; i < children; ++i) MakeQueue(StrCat(name, "-", i), name, level + 1);
    if (children == 0) leaves_.push_back(name);
  }

  // ---- nodes ------------------------------------------------------------------------------------

  void MakeNodes() {
    const bool tight = random_.OneIn(3);  // CPUs and memory are scarce, too
    const int64_t count = random_.Between(1, options_.max_nodes);
    for (int64_t i = 0; i < count; ++i) {
      NodeSpec spec;
      spec.gpus = random_.OneIn(8) ? 0 : random_.Between(1, options_.max_node_gpus);
      spec.millicpu = tight ? random_.Between(2, 6) * 1000 : 32000;
      spec.mb = tight ? random_.Between(4, 16) * 1000 : 256000;
      if (random_.OneIn(10)) spec.pods = random_.Between(2, 4);
      if (options_.few_pod_slots) spec.pods = random_.Between(2, 10);
      if (random_.OneIn(6)) spec.more.emplace_back(kScalar, random_.Between(1, 2));
      const std::string name = StrCat("n", i);
      spec.labels.emplace_back("kubernetes.io/hostname", name);
      spec.labels.emplace_back("zone", StrCat("z", random_.Below(2)));
      if (random_.OneIn(8)) {
        spec.taints.push_back({.key = "dedicated",
                               .value = "ml",
                               .effect = random_.OneIn(4) ? TaintEffect::kPreferNoSchedule
                                                          : TaintEffect::kNoSchedule});
      }
      if (random_.OneIn(24)) spec.cordoned = true;
      if (random_.OneIn(24)) spec.ready = false;
      rows_.nodes.push_back(MakeNodeRow(name, spec));
      Shape free{.gpus = spec.gpus, .millicpu = spec.millicpu, .mb = spec.mb};
      if (!spec.more.empty()) free.scalars = spec.more[0].second;
      free_.push_back(free);
      pod_slots_.push_back(spec.pods);
    }
  }

  // ---- pod groups -------------------------------------------------------------------------------

  Shape SomeShape() {
    Shape shape;
    shape.gpus = random_.Pick(std::vector<int64_t>{1, 1, 1, 1, 2, 2, 3, 4});
    shape.gpus = std::min<int64_t>(shape.gpus, options_.max_node_gpus);
    if (random_.OneIn(7)) shape.gpus = 0;
    shape.millicpu = random_.Pick(std::vector<int64_t>{0, 1000, 1000, 2000});
    shape.mb = random_.Pick(std::vector<int64_t>{0, 0, 1000, 4000});
    if (random_.OneIn(16)) shape.scalars = 1;
    return shape;
  }

  PodGroupRow SomeGroup() {
    PodGroupRow group;
    group.namespace_name = random_.Coin() ? "a" : "b";
    group.name = StrCat("g", groups_made_++);
    group.created_ns = CreatedNs();
    group.queue = random_.Pick(leaves_);
    return group;
  }

  PodRow SomePod(const PodGroupRow& group, const Shape& shape) {
    PodRow row;
    row.namespace_name = group.namespace_name;
    row.pod_group = group.name;
    row.name = StrCat(group.name, "-", pods_made_++);
    row.created_ns = CreatedNs();
    row.scheduler_name = rows_.params.scheduler_name;
    if (shape.millicpu != 0) row.requests.emplace_back("cpu", shape.millicpu);
    if (shape.mb != 0) row.requests.emplace_back("memory", shape.mb * kMegabyte);
    if (shape.scalars != 0) row.requests.emplace_back(kScalar, shape.scalars);
    if (shape.gpus != 0) row.gpu = {.count = shape.gpus, .portion = 1, .mig = {}};
    if (options_.pod_affinity) row.labels.emplace_back("app", random_.Coin() ? "web" : "db");
    if (random_.OneIn(10)) row.labels.emplace_back("kai.scheduler/task-priority", "10");
    return row;
  }

  // One level of leaves, or two; some leaves have no pods.
  void MakeSubGroups(PodGroupRow* group) {
    leaf_sets_.clear();
    if (!options_.sub_groups || !random_.OneIn(5)) return;
    const auto maybe = [&](int64_t most) -> std::optional<int64_t> {
      if (random_.OneIn(3)) return std::nullopt;
      return random_.Between(1, most);
    };
    const auto leaf = [&](const std::string& name, std::optional<std::string> parent) {
      group->sub_groups.push_back({.name = name,
                                   .parent = std::move(parent),
                                   .min_member = maybe(2),
                                   .min_sub_group = {},
                                   .topology = {}});
      leaf_sets_.push_back(name);
    };
    for (int64_t i = random_.Between(1, 3); i > 0; --i) {
      const std::string name = StrCat("s", i);
      if (!random_.OneIn(4)) {
        leaf(name, std::nullopt);
        continue;
      }
      SubGroupRow set{
          .name = name, .parent = {}, .min_member = {}, .min_sub_group = {}, .topology = {}};
      if (random_.OneIn(3)) set.min_sub_group = 1;
      group->sub_groups.push_back(set);
      for (int64_t j = random_.Between(1, 2); j > 0; --j) leaf(StrCat(name, "-", j), name);
    }
    if (random_.OneIn(3)) group->min_sub_group = random_.Between(1, 2);
  }

  void SetMinimum(int64_t pods, PodGroupRow* group) {
    if (!leaf_sets_.empty() || random_.OneIn(4)) return;
    group->min_member = random_.OneIn(3) ? random_.Between(1, pods) : pods;
    if (random_.OneIn(24)) ++*group->min_member;
  }

  std::string SetOf(int64_t pod) const {
    return leaf_sets_.empty() ? "" : leaf_sets_[static_cast<size_t>(pod) % leaf_sets_.size()];
  }

  // ---- running pods -----------------------------------------------------------------------------

  bool Settle(const Shape& shape, PodRow* row) {
    std::vector<size_t> fitting;
    for (size_t i = 0; i < free_.size(); ++i) {
      const Shape& free = free_[i];
      if (free.gpus >= shape.gpus && free.millicpu >= shape.millicpu && free.mb >= shape.mb &&
          free.scalars >= shape.scalars && pod_slots_[i] > 0)
        fitting.push_back(i);
    }
    if (fitting.empty()) return false;
    const size_t node = random_.Pick(fitting);
    Shape& free = free_[node];
    free.gpus -= shape.gpus;
    free.millicpu -= shape.millicpu;
    free.mb -= shape.mb;
    free.scalars -= shape.scalars;
    --pod_slots_[node];
    row->node_name = rows_.nodes[node].name;
    row->phase = random_.OneIn(16) ? Phase::kPending : Phase::kRunning;
    if (random_.OneIn(16)) {
      row->deletion_ns =
          kTestNowNs - random_.Pick(std::vector<int64_t>{1, 1, 119, 600}) * kSecondNs;
    }
    return true;
  }

  void MakeRunning() {
    PodGroupRow group = SomeGroup();
    if (random_.OneIn(4))
      group.priority_class = random_.Pick(std::vector<std::string>{"low", "high"});
    if (random_.OneIn(8)) group.priority_class = "build";
    if (random_.OneIn(10)) {
      group.preemptibility = random_.Coin() ? "preemptible" : "non-preemptible";
    }
    if (!random_.OneIn(3)) group.last_start_ns = LongAgoNs();
    if (random_.OneIn(8)) group.last_eviction_ns = LongAgoNs();
    if (random_.OneIn(8))
      group.staleness_grace_ns = random_.Pick(std::vector<int64_t>{-1, 0, 30 * kSecondNs});
    if (random_.OneIn(12)) group.stale_since_ns = LongAgoNs();
    MakeSubGroups(&group);
    Shape shape = SomeShape();
    const bool mixed = random_.OneIn(5);
    const int64_t count = random_.Between(1, options_.max_pods);
    int64_t settled = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (mixed) shape = SomeShape();
      PodRow row = SomePod(group, shape);
      row.subgroup = SetOf(i);
      if (!Settle(shape, &row)) continue;
      ++settled;
      if (random_.OneIn(40)) row.phase = Phase::kSucceeded;
      if (random_.OneIn(20)) row.node_selector.emplace_back("zone", "z0");
      rows_.pods.push_back(row);
    }
    if (settled == 0) return;
    SetMinimum(settled, &group);
    if (random_.OneIn(8)) AddWaitingPods(group, random_.Between(1, 2), shape);
    rows_.pod_groups.push_back(group);
  }

  // ---- waiting pods -----------------------------------------------------------------------------

  void AddWaitingPods(const PodGroupRow& group, int64_t count, Shape shape) {
    const bool mixed = random_.OneIn(6);
    PodRow like;
    if (random_.OneIn(6)) like.node_selector.emplace_back("zone", StrCat("z", random_.Below(2)));
    if (random_.OneIn(12)) {
      like.has_node_affinity = true;
      NodeSelectorTerm term;
      term.expressions.push_back({.key = "kubernetes.io/hostname",
                                  .op = random_.Coin() ? SelectorOp::kIn : SelectorOp::kNotIn,
                                  .values = {"n0", "n1"}});
      like.node_affinity.push_back(term);
    }
    if (random_.OneIn(3))
      like.tolerations.push_back({.key = "dedicated", .exists = true, .value = "", .effect = {}});
    if (options_.pod_affinity && random_.OneIn(10)) {
      PodAffinityTerm term;
      term.topology_key = random_.Coin() ? "zone" : "kubernetes.io/hostname";
      term.selector = LabelSelector{{.key = "app", .op = SelectorOp::kIn, .values = {"web"}}};
      switch (random_.Below(3)) {
        case 0:
          like.affinity.required.push_back(term);
          break;
        case 1:
          like.affinity.required_anti.push_back(term);
          break;
        default:
          like.affinity.preferred.push_back({.term = term, .weight = 10});
          break;
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      if (mixed) shape = SomeShape();
      PodRow row = SomePod(group, shape);
      row.subgroup = SetOf(i);
      row.node_selector = like.node_selector;
      row.has_node_affinity = like.has_node_affinity;
      row.node_affinity = like.node_affinity;
      row.tolerations = like.tolerations;
      row.affinity = like.affinity;
      row.phase = Phase::kPending;
      row.gated = random_.OneIn(40);
      if (random_.OneIn(20)) row.nominated_node = StrCat("n", random_.Below(4));
      rows_.pods.push_back(row);
    }
  }

  void MakeWaiting() {
    PodGroupRow group = SomeGroup();
    if (random_.OneIn(3))
      group.priority_class = random_.Pick(std::vector<std::string>{"low", "high"});
    if (random_.OneIn(6)) group.priority_class = "build";
    if (random_.OneIn(8)) group.preemptibility = "preemptible";
    if (random_.OneIn(8)) {
      group.preemption_delay_ns = 30 * kSecondNs;
      if (random_.Coin()) group.last_eviction_ns = LongAgoNs();
    }
    MakeSubGroups(&group);
    const int64_t count = random_.Between(1, options_.max_pods);
    AddWaitingPods(group, count, SomeShape());
    SetMinimum(count, &group);
    rows_.pod_groups.push_back(group);
  }

  Random random_;
  const CrowdedClusterOptions& options_;
  ClusterRows rows_;
  std::vector<std::string> leaves_;     // queues
  std::vector<Shape> free_;             // parallel to rows_.nodes
  std::vector<int64_t> pod_slots_;      // parallel to rows_.nodes
  std::vector<std::string> leaf_sets_;  // of the group that is being made
  int groups_made_ = 0;
  int pods_made_ = 0;
};

}  // namespace

CrowdedCluster MakeCrowdedCluster(uint64_t seed, const CrowdedClusterOptions& options) {
  CrowdedCluster crowded = CrowdedClusterWriter(seed, options).Make();
  if (options.sharers) AddRandomSharers(seed, *options.sharers, &crowded.rows);
  if (options.terms) AddRandomTerms(seed, *options.terms, &crowded.rows);
  if (options.topology) AddRandomTopology(seed, *options.topology, &crowded.rows);
  MakeSomeBare(seed, &crowded.rows);
  return crowded;
}

}  // namespace kai

#include "kai/testing/makers/random_cluster.h"

#include <algorithm>
#include <map>
#include <set>

#include "kai/api/units.h"
#include "kai/base/clock.h"
#include "kai/base/text.h"

namespace kai {
namespace {

constexpr const char* kMig = "nvidia.com/mig-1g.5gb";

class RandomClusterWriter {
 public:
  RandomClusterWriter(uint64_t seed, const RandomClusterOptions& options)
      : random_(seed), options_(options) {}

  ClusterRows Make() {
    MakeQueues();
    MakePriorityClasses();
    MakeNodes();
    const int64_t running = random_.Between(0, options_.max_running_groups);
    for (int64_t i = 0; i < running; ++i) MakeRunningGroup();
    if (options_.foreign) MakeForeignPods();
    const int64_t waiting = random_.Between(1, options_.max_groups);
    for (int64_t i = 0; i < waiting; ++i) MakeWaitingGroup();
    // The order of the input must have no effect, so it is random.
    random_.Shuffle(&rows_.nodes);
    random_.Shuffle(&rows_.queues);
    random_.Shuffle(&rows_.pod_groups);
    random_.Shuffle(&rows_.pods);
    return std::move(rows_);
  }

 private:
  // The request of a pod of one shape.
  struct Shape {
    int64_t gpus = 0;
    int64_t millicpu = 0;
    int64_t mb = 0;
    int64_t scalars = 0;
    int64_t mig = 0;
  };
  using Free = Shape;

  // Few different values, so that ties are common; sometimes none.
  std::optional<int64_t> CreatedNs() {
    if (random_.OneIn(12)) return std::nullopt;
    return random_.Between(1, 4) * kSecondNs;
  }

  // ---- queues -----------------------------------------------------------------------------------

  QuotaRow Quota(const std::vector<double>& amounts) {
    QuotaRow quota;
    quota.quota = options_.limits ? random_.Pick(amounts) : random_.Coin() ? kUnlimited : 0;
    quota.limit = options_.limits && random_.OneIn(10) ? random_.Pick(amounts) : kUnlimited;
    if (quota.limit == 0 && !random_.OneIn(4)) quota.limit = kUnlimited;
    quota.over_quota_weight = random_.Pick(std::vector<double>{0, 1, 1, 1, 2, 3});
    return quota;
  }

  void MakeQueue(const std::string& name, const std::string& parent, int level) {
    QueueRow row;
    row.name = name;
    row.parent = parent;
    row.created_ns = CreatedNs();
    if (random_.OneIn(4)) row.priority = random_.Pick(std::vector<int64_t>{50, 100, 200});
    row.resources[kQuotaCpu] = Quota({kUnlimited, kUnlimited, 0, 4000, 8000, 32000});
    row.resources[kQuotaMemory] = Quota({kUnlimited, kUnlimited, 0, 8000, 64000});
    row.resources[kQuotaGpu] = Quota({kUnlimited, 0, 1, 2, 4, 8});
    rows_.queues.push_back(row);
    int64_t children = 0;
    if (level < options_.max_queue_levels && random_.OneIn(2)) {
      children = random_.Between(1, options_.max_children);
    }
    for (int64_t i = 0; i < children; ++i) MakeQueue(StrCat(name, "-", i), name, level + 1);
    (children == 0 ? leaves_ : inner_).push_back(name);
  }

  void MakeQueues() {
    const int64_t top_level = random_.Between(1, options_.max_children);
    for (int64_t i = 0; i < top_level; ++i) MakeQueue(StrCat("q", i), "", 1);
    if (options_.bad_queues && random_.OneIn(4)) {
      QueueRow orphan = MakeQueueRow("orphan", {.parent = "nobody"});
      rows_.queues.push_back(orphan);
    }
  }

  std::string SomeQueue() {
    if (options_.bad_queues && random_.OneIn(12)) {
      if (!inner_.empty() && random_.Coin()) return random_.Pick(inner_);
      return random_.Coin() ? "orphan" : "nowhere";
    }
    return random_.Pick(leaves_);
  }

  void MakePriorityClasses() {
    rows_.priority_classes = {{.name = "train", .value = 50},
                              {.name = "build", .value = 100},
                              {.name = "low", .value = 25}};
    if (random_.OneIn(4)) {
      rows_.priority_classes.push_back({.name = "usual", .value = 75, .global_default = true});
    }
  }

  // ---- nodes ------------------------------------------------------------------------------------

  void MakeNodes() {
    std::vector<NodeSpec> kinds;
    for (int64_t i = random_.Between(1, 3); i > 0; --i) {
      NodeSpec kind;
      kind.gpus = random_.Pick(std::vector<int64_t>{0, 1, 2, 4, 4, 8});
      if (kinds.empty() && !random_.OneIn(8)) kind.gpus = random_.Coin() ? 4 : 8;
      kind.millicpu = random_.Pick(std::vector<int64_t>{2000, 8000, 16000, 32000});
      kind.mb = random_.Pick(std::vector<int64_t>{8000, 16000, 64000, 64000});
      kind.pods = options_.scalars && random_.OneIn(3) ? random_.Between(1, 6) : 110;
      if (options_.scalars && random_.OneIn(3)) {
        kind.more.emplace_back(kScalar, random_.Between(1, 3));
      }
      if (options_.mig && random_.OneIn(6)) {
        kind.gpus = 0;
        kind.more.emplace_back(kMig, 7);
        kind.labels.emplace_back("nvidia.com/mig.strategy", "mixed");
      }
      if (random_.OneIn(3)) {
        kind.labels.emplace_back("nvidia.com/gpu.memory", random_.Coin() ? "16000" : "32000");
      }
      if (random_.OneIn(6)) kind.labels.emplace_back("nvidia.com/gpu.count", "8");
      kinds.push_back(kind);
    }
    const int64_t count = random_.Between(options_.min_nodes, options_.max_nodes);
    for (int64_t i = 0; i < count; ++i) {
      NodeSpec spec = random_.Pick(kinds);
      const std::string name = StrCat("n", i);
      if (options_.labels || options_.pod_affinity) {
        spec.labels.emplace_back("kubernetes.io/hostname", name);
        if (!random_.OneIn(6)) spec.labels.emplace_back("zone", StrCat("z", random_.Below(3)));
        if (random_.Coin()) spec.labels.emplace_back("model", random_.Coin() ? "a100" : "h100");
        if (random_.OneIn(3)) spec.labels.emplace_back("generation", StrCat(random_.Below(4)));
      }
      if (options_.taints && random_.OneIn(4)) {
        spec.taints.push_back({.key = random_.Coin() ? "dedicated" : "gpu",
                               .value = random_.Coin() ? "ml" : "",
                               .effect = random_.Pick(std::vector<TaintEffect>{
                                   TaintEffect::kNoSchedule, TaintEffect::kNoExecute,
                                   TaintEffect::kPreferNoSchedule})});
      }
      NodeRow row = MakeNodeRow(name, spec);
      if (options_.bad_nodes && random_.OneIn(8)) {
        switch (random_.Below(4)) {
          case 0:
            row.unschedulable = true;
            break;
          case 1:
            row.ready = random_.Coin() ? ConditionStatus::kFalse : ConditionStatus::kUnknown;
            break;
          case 2:
            row.memory_pressure = ConditionStatus::kTrue;
            break;
          default:
            row.disk_pressure = ConditionStatus::kUnknown;
            row.pid_pressure = ConditionStatus::kFalse;
            break;
        }
      }
      rows_.nodes.push_back(row);
      Free free{.gpus = spec.gpus, .millicpu = spec.millicpu, .mb = spec.mb};
      for (const auto& [resource, amount] : spec.more) {
        (resource == kMig ? free.mig : free.scalars) = amount;
      }
      free_.push_back(free);
    }
  }

  // ---- pods -------------------------------------------------------------------------------------

  Shape SomeShape() {
    Shape shape;
    shape.millicpu = random_.Pick(std::vector<int64_t>{0, 500, 1000, 1000, 2000});
    shape.mb = random_.Pick(std::vector<int64_t>{0, 0, 1000, 4000});
    shape.gpus = random_.Pick(std::vector<int64_t>{1, 1, 1, 1, 2, 4});
    if (options_.cpu_only && random_.OneIn(3)) shape.gpus = 0;
    if (options_.scalars && random_.OneIn(8)) shape.scalars = 1;
    return shape;
  }

  // A pod of the group with this shape and random other features.
  PodRow SomePod(const PodGroupRow& group, const Shape& shape) {
    PodRow row;
    row.namespace_name = group.namespace_name;
    row.pod_group = group.name;
    row.name = StrCat(group.name, "-", pods_of_[group.namespace_name + "/" + group.name]++);
    if (random_.OneIn(4)) row.uid = StrCat("uid-", random_.Below(1'000'000), "-", row.name);
    row.created_ns = CreatedNs();
    row.scheduler_name = rows_.params.scheduler_name;
    if (shape.millicpu != 0) row.requests.emplace_back("cpu", shape.millicpu);
    if (shape.mb != 0) row.requests.emplace_back("memory", shape.mb * kMegabyte);
    if (shape.scalars != 0) row.requests.emplace_back(kScalar, shape.scalars);
    if (shape.gpus != 0) row.gpu = {.count = shape.gpus, .portion = 1, .mig = {}};
    if (shape.mig != 0) row.gpu = {.kind = GpuRequestKind::kMig, .mig = {{kMig, shape.mig}}};
    if (options_.pod_affinity) row.labels.emplace_back("app", random_.Coin() ? "web" : "db");
    if (random_.OneIn(10)) {
      row.labels.emplace_back("kai.scheduler/task-priority",
                              random_.Pick(std::vector<std::string>{"1", "2", "10", "high"}));
    }
    if (random_.OneIn(16)) row.labels.emplace_back("ray.io/node-type", "head");
    if (random_.OneIn(16)) row.labels.emplace_back("training.kubeflow.org/job-role", "master");
    return row;
  }

  PodGroupRow SomeGroup() {
    PodGroupRow group;
    group.namespace_name = random_.Coin() ? "ns" : "ns-2";
    group.name = StrCat("g", groups_made_++);
    group.created_ns = CreatedNs();
    group.queue = SomeQueue();
    if (random_.OneIn(3)) {
      group.priority_class = random_.Pick(std::vector<std::string>{"low", "train", "nonsense"});
    }
    if (options_.non_preemptible && random_.OneIn(4)) {
      if (random_.Coin()) {
        group.priority_class = "build";
      } else {
        group.preemptibility = "non-preemptible";
      }
    }
    return group;
  }

  // ---- running pods -----------------------------------------------------------------------------

  // A node with enough room; -1 if there is none.
  int64_t NodeFor(const Shape& shape) {
    std::vector<int64_t> fitting;
    for (size_t i = 0; i < free_.size(); ++i) {
      const Free& free = free_[i];
      if (free.gpus >= shape.gpus && free.millicpu >= shape.millicpu && free.mb >= shape.mb &&
          free.mig >= shape.mig && free.scalars >= shape.scalars) {
        fitting.push_back(static_cast<int64_t>(i));
      }
    }
    return fitting.empty() ? -1 : random_.Pick(fitting);
  }

  void Take(int64_t node, const Shape& shape) {
    Free& free = free_[static_cast<size_t>(node)];
    free.gpus -= shape.gpus;
    free.millicpu -= shape.millicpu;
    free.mb -= shape.mb;
    free.mig -= shape.mig;
    free.scalars -= shape.scalars;
  }

  // Puts the pod on a node with enough room; false if there is none.
  bool Settle(const Shape& shape, PodRow* row) {
    const int64_t node = NodeFor(shape);
    if (node < 0) return false;
    Take(node, shape);
    const std::string& name = rows_.nodes[static_cast<size_t>(node)].name;
    if (options_.bind_requests && random_.OneIn(8)) {
      row->phase = Phase::kPending;
      BindRequestRow request{.namespace_name = row->namespace_name,
                             .name = row->name,
                             .pod = row->name,
                             .node = name,
                             .received_type = {},
                             .gpu_groups = row->gpu_groups,
                             .phase = {},
                             .backoff_limit = {}};
      if (random_.OneIn(3)) {
        request.phase = "Failed";
        if (random_.Coin()) request.backoff_limit = 3;
        request.failed_attempts = random_.Between(2, 3);
      }
      if (random_.OneIn(8)) request.node = "gone";
      rows_.bind_requests.push_back(request);
      return true;
    }
    row->node_name = name;
    row->phase = random_.OneIn(10) ? Phase::kPending : Phase::kRunning;
    if (options_.releasing && random_.OneIn(5)) {
      row->deletion_ns =
          kTestNowNs - random_.Pick(std::vector<int64_t>{1, 119, 120, 600}) * kSecondNs;
    }
    return true;
  }

  void ShareGpus(Shape* shape, PodRow* row) {
    shape->gpus = 1;
    const double portion = random_.Coin() ? 0.5 : 0.25;
    row->gpu = {.kind = GpuRequestKind::kFraction, .count = 1, .portion = portion, .mig = {}};
    if (random_.OneIn(3)) {
      // Half or all of a device of either kind, so that sums stay exact.
      row->gpu = {.kind = GpuRequestKind::kMemory, .count = 1, .memory_mib = 16000, .mig = {}};
    }
    if (random_.Coin()) row->gpu_groups.push_back(StrCat("device-", row->name));
  }

  void MakeRunningGroup() {
    PodGroupRow group = SomeGroup();
    const Shape shape = SomeShape();
    const int64_t count = random_.Between(1, options_.max_pods);
    const bool shares = options_.shared_gpus && random_.OneIn(5);
    const bool mig = !shares && options_.mig && random_.OneIn(6);
    int64_t settled = 0;
    for (int64_t i = 0; i < count; ++i) {
      Shape wanted = shape;
      if (mig) wanted = {.millicpu = 500, .mig = 1};
      PodRow row = SomePod(group, wanted);
      if (shares) ShareGpus(&wanted, &row);
      if (options_.pod_affinity) AddAffinity(&row, 6);
      if (!Settle(wanted, &row)) continue;
      ++settled;
      if (random_.OneIn(20)) row.node_name = "gone";
      if (random_.OneIn(20)) row.phase = random_.Coin() ? Phase::kSucceeded : Phase::kUnknown;
      rows_.pods.push_back(row);
    }
    SetMinimum(settled, &group);
    if (options_.elastic && random_.OneIn(3)) AddWaitingPods(shape, &group);
    if (settled > 0 || random_.OneIn(4)) rows_.pod_groups.push_back(group);
  }

  void MakeForeignPods() {
    const int64_t count = random_.Between(0, 4);
    for (int64_t i = 0; i < count; ++i) {
      PodRow row;
      row.namespace_name = "kube-system";
      row.name = StrCat("agent-", i);
      row.scheduler_name = "default-scheduler";
      row.requests = {{"cpu", 250}};
      if (options_.pod_affinity && random_.Coin()) row.labels = {{"app", "web"}};
      if (random_.OneIn(8)) row.labels.emplace_back("app", "scaling-pod");
      // Pods of other schedulers are placed without a check, so nodes are sometimes overfull.
      const int64_t node = random_.Below(static_cast<int64_t>(rows_.nodes.size()));
      if (random_.OneIn(6)) row.requests[0].second = 17000;
      // Not tracked on a node that does not have it.
      if (options_.scalars && random_.OneIn(6)) row.requests.emplace_back(kScalar, 1);
      row.node_name = rows_.nodes[static_cast<size_t>(node)].name;
      row.phase = random_.Pick(
          std::vector<Phase>{Phase::kRunning, Phase::kRunning, Phase::kPending, Phase::kSucceeded});
      Take(node, {.millicpu = row.requests[0].second,
                  .scalars = static_cast<int64_t>(row.requests.size()) - 1});
      rows_.pods.push_back(row);
    }
  }

  // ---- waiting pods -----------------------------------------------------------------------------

  void SetMinimum(int64_t pods, PodGroupRow* group) {
    if (!options_.gangs) {
      group->min_member = 1;
    } else if (!random_.OneIn(8)) {
      // Sometimes more than there are, so that the group is not ready.
      group->min_member = random_.OneIn(20) ? pods + 1 : random_.Between(0, pods);
    }
  }

  void AddConstraints(PodRow* row) {
    if (options_.labels && random_.OneIn(6)) {
      row->node_selector.emplace_back(random_.Coin() ? "zone" : "model",
                                      random_.Pick(std::vector<std::string>{"z0", "z1", "a100"}));
    }
    if (options_.labels && random_.OneIn(6)) {
      row->has_node_affinity = true;
      for (int64_t i = random_.Between(0, 2); i > 0; --i) {
        NodeSelectorTerm term;
        if (!random_.OneIn(6)) term.expressions.push_back(SomeRequirement());
        if (random_.OneIn(3)) term.expressions.push_back(SomeRequirement());
        if (random_.OneIn(6)) {
          term.fields.push_back({.key = "metadata.name",
                                 .op = random_.Coin() ? SelectorOp::kIn : SelectorOp::kNotIn,
                                 .values = {StrCat("n", random_.Below(4))}});
        }
        row->node_affinity.push_back(term);
      }
    }
    if (options_.taints && random_.OneIn(3)) {
      Toleration toleration;
      toleration.exists = random_.Coin();
      toleration.key = toleration.exists && random_.Coin() ? ""
                       : random_.Coin()                    ? "gpu"
                                                           : "dedicated";
      if (!toleration.exists) toleration.value = random_.Coin() ? "ml" : "";
      if (random_.OneIn(3)) toleration.effect = TaintEffect::kNoSchedule;
      row->tolerations.push_back(toleration);
    }
    if (options_.pod_affinity) AddAffinity(row, 4);
    if (options_.nominated && random_.OneIn(12)) {
      row->nominated_node = StrCat("n", random_.Below(6));
    }
  }

  SelectorRequirement SomeRequirement() {
    SelectorRequirement requirement;
    requirement.op = random_.Pick(std::vector<SelectorOp>{
        SelectorOp::kIn, SelectorOp::kIn, SelectorOp::kNotIn, SelectorOp::kExists,
        SelectorOp::kDoesNotExist, SelectorOp::kGt, SelectorOp::kLt});
    if (requirement.op == SelectorOp::kGt || requirement.op == SelectorOp::kLt) {
      requirement.key = "generation";
      requirement.values = {StrCat(random_.Below(4))};
      return requirement;
    }
    requirement.key = random_.Pick(std::vector<std::string>{"zone", "model", "nowhere"});
    if (requirement.op == SelectorOp::kIn || requirement.op == SelectorOp::kNotIn) {
      requirement.values = {random_.Pick(std::vector<std::string>{"z0", "z1", "a100"}), "h100"};
    }
    return requirement;
  }

  PodAffinityTerm SomeTerm() {
    PodAffinityTerm term;
    term.topology_key = random_.Coin() ? "zone" : "kubernetes.io/hostname";
    if (!random_.OneIn(12)) {
      term.selector = LabelSelector();
      if (!random_.OneIn(6)) {
        term.selector->push_back({.key = "app",
                                  .op = random_.OneIn(5) ? SelectorOp::kNotIn : SelectorOp::kIn,
                                  .values = {random_.Coin() ? "web" : "db"}});
      }
    }
    if (random_.OneIn(5)) term.namespaces = {"ns", "ns-2"};
    if (random_.OneIn(8)) term.all_namespaces = true;
    return term;
  }

  void AddAffinity(PodRow* row, int64_t one_in) {
    if (!random_.OneIn(one_in)) return;
    PodAffinityRow& affinity = row->affinity;
    switch (random_.Below(5)) {
      case 0:
        affinity.required.push_back(SomeTerm());
        if (random_.OneIn(3)) affinity.required.push_back(SomeTerm());
        break;
      case 1:
      case 2:
        affinity.required_anti.push_back(SomeTerm());
        break;
      case 3:
        affinity.preferred.push_back({.term = SomeTerm(), .weight = 10});
        break;
      default:
        affinity.preferred_anti.push_back({.term = SomeTerm(), .weight = 5});
        break;
    }
  }

  void AddWaitingPods(const Shape& first, PodGroupRow* group) {
    const int64_t count = random_.Between(1, options_.max_pods);
    const bool mixed = random_.OneIn(5);
    const bool alike = !random_.OneIn(4);
    Shape shape = first;
    PodRow like;
    AddConstraints(&like);
    for (int64_t i = 0; i < count; ++i) {
      if (mixed) shape = SomeShape();
      PodRow row = SomePod(*group, shape);
      if (!alike) {
        like = PodRow();
        AddConstraints(&like);
      }
      row.node_selector = like.node_selector;
      row.has_node_affinity = like.has_node_affinity;
      row.node_affinity = like.node_affinity;
      row.tolerations = like.tolerations;
      row.affinity = like.affinity;
      row.nominated_node = like.nominated_node;
      row.phase = Phase::kPending;
      row.gated = random_.OneIn(40);
      if (options_.releasing && random_.OneIn(40)) row.deletion_ns = kTestNowNs - kSecondNs;
      if (options_.shared_gpus && random_.OneIn(100)) {
        Shape unused = shape;
        ShareGpus(&unused, &row);
        row.gpu_groups.clear();
      }
      if (random_.OneIn(150)) row.subgroup = "nobody";
      if (!sub_groups_.empty()) row.subgroup = random_.Pick(sub_groups_);
      rows_.pods.push_back(row);
    }
  }

  // A tree of one or two levels; pods are in its leaves.
  void MakeSubGroups(PodGroupRow* group) {
    sub_groups_.clear();
    if (!options_.sub_groups || !random_.OneIn(2)) return;
    const auto maybe = [&](int64_t most) -> std::optional<int64_t> {
      if (random_.OneIn(3)) return std::nullopt;
      return random_.Between(0, most);
    };
    for (int64_t i = random_.Between(1, 3); i > 0; --i) {
      const std::string name = StrCat("s", i);
      SubGroupRow row{
          .name = name, .parent = {}, .min_member = {}, .min_sub_group = {}, .topology = {}};
      if (random_.OneIn(3)) {
        row.min_sub_group = maybe(2);
        for (int64_t j = random_.Between(1, 3); j > 0; --j) {
          const std::string leaf = StrCat(name, "-", j);
          group->sub_groups.push_back({.name = leaf,
                                       .parent = random_.Coin() ? name : "S" + name.substr(1),
                                       .min_member = maybe(2),
                                       .min_sub_group = {},
                                       .topology = {}});
          sub_groups_.push_back(leaf);
        }
      } else {
        row.min_member = maybe(3);
        sub_groups_.push_back(name);
      }
      group->sub_groups.push_back(row);
    }
    group->min_sub_group = maybe(3);
  }

  void MakeWaitingGroup() {
    PodGroupRow group = SomeGroup();
    // Two namespaces may have a group of the same name.
    if (random_.OneIn(10) && !rows_.pod_groups.empty()) {
      const PodGroupRow& other = rows_.pod_groups.back();
      if (!pods_of_.contains(group.namespace_name + "/" + other.name)) group.name = other.name;
    }
    MakeSubGroups(&group);
    AddWaitingPods(SomeShape(), &group);
    SetMinimum(pods_of_[group.namespace_name + "/" + group.name], &group);
    sub_groups_.clear();
    rows_.pod_groups.push_back(group);
  }

  Random random_;
  const RandomClusterOptions& options_;
  ClusterRows rows_;
  std::vector<std::string> leaves_;
  std::vector<std::string> inner_;
  std::vector<Free> free_;  // parallel to rows_.nodes
  std::map<std::string, int> pods_of_;
  std::vector<std::string> sub_groups_;  // leaves of the group that is being made
  int groups_made_ = 0;
};

}  // namespace

ClusterRows MakeRandomCluster(uint64_t seed, const RandomClusterOptions& options) {
  ClusterRows rows = RandomClusterWriter(seed, options).Make();
  if (options.sharers) AddRandomSharers(seed, *options.sharers, &rows);
  if (options.terms) AddRandomTerms(seed, *options.terms, &rows);
  if (options.topology) AddRandomTopology(seed, *options.topology, &rows);
  if (options.bare) MakeSomeBare(seed, &rows);
  return rows;
}

void MakeSomeBare(uint64_t seed, ClusterRows* rows) {
  Random random(seed + 2);
  std::map<std::string, bool> is_bare;  // by pod group
  for (PodRow& pod : rows->pods) {
    const auto [group, is_new] =
        is_bare.try_emplace(pod.namespace_name + "/" + pod.pod_group, false);
    if (is_new) group->second = random.OneIn(8);
    pod.bare = group->second;
  }
}

void MakeLabelsUnique(ClusterRows* rows) {
  for (PodRow& pod : rows->pods) {
    std::set<std::string> seen;
    std::erase_if(pod.labels, [&](const auto& pair) { return !seen.insert(pair.first).second; });
  }
}

void MakeAmountsInexact(ClusterRows* rows) {
  for (PodRow& pod : rows->pods) {
    for (auto& [name, amount] : pod.requests) amount = amount * 9'007'199 + 1;
  }
  for (NodeRow& node : rows->nodes) {
    for (auto& [name, amount] : node.allocatable) {
      if (name == "cpu" || name == "memory") amount *= 9'007'199;
    }
  }
}

std::string SeedTrace(uint64_t seed) { return StrCat("seed ", seed); }

}  // namespace kai

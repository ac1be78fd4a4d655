#include "kai/model/cluster_builder.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "kai/base/rounding.h"
#include "kai/base/saturating.h"
#include "kai/base/text.h"
#include "kai/model/ledger.h"

namespace kai {
namespace {

constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();
constexpr int64_t kDefaultPodGroupPriority = 50;   // spec 2 G4
constexpr int64_t kPreemptibleBelow = 100;         // spec 1 F96
constexpr int64_t kDefaultQueuePriority = 100;     // spec 1 F1
constexpr double kUnknownGpuMemoryMib = 100;       // spec 3 G1
constexpr int64_t kDefaultStuckThresholdNs = 120'000'000'000;  // spec 2 S2
constexpr std::string_view kGpuMemoryLabel = "nvidia.com/gpu.memory";
constexpr std::string_view kGpuCountLabel = "nvidia.com/gpu.count";
constexpr std::string_view kMigEnabledLabel = "node-role.kubernetes.io/mig-enabled";
constexpr std::string_view kMigStrategyLabel = "nvidia.com/mig.strategy";
constexpr std::string_view kGpuWorkerLabel = "node-role.kubernetes.io/gpu-worker";
constexpr std::string_view kCpuWorkerLabel = "node-role.kubernetes.io/cpu-worker";
constexpr std::string_view kReservationApp = "kai-resource-reservation";
constexpr std::string_view kScaleAdjustApp = "scaling-pod";
constexpr std::string_view kDefaultSubgroup = "default";
constexpr std::string_view kFlatRootQueue = "default";  // spec 1 F12

const std::string* FindLabelText(const StringPairs& labels, std::string_view key) {
  for (const auto& [name, value] : labels) {
    if (name == key) return &value;
  }
  return nullptr;
}

bool HasLabel(const StringPairs& labels, std::string_view key, std::string_view value) {
  const std::string* text = FindLabelText(labels, key);
  return text != nullptr && *text == value;
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

int64_t AmountOf(const ResourceAmounts& amounts, std::string_view name) {
  for (const auto& [resource, amount] : amounts) {
    if (resource == name) return amount;
  }
  return 0;
}

// MiB of one GPU of the node, floored to hundreds; large values are bytes (spec 3 G1).
double GpuMemoryMib(const NodeRow& row) {
  const std::string* label = FindLabelText(row.labels, kGpuMemoryLabel);
  const std::optional<int64_t> parsed = label == nullptr ? std::nullopt : ParseInteger(*label);
  if (!parsed || *parsed <= 0) return kUnknownGpuMemoryMib;
  constexpr int64_t kMib = 1 << 20;
  const int64_t mib = *parsed >= kMib ? *parsed / kMib : *parsed;
  return static_cast<double>(mib - mib % 100);
}

// A word about objects that share one name; which of them is kept must not depend on their order.
template <typename Row, typename NameOf>
void DropDuplicates(std::vector<Row>* rows, const char* kind, const NameOf& name_of, std::vector<Rejection>* rejections) {
  std::map<std::string, size_t> times;
  for (const Row& row : *rows) ++times[name_of(row)];
  if (times.size() == rows->size()) return;
  std::vector<Row> kept;
  for (Row& row : *rows) {
    if (times[name_of(row)] == 1) kept.push_back(std::move(row));
  }
  for (const auto& [name, count] : times) {
    if (count == 1) continue;
    rejections->push_back({.kind = kind,
                           .name = name,
                           .field = "metadata.name",
                           .message = StrCat("is given ", count, " times; which one counts cannot be told, so all are left out")});
  }
  *rows = std::move(kept);
}

std::string QualifiedName(std::string_view namespace_name, std::string_view name) { return StrCat(namespace_name, "/", name); }

using ClaimByName = absl::flat_hash_map<std::string, const ResourceClaimRow*>;
using ClaimsOfPod = absl::flat_hash_map<std::string, std::vector<const ResourceClaimRow*>>;

// GPUs of a pod's claims: those its spec names, and those it owns; a claim made from a template counts by its owner (spec 3 D4).
int64_t GpusOfClaims(const PodRow& pod, const ClaimsOfPod& owned, const ClaimByName& by_name) {
  std::set<const ResourceClaimRow*> claims;
  if (const auto own = owned.find(QualifiedName(pod.namespace_name, pod.name)); own != owned.end()) {
    claims.insert(own->second.begin(), own->second.end());
  }
  for (const PodRow::Claim& claim : pod.claims) {
    if (claim.from_template) continue;
    const auto found = by_name.find(QualifiedName(pod.namespace_name, claim.resource_claim));
    if (found != by_name.end()) claims.insert(found->second);
  }
  int64_t gpus = 0;
  for (const ResourceClaimRow* claim : claims) gpus = AddSaturating(gpus, claim->gpus);
  return gpus;
}

}  // namespace

// The work of one Build(), step by step; each step reads rows and the columns of the steps before it.
class ClusterAssembler {
 public:
  explicit ClusterAssembler(Cluster* cluster) : c_(*cluster) {}

  void Nodes(std::vector<NodeRow> rows, const std::vector<ResourceSliceRow>& slices);
  void Queues(std::vector<QueueRow> rows);
  void PodGroups(std::vector<PodGroupRow> rows, const std::vector<PriorityClassRow>& classes);
  void Pods(std::vector<PodRow> rows, const std::vector<BindRequestRow>& bind_requests, const std::vector<ResourceClaimRow>& claims);
  void Finish();

 private:
  struct PodDraft {
    PodRow row;
    PodStatus status = PodStatus::kUnknown;
    NodeId node;
    bool on_foreign_node = false;
    bool is_reservation = false;
    bool is_utility = false;  // reservation or scale-adjust pod: never counts as foreign (spec 1 F30)
    ConstraintId constraint;
    int32_t matched_set = -1;
    PodAffinity affinity;
    bool matches_own_required = false;
  };

  bool InNodePool(const StringPairs& labels) const;
  NameId Name(std::string_view text) { return c_.names_.Intern(text); }
  void Reject(const char* kind, std::string name, std::string field, std::string message) {
    c_.rejections_.push_back({.kind = kind, .name = std::move(name), .field = std::move(field), .message = std::move(message)});
  }

  void KeepWholeQueueTrees(std::vector<QueueRow>* rows);
  void FlattenQueues(std::vector<QueueRow>* rows);
  bool BuildSubGroups(PodGroupId group, const PodGroupRow& row);
  void AddPodSet(PodGroupId group, SubGroupId parent, std::string_view name, int64_t minimum);
  void SettlePodStatus(PodDraft* draft, const BindRequestRow* bind_request) const;
  void InternConstraints(std::vector<PodDraft>* drafts);
  void MakeNodeClasses();
  void InternAffinity(std::vector<PodDraft>* drafts);
  AffinityTermId TermId(AffinityTerm term);
  PodClassId ClassId(const PodDraft& draft);
  ResourceSlot SlotOf(std::string_view name) { return c_.slots_.Add(name); }
  static std::map<std::pair<NodeId, std::string>, const PodDraft*> HoldersOfSharedDevices(const std::vector<PodDraft>& drafts);
  void PlacePods(const std::vector<PodDraft>& drafts);
  void RankPods(const std::vector<PodDraft>& drafts);
  void CountTotal(const std::vector<PodDraft>& drafts);

  Cluster& c_;
  std::vector<NodeRow> node_rows_;  // by NodeId
  absl::flat_hash_map<std::string, NodeId> node_by_name_;
  std::vector<int64_t> node_dra_gpus_;
  absl::flat_hash_map<NameId, QueueId> queue_by_name_;
  absl::flat_hash_map<std::pair<NameId, NameId>, PodGroupId> group_by_name_;
  std::map<NodeConstraint, ConstraintId> constraint_ids_;
  std::map<AffinityTerm, AffinityTermId> term_ids_;
  std::vector<AffinityTerm> terms_;
  std::map<NameId, TopologyKeyId> topology_keys_;
  std::map<std::vector<AffinityTermId>, int32_t> matched_set_ids_;
  std::vector<std::vector<AffinityTermId>> matched_sets_;
  absl::flat_hash_map<std::string, PodClassId> class_ids_;
  double smallest_gpu_mib_ = 0;  // over nodes that know; 0: none does (spec 1 F24)
  double largest_gpu_mib_ = 0;
  std::vector<std::vector<PodId>> pods_of_set_;  // by SubGroupId, while pods are being sorted into them
};

bool ClusterAssembler::InNodePool(const StringPairs& labels) const {
  // spec 1 F9, spec 5 A32
  const ShardParams& params = c_.params_;
  if (params.node_pool_label_key.empty()) return true;
  const std::string* value = FindLabelText(labels, params.node_pool_label_key);
  if (params.node_pool_label_value.empty()) return value == nullptr;
  return value != nullptr && *value == params.node_pool_label_value;
}

// ---- nodes ----------------------------------------------------------------------------------------------------------------------

void ClusterAssembler::Nodes(std::vector<NodeRow> rows, const std::vector<ResourceSliceRow>& slices) {
  std::erase_if(rows, [&](const NodeRow& row) {
    if (!InNodePool(row.labels)) return true;
    return c_.params_.restrict_node_scheduling && FindLabelText(row.labels, kGpuWorkerLabel) == nullptr &&
           FindLabelText(row.labels, kCpuWorkerLabel) == nullptr;  // spec 3 P10
  });
  DropDuplicates(&rows, "Node", [](const NodeRow& row) { return row.name; }, &c_.rejections_);
  std::sort(rows.begin(), rows.end(), [](const NodeRow& a, const NodeRow& b) { return a.name < b.name; });

  std::set<std::string> scalars;
  for (const NodeRow& row : rows) {
    for (const auto& [name, amount] : row.allocatable) scalars.insert(name);
  }
  for (const std::string& name : scalars) SlotOf(name);

  node_rows_ = std::move(rows);
  NodeColumns& nodes = c_.nodes_;
  node_dra_gpus_.assign(node_rows_.size(), 0);
  for (const NodeRow& row : node_rows_) {
    const NodeId node = nodes.name.Add(Name(row.name));
    node_by_name_.emplace(row.name, node);
    nodes.name_rank.Add(node.value());
    nodes.gpu_memory_mib.Add(GpuMemoryMib(row));
  }
  for (const ResourceSliceRow& slice : slices) {
    const auto node = node_by_name_.find(slice.node);
    if (node != node_by_name_.end()) {
      int64_t& gpus = node_dra_gpus_[node->second.index()];
      gpus = AddSaturating(gpus, slice.gpus);
    }
  }
  for (const NodeId node : nodes.gpu_memory_mib.ids()) {
    const double mib = nodes.gpu_memory_mib[node];
    if (mib <= kUnknownGpuMemoryMib) continue;
    smallest_gpu_mib_ = smallest_gpu_mib_ == 0 ? mib : std::min(smallest_gpu_mib_, mib);
    largest_gpu_mib_ = std::max(largest_gpu_mib_, mib);
  }
}

// ---- queues ---------------------------------------------------------------------------------------------------------------------

void ClusterAssembler::KeepWholeQueueTrees(std::vector<QueueRow>* rows) {
  std::map<std::string, const QueueRow*> by_name;
  for (const QueueRow& row : *rows) by_name.emplace(row.name, &row);
  std::set<std::string> kept;
  // Why a queue goes, by name; queues below one that goes say whose fault it is.
  std::map<std::string, std::string> why;
  for (const auto& [name, row] : by_name) {
    std::vector<const QueueRow*> path;
    std::set<std::string> on_path;
    const QueueRow* at = row;
    std::string reason;
    for (;;) {
      if (kept.contains(at->name)) break;
      if (const auto known = why.find(at->name); known != why.end()) {
        reason = StrCat("parent queue \"", at->name, "\" was left out");
        break;
      }
      if (!on_path.insert(at->name).second) {
        reason = StrCat("is its own ancestor, by way of queue \"", at->name, "\"");
        break;
      }
      path.push_back(at);
      if (at->parent.empty()) break;
      const auto parent = by_name.find(at->parent);
      if (parent == by_name.end()) {
        reason = StrCat("parent queue \"", at->parent, "\" does not exist");
        break;
      }
      at = parent->second;
    }
    for (size_t i = path.size(); i-- > 0;) {
      if (reason.empty()) {
        kept.insert(path[i]->name);
      } else {
        why.emplace(path[i]->name, reason);
        // Below the culprit the sentence changes; in a cycle every member is its own ancestor.
        if (!on_path.contains(at->parent) || at != path[i]) {
          if (reason.find("is its own ancestor") == std::string::npos) {
            reason = StrCat("parent queue \"", path[i]->name, "\" was left out");
          }
        }
      }
    }
  }
  for (const auto& [name, reason] : why) Reject("Queue", name, "spec.parentQueue", reason);
  std::erase_if(*rows, [&](const QueueRow& row) { return !kept.contains(row.name); });
}

void ClusterAssembler::FlattenQueues(std::vector<QueueRow>* rows) {
  // spec 1 F12: everything with a parent hangs below one unlimited queue; the rest goes.
  std::erase_if(*rows, [](const QueueRow& row) { return row.parent.empty(); });
  std::erase_if(*rows, [&](const QueueRow& row) {
    if (row.name != kFlatRootQueue) return false;
    Reject("Queue", row.name, "metadata.name", "the name is taken by the one parent of all queues when fullHierarchyFairness is off");
    return true;
  });
  for (QueueRow& row : *rows) row.parent = std::string(kFlatRootQueue);
  QueueRow root;
  root.name = std::string(kFlatRootQueue);
  for (QuotaRow& quota : root.resources) quota = {.quota = kUnlimited, .over_quota_weight = 1, .limit = kUnlimited};
  rows->push_back(std::move(root));
}

void ClusterAssembler::Queues(std::vector<QueueRow> rows) {
  std::erase_if(rows, [&](const QueueRow& row) { return !InNodePool(row.labels); });
  DropDuplicates(&rows, "Queue", [](const QueueRow& row) { return row.name; }, &c_.rejections_);
  if (!c_.params_.full_hierarchy_fairness) FlattenQueues(&rows);
  KeepWholeQueueTrees(&rows);
  std::sort(rows.begin(), rows.end(), [](const QueueRow& a, const QueueRow& b) { return a.name < b.name; });

  QueueColumns& queues = c_.queues_;
  for (const QueueRow& row : rows) queue_by_name_.emplace(Name(row.name), queues.name.Add(Name(row.name)));
  IndexVector<QueueId, std::vector<QueueId>> children(rows.size());
  for (const QueueRow& row : rows) {
    const QueueId queue = queue_by_name_.at(Name(row.name));
    queues.display_name.Add(Name(row.display_name.empty() ? row.name : row.display_name));
    const QueueId parent = row.parent.empty() ? QueueId() : queue_by_name_.at(Name(row.parent));
    queues.parent.Add(parent);
    if (parent.valid()) {
      children[parent].push_back(queue);
    } else {
      queues.top_level.push_back(queue);
    }
    queues.priority.Add(row.priority.value_or(kDefaultQueuePriority));
    queues.created_ns.Add(row.created_ns.value_or(kNoTime));
    QuotaVector deserved{};
    QuotaVector limit{};
    QuotaVector weight{};
    for (size_t i = 0; i < kQuotaResources; ++i) {
      const QuotaRow& quota = row.resources[i];
      const double scale = i == kQuotaMemory ? kBytesPerMegabyte : 1;  // spec 1 F2
      deserved[i] = quota.quota == kUnlimited ? kUnlimited : quota.quota * scale;
      limit[i] = quota.limit == kUnlimited ? kUnlimited : quota.limit * scale;
      if (i == kQuotaMemory) {  // spec 1 F6
        deserved[i] = std::max(deserved[i], kUnlimited);
        limit[i] = std::max(limit[i], kUnlimited);
      }
      weight[i] = quota.over_quota_weight;
    }
    queues.deserved.Add(deserved);
    queues.limit.Add(limit);
    queues.over_quota_weight.Add(weight);
    queues.preempt_min_runtime_ns.Add(row.preempt_min_runtime_ns);
    queues.reclaim_min_runtime_ns.Add(row.reclaim_min_runtime_ns);
  }
  for (const QueueId queue : queues.name.ids()) {
    const auto begin = static_cast<int32_t>(queues.child_list.size());
    queues.child_list.insert(queues.child_list.end(), children[queue].begin(), children[queue].end());
    queues.children.Add({begin, static_cast<int32_t>(queues.child_list.size())});
  }
  queues.parents_first = queues.top_level;
  for (size_t i = 0; i < queues.parents_first.size(); ++i) {
    const std::vector<QueueId>& below = children[queues.parents_first[i]];
    queues.parents_first.insert(queues.parents_first.end(), below.begin(), below.end());
  }
}

// ---- pod groups -----------------------------------------------------------------------------------------------------------------

void ClusterAssembler::AddPodSet(PodGroupId group, SubGroupId parent, std::string_view name, int64_t minimum) {
  SubGroupColumns& sets = c_.sub_groups_;
  const SubGroupId id = sets.name.Add(Name(name));
  sets.group.Add(group);
  sets.parent.Add(parent);
  sets.is_pod_set.Add(1);
  sets.minimum.Add(static_cast<int32_t>(std::clamp<int64_t>(minimum, 0, std::numeric_limits<int32_t>::max())));
  sets.children.Add({});
  sets.pods.Add({});
  sets.counts.Add({});
  c_.pod_groups_.pod_set_list.push_back(id);
}

// The tree of spec 2 G5. False: the tree makes no sense, and nothing was added.
bool ClusterAssembler::BuildSubGroups(PodGroupId group, const PodGroupRow& row) {
  SubGroupColumns& sets = c_.sub_groups_;
  const std::string pod_group = QualifiedName(row.namespace_name, row.name);
  std::map<std::string, const SubGroupRow*> by_name;
  for (const SubGroupRow& sub : row.sub_groups) {
    if (!by_name.emplace(sub.name, &sub).second) {
      Reject("PodGroup", pod_group, "spec.subGroups", StrCat("subgroup ", sub.name, " already exists"));
      return false;
    }
  }
  std::map<std::string, std::vector<std::string>> children;  // "" is the root; by name, because by_name is
  for (const auto& [name, sub] : by_name) {
    std::string parent = sub->parent.value_or("");
    std::transform(parent.begin(), parent.end(), parent.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (!parent.empty() && !by_name.contains(parent)) {
      Reject("PodGroup", pod_group, "spec.subGroups", StrCat("parent subgroup ", parent, " of ", name, " not found"));
      return false;
    }
    children[parent].push_back(name);
  }
  // Whatever the root does not reach hangs in a cycle.
  std::vector<std::string> reached = children[""];
  for (size_t i = 0; i < reached.size(); ++i) {
    const std::vector<std::string>& below = children[reached[i]];
    reached.insert(reached.end(), below.begin(), below.end());
  }
  if (reached.size() != by_name.size()) {
    Reject("PodGroup", pod_group, "spec.subGroups", "cycle detected in subgroups");
    return false;
  }

  struct Pending {
    std::string name;
    SubGroupId parent;
  };
  const SubGroupId root = c_.pod_groups_.root[group];
  std::vector<Pending> queue;
  for (const std::string& name : children[""]) queue.push_back({name, root});
  const auto clamp = [](int64_t value) { return static_cast<int32_t>(std::clamp<int64_t>(value, 0, std::numeric_limits<int32_t>::max())); };
  sets.minimum[root] = clamp(row.min_sub_group.value_or(static_cast<int64_t>(children[""].size())));
  for (size_t i = 0; i < queue.size(); ++i) {
    const Pending pending = queue[i];
    const SubGroupRow& sub = *by_name.at(pending.name);
    const std::vector<std::string>& below = children[pending.name];
    if (below.empty()) {
      AddPodSet(group, pending.parent, pending.name, sub.min_member.value_or(0));
      continue;
    }
    const SubGroupId id = sets.name.Add(Name(pending.name));
    sets.group.Add(group);
    sets.parent.Add(pending.parent);
    sets.is_pod_set.Add(0);
    sets.minimum.Add(clamp(sub.min_sub_group.value_or(static_cast<int64_t>(below.size()))));
    sets.children.Add({});
    sets.pods.Add({});
    sets.counts.Add({});
    for (const std::string& name : below) queue.push_back({name, id});
  }
  return true;
}

void ClusterAssembler::PodGroups(std::vector<PodGroupRow> rows, const std::vector<PriorityClassRow>& classes) {
  absl::flat_hash_map<std::string, int64_t> priority_of;
  std::optional<int64_t> global_default;
  for (const PriorityClassRow& row : classes) {
    priority_of[row.name] = row.value;
    // Kubernetes admits one default class; of several the largest value is a choice that does not depend on their order.
    if (row.global_default) global_default = std::max(global_default.value_or(row.value), row.value);
  }

  std::erase_if(rows, [&](const PodGroupRow& row) {
    if (!InNodePool(row.labels)) return true;
    // spec 2 G2: its one try in this node pool is over.
    const std::string* pool = FindLabelText(row.labels, c_.params_.node_pool_label_key);
    return row.scheduling_backoff.value_or(-1) != -1 && !row.latest_condition_node_pool.empty() &&
           row.latest_condition_node_pool == (pool == nullptr ? "default" : *pool);
  });
  const auto name_of = [](const PodGroupRow& row) { return QualifiedName(row.namespace_name, row.name); };
  DropDuplicates(&rows, "PodGroup", name_of, &c_.rejections_);
  std::sort(rows.begin(), rows.end(), [](const PodGroupRow& a, const PodGroupRow& b) {
    return std::tie(a.namespace_name, a.name) < std::tie(b.namespace_name, b.name);
  });

  PodGroupColumns& groups = c_.pod_groups_;
  SubGroupColumns& sets = c_.sub_groups_;
  for (const PodGroupRow& row : rows) {
    const PodGroupId group = groups.name.Add(Name(row.name));
    groups.namespace_name.Add(Name(row.namespace_name));
    group_by_name_.emplace(std::pair(Name(row.namespace_name), Name(row.name)), group);
    groups.queue_name.Add(Name(row.queue));
    const auto queue = queue_by_name_.find(Name(row.queue));
    const bool queue_known = queue != queue_by_name_.end();
    groups.queue.Add(queue_known ? queue->second : QueueId());
    // A group in an unknown queue keeps priority 0 and cannot be preempted (spec 2 G3).
    int64_t priority = 0;
    if (queue_known) {
      const auto found = priority_of.find(row.priority_class);
      priority = found != priority_of.end() ? found->second : global_default.value_or(kDefaultPodGroupPriority);
    }
    groups.priority.Add(static_cast<int32_t>(priority));
    const bool preemptible = row.preemptibility == "preemptible" || (row.preemptibility.empty() && priority < kPreemptibleBelow);
    groups.preemptible.Add(queue_known && preemptible ? 1 : 0);
    groups.created_ns.Add(row.created_ns.value_or(kNoTime));
    groups.creation_rank.Add(0);
    groups.misfits.Add({});
    groups.backoff_prefix.Add(row.scheduling_backoff.value_or(-1) == 1 ? 1 : 0);
    const std::string* pool = FindLabelText(row.labels, c_.params_.node_pool_label_key);
    groups.node_pool.Add(Name(pool == nullptr ? "default" : *pool));
    groups.last_start_ns.Add(row.last_start_ns.value_or(kNoTime));
    groups.stale_since_ns.Add(row.stale_since_ns.value_or(kNoTime));
    groups.last_eviction_ns.Add(row.last_eviction_ns.value_or(kNoTime));
    groups.preemption_delay_ns.Add(row.preemption_delay_ns.value_or(0));
    groups.staleness_grace_ns.Add(row.staleness_grace_ns.value_or(c_.params_.default_staleness_grace_ns));

    const SubGroupId root = sets.name.Add(Name(""));
    sets.group.Add(group);
    sets.parent.Add(SubGroupId());
    sets.is_pod_set.Add(0);
    sets.minimum.Add(1);
    sets.children.Add({});
    sets.pods.Add({});
    sets.counts.Add({});
    groups.root.Add(root);
    const auto first_set = static_cast<int32_t>(groups.pod_set_list.size());
    std::vector<NameId> not_built;
    bool has_topology = !row.topology.topology.empty();
    for (const SubGroupRow& sub : row.sub_groups) has_topology = has_topology || !sub.topology.topology.empty();
    if (has_topology) not_built.push_back(Name("topology"));
    if (!row.sub_groups.empty()) not_built.push_back(Name("sub-groups"));
    groups.not_built.Add(std::move(not_built));
    if (row.sub_groups.empty()) {
      AddPodSet(group, root, kDefaultSubgroup, row.min_member.value_or(1));
    } else if (!BuildSubGroups(group, row)) {
      AddPodSet(group, root, kDefaultSubgroup, 1);  // KAI keeps its built-in tree (spec 2 G5)
    }
    const auto by_name = [&](SubGroupId a, SubGroupId b) { return c_.Text(sets.name[a]) < c_.Text(sets.name[b]); };
    std::sort(groups.pod_set_list.begin() + first_set, groups.pod_set_list.end(), by_name);
    groups.pod_sets.Add({first_set, static_cast<int32_t>(groups.pod_set_list.size())});
  }

  // Children lists, by name.
  IndexVector<SubGroupId, std::vector<SubGroupId>> children(sets.size());
  for (const SubGroupId id : sets.name.ids()) {
    if (sets.parent[id].valid()) children[sets.parent[id]].push_back(id);
  }
  for (const SubGroupId id : sets.name.ids()) {
    std::sort(children[id].begin(), children[id].end(),
              [&](SubGroupId a, SubGroupId b) { return c_.Text(sets.name[a]) < c_.Text(sets.name[b]); });
    const auto begin = static_cast<int32_t>(sets.child_list.size());
    sets.child_list.insert(sets.child_list.end(), children[id].begin(), children[id].end());
    sets.children[id] = {begin, static_cast<int32_t>(sets.child_list.size())};
  }

  // Ties between pod groups fall to the older, then to the lower name (without namespace: what KAI calls its UID), then to the namespace.
  std::vector<PodGroupId> by_creation;
  for (const PodGroupId group : groups.name.ids()) by_creation.push_back(group);
  std::sort(by_creation.begin(), by_creation.end(), [&](PodGroupId a, PodGroupId b) {
    return std::tuple(groups.created_ns[a], c_.Text(groups.name[a]), a) < std::tuple(groups.created_ns[b], c_.Text(groups.name[b]), b);
  });
  for (size_t i = 0; i < by_creation.size(); ++i) groups.creation_rank[by_creation[i]] = static_cast<int32_t>(i);
}

// ---- pods -----------------------------------------------------------------------------------------------------------------------

void ClusterAssembler::SettlePodStatus(PodDraft* draft, const BindRequestRow* bind_request) const {
  // spec 2 S2; what is overdue in leaving depends on the time and is found when a cycle starts.
  const PodRow& row = draft->row;
  const bool deleting = row.deletion_ns.has_value();
  switch (row.phase) {
    case Phase::kRunning:
      draft->status = deleting ? PodStatus::kReleasing : PodStatus::kRunning;
      break;
    case Phase::kPending:
      if (deleting) {
        draft->status = PodStatus::kReleasing;
      } else if (!row.node_name.empty()) {
        draft->status = PodStatus::kBound;
      } else if (bind_request != nullptr) {
        draft->status = PodStatus::kBinding;
      } else {
        draft->status = row.gated ? PodStatus::kGated : PodStatus::kPending;
      }
      break;
    case Phase::kSucceeded:
      draft->status = PodStatus::kSucceeded;
      break;
    case Phase::kFailed:
      draft->status = PodStatus::kFailed;
      break;
    case Phase::kUnknown:
      draft->status = PodStatus::kUnknown;
      break;
  }
  if (!IsActiveUsed(draft->status)) return;
  const std::string& node_name = !row.node_name.empty() || bind_request == nullptr ? row.node_name : bind_request->node;
  const auto node = node_by_name_.find(node_name);
  if (node != node_by_name_.end()) {
    draft->node = node->second;
  } else {
    draft->on_foreign_node = true;
  }
}

void ClusterAssembler::InternConstraints(std::vector<PodDraft>* drafts) {
  for (PodDraft& draft : *drafts) {
    const PodRow& row = draft.row;
    NodeConstraint constraint;
    for (const auto& [key, value] : row.node_selector) {
      constraint.selector.push_back(InternRequirement({.key = key, .op = SelectorOp::kIn, .values = {value}}, &c_.names_));
    }
    constraint.has_affinity = row.has_node_affinity;
    for (const NodeSelectorTerm& term : row.node_affinity) {
      NodeTerm interned;
      for (const SelectorRequirement& each : term.expressions) interned.expressions.push_back(InternRequirement(each, &c_.names_));
      for (const SelectorRequirement& each : term.fields) interned.fields.push_back(InternRequirement(each, &c_.names_));
      std::sort(interned.expressions.begin(), interned.expressions.end());
      constraint.affinity.push_back(std::move(interned));
    }
    for (const Toleration& toleration : row.tolerations) {
      constraint.tolerations.push_back({.key = toleration.key.empty() ? NameId() : Name(toleration.key),
                                        .exists = toleration.exists,
                                        .value = Name(toleration.value),
                                        .effect = toleration.effect});
    }
    std::sort(constraint.selector.begin(), constraint.selector.end());
    std::sort(constraint.affinity.begin(), constraint.affinity.end());
    std::sort(constraint.tolerations.begin(), constraint.tolerations.end());
    const auto [found, added] = constraint_ids_.try_emplace(std::move(constraint), ConstraintId(constraint_ids_.size()));
    if (added) c_.constraints_.Add(found->first);
    draft.constraint = found->second;
  }
}

void ClusterAssembler::MakeNodeClasses() {
  // Which labels matter, and which of them nearly tell every node apart.
  std::set<NameId> mentioned;
  for (const ConstraintId id : c_.constraints_.ids()) {
    const NodeConstraint& constraint = c_.constraints_[id];
    for (const Requirement& requirement : constraint.selector) mentioned.insert(requirement.key);
    for (const NodeTerm& term : constraint.affinity) {
      for (const Requirement& requirement : term.expressions) mentioned.insert(requirement.key);
    }
  }
  NodeColumns& nodes = c_.nodes_;
  std::map<NameId, std::set<NameId>> values;
  for (const NodeRow& row : node_rows_) {
    LabelSet labels;
    for (const auto& [key, value] : row.labels) {
      const NameId name = c_.names_.Find(key);
      if (!name.valid() || !mentioned.contains(name)) continue;
      labels.push_back({name, Name(value)});
      values[name].insert(labels.back().value);
    }
    std::sort(labels.begin(), labels.end());
    nodes.labels.Add(std::move(labels));
  }
  std::set<NameId> telling;
  for (const auto& [key, distinct] : values) {
    if (distinct.size() > 16 && distinct.size() * 4 > node_rows_.size()) telling.insert(key);
  }
  const auto asks = [&](const std::vector<Requirement>& requirements) {
    return std::any_of(requirements.begin(), requirements.end(), [&](const Requirement& each) { return telling.contains(each.key); });
  };
  for (const ConstraintId id : c_.constraints_.ids()) {
    const NodeConstraint& constraint = c_.constraints_[id];
    bool per_node = asks(constraint.selector);
    for (const NodeTerm& term : constraint.affinity) per_node = per_node || !term.fields.empty() || asks(term.expressions);
    c_.ask_per_node_.Add(per_node ? 1 : 0);
  }

  std::map<NodeClass, NodeClassId> class_ids;
  for (size_t i = 0; i < node_rows_.size(); ++i) {
    const NodeRow& row = node_rows_[i];
    NodeClass node_class;
    for (const Label& label : nodes.labels[NodeId(i)]) {
      if (!telling.contains(label.key)) node_class.labels.push_back(label);
    }
    for (const Taint& taint : row.taints) {
      if (taint.effect == TaintEffect::kPreferNoSchedule || taint.effect == TaintEffect::kNone) continue;  // never refuses
      node_class.taints.push_back({.key = Name(taint.key), .value = Name(taint.value), .effect = taint.effect});
    }
    std::sort(node_class.taints.begin(), node_class.taints.end());
    const auto pressed = [](ConditionStatus status) { return status == ConditionStatus::kTrue || status == ConditionStatus::kUnknown; };
    if (row.unschedulable) node_class.state |= kCordoned;
    if (row.ready != ConditionStatus::kTrue) node_class.state |= kNotReady;
    if (pressed(row.memory_pressure)) node_class.state |= kMemoryPressure;
    if (pressed(row.disk_pressure)) node_class.state |= kDiskPressure;
    if (pressed(row.pid_pressure)) node_class.state |= kPidPressure;
    if (pressed(row.network_unavailable)) node_class.state |= kNetworkUnavailable;

    bool mig_enabled = false;
    for (const auto& [name, amount] : row.allocatable) mig_enabled = mig_enabled || (IsMigResource(name) && amount > 0);
    if (const std::string* label = FindLabelText(row.labels, kMigEnabledLabel)) {
      mig_enabled = *label == "true" || *label == "True" || *label == "TRUE" || *label == "1" || *label == "t" || *label == "T";
    }
    const double gpus = nodes.allocatable[NodeId(i)][kGpuSlot.index()];
    node_class.mig_mixed = mig_enabled && HasLabel(row.labels, kMigStrategyLabel, "mixed");
    node_class.cpu_only = !mig_enabled && gpus <= 0;  // spec 3 N16; DRA GPUs are in `gpus`
    node_class.gpu_worker = FindLabelText(row.labels, kGpuWorkerLabel) != nullptr;
    node_class.cpu_worker = FindLabelText(row.labels, kCpuWorkerLabel) != nullptr;
    nodes.cpu_only.Add(node_class.cpu_only ? 1 : 0);
    const auto [found, added] = class_ids.try_emplace(std::move(node_class), NodeClassId(class_ids.size()));
    if (added) c_.node_classes_.Add(found->first);
    nodes.node_class.Add(found->second);
  }
}

AffinityTermId ClusterAssembler::TermId(AffinityTerm term) {
  const auto [found, added] = term_ids_.try_emplace(term, AffinityTermId(terms_.size()));
  if (added) terms_.push_back(std::move(term));
  return found->second;
}

void ClusterAssembler::InternAffinity(std::vector<PodDraft>* drafts) {
  const auto key_id = [&](const std::string& key) {
    return topology_keys_.try_emplace(Name(key), TopologyKeyId(topology_keys_.size())).first->second;
  };
  const auto selector_of = [&](const PodAffinityTerm& row, const PodRow& pod) {
    PodSelector selector{.matches_none = !row.selector.has_value(), .requirements = {}, .all_namespaces = row.all_namespaces, .namespaces = {}};
    if (row.selector) {
      for (const SelectorRequirement& each : *row.selector) selector.requirements.push_back(InternRequirement(each, &c_.names_));
    }
    std::sort(selector.requirements.begin(), selector.requirements.end());
    for (const std::string& name : row.namespaces) selector.namespaces.push_back(Name(name));
    if (row.namespaces.empty() && !row.all_namespaces) selector.namespaces.push_back(Name(pod.namespace_name));
    std::sort(selector.namespaces.begin(), selector.namespaces.end());
    return selector;
  };
  bool any = false;
  for (PodDraft& draft : *drafts) {
    const PodAffinityRow& row = draft.row.affinity;
    if (row.empty()) continue;
    any = true;
    PodAffinity& affinity = draft.affinity;
    std::vector<PodSelector> all_required;
    for (const PodAffinityTerm& term : row.required) all_required.push_back(selector_of(term, draft.row));
    std::sort(all_required.begin(), all_required.end());
    for (const PodAffinityTerm& term : row.required) {
      affinity.required.push_back(TermId({.selectors = all_required, .key = key_id(term.topology_key)}));
      // kube-scheduler lets a placed pod's required affinity score later pods with weight 1.
      affinity.as_owner.push_back(
          {.term = TermId({.selectors = {selector_of(term, draft.row)}, .key = key_id(term.topology_key)}), .weight = 1});
    }
    for (const PodAffinityTerm& term : row.required_anti) {
      affinity.required_anti.push_back(TermId({.selectors = {selector_of(term, draft.row)}, .key = key_id(term.topology_key)}));
    }
    const auto prefer = [&](const std::vector<WeightedPodAffinityTerm>& terms, int32_t sign) {
      for (const WeightedPodAffinityTerm& each : terms) {
        const ScoringTerm scoring{
            .term = TermId({.selectors = {selector_of(each.term, draft.row)}, .key = key_id(each.term.topology_key)}),
            .weight = sign * each.weight};
        affinity.preferred.push_back(scoring);
        affinity.as_owner.push_back(scoring);
      }
    };
    prefer(row.preferred, 1);
    prefer(row.preferred_anti, -1);
  }
  if (!any) return;

  // Which terms select which pods: asked once per (namespace, labels).
  std::map<std::pair<std::string, StringPairs>, int32_t> memo;
  for (PodDraft& draft : *drafts) {
    StringPairs labels = draft.row.labels;
    std::sort(labels.begin(), labels.end());
    const auto [found, added] = memo.try_emplace(std::pair(draft.row.namespace_name, labels), -1);
    if (added) {
      LabelSet interned;
      for (const auto& [key, value] : labels) interned.push_back({Name(key), Name(value)});
      std::sort(interned.begin(), interned.end());
      std::vector<AffinityTermId> matched;
      for (size_t i = 0; i < terms_.size(); ++i) {
        if (Selects(terms_[i], Name(draft.row.namespace_name), interned, c_.names_)) matched.push_back(AffinityTermId(i));
      }
      const auto [set, is_new] = matched_set_ids_.try_emplace(matched, static_cast<int32_t>(matched_sets_.size()));
      if (is_new) matched_sets_.push_back(matched);
      found->second = set->second;
    }
    draft.matched_set = found->second;
    const std::vector<AffinityTermId>& matched = matched_sets_[static_cast<size_t>(draft.matched_set)];
    draft.matches_own_required = std::all_of(draft.affinity.required.begin(), draft.affinity.required.end(), [&](AffinityTermId term) {
      return std::binary_search(matched.begin(), matched.end(), term);
    });
  }

  // Domains of every node under every topology key, numbered in the order of node names.
  IndexVector<TopologyKeyId, IndexVector<NodeId, DomainId>> domains(topology_keys_.size());
  for (const auto& [key, id] : topology_keys_) {
    domains[id] = IndexVector<NodeId, DomainId>(node_rows_.size());
    std::map<std::string, DomainId> numbers;
    for (size_t i = 0; i < node_rows_.size(); ++i) {
      const std::string* value = FindLabelText(node_rows_[i].labels, c_.Text(key));
      if (value == nullptr) continue;
      domains[id][NodeId(i)] = numbers.try_emplace(*value, DomainId(numbers.size())).first->second;
    }
  }
  c_.affinity_ = AffinityIndex(std::move(terms_), std::move(domains));
}

PodClassId ClusterAssembler::ClassId(const PodDraft& draft) {
  const PodRow& row = draft.row;
  PodClass info;
  info.gpu = row.gpu;
  std::sort(info.gpu.mig.begin(), info.gpu.mig.end());
  info.constraint = draft.constraint;
  info.affinity = draft.affinity;
  if (draft.matched_set >= 0) info.matched_terms = matched_sets_[static_cast<size_t>(draft.matched_set)];
  info.matches_own_required = draft.matches_own_required;
  if (const auto node = node_by_name_.find(row.nominated_node); node != node_by_name_.end()) info.nominated_node = node->second;

  std::set<std::string> not_built(row.not_built.begin(), row.not_built.end());
  switch (row.gpu.kind) {
    case GpuRequestKind::kRegular:
      break;
    case GpuRequestKind::kFraction:
      not_built.insert("gpu-fraction");
      break;
    case GpuRequestKind::kMemory:
      not_built.insert("gpu-memory");
      break;
    case GpuRequestKind::kMig:
      not_built.insert("mig");
      break;
  }
  if (!row.gpu.mig.empty()) not_built.insert("mig");
  if (!row.claims.empty()) not_built.insert("dra");
  for (const std::string& feature : not_built) info.not_built.push_back(Name(feature));

  // spec 3 R18: GPUs of portions plus claims; a memory request has no GPU element.
  double gpus = static_cast<double>(row.gpu.dra);
  if (row.gpu.kind != GpuRequestKind::kMemory) gpus += GpusOfPortions(row.gpu.portion, static_cast<double>(row.gpu.count));
  double mig_gpus = 0;
  for (const auto& [name, amount] : row.gpu.mig) mig_gpus += MigGpuEquivalents(name) * static_cast<double>(amount);
  info.cpu_only = !(gpus > 0 || row.gpu.kind == GpuRequestKind::kMemory || row.gpu.kind == GpuRequestKind::kMig);  // spec 3 R19

  const auto cpu = static_cast<double>(AmountOf(row.requests, "cpu"));
  const auto memory = static_cast<double>(AmountOf(row.requests, "memory"));
  info.requested = {cpu, memory, gpus + mig_gpus};
  info.gate_requested = info.requested;
  if (row.gpu.kind == GpuRequestKind::kMemory) {  // spec 1 F24
    const double wanted = static_cast<double>(row.gpu.count) * static_cast<double>(row.gpu.memory_mib);
    info.requested[kQuotaGpu] += smallest_gpu_mib_ == 0 ? 0 : wanted / smallest_gpu_mib_;
    info.gate_requested[kQuotaGpu] += largest_gpu_mib_ == 0 ? 0 : wanted / largest_gpu_mib_;
  }

  ResourceAmounts requests = row.requests;
  std::sort(requests.begin(), requests.end());
  ResourceAmounts overhead = row.overhead;
  std::sort(overhead.begin(), overhead.end());
  std::string key;
  const auto append = [&key](const auto&... parts) { StrAppend(&key, parts..., "\x1f"); };
  for (const auto& [name, amount] : requests) append(name, "=", amount);
  append("|");
  for (const auto& [name, amount] : overhead) append(name, "=", amount);
  append("|", static_cast<int>(info.gpu.kind), ":", info.gpu.count, ":", info.gpu.memory_mib, ":", info.gpu.dra, ":", info.gpu.legacy_mig);
  key.append(reinterpret_cast<const char*>(&info.gpu.portion), sizeof(info.gpu.portion));
  for (const auto& [name, amount] : info.gpu.mig) append(name, "=", amount);
  append("|", info.constraint.value(), "|", draft.matched_set, "|", info.matches_own_required, "|", info.nominated_node.value());
  const auto append_terms = [&append](const std::vector<AffinityTermId>& terms) {
    for (const AffinityTermId term : terms) append(term.value());
    append("|");
  };
  append_terms(info.affinity.required);
  append_terms(info.affinity.required_anti);
  for (const ScoringTerm& each : info.affinity.preferred) append(each.term.value(), "*", each.weight);
  append("|");
  for (const NameId feature : info.not_built) append(feature.value());

  const auto found = class_ids_.find(key);
  if (found != class_ids_.end()) return found->second;
  const PodClassId id = c_.pod_classes_.info.Add(std::move(info));
  c_.pod_classes_.request.Add();
  c_.pod_classes_.overhead.Add();
  class_ids_.emplace(std::move(key), id);
  const std::span<double> vector = c_.pod_classes_.request[id];
  for (const auto& [name, amount] : requests) vector[c_.slots_.Find(name).index()] = static_cast<double>(amount);
  for (const auto& [name, amount] : row.gpu.mig) vector[c_.slots_.Find(name).index()] = static_cast<double>(amount);
  vector[kGpuSlot.index()] = gpus;
  vector[kPodsSlot.index()] = 1;  // spec 3 R4
  const std::span<double> extra = c_.pod_classes_.overhead[id];
  for (const auto& [name, amount] : overhead) extra[c_.slots_.Find(name).index()] = static_cast<double>(amount);
  return id;
}

void ClusterAssembler::Pods(std::vector<PodRow> rows, const std::vector<BindRequestRow>& bind_requests,
                            const std::vector<ResourceClaimRow>& claims) {
  const auto name_of = [](const PodRow& row) { return QualifiedName(row.namespace_name, row.name); };
  DropDuplicates(&rows, "Pod", name_of, &c_.rejections_);
  std::sort(rows.begin(), rows.end(), [](const PodRow& a, const PodRow& b) {
    return std::tie(a.namespace_name, a.name) < std::tie(b.namespace_name, b.name);
  });

  // spec 2 S3: a request counts only while its node is here and it has not failed for good.
  absl::flat_hash_map<std::string, const BindRequestRow*> live_request;
  for (const BindRequestRow& request : bind_requests) {
    const bool failed = request.phase == "Failed" && (!request.backoff_limit || request.failed_attempts >= *request.backoff_limit);
    if (!failed && node_by_name_.contains(request.node)) {
      const BindRequestRow*& slot = live_request[QualifiedName(request.namespace_name, request.pod)];
      // Two requests for one pod: the one for the lower node name, whatever their order.
      if (slot == nullptr || request.node < slot->node) slot = &request;
    }
  }
  ClaimByName claim_by_name;
  ClaimsOfPod claims_of_pod;
  for (const ResourceClaimRow& claim : claims) {
    claim_by_name[QualifiedName(claim.namespace_name, claim.name)] = &claim;
    if (!claim.owner_pod.empty()) claims_of_pod[QualifiedName(claim.namespace_name, claim.owner_pod)].push_back(&claim);
  }

  std::vector<PodDraft> drafts;
  drafts.reserve(rows.size());
  for (PodRow& row : rows) {
    PodDraft draft;
    draft.row = std::move(row);
    const auto request = live_request.find(QualifiedName(draft.row.namespace_name, draft.row.name));
    const BindRequestRow* bind_request = request == live_request.end() ? nullptr : request->second;
    SettlePodStatus(&draft, bind_request);
    if (bind_request != nullptr) {  // spec 3 R20
      draft.row.received_type = bind_request->received_type;
      draft.row.gpu_groups = bind_request->gpu_groups;
    }
    const std::string* app = FindLabelText(draft.row.labels, "app");
    draft.is_reservation = app != nullptr && *app == kReservationApp;
    draft.is_utility = draft.is_reservation || (app != nullptr && *app == kScaleAdjustApp);
    const bool in_group = !draft.row.pod_group.empty() &&
                          group_by_name_.contains(std::pair(Name(draft.row.namespace_name), Name(draft.row.pod_group)));
    if (!in_group && !IsActiveUsed(draft.status)) continue;  // neither schedulable by us nor in anybody's way
    draft.row.gpu.dra = GpusOfClaims(draft.row, claims_of_pod, claim_by_name);
    drafts.push_back(std::move(draft));
  }

  std::set<std::string> resources;
  for (const PodDraft& draft : drafts) {
    for (const auto& [name, amount] : draft.row.requests) resources.insert(name);
    for (const auto& [name, amount] : draft.row.overhead) resources.insert(name);
    for (const auto& [name, amount] : draft.row.gpu.mig) resources.insert(name);
  }
  for (const std::string& name : resources) SlotOf(name);

  // From here on the slots are fixed.
  NodeColumns& nodes = c_.nodes_;
  const size_t slots = c_.slots_.size();
  nodes.allocatable = ResourceTable<NodeId>(node_rows_.size(), slots);
  c_.largest_node_.assign(slots, 0);
  for (size_t i = 0; i < node_rows_.size(); ++i) {
    const std::span<double> vector = nodes.allocatable[NodeId(i)];
    for (const auto& [name, amount] : node_rows_[i].allocatable) vector[c_.slots_.Find(name).index()] += static_cast<double>(amount);
    const double device_plugin_gpus = vector[kGpuSlot.index()];
    vector[kGpuSlot.index()] += static_cast<double>(node_dra_gpus_[i]);  // spec 3 N1
    const std::string* label = FindLabelText(node_rows_[i].labels, kGpuCountLabel);
    const std::optional<int64_t> count = label == nullptr ? std::nullopt : ParseInteger(*label);
    nodes.gpu_count.Add(count ? static_cast<double>(*count) : std::trunc(device_plugin_gpus));
    for (size_t slot = 0; slot < slots; ++slot) c_.largest_node_[slot] = std::max(c_.largest_node_[slot], vector[slot]);
  }
  nodes.idle = nodes.allocatable;
  nodes.releasing = ResourceTable<NodeId>(node_rows_.size(), slots);
  nodes.used = ResourceTable<NodeId>(node_rows_.size(), slots);
  c_.pod_classes_.request = ResourceTable<PodClassId>(0, slots);
  c_.pod_classes_.overhead = ResourceTable<PodClassId>(0, slots);

  InternConstraints(&drafts);
  MakeNodeClasses();
  InternAffinity(&drafts);
  PlacePods(drafts);
  RankPods(drafts);
  CountTotal(drafts);
}

// Who stands for a device that several pods share: one that stays, if there is one, because the device comes back only with its last user.
std::map<std::pair<NodeId, std::string>, const ClusterAssembler::PodDraft*> ClusterAssembler::HoldersOfSharedDevices(
    const std::vector<PodDraft>& drafts) {
  std::map<std::pair<NodeId, std::string>, const PodDraft*> holders;
  for (const PodDraft& draft : drafts) {
    if (!draft.node.valid() || draft.is_reservation) continue;
    for (const std::string& device : draft.row.gpu_groups) {
      const PodDraft*& holder = holders[{draft.node, device}];
      if (holder == nullptr || (holder->status == PodStatus::kReleasing && draft.status != PodStatus::kReleasing)) holder = &draft;
    }
  }
  return holders;
}

void ClusterAssembler::PlacePods(const std::vector<PodDraft>& drafts) {
  PodColumns& pods = c_.pods_;
  SubGroupColumns& sets = c_.sub_groups_;
  pods_of_set_.resize(sets.size());
  const std::map<std::pair<NodeId, std::string>, const PodDraft*> holders = HoldersOfSharedDevices(drafts);
  for (const PodDraft& draft : drafts) {
    const PodRow& row = draft.row;
    const PodId pod = pods.name.Add(Name(row.name));
    pods.namespace_name.Add(Name(row.namespace_name));
    const PodClassId pod_class = ClassId(draft);
    pods.pod_class.Add(pod_class);
    const NameId subgroup = Name(row.subgroup.empty() ? kDefaultSubgroup : std::string_view(row.subgroup));
    pods.subgroup.Add(subgroup);
    PodGroupId group;
    SubGroupId pod_set;
    if (!row.pod_group.empty()) {
      const auto found = group_by_name_.find(std::pair(Name(row.namespace_name), Name(row.pod_group)));
      if (found != group_by_name_.end()) group = found->second;
    }
    if (group.valid()) {
      const Span32 range = c_.pod_groups_.pod_sets[group];
      for (int32_t i = range.begin; i < range.end; ++i) {
        const SubGroupId candidate = c_.pod_groups_.pod_set_list[static_cast<size_t>(i)];
        if (sets.name[candidate] == subgroup) pod_set = candidate;
      }
      if (pod_set.valid()) {
        pods_of_set_[pod_set.index()].push_back(pod);
        ++sets.counts[pod_set][draft.status];
      } else {
        c_.pod_groups_.misfits[group].push_back(pod);
      }
    }
    pods.group.Add(group);
    pods.pod_set.Add(pod_set);
    pods.created_ns.Add(row.created_ns.value_or(kNoTime));
    // Only a pod that ran can be overdue in leaving (spec 2 S2).
    pods.deletion_ns.Add(row.phase == Phase::kRunning ? row.deletion_ns.value_or(kNoTime) : kNoTime);
    pods.uid_rank.Add(0);
    const std::string* role = FindLabelText(row.labels, "training.kubeflow.org/job-role");
    pods.is_kubeflow_lead.Add(role != nullptr && (*role == "master" || *role == "launcher") ? 1 : 0);
    pods.is_ray_head.Add(HasLabel(row.labels, "ray.io/node-type", "head") ? 1 : 0);
    const std::string* priority = FindLabelText(row.labels, "kai.scheduler/task-priority");
    pods.task_priority.Add(priority == nullptr ? NameId() : Name(*priority));
    pods.status.Add(draft.status);
    pods.node.Add(draft.node);
    pods.is_virtual.Add(0);

    double ledger_gpus = c_.pod_classes_.request[pod_class][kGpuSlot.index()];
    if (draft.is_reservation) {
      ledger_gpus = 0;  // spec 3 N3
    } else if (row.gpu.kind == GpuRequestKind::kFraction || row.gpu.kind == GpuRequestKind::kMemory) {
      // Until devices are modelled, sharers hold their devices whole, each device once.
      ledger_gpus = 0;
      for (const std::string& device : row.gpu_groups) {
        const auto holder = holders.find({draft.node, device});
        ledger_gpus += holder != holders.end() && holder->second == &draft ? 1 : 0;
      }
      if (row.gpu_groups.empty()) ledger_gpus = static_cast<double>(std::max<int64_t>(row.gpu.count, 1));
    }
    pods.ledger_gpus.Add(ledger_gpus);
    pods.accepted.Add(c_.AcceptedOn(pod_class, draft.node));
    if (!IsActiveUsed(draft.status) || !draft.node.valid()) continue;
    NodeColumns& nodes = c_.nodes_;
    ChargeLedger({.allocatable = nodes.allocatable[draft.node],
                  .idle = nodes.idle[draft.node],
                  .releasing = nodes.releasing[draft.node],
                  .used = nodes.used[draft.node]},
                 c_.pod_classes_.request[pod_class], ledger_gpus, draft.status, 1);
    if (!c_.affinity_.empty()) c_.affinity_.Count(c_.pod_classes_.info[pod_class], draft.node, 1);
  }
  for (const SubGroupId set : sets.name.ids()) {
    const auto begin = static_cast<int32_t>(sets.pod_list.size());
    const std::vector<PodId>& members = pods_of_set_[set.index()];
    sets.pod_list.insert(sets.pod_list.end(), members.begin(), members.end());
    sets.pods[set] = {begin, static_cast<int32_t>(sets.pod_list.size())};
  }
}

void ClusterAssembler::RankPods(const std::vector<PodDraft>& drafts) {
  // A pod's UID, or namespace/name where it has none (spec 2 O3).
  std::vector<std::pair<std::string, size_t>> uids;
  uids.reserve(drafts.size());
  for (size_t i = 0; i < drafts.size(); ++i) {
    const PodRow& row = drafts[i].row;
    uids.emplace_back(row.uid.empty() ? QualifiedName(row.namespace_name, row.name) : row.uid, i);
  }
  std::sort(uids.begin(), uids.end());
  for (size_t rank = 0; rank < uids.size(); ++rank) c_.pods_.uid_rank[PodId(uids[rank].second)] = static_cast<int32_t>(rank);
}

void ClusterAssembler::CountTotal(const std::vector<PodDraft>& drafts) {
  // spec 1 F30
  QuotaVector total{};
  const NodeColumns& nodes = c_.nodes_;
  const auto schedulable = [&](NodeId node) { return c_.node_classes_[nodes.node_class[node]].state == 0; };
  for (const NodeId node : nodes.name.ids()) {
    if (!schedulable(node)) continue;
    const std::span<const double> row = nodes.allocatable[node];
    total[kQuotaCpu] += row[kCpuSlot.index()];
    total[kQuotaMemory] += row[kMemorySlot.index()];
    if (!c_.params_.restrict_node_scheduling || c_.node_classes_[nodes.node_class[node]].gpu_worker) {
      total[kQuotaGpu] += c_.slots_.TotalGpus(row);
    }
  }
  for (size_t i = 0; i < drafts.size(); ++i) {
    const PodDraft& draft = drafts[i];
    if (draft.row.scheduler_name == c_.params_.scheduler_name || draft.is_utility) continue;
    if (!IsActiveUsed(draft.status) || !draft.node.valid() || !schedulable(draft.node)) continue;
    total -= c_.ClassOf(PodId(i)).requested;
  }
  c_.total_ = total;
}

void ClusterAssembler::Finish() { std::sort(c_.rejections_.begin(), c_.rejections_.end()); }

std::unique_ptr<Cluster> ClusterBuilder::Build() && {
  auto cluster = std::make_unique<Cluster>();
  if (params_.stuck_in_releasing_threshold_ns <= 0) params_.stuck_in_releasing_threshold_ns = kDefaultStuckThresholdNs;
  cluster->params_ = std::move(params_);
  cluster->rejections_ = std::move(rejections_);
  ClusterAssembler assembler(cluster.get());
  assembler.Nodes(std::move(nodes_), slices_);
  assembler.Queues(std::move(queues_));
  assembler.PodGroups(std::move(pod_groups_), priority_classes_);
  assembler.Pods(std::move(pods_), bind_requests_, claims_);
  assembler.Finish();
  return cluster;
}

}  // namespace kai

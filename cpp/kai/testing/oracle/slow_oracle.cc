#include "kai/testing/oracle/slow_oracle.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <ostream>
#include <set>
#include <tuple>
#include <utility>

#include "kai/base/check.h"
#include "kai/testing/oracle/slow_filters.h"
#include "kai/testing/oracle/slow_job_order.h"
#include "kai/testing/oracle/slow_topology.h"

namespace kai::oracle {
namespace parts {

constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();

// ---- texts and numbers --------------------------------------------------------------------------

std::string Qualified(const std::string& namespace_name, const std::string& name) {
  return namespace_name + "/" + name;
}

const std::string* Label(const StringPairs& labels, const std::string& key) {
  for (const auto& [name, value] : labels) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::optional<int64_t> Integer(const std::string& text) {
  size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  if (at == text.size() || text.size() > 18) return std::nullopt;
  for (; at < text.size(); ++at) {
    if (std::isdigit(static_cast<unsigned char>(text[at])) == 0) return std::nullopt;
  }
  return std::stoll(text);
}

double AmountOf(const ResourceAmounts& amounts, const std::string& name) {
  for (const auto& [resource, amount] : amounts) {
    if (resource == name) return static_cast<double>(amount);
  }
  return 0;
}

bool StartsWith(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

// The g of nvidia.com/mig-<g>g.<m>gb; 0 for every other name (spec 1 F21).
double MigShare(const std::string& name) {
  const std::string prefix = "nvidia.com/mig-";
  if (!StartsWith(name, prefix)) return 0;
  size_t at = prefix.size();
  const auto digits = [&] {
    const size_t begin = at;
    while (at < name.size() && std::isdigit(static_cast<unsigned char>(name[at])) != 0) ++at;
    return name.substr(begin, at - begin);
  };
  const std::string slices = digits();
  if (slices.empty() || name.compare(at, 2, "g.") != 0) return 0;
  at += 2;
  if (digits().empty() || name.substr(at) != "gb") return 0;
  return std::stod(slices);
}

bool IsMig(const std::string& name) { return StartsWith(name, "nvidia.com/mig-"); }

// -1 equals -1 and is more than any number (spec 1 F26).
bool AtMost(double a, double b) {
  if (a == -1) return b == -1;
  return b == -1 || a <= b;
}
bool AtMost(const Three& a, const Three& b) {
  return AtMost(a[0], b[0]) && AtMost(a[1], b[1]) && AtMost(a[2], b[2]);
}

bool ParseBool(const std::string& text) {
  return text == "1" || text == "t" || text == "T" || text == "true" || text == "TRUE" ||
         text == "True";
}

// spec 3 M6
bool MigEnabled(const NodeRow& node) {
  if (const std::string* label = Label(node.labels, "node-role.kubernetes.io/mig-enabled")) {
    return ParseBool(*label);
  }
  for (const auto& [name, amount] : node.allocatable) {
    if (IsMig(name) && amount > 0) return true;
  }
  return false;
}

std::string MigStrategy(const NodeRow& node) {
  const std::string* label = Label(node.labels, "nvidia.com/mig.strategy");
  if (!MigEnabled(node) || label == nullptr) return "none";
  return *label == "single" || *label == "mixed" ? *label : "none";
}

// spec 3 P7, and spec 1 F30
bool IsOpen(const NodeRow& node) {
  const auto pressed = [](ConditionStatus status) {
    return status == ConditionStatus::kTrue || status == ConditionStatus::kUnknown;
  };
  return !node.unschedulable && node.ready == ConditionStatus::kTrue &&
         !pressed(node.memory_pressure) && !pressed(node.disk_pressure) &&
         !pressed(node.pid_pressure) && !pressed(node.network_unavailable);
}

// GPUs of devices that each provide a portion: two decimals per device (spec 1 F23).
double GpusOf(double portion, double devices) { return std::round(portion * 100) * devices / 100; }

double WholeOrPartGpus(const GpuRequest& gpu) {
  return gpu.kind == GpuRequestKind::kMemory ? 0
                                             : GpusOf(gpu.portion, static_cast<double>(gpu.count));
}

double MigGpus(const GpuRequest& gpu) {
  double gpus = 0;
  for (const auto& [name, amount] : gpu.mig) gpus += MigShare(name) * static_cast<double>(amount);
  return gpus;
}

bool IsShared(const PodRow& pod) {
  return pod.gpu.kind == GpuRequestKind::kFraction || pod.gpu.kind == GpuRequestKind::kMemory;
}

// spec 3 R19
bool AnyGpu(const PodRow& pod) {
  return WholeOrPartGpus(pod.gpu) > 0 || pod.gpu.kind == GpuRequestKind::kMemory ||
         pod.gpu.kind == GpuRequestKind::kMig;
}

// ---- selectors, as Kubernetes documents them ----------------------------------------------------

bool Meets(const SelectorRequirement& requirement, const std::string* value) {
  const auto listed = [&] {
    return std::find(requirement.values.begin(), requirement.values.end(), *value) !=
           requirement.values.end();
  };
  switch (requirement.op) {
    case SelectorOp::kIn:
      return value != nullptr && listed();
    case SelectorOp::kNotIn:
      return value == nullptr || !listed();
    case SelectorOp::kExists:
      return value != nullptr;
    case SelectorOp::kDoesNotExist:
      return value == nullptr;
    case SelectorOp::kGt:
    case SelectorOp::kLt:
      break;
  }
  if (value == nullptr || requirement.values.size() != 1) return false;
  const std::optional<int64_t> left = Integer(*value);
  const std::optional<int64_t> right = Integer(requirement.values[0]);
  if (!left || !right) return false;
  return requirement.op == SelectorOp::kGt ? *left > *right : *left < *right;
}

bool MeetsAll(const std::vector<SelectorRequirement>& requirements, const StringPairs& labels) {
  for (const SelectorRequirement& each : requirements) {
    if (!Meets(each, Label(labels, each.key))) return false;
  }
  return true;
}

bool MeetsNodeAffinity(const PodRow& pod, const NodeRow& node) {
  for (const auto& [key, value] : pod.node_selector) {
    const std::string* label = Label(node.labels, key);
    if (label == nullptr || *label != value) return false;
  }
  if (!pod.has_node_affinity) return true;
  for (const NodeSelectorTerm& term : pod.node_affinity) {
    if (term.expressions.empty() && term.fields.empty()) continue;  // matches no node
    bool meets = MeetsAll(term.expressions, node.labels);
    for (const SelectorRequirement& field : term.fields) meets = meets && Meets(field, &node.name);
    if (meets) return true;
  }
  return false;
}

bool ToleratesTaints(const PodRow& pod, const NodeRow& node) {
  for (const Taint& taint : node.taints) {
    if (taint.effect != TaintEffect::kNoSchedule && taint.effect != TaintEffect::kNoExecute)
      continue;
    bool tolerated = false;
    for (const Toleration& each : pod.tolerations) {
      const bool effect = each.effect == TaintEffect::kNone || each.effect == taint.effect;
      const bool key = each.key == taint.key || (each.key.empty() && each.exists);
      const bool value = each.exists || each.value == taint.value;
      tolerated = tolerated || (effect && key && value);
    }
    if (!tolerated) return false;
  }
  return true;
}

// True if an affinity term of `owner` selects `pod`.
bool IsAbout(const PodAffinityTerm& term, const PodRow& owner, const PodRow& pod) {
  if (!term.selector) return false;
  if (!term.all_namespaces) {
    std::vector<std::string> namespaces = term.namespaces;
    if (namespaces.empty()) namespaces.push_back(owner.namespace_name);
    if (std::find(namespaces.begin(), namespaces.end(), pod.namespace_name) == namespaces.end()) {
      return false;
    }
  }
  return MeetsAll(*term.selector, pod.labels);
}

bool SameDomain(const NodeRow& a, const NodeRow& b, const std::string& key) {
  const std::string* in_a = Label(a.labels, key);
  const std::string* in_b = Label(b.labels, key);
  return in_a != nullptr && in_b != nullptr && *in_a == *in_b;
}

// ---- sub-groups ---------------------------------------------------------------------------------

SetTree FlatTree(int64_t minimum, const std::optional<int64_t>& root_minimum) {
  SetTree tree;
  tree[""] = {.is_leaf = false,
              .minimum = std::max<int64_t>(root_minimum.value_or(1), 0),
              .given = root_minimum.has_value(),
              .children = {"default"}};
  tree["default"] = {.is_leaf = true, .minimum = std::max<int64_t>(minimum, 0), .children = {}};
  return tree;
}

SetTree TreeOf(const PodGroupRow& group) {
  if (group.sub_groups.empty()) {
    return FlatTree(group.min_member.value_or(1), group.min_sub_group);
  }
  SetTree tree;
  tree[""] = {};
  for (const SubGroupRow& row : group.sub_groups) {
    if (!tree.emplace(row.name, Set{}).second) return FlatTree(1, {});
  }
  std::map<std::string, std::string> parent_of;
  for (const SubGroupRow& row : group.sub_groups) {
    std::string parent = row.parent.value_or("");
    for (char& c : parent) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!tree.contains(parent)) return FlatTree(1, {});
    tree[parent].children.push_back(row.name);
    parent_of[row.name] = parent;
  }
  for (const SubGroupRow& row : group.sub_groups) {  // a cycle never reaches the root
    std::string at = row.name;
    for (size_t steps = 0; !at.empty(); ++steps) {
      if (steps > group.sub_groups.size()) return FlatTree(1, {});
      at = parent_of[at];
    }
  }
  for (auto& [name, set] : tree) std::sort(set.children.begin(), set.children.end());
  const auto set_minimum = [&](const std::string& name, const std::optional<int64_t>& given) {
    Set& set = tree[name];
    set.minimum = std::max<int64_t>(given.value_or(static_cast<int64_t>(set.children.size())), 0);
    set.given = given.has_value();
  };
  set_minimum("", group.min_sub_group);
  for (const SubGroupRow& row : group.sub_groups) {
    if (tree[row.name].children.empty()) {
      tree[row.name].is_leaf = true;
      tree[row.name].minimum = std::max<int64_t>(row.min_member.value_or(0), 0);
    } else {
      set_minimum(row.name, row.min_sub_group);
    }
  }
  return tree;
}

std::string SubGroupOf(const PodRow& pod) {
  return pod.subgroup.empty() ? "default" : pod.subgroup;
}

// Without a creation time, an object counts as the oldest.
int64_t CreatedOf(const std::optional<int64_t>& created_ns) { return created_ns.value_or(kNoTime); }

}  // namespace parts

using namespace parts;  // NOLINT: the header's own
using Kept = World::Kept;

// ---- the world ----------------------------------------------------------------------------------

int World::Kept::NodeIndex(std::string_view name) const {
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i]->name == name) return static_cast<int>(i);
  }
  return -1;
}
int World::Kept::QueueIndex(std::string_view name) const {
  for (size_t i = 0; i < queues.size(); ++i) {
    if (queues[i].row->name == name) return static_cast<int>(i);
  }
  return -1;
}
int World::Kept::GroupIndex(std::string_view name) const {
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].name == name) return static_cast<int>(i);
  }
  return -1;
}
int World::Kept::PodIndex(std::string_view name) const {
  for (size_t i = 0; i < pods.size(); ++i) {
    if (pods[i].name == name) return static_cast<int>(i);
  }
  KAI_CHECK(false) << "no pod " << name;
  return -1;
}
size_t World::Kept::ResourceIndex(const std::string& name) {
  const std::string known =
      name == "nvidia.com/gpu" || name == "amd.com/gpu" ? std::string("gpu") : name;
  for (size_t i = 0; i < resources.size(); ++i) {
    if (resources[i] == known) return i;
  }
  resources.push_back(known);
  return resources.size() - 1;
}

bool World::Kept::InNodePool(const StringPairs& labels) const {
  if (rows.params.node_pool_label_key.empty()) return true;
  const std::string* pool = Label(labels, rows.params.node_pool_label_key);
  if (rows.params.node_pool_label_value.empty()) return pool == nullptr;
  return pool != nullptr && *pool == rows.params.node_pool_label_value;
}

QuotaCount World::Kept::Requested(const Pod& pod, double gpu_mib) const {
  const QuotaCount requested = {AmountOf(pod.row->requests, "cpu"),
                                AmountOf(pod.row->requests, "memory"),
                                WholeOrPartGpus(pod.row->gpu) + MigGpus(pod.row->gpu)};
  if (pod.row->gpu.kind != GpuRequestKind::kMemory || gpu_mib <= 0) return requested;
  const double mib =
      static_cast<double>(pod.row->gpu.count) * static_cast<double>(pod.row->gpu.memory_mib);
  return requested + QuotaCount::OfGpuMemory(mib, gpu_mib);
}

QuotaCount World::Kept::Accepted(const Pod& pod, int node) const {
  if (node < 0) return {};
  const QuotaCount requested = Requested(pod, smallest_gpu_mib);
  if (pod.row->gpu.kind != GpuRequestKind::kMemory) return requested;
  const double mib = MemoryOfGpu(*nodes[static_cast<size_t>(node)]);
  const double portion = std::ceil(static_cast<double>(pod.row->gpu.memory_mib) / mib * 100) / 100;
  return requested.WithGpus(GpusOf(portion, static_cast<double>(pod.row->gpu.count)));
}

double World::Kept::DevicesOf(int node) const {
  const std::string* label = Label(At(nodes, node)->labels, "nvidia.com/gpu.count");
  const std::optional<int64_t> count = label == nullptr ? std::nullopt : Integer(*label);
  return count ? static_cast<double>(*count) : std::trunc(At(allocatable, node)[2]);
}

QuotaCount World::Kept::AtTheGate(const Pod& pod, int node) const {
  const QuotaCount accepted = Accepted(pod, node);
  const GpuRequest& gpu = pod.row->gpu;
  if (!IsShared(*pod.row)) return accepted;
  const double mib = MemoryOfGpu(*At(nodes, node));
  return accepted.WithGpus(static_cast<double>(gpu.count) *
                           CeilToPercent(static_cast<double>(MibPerDevice(gpu, mib)) / mib));
}

GpuPart World::Kept::GpusTaken(const Pod& pod, int node, const Groups& shared) const {
  GpuPart part;
  if (pod.is_reservation) return part;
  if (!IsShared(*pod.row)) {
    part.whole = WholeOrPartGpus(pod.row->gpu);
  } else if (shared.empty()) {  // as many whole ones, as the devices are unknown
    part.whole = static_cast<double>(Devices(pod.row->gpu));
  } else {
    part.groups = shared;
    part.mib = MibPerDevice(pod.row->gpu, MemoryOfGpu(*At(nodes, node)));
  }
  return part;
}

bool World::Kept::IsBelow(int queue, int ancestor) const {
  while (queue >= 0 && queue != ancestor) queue = queues[static_cast<size_t>(queue)].parent;
  return queue >= 0;
}
bool World::Kept::IsLeaf(int queue) const {
  return queue >= 0 && At(queues, queue).children.empty();
}

void World::Kept::KeepNodes() {
  for (const NodeRow& row : rows.nodes) {
    if (!InNodePool(row.labels)) continue;
    if (rows.params.restrict_node_scheduling &&
        Label(row.labels, "node-role.kubernetes.io/gpu-worker") == nullptr &&
        Label(row.labels, "node-role.kubernetes.io/cpu-worker") == nullptr) {
      continue;
    }
    nodes.push_back(&row);
    const double mib = MemoryOfGpu(row);
    if (mib <= 100) continue;
    smallest_gpu_mib = smallest_gpu_mib == 0 ? mib : std::min(smallest_gpu_mib, mib);
    largest_gpu_mib = std::max(largest_gpu_mib, mib);
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const NodeRow* a, const NodeRow* b) { return a->name < b->name; });
}

void World::Kept::KeepQueues() {
  std::erase_if(rows.queues, [&](const QueueRow& row) { return !InNodePool(row.labels); });
  if (!rows.params.full_hierarchy_fairness) {  // spec 1 F12, F11
    std::erase_if(rows.queues,
                  [](const QueueRow& row) { return row.parent.empty() || row.name == "default"; });
    for (QueueRow& row : rows.queues) row.parent = "default";
    QueueRow root;
    root.name = "default";
    root.resources.fill({.quota = -1, .over_quota_weight = 1, .limit = -1});
    rows.queues.push_back(root);
  }
  std::map<std::string, const QueueRow*> by_name;
  for (const QueueRow& row : rows.queues) by_name[row.name] = &row;
  for (const auto& [name, row] : by_name) {  // spec 1 F10, F11
    const QueueRow* at = row;
    size_t steps = 0;
    while (at != nullptr && !at->parent.empty() && ++steps <= by_name.size()) {
      const auto parent = by_name.find(at->parent);
      at = parent == by_name.end() ? nullptr : parent->second;
    }
    if (at != nullptr && at->parent.empty())
      queues.push_back({.row = row, .parent = -1, .children = {}, .start = {}});
  }
  for (size_t i = 0; i < queues.size(); ++i) {
    queues[i].parent = QueueIndex(queues[i].row->parent);
    if (queues[i].parent >= 0) {
      queues[static_cast<size_t>(queues[i].parent)].children.push_back(static_cast<int>(i));
    }
    for (size_t r = 0; r < 3; ++r) {
      const QuotaRow& quota = queues[i].row->resources[r];
      const double scale = r == 1 ? 1'000'000 : 1;  // spec 1 F2, F3, F4, F6
      const auto scaled = [&](double amount) {
        if (amount == -1) return -1.0;
        return r == 1 ? std::max(amount * scale, -1.0) : amount;
      };
      queues[i].start.deserved[r] = scaled(quota.quota);
      queues[i].start.limit[r] = scaled(quota.limit);
      queues[i].start.weight[r] = quota.over_quota_weight;
    }
  }
}

void World::Kept::KeepGroups() {
  for (const PodGroupRow& row : rows.pod_groups) {
    if (!InNodePool(row.labels)) continue;
    const std::string* pool = Label(row.labels, rows.params.node_pool_label_key);
    if (row.scheduling_backoff.value_or(-1) != -1 &&  // spec 2 G2
        row.latest_condition_node_pool == (pool == nullptr ? std::string("default") : *pool)) {
      continue;
    }
    Group group;
    group.row = &row;
    group.name = Qualified(row.namespace_name, row.name);
    group.queue = QueueIndex(row.queue);
    if (group.queue >= 0) {  // spec 2 G3, G4
      group.priority = 50;
      for (const PriorityClassRow& each : rows.priority_classes) {
        if (each.global_default) group.priority = each.value;
      }
      for (const PriorityClassRow& each : rows.priority_classes) {
        if (each.name == row.priority_class) group.priority = each.value;
      }
      group.preemptible = row.preemptibility == "preemptible" ||
                          (row.preemptibility.empty() && group.priority < 100);
    }
    group.shape.tree = TreeOf(row);
    groups.push_back(std::move(group));
  }
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return std::tie(a.row->namespace_name, a.row->name) <
           std::tie(b.row->namespace_name, b.row->name);
  });
}

void World::Kept::KeepPods(std::vector<PodState>* states) {
  std::vector<const PodRow*> order;
  for (const PodRow& row : rows.pods) order.push_back(&row);
  std::sort(order.begin(), order.end(), [](const PodRow* a, const PodRow* b) {
    return std::tie(a->namespace_name, a->name) < std::tie(b->namespace_name, b->name);
  });
  for (const PodRow* row : order) {
    const BindRequestRow* request = nullptr;  // spec 2 S3
    for (const BindRequestRow& each : rows.bind_requests) {
      const bool failed = each.phase == "Failed" &&
                          (!each.backoff_limit || each.failed_attempts >= *each.backoff_limit);
      if (each.namespace_name == row->namespace_name && each.pod == row->name && !failed &&
          NodeIndex(each.node) >= 0) {
        request = &each;
      }
    }
    PodState state;
    const bool deleting = row->deletion_ns.has_value();
    switch (row->phase) {  // spec 2 S2
      case Phase::kRunning: {
        int64_t threshold = rows.params.stuck_in_releasing_threshold_ns;
        if (threshold <= 0) threshold = 120'000'000'000;
        if (deleting && settings.now_ns - *row->deletion_ns > threshold) {
          state.status = PodStatus::kStuckInReleasing;
        } else {
          state.status = deleting ? PodStatus::kReleasing : PodStatus::kRunning;
        }
        break;
      }
      case Phase::kPending:
        if (deleting) {
          state.status = PodStatus::kReleasing;
        } else if (!row->node_name.empty()) {
          state.status = PodStatus::kBound;
        } else if (request != nullptr) {
          state.status = PodStatus::kBinding;
        } else {
          state.status = row->gated ? PodStatus::kGated : PodStatus::kPending;
        }
        break;
      case Phase::kSucceeded:
        state.status = PodStatus::kSucceeded;
        break;
      case Phase::kFailed:
        state.status = PodStatus::kFailed;
        break;
      case Phase::kUnknown:
        state.status = PodStatus::kUnknown;
        break;
    }
    if (IsActiveUsed(state.status)) {
      state.node =
          NodeIndex(row->node_name.empty() && request != nullptr ? request->node : row->node_name);
    }
    Pod pod;
    pod.row = row;
    pod.name = Qualified(row->namespace_name, row->name);
    if (!row->pod_group.empty()) {
      pod.group = GroupIndex(Qualified(row->namespace_name, row->pod_group));
    }
    if (pod.group < 0 && !IsActiveUsed(state.status)) continue;
    if (pod.group >= 0) {
      Group& group = groups[static_cast<size_t>(pod.group)];
      const auto set = group.shape.tree.find(SubGroupOf(*row));
      pod.counts = set != group.shape.tree.end() && set->second.is_leaf;
      group.shape.pods.push_back(static_cast<int>(pods.size()));
      if (pod.counts && state.status == PodStatus::kSucceeded &&
          settings.switches.on(Switch::kCompletedPods)) {
        set->second.minimum = std::max<int64_t>(set->second.minimum - 1, 0);
      }
    }
    const std::string* app = Label(row->labels, "app");
    pod.is_reservation = app != nullptr && *app == "kai-resource-reservation";
    if (IsShared(*row) && state.node >= 0) {
      state.groups = request == nullptr ? row->gpu_groups : request->gpu_groups;
    }
    pods.push_back(std::move(pod));
    states->push_back(state);
  }
}

void World::Kept::MakeVectors() {
  for (const NodeRow* node : nodes) {
    for (const auto& [name, amount] : node->allocatable) ResourceIndex(name);
  }
  for (const Pod& pod : pods) {
    for (const auto& [name, amount] : pod.row->requests) ResourceIndex(name);
    for (const auto& [name, amount] : pod.row->gpu.mig) ResourceIndex(name);
  }
  for (const NodeRow* node : nodes) {
    std::vector<double> vector(resources.size());
    for (const auto& [name, amount] : node->allocatable) {
      vector[ResourceIndex(name)] += static_cast<double>(amount);
    }
    allocatable.push_back(std::move(vector));
  }
  for (Pod& pod : pods) {  // spec 3 R4, R18
    pod.request.assign(resources.size(), 0);
    for (const auto& [name, amount] : pod.row->requests) {
      pod.request[ResourceIndex(name)] = static_cast<double>(amount);
    }
    for (const auto& [name, amount] : pod.row->gpu.mig) {
      pod.request[ResourceIndex(name)] = static_cast<double>(amount);
    }
    pod.request[ResourceIndex("gpu")] = WholeOrPartGpus(pod.row->gpu);
    pod.request[ResourceIndex("pods")] = 1;
  }
}

void World::Kept::CountTotal(const std::vector<PodState>& states) {  // spec 1 F30
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeRow& node = *nodes[i];
    if (!IsOpen(node)) continue;
    double gpus =
        AmountOf(node.allocatable, "nvidia.com/gpu") + AmountOf(node.allocatable, "amd.com/gpu");
    for (const auto& [name, amount] : node.allocatable) {
      gpus += MigShare(name) * static_cast<double>(amount);
    }
    if (rows.params.restrict_node_scheduling &&
        Label(node.labels, "node-role.kubernetes.io/gpu-worker") == nullptr) {
      gpus = 0;
    }
    total += {AmountOf(node.allocatable, "cpu"), AmountOf(node.allocatable, "memory"), gpus};
  }
  for (size_t i = 0; i < pods.size(); ++i) {
    const PodRow& row = *pods[i].row;
    const std::string* app = Label(row.labels, "app");
    const bool utility =
        app != nullptr && (*app == "kai-resource-reservation" || *app == "scaling-pod");
    if (row.scheduler_name == rows.params.scheduler_name || utility) continue;
    if (!IsActiveUsed(states[i].status) || states[i].node < 0) continue;
    if (!IsOpen(*At(nodes, states[i].node))) continue;
    total -= Requested(pods[i], smallest_gpu_mib);
  }
}

namespace parts {

// ---- fair share ---------------------------------------------------------------------------------

double Requestable(const Sibling& q) {
  return q.limit == -1 ? q.request : std::min(q.limit, q.request);
}
bool IsSatisfied(const Sibling& q) {
  return q.request <= q.fair_share || (q.limit != -1 && q.limit <= q.fair_share);
}

// Allocated and AllocatedNotPreemptible of a queue in the current world (spec 1 F31, F33).
void AddAllocated(const World& world, int queue, QueueNumbers* numbers) {
  const Kept& kept = world.kept();
  const auto add = [&](const Kept::Pod& pod, int node, bool is_there) {
    if (!pod.counts) return;
    const Kept::Group& group = At(kept.groups, pod.group);
    if (!kept.IsBelow(group.queue, queue)) return;
    const QuotaCount accepted = kept.Accepted(pod, node);
    const QuotaCount more = is_there ? accepted : QuotaCount() - accepted;
    numbers->allocated += more;
    if (!group.preemptible) numbers->allocated_non_preemptible += more;
  };
  for (size_t i = 0; i < kept.pods.size(); ++i) {
    const World::PodState& state = world.pods()[i];
    if (IsActiveAllocated(state.status)) add(kept.pods[i], state.node, true);
  }
  for (const auto& [pod, node] : world.evicted_again()) add(At(kept.pods, pod), node, false);
}

QueueNumbers NumbersNow(const World& world, int queue) {
  QueueNumbers numbers = At(world.kept().queues, queue).start;
  numbers.allocated = {};
  numbers.allocated_non_preemptible = {};
  AddAllocated(world, queue, &numbers);
  return numbers;
}

// spec 1 F40
void DivideBelow(Kept* kept, int parent, const Three& amount) {
  std::vector<int> siblings;
  for (size_t i = 0; i < kept->queues.size(); ++i) {
    if (kept->queues[i].parent == parent) siblings.push_back(static_cast<int>(i));
  }
  for (size_t r = 0; r < 3; ++r) {
    std::vector<Sibling> division;
    for (const int queue : siblings) {
      const Kept::Queue& each = At(kept->queues, queue);
      division.push_back({.name = each.row->name,
                          .priority = static_cast<double>(each.row->priority.value_or(100)),
                          .created = CreatedOf(each.row->created_ns),
                          .deserved = each.start.deserved[r],
                          .limit = each.start.limit[r],
                          .weight = each.start.weight[r],
                          .usage = each.row->past_usage[r],
                          .request = each.start.request[r]});
    }
    Divide(amount[r], kept->settings.k_value, &division);
    for (size_t i = 0; i < siblings.size(); ++i) {
      kept->queues[static_cast<size_t>(siblings[i])].start.fair_share[r] = division[i].fair_share;
    }
  }
  for (const int queue : siblings) {
    DivideBelow(kept, queue, At(kept->queues, queue).start.fair_share);
  }
}

// ---- pod groups ---------------------------------------------------------------------------------

template <typename Test>
int64_t CountPods(const World& world, int group, const std::string& leaf, const Test& test) {
  return static_cast<int64_t>(PodsOfLeaf(world, group, leaf, test).size());
}

int64_t ActiveAllocated(const World& world, int group, const std::string& leaf) {
  return CountPods(world, group, leaf, [](PodStatus s) { return IsActiveAllocated(s); });
}

int64_t EvictedAgain(const World& world, int group, const std::string& leaf) {
  return std::count_if(world.evicted_again().begin(), world.evicted_again().end(),
                       [&](const auto& pod_and_node) {
                         const Kept::Pod& pod = At(world.kept().pods, pod_and_node.first);
                         return pod.group == group && pod.counts && SubGroupOf(*pod.row) == leaf;
                       });
}

bool IsReady(const World& world, int group, const std::string& name) {  // spec 2 G7
  const SetTree& tree = world.group(group).shape->tree;
  const Set& set = tree.at(name);
  if (set.is_leaf) {
    const int64_t alive = CountPods(
        world, group, name, [](PodStatus s) { return IsAlive(s) && s != PodStatus::kGated; });
    return alive - EvictedAgain(world, group, name) >= set.minimum;
  }
  int64_t ready = 0;
  for (const std::string& child : set.children) ready += IsReady(world, group, child) ? 1 : 0;
  return ready >= set.minimum;
}

int64_t SatisfiedChildren(const World& world, int group, const Set& set) {
  int64_t satisfied = 0;
  for (const std::string& child : set.children) {
    satisfied += IsAllocationSatisfied(world, group, child) ? 1 : 0;
  }
  return satisfied;
}
bool IsAllocationSatisfied(const World& world, int group, const std::string& name) {
  const Set& set = world.group(group).shape->tree.at(name);
  if (set.is_leaf) return ActiveAllocated(world, group, name) >= set.minimum;
  return SatisfiedChildren(world, group, set) >= set.minimum;
}

// spec 2 G11, as an insertion sort: a member that precedes the one before it moves up.
std::vector<std::string> MembersInOrder(const World& world, int group, const Set& set) {
  const SetTree& tree = world.group(group).shape->tree;
  std::vector<std::string> members = set.children;  // by name
  if (!world.settings().Has("subgrouporder")) return members;
  const auto count_of = [&](const std::string& name) {
    const Set& member = tree.at(name);
    return static_cast<double>(member.is_leaf ? ActiveAllocated(world, group, name)
                                              : SatisfiedChildren(world, group, member));
  };
  const auto first = [&](const std::string& l, const std::string& r) {
    const double cl = count_of(l), tl = static_cast<double>(tree.at(l).minimum);
    const double cr = count_of(r), tr = static_cast<double>(tree.at(r).minimum);
    if (cl < tl || cr < tr) return cl < tl && !(cr < tr);
    if (tl > 0 && tr == 0) return true;
    if (tl == 0 && tr > 0) return false;
    if (tl == 0 && tr == 0) return cl < cr;
    return cl / tl < cr / tr;
  };
  for (size_t i = 1; i < members.size(); ++i) {
    for (size_t j = i; j > 0 && first(members[j], members[j - 1]); --j) {
      std::swap(members[j], members[j - 1]);
    }
  }
  return members;
}

// spec 2 G12
bool TaskFirst(const World& world, int a, int b) {
  const PodRow& l = *At(world.kept().pods, a).row;
  const PodRow& r = *At(world.kept().pods, b).row;
  const auto is = [](const PodRow& pod, const std::string& key,
                     const std::vector<std::string>& values) {
    const std::string* value = Label(pod.labels, key);
    return value != nullptr && std::find(values.begin(), values.end(), *value) != values.end();
  };
  for (const std::string& plugin : world.settings().plugins) {
    if (plugin == "kubeflow") {
      const std::string key = "training.kubeflow.org/job-role";
      const bool lead_l = is(l, key, {"master", "launcher"});
      const bool lead_r = is(r, key, {"master", "launcher"});
      if (lead_l != lead_r) return lead_l;
    } else if (plugin == "ray") {
      const bool head_l = is(l, "ray.io/node-type", {"head"});
      const bool head_r = is(r, "ray.io/node-type", {"head"});
      if (head_l != head_r) return head_l;
    } else if (plugin == "taskorder") {
      const std::string* label_l = Label(l.labels, "kai.scheduler/task-priority");
      const std::string* label_r = Label(r.labels, "kai.scheduler/task-priority");
      if ((label_l == nullptr) != (label_r == nullptr)) return label_l != nullptr;
      if (label_l == nullptr) continue;
      const std::optional<int64_t> value_l = Integer(*label_l);
      const std::optional<int64_t> value_r = Integer(*label_r);
      if (value_l.has_value() != value_r.has_value()) return value_l.has_value();
      if (value_l && *value_l != *value_r) return *value_l > *value_r;
    }
  }
  const int64_t created_l = CreatedOf(l.created_ns);
  const int64_t created_r = CreatedOf(r.created_ns);
  if (created_l != created_r) return created_l < created_r;
  const std::string uid_l = l.uid.empty() ? Qualified(l.namespace_name, l.name) : l.uid;
  const std::string uid_r = r.uid.empty() ? Qualified(r.namespace_name, r.name) : r.uid;
  return uid_l < uid_r;
}

// spec 2 S6
std::vector<int> EligibleTasks(const World& world, int group, const std::string& leaf) {
  std::vector<int> tasks;
  for (const int pod : world.group(group).shape->pods) {
    const Kept::Pod& each = At(world.kept().pods, pod);
    const World::PodState& state = At(world.pods(), pod);
    const bool eligible = state.status == PodStatus::kPending ||
                          (state.status == PodStatus::kReleasing && state.is_virtual);
    if (each.counts && SubGroupOf(*each.row) == leaf && eligible) tasks.push_back(pod);
  }
  return tasks;
}

// True if its existing pods can reach its minimum.
bool PodsSuffice(const World& world, int group, const std::string& name) {
  const Set& set = world.group(group).shape->tree.at(name);
  int64_t have = 0;
  if (set.is_leaf) {
    have = ActiveAllocated(world, group, name) +
           static_cast<int64_t>(EligibleTasks(world, group, name).size());
  }
  for (const std::string& child : set.children) have += PodsSuffice(world, group, child) ? 1 : 0;
  return have >= set.minimum;
}

// True if pods of it were evicted in this what-if.
bool AnyEvicted(const World& world, int group, const std::string& name) {
  const Set& set = world.group(group).shape->tree.at(name);
  bool any = false;
  if (set.is_leaf) {
    for (const int pod : EligibleTasks(world, group, name))
      any = any || At(world.pods(), pod).status == PodStatus::kReleasing;
  }
  for (const std::string& child : set.children) any = any || AnyEvicted(world, group, child);
  return any;
}

// spec 2 G13
std::vector<int> LeafTasks(const World& world, int group, const std::string& leaf) {
  std::vector<int> tasks = EligibleTasks(world, group, leaf);
  std::sort(tasks.begin(), tasks.end(), [&](int a, int b) { return TaskFirst(world, a, b); });
  const int64_t minimum = world.group(group).shape->tree.at(leaf).minimum;
  const int64_t active = ActiveAllocated(world, group, leaf);
  const int64_t n = active < minimum ? minimum - active : 1;
  if (static_cast<int64_t>(tasks.size()) > n) tasks.resize(static_cast<size_t>(n));
  return tasks;
}

// The children that a set below its minimum starts next. With the switch of spec 4 W5, these are as
// many as it lacks, and children that are not ready are included only if there are too few others.
std::vector<std::string> MissingMembers(const World& world, int group, const Set& set,
                                        const std::set<std::string>& without) {
  const std::vector<std::string> kids = MembersInOrder(world, group, set);
  const bool fixed = world.settings().switches.on(Switch::kOptionalMembers);
  std::vector<std::string> missing;
  for (size_t i = 0; i < kids.size(); ++i) {
    if (!fixed && static_cast<int64_t>(i) >= set.minimum) break;
    if (IsAllocationSatisfied(world, group, kids[i]) || without.contains(kids[i])) continue;
    missing.push_back(kids[i]);
  }
  if (!fixed) return missing;
  const int64_t lacks = std::max<int64_t>(set.minimum - SatisfiedChildren(world, group, set), 0);
  const auto too_many = [&] { return static_cast<int64_t>(missing.size()) > lacks; };
  for (const bool ready : {false, true}) {
    for (size_t i = missing.size(); i > 0 && too_many(); --i) {
      if (IsReady(world, group, missing[i - 1]) == ready)
        missing.erase(missing.begin() + static_cast<int64_t>(i) - 1);
    }
  }
  return missing;
}

std::vector<int> CollectTasks(const World& world, int group, const std::string& name,
                              const std::set<std::string>& without) {
  const Set& set = world.group(group).shape->tree.at(name);
  if (set.is_leaf) return LeafTasks(world, group, name);
  std::vector<int> out;
  if (!IsAllocationSatisfied(world, group, name)) {
    for (const std::string& kid : MissingMembers(world, group, set, without)) {
      const std::vector<int> more = CollectTasks(world, group, kid, without);
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }
  for (const std::string& kid : MembersInOrder(world, group, set)) {
    if (world.settings().switches.on(Switch::kOptionalMembers) && !PodsSuffice(world, group, kid) &&
        !AnyEvicted(world, group, kid))
      continue;  // spec 2 W3: no pod of it starts
    out = CollectTasks(world, group, kid, without);
    if (!out.empty()) return out;
  }
  return out;
}

std::vector<int> Tasks(const World& world, int group, const std::set<std::string>& without) {
  return CollectTasks(world, group, "", without);
}

QuotaCount SumOfRequests(const World& world, const std::vector<int>& tasks, double gpu_mib) {
  QuotaCount sum;
  for (const int pod : tasks) sum += world.kept().Requested(At(world.kept().pods, pod), gpu_mib);
  return sum;
}

// ---- queue order --------------------------------------------------------------------------------

double AllocatableShare(const QueueNumbers& q, size_t r) {  // spec 1 F34
  if (q.deserved[r] == -1) return q.limit[r];
  const double most = std::max(q.deserved[r], q.fair_share[r]);
  return q.limit[r] == -1 ? most : std::min(most, q.limit[r]);
}

double DominantShareOf(const QueueNumbers& q, const QuotaCount& allocated,
                       const QuotaCount& total) {
  double dominant = 0;
  for (size_t r = 0; r < 3; ++r) {
    double allocatable = AllocatableShare(q, r);
    if (allocatable == -1) allocatable = total[r];
    const double term = allocatable == 0 ? allocated[r] * 1000 : allocated[r] / allocatable;
    dominant = std::max(dominant, term);
  }
  return dominant;
}

// spec 1 F61-F71
bool OrderOf(const Standing& l, const Standing& r, const QuotaCount& total) {
  const auto over = [](const Standing& q) {  // spec 1 F64
    bool all = true;
    for (size_t i = 0; i < 3; ++i) all = all && q.numbers.fair_share[i] < q.numbers.allocated[i];
    return all;
  };
  if (over(l) != over(r)) return !over(l);
  const auto starved = [](const Standing& q) { return AtMost(q.with_job, q.numbers.deserved); };
  if (starved(l) != starved(r)) return starved(l);  // spec 1 F65
  const int64_t priority_l = l.row->priority.value_or(100);
  const int64_t priority_r = r.row->priority.value_or(100);
  if (priority_l != priority_r) return priority_l > priority_r;  // spec 1 F66
  const auto violates = [](const Standing& q) {                  // spec 1 F67
    bool any = false;
    for (size_t i = 0; i < 3; ++i) {
      any = any || (AllocatableShare(q.numbers, i) == 0 && q.with_job[i] > 0);
    }
    return any;
  };
  if (violates(l) != violates(r)) return !violates(l);
  const double next_l = DominantShareOf(l.numbers, l.next, total);  // spec 1 F68
  const double next_r = DominantShareOf(r.numbers, r.next, total);
  if (next_l != next_r) return next_l < next_r;
  const double now_l = DominantShareOf(l.numbers, l.numbers.allocated, total);  // spec 1 F69
  const double now_r = DominantShareOf(r.numbers, r.numbers.allocated, total);
  if (now_l != now_r) return now_l < now_r;
  Three allocatable_l, allocatable_r;  // spec 1 F70
  for (size_t i = 0; i < 3; ++i) {
    allocatable_l[i] = AllocatableShare(l.numbers, i);
    allocatable_r[i] = AllocatableShare(r.numbers, i);
  }
  const bool l_within_r = AtMost(allocatable_l, allocatable_r);
  const bool r_within_l = AtMost(allocatable_r, allocatable_l);
  if (l_within_r != r_within_l) return l_within_r;
  return CreatedOf(l.row->created_ns) < CreatedOf(r.row->created_ns);  // spec 1 F71
}

bool CreatedFirst(const QueueRow& l, const QueueRow& r) {
  return std::tuple(CreatedOf(l.created_ns), l.name) < std::tuple(CreatedOf(r.created_ns), r.name);
}

Elastic ElasticOf(const World& world, int group) {  // spec 1 F73
  bool exactly = true;
  for (const auto& [name, set] : world.group(group).shape->tree) {
    if (!set.is_leaf) continue;
    const int64_t active = ActiveAllocated(world, group, name);
    if (active < set.minimum) return Elastic::kBelow;
    exactly = exactly && active == set.minimum;
  }
  return exactly ? Elastic::kExactly : Elastic::kAbove;
}

bool JobFirst(const World& world, const JobStanding& l, const JobStanding& r) {
  const Kept& kept = world.kept();
  if (const auto& order = world.settings().job_order) {
    const int64_t mine = At(kept.groups, l.group).priority;
    const int64_t other = At(kept.groups, r.group).priority;
    if (order->within_priority && mine != other) return mine > other;
    const long double key_l = At(kept.job_keys, l.group);
    const long double key_r = At(kept.job_keys, r.group);
    if (key_l != key_r) return key_l < key_r;
  }
  for (const std::string& plugin : world.settings().plugins) {
    const int64_t priority_l = At(kept.groups, l.group).priority;
    const int64_t priority_r = At(kept.groups, r.group).priority;
    if (plugin == "priority" && priority_l != priority_r) return priority_l > priority_r;
    if (plugin == "elastic" && l.elastic != r.elastic) return l.elastic < r.elastic;
  }
  return GroupFirst(world, l.group, r.group);
}

bool GroupFirst(const World& world, int a, int b) {
  const PodGroupRow& l = *At(world.kept().groups, a).row;
  const PodGroupRow& r = *At(world.kept().groups, b).row;
  return std::tuple(CreatedOf(l.created_ns), l.name, l.namespace_name) <
         std::tuple(CreatedOf(r.created_ns), r.name, r.namespace_name);
}

// The heap of spec 1 F60, on any vector.
template <typename Less>
void SiftUp(std::vector<int>* heap, const Less& less) {
  size_t child = heap->size() - 1;
  while (child > 0) {
    const size_t parent = (child - 1) / 2;
    if (!less((*heap)[child], (*heap)[parent])) break;
    std::swap((*heap)[child], (*heap)[parent]);
    child = parent;
  }
}
template <typename Less>
void SiftDown(std::vector<int>* heap, const Less& less) {
  size_t parent = 0;
  while (2 * parent + 1 < heap->size()) {
    const size_t left = 2 * parent + 1;
    const size_t right = left + 1;
    size_t child = left;
    if (right < heap->size() && less((*heap)[right], (*heap)[left])) child = right;
    if (!less((*heap)[child], (*heap)[parent])) break;
    std::swap((*heap)[child], (*heap)[parent]);
    parent = child;
  }
}
template <typename Less>
int PopHeap(std::vector<int>* heap, const Less& less) {
  std::swap(heap->front(), heap->back());
  const int top = heap->back();
  heap->pop_back();
  SiftDown(heap, less);
  return top;
}

// ---- placement ----------------------------------------------------------------------------------

// spec 2 S5, spec 3 N1-N4, but for GPUs
void Charge(const Kept& kept, const Kept::Pod& pod, int node, PodStatus status, Ledger* ledger) {
  for (size_t r = 0; r < kept.resources.size(); ++r) {
    if (At(kept.allocatable, node)[r] == 0 || r == 2) continue;
    const double amount = pod.request[r];
    ledger->used[r] += amount;
    if (status == PodStatus::kPipelined) {
      ledger->releasing[r] -= amount;
    } else if (status == PodStatus::kReleasing) {
      ledger->releasing[r] += amount;
      ledger->idle[r] -= amount;
    } else {
      ledger->idle[r] -= amount;
    }
  }
}

namespace {

// With the switch, the reservation pod of a device that is first shared in this cycle takes a pod
// slot; those of other devices are pods of the cluster.
bool CountsReservations(const Kept& kept) {
  return kept.settings.switches.on(Switch::kReservationSlots) && kept.settings.Has("predicates");
}

void ChargeReservations(const GpuLedger& gpus, Ledger* ledger) {
  for (const auto& [group, used] : gpus.u) {
    if (!group.starts_with("~") || used <= 0) continue;
    const auto amount = [&](const std::map<std::string, int64_t>& all) {
      const auto found = all.find(group);
      return found == all.end() ? 0 : found->second;
    };
    const int64_t held = amount(gpus.a);
    const bool is_leaving = held != 0 && used == amount(gpus.r);
    ledger->idle[3] -= held != 0 ? 1 : 0;
    ledger->releasing[3] += is_leaving ? 1 : held == 0 ? -1 : 0;
  }
}

}  // namespace

std::vector<Ledger> Ledgers(const World& world) {
  const Kept& kept = world.kept();
  std::vector<Ledger> ledgers;
  for (const std::vector<double>& allocatable : kept.allocatable) {
    ledgers.push_back({.idle = allocatable,
                       .releasing = std::vector<double>(allocatable.size()),
                       .used = std::vector<double>(allocatable.size())});
  }
  for (size_t i = 0; i < kept.pods.size(); ++i) {
    const World::PodState& state = world.pods()[i];
    for (const World::Spot& spot : state.leaving) {
      Charge(kept, kept.pods[i], spot.node, PodStatus::kReleasing,
             &ledgers[static_cast<size_t>(spot.node)]);
    }
    if (state.node >= 0 && IsActiveUsed(state.status)) {
      Charge(kept, kept.pods[i], state.node, state.status,
             &ledgers[static_cast<size_t>(state.node)]);
    }
  }
  for (size_t i = 0; i < ledgers.size(); ++i) {
    const GpuLedger& gpus = world.gpus(static_cast<int>(i));
    ledgers[i].idle[2] = gpus.idle;
    ledgers[i].releasing[2] = gpus.releasing;
    ledgers[i].used[2] = gpus.used;
    if (CountsReservations(kept) && kept.allocatable[i][3] != 0)
      ChargeReservations(gpus, &ledgers[i]);
  }
  return ledgers;
}

namespace {

GpuSums SumsWithMig(const World& world, int node) {
  const Kept& kept = world.kept();
  GpuSums sums = SumsOf(world.gpus(node), MemoryOfGpu(*At(kept.nodes, node)));
  const Ledger ledger = At(Ledgers(world), node);
  for (size_t r = 0; r < kept.resources.size(); ++r) {
    sums.idle += MigShare(kept.resources[r]) * ledger.idle[r];
    sums.releasing += MigShare(kept.resources[r]) * ledger.releasing[r];
  }
  return sums;
}

}  // namespace

double RoomInGpus(const World& world, int node) {
  const GpuSums sums = SumsWithMig(world, node);
  return sums.idle + sums.releasing;
}
bool HasGpusToGive(const World& world, int node) {
  const GpuSums sums = SumsWithMig(world, node);
  return sums.idle > 0 || sums.releasing > 0;
}

bool FitsInto(const std::vector<double>& request, const std::vector<double>& room) {  // spec 3 R26
  for (size_t r = 0; r < request.size(); ++r) {
    if (request[r] > room[r]) return false;
  }
  return true;
}

// spec 3 N10
bool Fits(const World& world, int pod, int node, const std::vector<double>& room) {
  const Kept& kept = world.kept();
  const PodRow& row = *At(kept.pods, pod).row;
  std::vector<double> request = At(kept.pods, pod).request;
  if (!IsShared(row)) return FitsInto(request, room);
  std::vector<double> others = room;
  others[2] = request[2] = 0;
  return FitsInto(request, others) &&
         DevicesFit(row.gpu, world.gpus(node), MemoryOfGpu(*At(kept.nodes, node)), room[2]);
}

std::vector<double> IdleOrReleasing(const Ledger& ledger) {
  std::vector<double> sum = ledger.idle;
  for (size_t r = 0; r < sum.size(); ++r) sum[r] += ledger.releasing[r];
  return sum;
}

// The required affinity of kube-scheduler's InterPodAffinity filter.
bool MeetsAffinity(const World& world, const PodRow& pod, const NodeRow& node, bool leaving_count) {
  const PodAffinityRow& mine = pod.affinity;
  const auto about_all = [&](const PodRow& other) {
    return std::all_of(mine.required.begin(), mine.required.end(),
                       [&](const PodAffinityTerm& term) { return IsAbout(term, pod, other); });
  };
  bool exist = true;      // for every term, the node's domain has a pod that meets all terms
  bool anywhere = false;  // any domain has such a pod
  for (const PodAffinityTerm& term : mine.required) {
    if (Label(node.labels, term.topology_key) == nullptr) return false;
    bool here = false;
    ForEachPlacedPod(world, [&](const PodRow& other, const NodeRow& its_node, bool is_leaving) {
      if (!about_all(other) || (is_leaving && !leaving_count)) return;
      anywhere = anywhere || Label(its_node.labels, term.topology_key) != nullptr;
      here = here || SameDomain(node, its_node, term.topology_key);
    });
    exist = exist && here;
  }
  return exist || (!anywhere && about_all(pod));
}

// kube-scheduler's InterPodAffinity filter. With the switch of spec 2 W11, a pod that takes the
// place of a leaving pod has to wait, and a place beside one does not last.
NeighbourAnswer AffinityAnswer(const World& world, const PodRow& pod, const NodeRow& node) {
  const PodAffinityRow& mine = pod.affinity;
  const bool leaving_go = world.settings().switches.on(Switch::kLeavingPods);
  if (!MeetsAffinity(world, pod, node, /*leaving_count=*/true)) return {.may = false};
  NeighbourAnswer answer;
  ForEachPlacedPod(world, [&](const PodRow& other, const NodeRow& its_node, bool is_leaving) {
    bool in_the_way = false;
    for (const PodAffinityTerm& term : mine.required_anti) {
      in_the_way = in_the_way ||
                   (IsAbout(term, pod, other) && SameDomain(node, its_node, term.topology_key));
    }
    for (const PodAffinityTerm& term : other.affinity.required_anti) {
      in_the_way = in_the_way ||
                   (IsAbout(term, other, pod) && SameDomain(node, its_node, term.topology_key));
    }
    if (!in_the_way) return;
    if (is_leaving && leaving_go) {
      answer.must_wait = true;
    } else {
      answer.may = false;
    }
  });
  answer.lasts = !leaving_go || MeetsAffinity(world, pod, node, /*leaving_count=*/false);
  return answer;
}

std::set<int> ShortLivedPods(const World& world) {
  const Kept& kept = world.kept();
  std::set<int> found;
  const auto is_placed_now = [&](int pod) {
    const World::PodState& state = At(world.pods(), pod);
    return state.placed > 0 &&
           (state.status == PodStatus::kAllocated || state.status == PodStatus::kPipelined);
  };
  for (int pod = 0; pod < static_cast<int>(kept.pods.size()); ++pod) {
    const PodRow& row = *At(kept.pods, pod).row;
    const std::vector<PodAffinityTerm>& terms = row.affinity.required;
    if (!is_placed_now(pod) || terms.empty()) continue;
    const auto meets_all = [&](const PodRow& other) {
      return std::all_of(terms.begin(), terms.end(),
                         [&](const PodAffinityTerm& term) { return IsAbout(term, row, other); });
    };
    bool all_here = true;
    bool any_elsewhere = false;
    for (const PodAffinityTerm& term : terms) {
      bool here = false;
      for (int other = 0; other < static_cast<int>(kept.pods.size()); ++other) {
        const World::PodState& state = At(world.pods(), other);
        const bool stays =
            state.node >= 0 && IsActiveUsed(state.status) && state.status != PodStatus::kReleasing;
        if (other == pod || !stays || !meets_all(*At(kept.pods, other).row)) continue;
        const NodeRow& its_node = *At(kept.nodes, state.node);
        if (Label(its_node.labels, term.topology_key) == nullptr) continue;
        const bool same =
            SameDomain(*At(kept.nodes, At(world.pods(), pod).node), its_node, term.topology_key);
        any_elsewhere = any_elsewhere || !same;
        const bool is_later = is_placed_now(other) && state.placed > At(world.pods(), pod).placed;
        here = here || (same && !is_later);
      }
      all_here = all_here && here;
    }
    if (!all_here && (any_elsewhere || !meets_all(row))) found.insert(pod);
  }
  return found;
}

// What has to be gone before the pod can start there, apart from resources.
bool MustWait(const World& world, int pod, int node) {
  if (!world.settings().Has("predicates")) return false;
  return PortsAnswer(world, pod, node).must_wait ||
         AffinityAnswer(world, *At(world.kept().pods, pod).row, *At(world.kept().nodes, node))
             .must_wait;
}

// spec 3 N8
bool FitsNow(const World& world, int pod, int node, const Ledger& ledger) {
  return Fits(world, pod, node, ledger.idle) && !MustWait(world, pod, node);
}

DeviceChoice ChoiceOn(const World& world, int pod, int node, bool fits_now, bool pipeline_only) {
  const Kept& kept = world.kept();
  return ChooseDevices(At(kept.pods, pod).row->gpu, world.gpus(node),
                       MemoryOfGpu(*At(kept.nodes, node)),
                       {.pack = kept.settings.Has("gpupack"),
                        .spread = kept.settings.Has("gpuspread"),
                        .bind_held = !kept.settings.switches.on(Switch::kHeldGpus)},
                       fits_now, pipeline_only);
}

// The devices of a choice that are first shared by it.
int64_t NewDevicesOf(const DeviceChoice& choice) {
  return std::count(choice.groups.begin(), choice.groups.end(), "");
}

// spec 3 P6: a pod that opens a device needs a second slot for the reservation pod. In KAI an
// existing group counts as new unless its name is a number, and several devices need one slot.
bool HasPodSlots(const World& world, int pod, int node) {
  if (!IsShared(*At(world.kept().pods, pod).row)) return true;  // by its request
  const DeviceChoice choice = ChoiceOn(world, pod, node, true, false);
  if (world.kept().settings.switches.on(Switch::kReservationSlots)) {
    const Ledger slots = At(Ledgers(world), node);
    return slots.idle[3] + slots.releasing[3] >= 1 + static_cast<double>(NewDevicesOf(choice));
  }
  const bool is_any_new =
      !choice.found || std::any_of(choice.groups.begin(), choice.groups.end(),
                                   [](const std::string& group) { return !Integer(group); });
  const Ledger ledger = At(Ledgers(world), node);
  return !is_any_new || ledger.idle[3] + ledger.releasing[3] >= 2;
}

// kube-scheduler's InterPodAffinity score, not normalised.
double PodAffinityPoints(const World& world, const PodRow& pod, const NodeRow& node) {
  int64_t points = 0;
  ForEachPlacedPod(world, [&](const PodRow& other, const NodeRow& its_node, bool) {
    const auto in_domain = [&](const PodAffinityTerm& term) {
      return SameDomain(node, its_node, term.topology_key);
    };
    for (const WeightedPodAffinityTerm& each : pod.affinity.preferred) {
      if (IsAbout(each.term, pod, other) && in_domain(each.term)) points += each.weight;
    }
    for (const WeightedPodAffinityTerm& each : pod.affinity.preferred_anti) {
      if (IsAbout(each.term, pod, other) && in_domain(each.term)) points -= each.weight;
    }
    for (const PodAffinityTerm& term : other.affinity.required) {
      if (IsAbout(term, other, pod) && in_domain(term)) points += 1;
    }
    for (const WeightedPodAffinityTerm& each : other.affinity.preferred) {
      if (IsAbout(each.term, other, pod) && in_domain(each.term)) points += each.weight;
    }
    for (const WeightedPodAffinityTerm& each : other.affinity.preferred_anti) {
      if (IsAbout(each.term, other, pod) && in_domain(each.term)) points -= each.weight;
    }
  });
  return static_cast<double>(points);
}

// spec 1 F77, F78: checks all queues up to the root.
bool FitsQueues(const World& world, int group, const QuotaCount& q, bool limits) {
  const Kept& kept = world.kept();
  for (int queue = At(kept.groups, group).queue; queue >= 0;
       queue = At(kept.queues, queue).parent) {
    const QueueNumbers n = NumbersNow(world, queue);
    for (size_t r = 0; r < 3; ++r) {
      if (q[r] <= 0) continue;
      const double cap = limits ? n.limit[r] : n.deserved[r];
      const QuotaCount& has = limits ? n.allocated : n.allocated_non_preemptible;
      if (cap != -1 && cap < (has + q)[r]) return false;
    }
  }
  return true;
}
bool FitsLimits(const World& world, int group, const QuotaCount& q) {
  return FitsQueues(world, group, q, true);
}
bool FitsQuotas(const World& world, int group, const QuotaCount& q) {
  return At(world.kept().groups, group).preemptible || FitsQueues(world, group, q, false);
}

// Checks of a node and a pod whose result never changes (spec 3 P3a-P10).
bool MayEverRun(const World& world, int pod, int node) {
  const Kept& kept = world.kept();
  if (!kept.settings.Has("predicates")) return true;
  const PodRow& row = *At(kept.pods, pod).row;
  const NodeRow& target = *At(kept.nodes, node);
  const bool is_mig = row.gpu.kind == GpuRequestKind::kMig;  // spec 3 P4
  if (AnyGpu(row)) {
    if (is_mig && !MigEnabled(target)) return false;
    if (MigStrategy(target) == "single" && row.gpu.kind != GpuRequestKind::kRegular) return false;
    if (MigStrategy(target) == "mixed" && !is_mig) return false;
  }
  // spec 3 P5
  if (row.gpu.kind == GpuRequestKind::kMemory && !HasMemoryOfGpu(target)) return false;
  // spec 3 P7
  if (!IsOpen(target)) return false;
  // spec 3 P8
  if (!ToleratesTaints(row, target)) return false;
  if (!MeetsNodeAffinity(row, target) || !VolumesAllow(world, pod, node)) return false;
  if (kept.rows.params.restrict_node_scheduling) {  // spec 3 P10
    const std::string kind = AnyGpu(row) ? "gpu" : "cpu";
    if (Label(target.labels, "node-role.kubernetes.io/" + kind + "-worker") == nullptr)
      return false;
  }
  return true;
}

// spec 3 P3a-P10, in their order
bool Predicates(const World& world, int pod, int node) {
  const Kept& kept = world.kept();
  const Settings& settings = kept.settings;
  if (!settings.Has("predicates")) return true;
  const PodRow& row = *At(kept.pods, pod).row;
  const NodeRow& target = *At(kept.nodes, node);
  const int group = At(kept.pods, pod).group;
  // spec 3 P3a
  if (settings.Has("proportion") && group >= 0 && At(kept.groups, group).queue >= 0 &&
      !(FitsLimits(world, group, kept.AtTheGate(At(kept.pods, pod), node)) &&
        FitsQuotas(world, group, kept.AtTheGate(At(kept.pods, pod), node)))) {
    return false;
  }
  const NeighbourAnswer near = AffinityAnswer(world, row, target);
  return MayEverRun(world, pod, node) && HasPodSlots(world, pod, node) &&
         PortsAnswer(world, pod, node).may && near.may && (near.lasts || !world.only_lasting()) &&
         (!settings.extras.on(Extra::kTopologySpread) || IsSpreadEvenly(world, pod, node));
}

// spec 3 W1-W8
double Score(const World& world, int pod, int node, const std::vector<Ledger>& ledgers,
             const std::set<int>& nodes, const NodeScores* domains) {
  const Kept& kept = world.kept();
  const Settings& settings = kept.settings;
  const PodRow& row = *At(kept.pods, pod).row;
  const NodeRow& target = *At(kept.nodes, node);
  const bool gpu = AnyGpu(row);
  const size_t r = gpu ? 2 : 0;
  const auto room = [&](size_t at) { return ledgers[at].idle[r] + ledgers[at].releasing[r]; };
  const double x = room(static_cast<size_t>(node));
  const double allocatable = At(kept.allocatable, node)[r];
  double sum = 0;
  for (const std::string& plugin : settings.plugins) {
    double score = 0;
    // spec 3 W4
    if (plugin == "nodeplacement" && (gpu ? settings.gpu_spread : settings.cpu_spread)) {
      double n = allocatable;
      if (gpu) n = kept.DevicesOf(node);
      score = n == 0 ? 0 : x / n;
    } else if (plugin == "nodeplacement") {  // spec 3 W3
      double min = std::numeric_limits<double>::infinity();
      double max = -std::numeric_limits<double>::infinity();
      for (const int i : nodes) {
        if (At(kept.allocatable, i)[r] == 0) continue;
        min = std::min(min, room(static_cast<size_t>(i)));
        max = std::max(max, room(static_cast<size_t>(i)));
      }
      if (allocatable == 0 || max == 0) {
        score = 0;
      } else if (min == max) {
        score = 9;
      } else {
        score = 9 * (1 - (x - min) / (max - min));
      }
    } else if (plugin == "resourcetype") {  // spec 3 N16
      const bool cpu_node = !MigEnabled(target) && At(kept.allocatable, node)[2] <= 0;
      score = !gpu && cpu_node ? 10 : 0;
    } else if (plugin == "nodeavailability") {
      score = FitsNow(world, pod, node, At(ledgers, node)) ? 1000 : 0;
    } else if (plugin == "gpusharingorder") {  // spec 3 W8: also for CPU pods
      const double mib = MemoryOfGpu(target);
      const GpuLedger& gpus = world.gpus(node);
      const bool matches = std::any_of(gpus.u.begin(), gpus.u.end(), [&](const auto& group) {
        return Matches(gpus, group.first, mib, MibPerDevice(row.gpu, mib));
      });
      score = matches ? 10'000 : 0;
    } else if (plugin == "topology" && domains != nullptr) {  // spec 4 S1
      score = domains->at(node);
    } else if (plugin == "podaffinity") {
      score = 1'000'000 * PodAffinityPoints(world, row, target);
    } else if (plugin == "nominatednode") {
      score = row.nominated_node == target.name ? 10'000'000 : 0;
    }
    sum += score;
  }
  if (settings.extras.on(Extra::kPreferredNodeAffinity)) sum += PreferredPoints(row, target);
  return sum;
}

bool FitsLargestNode(const World& world, int pod) {
  const Kept& kept = world.kept();
  std::vector<double> largest(kept.resources.size());
  for (const std::vector<double>& each : kept.allocatable) {
    for (size_t r = 0; r < largest.size(); ++r) largest[r] = std::max(largest[r], each[r]);
  }
  return FitsInto(At(kept.pods, pod).request, largest);
}

bool PassesPodChecks(const World& world, int pod) {
  return FitsLargestNode(world, pod) && !IsRefused(world, pod);
}

// How many pods with this request the nodes could hold in idle and releasing resources, if no other
// pods came.
double PodsThatFit(const World& world, int pod) {
  const Kept& kept = world.kept();
  if (kept.settings.Has("predicates") && !PassesPodChecks(world, pod)) return 0;
  const std::vector<double>& request = At(kept.pods, pod).request;
  const PodRow& row = *At(kept.pods, pod).row;
  double all = 0;
  const std::vector<Ledger> ledgers = Ledgers(world);
  for (size_t node = 0; node < ledgers.size(); ++node) {
    if (!MayEverRun(world, pod, static_cast<int>(node))) continue;
    double here = std::numeric_limits<int32_t>::max();
    for (size_t r = 0; r < request.size(); ++r) {
      const double room = ledgers[node].idle[r] + ledgers[node].releasing[r];
      if (r == 2 && IsShared(row)) {
        here = std::min(here, SharersThatFit(row.gpu, world.gpus(static_cast<int>(node)),
                                             MemoryOfGpu(*kept.nodes[node])));
        continue;
      }
      if (room < 0) here = 0;
      if (request[r] > 0) here = std::min(here, std::floor(room / request[r]));
    }
    all += std::max(0.0, here);  // an overfull node takes no pod, but does not reduce the sum
  }
  return all;
}

// True if a set of the group could start with other children than its first ones (spec 4 W5).
bool HasChoice(const World& world, int group) {
  const SetTree& tree = world.group(group).shape->tree;
  return world.settings().switches.on(Switch::kOptionalMembers) &&
         std::any_of(tree.begin(), tree.end(), [&](const auto& each) {
           const auto& [name, set] = each;
           if (set.is_leaf || IsAllocationSatisfied(world, group, name)) return false;
           const auto can_start = [&](const std::string& child) {
             return IsAllocationSatisfied(world, group, child) || IsReady(world, group, child);
           };
           return std::count_if(set.children.begin(), set.children.end(), can_start) > set.minimum;
         });
}

bool MayFindRoom(const World& world, int group) {
  if (HasChoice(world, group)) return true;
  const Kept& kept = world.kept();
  const std::vector<int> tasks = Tasks(world, group);
  if (tasks.empty()) return false;
  const QuotaCount sum = SumOfRequests(world, tasks, kept.largest_gpu_mib);
  if (kept.settings.Has("proportion") &&
      !(FitsLimits(world, group, sum) && FitsQuotas(world, group, sum))) {
    return false;
  }
  return std::all_of(tasks.begin(), tasks.end(), [&](int pod) {
    const PodRow& row = *At(kept.pods, pod).row;
    const auto alike = std::count_if(tasks.begin(), tasks.end(), [&](int other) {
      const PodRow& its = *At(kept.pods, other).row;
      return At(kept.pods, other).request == At(kept.pods, pod).request && its.gpu == row.gpu &&
             its.node_selector == row.node_selector &&
             its.has_node_affinity == row.has_node_affinity &&
             its.node_affinity == row.node_affinity && its.tolerations == row.tolerations &&
             NodeRequirementsOf(world, its) == NodeRequirementsOf(world, row);
    });
    return static_cast<double>(alike) <= PodsThatFit(world, pod);
  });
}

// With the switch unrelated_blockers, a group that cannot be placed at all is in no order.
bool RepresentsItsQueue(const World& world, int group) {
  return !world.settings().switches.on(Switch::kUnrelatedBlockers) ||
         (IsReady(world, group, "") && MayFindRoom(world, group));
}

Placement PlaceTask(const World& world, int pod, const std::set<int>& nodes, bool pipeline_only,
                    const NodeScores* domains) {
  const Kept& kept = world.kept();
  if (kept.settings.Has("predicates") && !PassesPodChecks(world, pod)) return {};
  const std::vector<Ledger> ledgers = Ledgers(world);
  std::vector<std::pair<double, int>> scored;  // nodes are sorted by name
  for (const int node : nodes) {
    if (domains != nullptr && !domains->contains(node)) continue;  // spec 4 S3
    scored.emplace_back(-Score(world, pod, node, ledgers, nodes, domains), node);
  }
  std::sort(scored.begin(), scored.end());
  for (const auto& [score, node] : scored) {
    if (!Fits(world, pod, node, IdleOrReleasing(At(ledgers, node)))) continue;
    if (!Predicates(world, pod, node)) continue;
    const bool now = FitsNow(world, pod, node, At(ledgers, node));
    if (!IsShared(*At(kept.pods, pod).row)) {
      return {.node = node, .now = now && !pipeline_only, .groups = {}};
    }
    const DeviceChoice choice = ChoiceOn(world, pod, node, now, pipeline_only);
    if (!choice.found) continue;
    // With the switch, a pod waits for the slots of its reservation pods.
    const bool has_slots =
        !CountsReservations(kept) ||
        At(ledgers, node).idle[3] >= 1 + static_cast<double>(NewDevicesOf(choice));
    return {.node = node,
            .now = !pipeline_only && !choice.is_releasing && has_slots,
            .groups = choice.groups};
  }
  return {};
}

std::set<int> AllNodes(const World& world) {
  std::set<int> nodes;
  for (size_t i = 0; i < world.kept().nodes.size(); ++i) nodes.insert(static_cast<int>(i));
  return nodes;
}

}  // namespace parts

// ---- public functions ---------------------------------------------------------------------------

bool Settings::Has(std::string_view plugin) const {
  return std::find(plugins.begin(), plugins.end(), plugin) != plugins.end();
}

World::World(ClusterRows rows, Settings settings) {
  const auto kept = std::make_shared<Kept>();
  kept->rows = std::move(rows);
  ResolveNamespaces(&kept->rows);
  kept->settings = std::move(settings);
  kept->KeepNodes();
  kept->KeepQueues();
  kept->KeepGroups();
  kept->KeepPods(&pods_);
  kept->MakeVectors();
  kept->CountTotal(pods_);
  kept->job_keys = parts::JobKeys(*kept, pods_);
  kept_ = kept;
  for (size_t i = 0; i < kept->nodes.size(); ++i) {
    GpuLedger gpus;
    gpus.idle = kept->allocatable[i][2];
    gpus.is_any = gpus.idle != 0;
    // spec 3 N17
    gpus.count = std::min(kept->DevicesOf(static_cast<int>(i)), std::trunc(gpus.idle));
    gpus_.push_back(std::move(gpus));
  }
  for (size_t i = 0; i < pods_.size(); ++i) {
    const PodState& state = pods_[i];
    if (state.node < 0) continue;
    Charge(static_cast<int>(i), state.node, state.groups, state.status);
  }
  for (const Kept::Group& group : kept->groups) {
    groups_.push_back({.shape = std::make_shared<const Shape>(group.shape),
                       .last_start_ns = group.row->last_start_ns,
                       .last_eviction_ns = group.row->last_eviction_ns});
  }
  for (size_t i = 0; i < kept->queues.size(); ++i) {  // Request (spec 1 F31, F33)
    const int queue = static_cast<int>(i);
    QueueNumbers& start = kept->queues[i].start;
    AddAllocated(*this, queue, &start);
    start.request = start.allocated;
    for (size_t p = 0; p < kept->pods.size(); ++p) {
      const Kept::Pod& pod = kept->pods[p];
      if (!pod.counts || pods_[p].status != PodStatus::kPending) continue;
      if (!kept->IsBelow(At(kept->groups, pod.group).queue, queue)) continue;
      start.request += kept->Requested(pod, kept->smallest_gpu_mib);
    }
  }
  DivideBelow(kept.get(), -1, kept->total.values());
}

const ClusterRows& World::rows() const { return kept_->rows; }
const Settings& World::settings() const { return kept_->settings; }

void World::Charge(int pod, int node, const Groups& groups, PodStatus status) {
  AddToGpus(kept_->GpusTaken(At(kept_->pods, pod), node, groups), status,
            &gpus_[static_cast<size_t>(node)]);
}
void World::Discharge(int pod, int node, const Groups& groups, PodStatus status) {
  RemoveFromGpus(kept_->GpusTaken(At(kept_->pods, pod), node, groups), status,
                 &gpus_[static_cast<size_t>(node)]);
}

// With names for the devices that are shared for the first time.
Groups World::Opened(int pod, int node, Groups groups, bool pipeline_only) {
  if (!IsShared(*At(kept_->pods, pod).row)) return {};
  if (groups.empty()) {
    const bool now = FitsNow(*this, pod, node, At(Ledgers(*this), node));
    groups = ChoiceOn(*this, pod, node, now, pipeline_only).groups;  // empty if a test placed it
  }
  for (std::string& group : groups) {
    if (group.empty()) {
      const std::string number = std::to_string(groups_opened_++);
      group = "~" + std::string(6 - number.size(), '0') + number;
    } else if (group[0] == '~') {
      groups_opened_ = std::max(groups_opened_, std::stoi(group.substr(1)) + 1);
    }
  }
  return groups;
}

void World::Place(std::string_view pod, std::string_view node, const Groups& groups) {
  const int index = kept_->PodIndex(pod);
  const int target = kept_->NodeIndex(node);
  PodState& state = pods_[static_cast<size_t>(index)];
  KAI_CHECK(state.status == PodStatus::kPending) << pod;
  const Groups opened = Opened(index, target, groups, false);
  state.status = PodStatus::kAllocated;
  state.node = target;
  state.groups = opened;
  state.is_virtual = true;
  state.placed = ++placements_;
  Charge(index, target, state.groups, state.status);
}

void World::Pipeline(std::string_view pod, std::string_view node, const Groups& groups) {
  const int index = kept_->PodIndex(pod);
  const int target = kept_->NodeIndex(node);
  PodState& state = pods_[static_cast<size_t>(index)];
  const Groups opened = Opened(index, target, groups, true);
  // Also on the same node, if its devices are different (spec 3 S7).
  if (state.node >= 0) state.leaving.push_back({.node = state.node, .groups = state.groups});
  state.status = PodStatus::kPipelined;
  state.node = target;
  state.groups = opened;
  state.is_virtual = true;
  state.placed = ++placements_;
  Charge(index, target, state.groups, state.status);
}

void World::Evict(std::string_view pod) {
  const int index = kept_->PodIndex(pod);
  PodState& state = pods_[static_cast<size_t>(index)];
  KAI_CHECK(IsActiveAllocated(state.status)) << pod;
  if (state.node >= 0) {
    Discharge(index, state.node, state.groups, state.status);
    Charge(index, state.node, state.groups, PodStatus::kReleasing);
  }
  state.status = PodStatus::kReleasing;
  state.is_virtual = true;
}

void World::EvictAgain(std::string_view pod) {
  const int index = kept_->PodIndex(pod);
  const PodState& state = pods_[static_cast<size_t>(index)];
  KAI_CHECK(state.status == PodStatus::kReleasing && state.is_virtual) << pod;
  Discharge(index, state.node, state.groups, state.status);
  Charge(index, state.node, state.groups, state.status);
  evicted_again_.emplace_back(index, state.node);
}

void World::Return(int pod, const PodState& before) {
  PodState& state = pods_[static_cast<size_t>(pod)];
  KAI_CHECK(state.status == PodStatus::kReleasing && state.node == before.node &&
            state.groups == before.groups)
      << At(kept_->pods, pod).name;
  Discharge(pod, state.node, state.groups, state.status);
  state = before;
  Charge(pod, state.node, state.groups, state.status);
}

std::multiset<World::SharedDevice> World::SharedDevices(std::string_view node) const {
  const int index = kept_->NodeIndex(node);
  const GpuLedger& gpus = At(gpus_, index);
  std::map<std::string, SharedDevice> devices;
  for (const auto& [group, mib] : gpus.u) devices[group].used = mib;
  for (const auto& [group, mib] : gpus.a) devices[group].allocated = mib;
  for (const auto& [group, mib] : gpus.r) devices[group].releasing = mib;
  for (size_t i = 0; i < pods_.size(); ++i) {
    if (pods_[i].node != index || !IsActiveUsed(pods_[i].status)) continue;
    for (const std::string& group : pods_[i].groups)
      devices[group].pods.insert(kept_->pods[i].name);
  }
  std::multiset<SharedDevice> all;
  for (const auto& [group, device] : devices) {
    if (device != SharedDevice()) all.insert(device);
  }
  return all;
}
Groups World::GroupsOf(std::string_view pod) const {
  return At(pods_, kept_->PodIndex(pod)).groups;
}

std::vector<std::string> World::Nodes() const {
  std::vector<std::string> names;
  for (const NodeRow* node : kept_->nodes) names.push_back(node->name);
  return names;
}
std::vector<std::string> World::Queues() const {
  std::vector<std::string> names;
  for (const Kept::Queue& queue : kept_->queues) names.push_back(queue.row->name);
  return names;
}
std::vector<std::string> World::PodGroups() const {
  std::vector<std::string> names;
  for (const Kept::Group& group : kept_->groups) names.push_back(group.name);
  return names;
}
std::vector<std::string> World::PodsOf(std::string_view pod_group) const {
  std::vector<std::string> names;
  for (const int pod : At(kept_->groups, kept_->GroupIndex(pod_group)).shape.pods) {
    names.push_back(At(kept_->pods, pod).name);
  }
  return names;
}

PodStatus World::StatusOf(std::string_view pod) const {
  return At(pods_, kept_->PodIndex(pod)).status;
}
std::string World::NodeOf(std::string_view pod) const {
  const int node = At(pods_, kept_->PodIndex(pod)).node;
  return node < 0 ? "" : At(kept_->nodes, node)->name;
}

namespace {

Amounts Named(const Kept& kept, const std::vector<double>& vector) {
  Amounts amounts;
  for (size_t r = 0; r < vector.size(); ++r) amounts[kept.resources[r]] = vector[r];
  return amounts;
}

}  // namespace

Amounts World::Allocatable(std::string_view node) const {
  return Named(*kept_, At(kept_->allocatable, kept_->NodeIndex(node)));
}
Amounts World::Idle(std::string_view node) const {
  return Named(*kept_, At(Ledgers(*this), kept_->NodeIndex(node)).idle);
}
Amounts World::Releasing(std::string_view node) const {
  return Named(*kept_, At(Ledgers(*this), kept_->NodeIndex(node)).releasing);
}
Amounts World::Used(std::string_view node) const {
  return Named(*kept_, At(Ledgers(*this), kept_->NodeIndex(node)).used);
}
QuotaCount World::Total() const { return kept_->total; }

// ---- (a) ----------------------------------------------------------------------------------------

int HeapTree::BestLeaf(int queue) const {
  if (world_->kept().IsLeaf(queue)) return queue;
  return BestLeaf(children_.at(queue).front());
}

void HeapTree::PushJob(int job, int64_t depth) {
  const int leaf = LeafOf(job);
  const auto job_less = [this](int a, int b) { return JobLess(a, b); };
  const auto queue_less = [this](int a, int b) { return QueueLess(a, b); };
  Heap& jobs = jobs_[leaf];
  const bool was_empty = jobs.empty();
  jobs.push_back(job);
  SiftUp(&jobs, job_less);
  if (depth >= 0 && static_cast<int64_t>(jobs.size()) > depth) {
    if (world_->settings().switches.on(Switch::kQueueDepth)) {
      Heap kept = std::exchange(jobs, {});
      kept.erase(std::max_element(kept.begin(), kept.end(), job_less));
      for (const int each : kept) {
        jobs.push_back(each);
        SiftUp(&jobs, job_less);
      }
    } else {
      jobs.pop_back();
    }
  }
  if (jobs.empty()) return;
  bool is_new = was_empty;  // the queue was not in its parent's heap yet
  for (int queue = leaf; queue != kRoot; queue = At(world_->kept().queues, queue).parent) {
    const int parent = At(world_->kept().queues, queue).parent;
    if (is_new) {
      is_new = children_[parent].empty();  // then the parent was in no heap either
      children_[parent].push_back(queue);
      SiftUp(&children_[parent], queue_less);
    }
  }
  for (int queue = leaf; queue != kRoot; queue = At(world_->kept().queues, queue).parent) {
    marked_[queue] = true;
  }
}

int HeapTree::PopJob() {
  const auto job_less = [this](int a, int b) { return JobLess(a, b); };
  const auto queue_less = [this](int a, int b) { return QueueLess(a, b); };
  int queue = kRoot;
  do {
    Heap& heap = children_.at(queue);
    while (marked_[heap.front()]) {
      const int top = heap.front();
      SiftDown(&heap, queue_less);
      marked_[top] = false;
    }
    queue = heap.front();
  } while (!world_->kept().IsLeaf(queue));
  const int leaf = queue;
  const int job = PopHeap(&jobs_.at(leaf), job_less);
  bool is_empty = jobs_.at(leaf).empty();
  while (queue != kRoot && is_empty) {  // empty queues are removed
    const int parent = At(world_->kept().queues, queue).parent;
    PopHeap(&children_.at(parent), queue_less);
    is_empty = children_.at(parent).empty();
    queue = parent;
  }
  for (int at = leaf; at != kRoot; at = At(world_->kept().queues, at).parent) marked_[at] = true;
  return job;
}

bool QueueTree::JobLess(int a, int b) const {
  return JobFirst(world(), {.group = a, .elastic = ElasticOf(world(), a)},
                  {.group = b, .elastic = ElasticOf(world(), b)});
}

bool QueueTree::QueueLess(int a, int b) const {
  const Kept& kept = world().kept();
  const QueueRow* row_a = At(kept.queues, a).row;
  const QueueRow* row_b = At(kept.queues, b).row;
  if (!world().settings().Has("proportion")) return CreatedFirst(*row_a, *row_b);
  const auto standing = [&](int queue, const QueueRow* row) {
    Standing each{.row = row, .numbers = NumbersNow(world(), queue), .with_job = {}, .next = {}};
    const std::vector<int> tasks = Tasks(world(), BestJob(queue));
    each.with_job = each.numbers.allocated + SumOfRequests(world(), tasks, kept.smallest_gpu_mib);
    each.next = each.with_job;
    return each;
  };
  return OrderOf(standing(a, row_a), standing(b, row_b), world().Total());
}

int QueueTree::LeafOf(int job) const { return At(world().kept().groups, job).queue; }

void QueueTree::Push(std::string_view pod_group) {
  PushJob(world().kept().GroupIndex(pod_group), depth_);
}

std::string QueueTree::Pop() { return At(world().kept().groups, PopJob()).name; }

std::vector<std::string> Candidates(const World& world) {
  const Kept& kept = world.kept();
  std::vector<int> candidates;
  for (size_t i = 0; i < kept.groups.size(); ++i) {
    const int group = static_cast<int>(i);
    const Kept::Group& each = kept.groups[i];
    bool pending = false;
    bool needs_namespaces = false;
    for (const int pod : each.shape.pods) {
      const PodStatus status = At(world.pods(), pod).status;
      pending = pending || (At(kept.pods, pod).counts && status == PodStatus::kPending);
      const bool waits = status == PodStatus::kPending || status == PodStatus::kGated;
      needs_namespaces =
          needs_namespaces || (waits && NeedsNamespaces(kept.rows, *At(kept.pods, pod).row));
    }
    if (needs_namespaces || !pending || !kept.IsLeaf(each.queue) || !IsReady(world, group, ""))
      continue;
    candidates.push_back(group);
  }
  std::sort(candidates.begin(), candidates.end(),
            [&](int a, int b) { return GroupFirst(world, a, b); });
  std::vector<std::string> names;
  for (const int group : candidates) names.push_back(At(kept.groups, group).name);
  return names;
}

std::vector<std::string> TasksToAllocate(const World& world, std::string_view pod_group) {
  std::vector<std::string> names;
  for (const int pod : Tasks(world, world.kept().GroupIndex(pod_group))) {
    names.push_back(At(world.kept().pods, pod).name);
  }
  return names;
}

QuotaCount NextRequest(const World& world, std::string_view pod_group) {
  return SumOfRequests(world, Tasks(world, world.kept().GroupIndex(pod_group)),
                       world.kept().smallest_gpu_mib);
}

// ---- (b) ----------------------------------------------------------------------------------------

double Divide(double total, double k_value, std::vector<Sibling>* siblings) {
  double left = total;
  for (Sibling& q : *siblings) {  // spec 1 F41
    const double deserved = q.deserved == -1 ? total : q.deserved;
    q.fair_share = std::min(deserved, Requestable(q));
    left -= q.fair_share;
  }
  if (left <= 0) return 0;  // spec 1 F42
  std::set<double, std::greater<>> priorities;
  for (const Sibling& q : *siblings) priorities.insert(q.priority);
  std::map<std::string, double> remainders;
  for (const double priority : priorities) {  // spec 1 F43
    for (bool again = true; again;) {         // spec 1 F44
      again = false;
      std::vector<Sibling*> unsatisfied;
      double weights = 0;
      for (Sibling& q : *siblings) {
        if (q.priority != priority || IsSatisfied(q)) continue;
        unsatisfied.push_back(&q);
        weights += q.weight;
      }
      if (weights == 0) break;
      const double round = left;
      std::vector<double> p;
      double sum = 0;
      for (const Sibling* q : unsatisfied) {
        const double n = q->weight / weights;
        p.push_back(std::max(0.0, n + k_value * (n - q->usage)));
        sum += p.back();
      }
      if (sum == 0) break;
      for (size_t i = 0; i < unsatisfied.size(); ++i) {
        Sibling& q = *unsatisfied[i];
        if (q.weight == 0) continue;
        if (left <= 0) break;
        const double f = round * p[i] / sum;
        const double wanted = std::max(0.0, Requestable(q) - q.fair_share);
        if (wanted <= f) {
          q.fair_share += wanted;
          left -= wanted;
          remainders.erase(q.name);
        } else {
          q.fair_share += std::floor(f);
          left -= std::floor(f);
          if (f - std::floor(f) > 0) remainders[q.name] = f - std::floor(f);
        }
        again = again || wanted < f;
      }
      again = again && left > 0;
    }
    if (left <= 0) break;
  }
  for (const double priority : priorities) {  // spec 1 F50
    std::vector<std::tuple<double, int64_t, std::string, Sibling*>> order;
    for (Sibling& q : *siblings) {
      if (q.priority == priority && remainders.contains(q.name)) {
        order.emplace_back(-remainders[q.name], q.created, q.name, &q);
      }
    }
    std::sort(order.begin(), order.end());
    for (const auto& [remainder, created, name, q] : order) {
      if (left <= 0) break;
      const double grant = std::min(1.0, left);
      q->fair_share += grant;
      left -= grant;
    }
  }
  return left;
}

std::map<std::string, QueueNumbers> NumbersOf(const World& world) {
  std::map<std::string, QueueNumbers> numbers;
  for (size_t i = 0; i < world.kept().queues.size(); ++i) {
    numbers[world.kept().queues[i].row->name] = NumbersNow(world, static_cast<int>(i));
  }
  return numbers;
}

// ---- (c) ----------------------------------------------------------------------------------------

Choice FindNode(const World& world, std::string_view pod) {
  const Placement found = PlaceTask(world, world.kept().PodIndex(pod), AllNodes(world), false);
  if (found.node < 0) return {};
  return {
      .node = At(world.kept().nodes, found.node)->name, .now = found.now, .groups = found.groups};
}

bool PassesFilters(const World& world, std::string_view pod, std::string_view node) {
  return Predicates(world, world.kept().PodIndex(pod), world.kept().NodeIndex(node));
}

double ScoreOf(const World& world, std::string_view pod, std::string_view node) {
  return Score(world, world.kept().PodIndex(pod), world.kept().NodeIndex(node), Ledgers(world),
               AllNodes(world), nullptr);
}

std::map<std::string, int> ShortagesOf(const World& world, std::string_view pod_name) {
  const Kept& kept = world.kept();
  const int pod = kept.PodIndex(pod_name);
  const GpuRequest& gpu = At(kept.pods, pod).row->gpu;
  std::map<std::string, int> shortages;
  for (const int node : AllNodes(world)) {
    const Ledger ledger = At(Ledgers(world), node);
    if (Fits(world, pod, node, IdleOrReleasing(ledger))) continue;  // predicates have the reason
    if (Fits(world, pod, node, ledger.idle)) continue;              // no reason is reported then
    const GpuLedger& gpus = world.gpus(node);
    const bool is_too_large =
        gpu.kind == GpuRequestKind::kMemory &&
        static_cast<double>(gpu.memory_mib) > MemoryOfGpu(*At(kept.nodes, node));
    const auto groups = std::count_if(gpus.u.begin(), gpus.u.end(),
                                      [](const auto& group) { return group.second > 0; });
    for (size_t r = 0; r < kept.resources.size(); ++r) {
      const double taken = ledger.used[r] + (r == 2 ? static_cast<double>(groups) : 0);
      double wanted = At(kept.pods, pod).request[r];
      if (r == 2 && is_too_large) wanted = kept.Accepted(At(kept.pods, pod), node)[2];
      if (wanted <= At(kept.allocatable, node)[r] - taken) continue;
      const std::string& name = kept.resources[r];
      ++shortages[r == 0 ? "CPU cores" : r == 2 ? "GPUs" : name];
    }
    if (is_too_large) ++shortages["GPU memory"];
  }
  return shortages;
}

// ---- (d) ----------------------------------------------------------------------------------------

std::ostream& operator<<(std::ostream& out, const Decision& decision) {
  if (decision.kind == Decision::Kind::kEvict) {
    return out << decision.action << " evicts " << decision.pod << " for " << decision.for_group;
  }
  return out << (decision.kind == Decision::Kind::kBind ? "bind " : "pipeline ") << decision.pod
             << " on " << decision.node;
}

namespace {

// Places pods and records the decisions.
struct RealTrial {
  World place;
  std::vector<Decision> done;

  const World& world() const { return place; }
  bool PlacePod(int pod, const std::set<int>& nodes, const NodeScores* scores) {
    const Kept& kept = place.kept();
    const Placement found = PlaceTask(place, pod, nodes, /*pipeline_only=*/false, scores);
    if (found.node < 0) return false;
    const std::string& name = At(kept.pods, pod).name;
    const std::string& node = At(kept.nodes, found.node)->name;
    if (found.now) {
      place.Place(name, node, found.groups);
    } else {
      place.Pipeline(name, node, found.groups);
    }
    done.push_back({found.now ? Decision::Kind::kBind : Decision::Kind::kPipeline, name, node});
    return true;
  }
};

// True if the set above that member can start without it and the others (spec 4 W5).
bool IsOptional(const World& world, int group, const std::string& member,
                const std::set<std::string>& others) {
  for (const auto& [name, set] : world.group(group).shape->tree) {
    if (std::find(set.children.begin(), set.children.end(), member) == set.children.end()) continue;
    if (IsAllocationSatisfied(world, group, name)) return false;  // starts one more at a time
    const auto can_start = [&](const std::string& child) {
      return IsAllocationSatisfied(world, group, child) ||
             (child != member && !others.contains(child) && IsReady(world, group, child));
    };
    return std::count_if(set.children.begin(), set.children.end(), can_start) >= set.minimum;
  }
  return false;
}

// Places the next pods of a group, all of them or none (spec 2 P1). With the switch of spec 4 W5,
// it skips members that find no place if others can replace them.
std::optional<RealTrial> PlaceGroup(const World& world, int group) {
  std::set<std::string> without;
  for (;;) {
    const std::vector<int> tasks = Tasks(world, group, without);
    const QuotaCount request = SumOfRequests(world, tasks, world.kept().largest_gpu_mib);
    if (tasks.empty()) return std::nullopt;
    if (world.settings().Has("proportion") &&  // spec 1 F76
        !(FitsLimits(world, group, request) && FitsQuotas(world, group, request))) {
      return std::nullopt;
    }
    RealTrial trial{.place = world, .done = {}};
    Attempt attempt{.group = group};
    if (PlaceMember("", tasks, AllNodes(world), &attempt, &trial)) return trial;
    if (!world.settings().switches.on(Switch::kOptionalMembers)) return std::nullopt;
    const auto spare =
        std::find_if(attempt.failed.begin(), attempt.failed.end(),
                     [&](const auto& member) { return IsOptional(world, group, member, without); });
    if (spare == attempt.failed.end()) return std::nullopt;
    without.insert(*spare);
  }
}

// spec 2 T6
bool MustConvert(const World& world, int group) {
  for (const auto& [name, set] : world.group(group).shape->tree) {
    if (!set.is_leaf) continue;
    const int64_t pipelined =
        CountPods(world, group, name, [](PodStatus s) { return s == PodStatus::kPipelined; });
    if (pipelined > 0 && ActiveAllocated(world, group, name) - pipelined < set.minimum) return true;
  }
  return false;
}

}  // namespace

std::vector<Decision> Allocate(World* world) {
  std::vector<Decision> plan;
  QueueTree jobs(world);
  for (const std::string& group : Candidates(*world)) {
    if (RepresentsItsQueue(*world, world->kept().GroupIndex(group))) jobs.Push(group);
  }
  while (!jobs.empty()) {
    const std::string name = jobs.Pop();
    const int group = world->kept().GroupIndex(name);
    const World before = *world;
    std::optional<RealTrial> trial = PlaceGroup(before, group);
    if (!trial) continue;
    *world = trial->place;
    std::vector<Decision> done = trial->done;
    const std::vector<int>& pods = before.group(group).shape->pods;
    const bool started = std::any_of(pods.begin(), pods.end(), [&](int pod) {
      return At(world->kept().pods, pod).counts && IsAllocated(At(before.pods(), pod).status);
    });
    const bool converted_all = MustConvert(*world, group);
    if (converted_all) {
      const World tried = *world;
      *world = before;
      std::vector<Decision> converted;
      for (const Decision& each : done) {
        if (each.kind == Decision::Kind::kPipeline) converted.push_back(each);
      }
      for (const Decision& each : done) {
        if (each.kind == Decision::Kind::kBind) {
          converted.push_back({Decision::Kind::kPipeline, each.pod, each.node});
        }
      }
      done = converted;
      for (const Decision& each : done) {
        world->Pipeline(each.pod, each.node, tried.GroupsOf(each.pod));
      }
    }
    plan.insert(plan.end(), done.begin(), done.end());
    for (World::PodState& state : *world->mutable_pods()) state.is_virtual = false;  // committed
    if (!converted_all && !started) {
      world->mutable_group(group)->last_start_ns = world->settings().now_ns;
    }
    const bool more = std::any_of(pods.begin(), pods.end(), [&](int pod) {
      return At(world->kept().pods, pod).counts &&
             At(world->pods(), pod).status == PodStatus::kPending;
    });
    if (more) jobs.Push(name);
  }
  return plan;
}

}  // namespace kai::oracle

#include "kai/testing/makers/cluster_maker.h"

#include <algorithm>
#include <utility>

#include "kai/api/units.h"
#include "kai/base/check.h"
#include "kai/base/clock.h"
#include "kai/base/text.h"

namespace kai {
namespace {

std::pair<std::string, std::string> SplitName(std::string_view ns_name) {
  const size_t slash = ns_name.find('/');
  KAI_CHECK(slash != std::string_view::npos) << ns_name << " is not \"namespace/name\"";
  return {std::string(ns_name.substr(0, slash)), std::string(ns_name.substr(slash + 1))};
}

template <typename Row>
bool HasName(const std::vector<Row>& rows, std::string_view name) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
}

// Sets the pods' requests for GPUs and for other resources.
void FillRequest(const PodsSpec& spec, PodRow* row) {
  if (spec.millicpu != 0) row->requests.emplace_back("cpu", spec.millicpu);
  if (spec.mb != 0) row->requests.emplace_back("memory", spec.mb * kMegabyte);
  GpuRequest& gpu = row->gpu;
  if (spec.gpus > 0) gpu = {.count = spec.gpus, .portion = 1, .mig = {}};
  if (spec.gpu_fraction > 0) {
    gpu = {.kind = GpuRequestKind::kFraction,
           .count = spec.gpu_devices,
           .portion = spec.gpu_fraction,
           .mig = {}};
  }
  if (spec.gpu_memory_mib > 0) {
    gpu = {.kind = GpuRequestKind::kMemory,
           .count = spec.gpu_devices,
           .memory_mib = spec.gpu_memory_mib,
           .mig = {}};
  }
  for (const auto& [name, amount] : spec.more) {
    if (IsMigResource(name)) {
      gpu.kind = GpuRequestKind::kMig;
      gpu.mig.emplace_back(name, amount);
    } else {
      row->requests.emplace_back(name, amount);
    }
  }
}

// The id whose row passes the test; aborts if there is none.
template <typename IdT, typename Test>
IdT FindId(const IdRange<IdT>& ids, std::string_view kind, std::string_view name,
           const Test& test) {
  for (const IdT id : ids) {
    if (test(id)) return id;
  }
  KAI_CHECK(false) << "the cluster has no " << kind << " " << name;
  return IdT();
}

}  // namespace

PodsSpec::~PodsSpec() = default;

NodeRow MakeNodeRow(std::string name, const NodeSpec& spec) {
  NodeRow row;
  row.name = std::move(name);
  row.labels = spec.labels;
  row.allocatable = {{"cpu", spec.millicpu}, {"memory", spec.mb * kMegabyte}, {"pods", spec.pods}};
  if (spec.gpus != 0) row.allocatable.emplace_back("nvidia.com/gpu", spec.gpus);
  row.allocatable.insert(row.allocatable.end(), spec.more.begin(), spec.more.end());
  row.unschedulable = spec.cordoned;
  row.taints = spec.taints;
  row.ready = spec.ready ? ConditionStatus::kTrue : ConditionStatus::kFalse;
  return row;
}

QueueRow MakeQueueRow(std::string name, const QueueSpec& spec) {
  QueueRow row;
  row.name = std::move(name);
  row.display_name = spec.display_name;
  row.parent = spec.parent;
  row.priority = spec.priority;
  if (spec.created_s) row.created_ns = *spec.created_s * kSecondNs;
  row.resources[kQuotaCpu] = {spec.deserved_millicpu, spec.weight_millicpu, spec.limit_millicpu};
  row.resources[kQuotaMemory] = {spec.deserved_mb, spec.weight_mb, spec.limit_mb};
  row.resources[kQuotaGpu] = {spec.deserved_gpus, spec.weight_gpus, spec.limit_gpus};
  return row;
}

int64_t ClusterMaker::NextTimeNs() { return ++seconds_ * kSecondNs; }

PodAffinityRow NeedsNamespaces() {
  WeightedPodAffinityTerm term;
  term.weight = 1;
  term.term.selector = LabelSelector{};
  term.term.namespace_selector = {{"team", SelectorOp::kIn, {"red"}}};
  term.term.topology_key = "zone";
  PodAffinityRow affinity;
  affinity.preferred = {std::move(term)};
  return affinity;
}

ClusterMaker& ClusterMaker::Queue(std::string name, QueueSpec spec) {
  QueueRow row = MakeQueueRow(std::move(name), spec);
  if (!row.created_ns) row.created_ns = NextTimeNs();
  return Add(std::move(row));
}

ClusterMaker& ClusterMaker::Node(std::string name, NodeSpec spec) {
  return Add(MakeNodeRow(std::move(name), spec));
}

PodGroupRow& ClusterMaker::GroupFor(std::string_view group, const PodsSpec& spec) {
  const auto [namespace_name, name] = SplitName(group);
  PodGroupRow* row = nullptr;
  for (PodGroupRow& each : rows_.pod_groups) {
    if (each.namespace_name == namespace_name && each.name == name) row = &each;
  }
  if (row == nullptr) {
    row = &rows_.pod_groups.emplace_back();
    row->namespace_name = namespace_name;
    row->name = name;
    row->created_ns = NextTimeNs();
  }
  if (!spec.queue.empty()) row->queue = spec.queue;
  if (spec.min_member) row->min_member = spec.min_member;
  if (!spec.preemptibility.empty()) row->preemptibility = spec.preemptibility;
  if (spec.priority) {
    row->priority_class = StrCat("priority-", *spec.priority);
    if (!HasName(rows_.priority_classes, row->priority_class)) {
      Add(PriorityClassRow{.name = row->priority_class, .value = *spec.priority});
    }
  }
  return *row;
}

ClusterMaker& ClusterMaker::AddPods(std::string_view group, const PodsSpec& spec,
                                    const PodRow& like) {
  const auto [namespace_name, name] = SplitName(group);
  const bool in_group = like.scheduler_name == rows_.params.scheduler_name;
  if (in_group) GroupFor(group, spec);
  const auto mentioned = [&](const std::string& pod) {
    return std::any_of(rows_.pods.begin(), rows_.pods.end(), [&](const PodRow& row) {
      return row.namespace_name == namespace_name && row.name == pod;
    });
  };
  int number = 0;
  for (int i = 0; i < spec.pods; ++i) {
    PodRow row = like;
    row.namespace_name = namespace_name;
    while (mentioned(StrCat(name, "-", number))) ++number;
    row.name = StrCat(name, "-", number);
    row.created_ns = NextTimeNs();
    if (in_group) row.pod_group = name;
    row.subgroup = spec.subgroup;
    row.labels = spec.labels;
    row.node_name = spec.node;
    row.nominated_node = spec.nominated_node;
    row.bare = spec.bare;
    row.node_selector = spec.node_selector;
    row.tolerations = spec.tolerations;
    row.affinity = spec.affinity;
    row.preferred_nodes = spec.preferred_nodes;
    row.spread = spec.spread;
    row.host_ports = spec.host_ports;
    row.config_maps = spec.config_maps;
    row.volumes = spec.volumes;
    row.guaranteed = spec.guaranteed;
    row.containers = spec.containers;
    row.zone_records = spec.zone_records;
    FillRequest(spec, &row);
    Add(std::move(row));
  }
  return *this;
}

ClusterMaker& ClusterMaker::Pending(std::string_view group, PodsSpec spec) {
  PodRow row;
  row.scheduler_name = rows_.params.scheduler_name;
  row.phase = Phase::kPending;
  return AddPods(group, spec, row);
}

ClusterMaker& ClusterMaker::Gated(std::string_view group, PodsSpec spec) {
  PodRow row;
  row.scheduler_name = rows_.params.scheduler_name;
  row.phase = Phase::kPending;
  row.gated = true;
  return AddPods(group, spec, row);
}

ClusterMaker& ClusterMaker::Running(std::string_view group, PodsSpec spec) {
  PodRow row;
  row.scheduler_name = rows_.params.scheduler_name;
  row.phase = Phase::kRunning;
  return AddPods(group, spec, row);
}

ClusterMaker& ClusterMaker::Releasing(std::string_view group, PodsSpec spec) {
  PodRow row;
  row.scheduler_name = rows_.params.scheduler_name;
  row.phase = Phase::kRunning;
  row.deletion_ns = kTestNowNs - kSecondNs;
  return AddPods(group, spec, row);
}

ClusterMaker& ClusterMaker::Succeeded(std::string_view group, PodsSpec spec) {
  PodRow row;
  row.scheduler_name = rows_.params.scheduler_name;
  row.phase = Phase::kSucceeded;
  return AddPods(group, spec, row);
}

ClusterMaker& ClusterMaker::Foreign(std::string_view name, PodsSpec spec) {
  PodRow row;
  row.scheduler_name = "default-scheduler";
  row.phase = Phase::kRunning;
  return AddPods(name, spec, row);
}

ClusterMaker& ClusterMaker::Add(NodeRow row) {
  rows_.nodes.push_back(std::move(row));
  return *this;
}
ClusterMaker& ClusterMaker::Add(QueueRow row) {
  rows_.queues.push_back(std::move(row));
  return *this;
}
ClusterMaker& ClusterMaker::Add(PodGroupRow row) {
  rows_.pod_groups.push_back(std::move(row));
  return *this;
}
ClusterMaker& ClusterMaker::Add(PodRow row) {
  rows_.pods.push_back(std::move(row));
  return *this;
}
ClusterMaker& ClusterMaker::Add(PriorityClassRow row) {
  rows_.priority_classes.push_back(std::move(row));
  return *this;
}
ClusterMaker& ClusterMaker::Add(BindRequestRow row) {
  rows_.bind_requests.push_back(std::move(row));
  return *this;
}
ClusterMaker& ClusterMaker::Add(ResourceClaimRow row) {
  rows_.claims.push_back(std::move(row));
  return *this;
}
ClusterMaker& ClusterMaker::Add(ResourceSliceRow row) {
  rows_.slices.push_back(std::move(row));
  return *this;
}
ClusterMaker& ClusterMaker::Add(NodeZonesRow row) {
  rows_.zones.push_back(std::move(row));
  return *this;
}

ClusterMaker& ClusterMaker::Add(TopologyRow row) {
  rows_.topologies.push_back(std::move(row));
  return *this;
}

ClusterMaker& ClusterMaker::Add(DeviceClassRow row) {
  rows_.device_classes.push_back(std::move(row));
  return *this;
}

ClusterRows ClusterMaker::Rows() const {
  ClusterRows rows = rows_;
  const bool names_queues = !rows.queues.empty();
  for (PodGroupRow& group : rows.pod_groups) {
    if (group.queue.empty()) group.queue = names_queues ? group.namespace_name : "default";
  }
  if (!names_queues) {
    rows.queues.push_back(MakeQueueRow("default", {.deserved_gpus = kUnlimited}));
  }
  return rows;
}

std::unique_ptr<Cluster> ClusterMaker::Build() const { return Rows().Build(); }

NodeId NodeNamed(const Cluster& cluster, std::string_view name) {
  return FindId(cluster.nodes().name.ids(), "node", name,
                [&](NodeId id) { return cluster.Text(cluster.nodes().name[id]) == name; });
}

QueueId QueueNamed(const Cluster& cluster, std::string_view name) {
  return FindId(cluster.queues().name.ids(), "queue", name,
                [&](QueueId id) { return cluster.Text(cluster.queues().name[id]) == name; });
}

PodId PodNamed(const Cluster& cluster, std::string_view ns_name) {
  return FindId(cluster.pods().name.ids(), "pod", ns_name,
                [&](PodId id) { return cluster.PodName(id) == ns_name; });
}

PodGroupId PodGroupNamed(const Cluster& cluster, std::string_view ns_name) {
  return FindId(cluster.pod_groups().name.ids(), "pod group", ns_name,
                [&](PodGroupId id) { return cluster.PodGroupName(id) == ns_name; });
}

SubGroupId PodSetNamed(const Cluster& cluster, std::string_view pod_group, std::string_view name) {
  const PodGroupId group = PodGroupNamed(cluster, pod_group);
  return FindId(cluster.sub_groups().name.ids(), "sub-group", name, [&](SubGroupId id) {
    return cluster.sub_groups().group[id] == group &&
           cluster.Text(cluster.sub_groups().name[id]) == name;
  });
}

}  // namespace kai

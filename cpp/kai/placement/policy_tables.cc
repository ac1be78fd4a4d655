#include "kai/placement/policy_tables.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kai/model/building/row_lookup.h"
#include "kai/placement/node_index.h"

namespace kai {
namespace {

size_t MostGpus(const Cluster& cluster) {
  double most = 0;
  for (const NodeId node : cluster.nodes().name.ids())
    most = std::max(most, cluster.nodes().gpu_count[node]);
  return static_cast<size_t>(std::clamp(most, 0.0, 1e4));
}

int64_t Whole(double amount) { return static_cast<int64_t>(std::floor(amount)); }

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double Seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

// The seconds from `then_ns` to `now_ns`; NaN: `then_ns` is unknown.
double SecondsSince(int64_t then_ns, int64_t now_ns) {
  if (then_ns == kNoTime) return kUnknown;
  return (static_cast<double>(now_ns) - static_cast<double>(then_ns)) / 1e9;
}

}  // namespace

PolicyTables::PolicyTables(const Cluster& cluster, std::shared_ptr<const TablePolicies> policies)
    : cluster_(cluster),
      policies_(std::move(policies)),
      shapes_(cluster, NodeShapes::Clusters::kUnknown) {
  const size_t size =
      policies_->scores().empty() && policies_->filters().empty() ? 0 : cluster.nodes().size();
  content_.Resize(size);
  PolicyNodeColumns& nodes = columns_->nodes;
  nodes.node.resize(size);
  for (std::vector<int64_t>* column :
       {&nodes.kind, &nodes.cpu_milli, &nodes.cpu_idle_milli, &nodes.memory_bytes,
        &nodes.memory_idle_bytes, &nodes.gpus, &nodes.gpu_memory_mib, &nodes.pod_gpu_milli})
    column->resize(size);
  nodes.most_gpus = MostGpus(cluster);
  nodes.gpu_idle_milli.resize(size * nodes.most_gpus);
  columns_->score.resize(size);
  columns_->gpu.resize(size);
  columns_->allowed.resize(size);
  if (size > 0) FindKinds();
  run_ = policies_->Begin(cluster, columns_);
}

// Kinds are numbered by the first names of their nodes, because ids of classes depend on the order
// of the input.
void PolicyTables::FindKinds() {
  const NodeColumns& nodes = cluster_.nodes();
  std::vector<NodeId> sorted;
  for (const NodeId node : nodes.name.ids())
    if (nodes.name[node].valid()) sorted.push_back(node);
  std::ranges::sort(sorted, {}, [&](NodeId node) { return nodes.name_rank[node]; });
  kinds_ = IndexVector<NodeClassId, int64_t>(cluster_.node_classes().size(), -1);
  for (const NodeId node : sorted) {
    int64_t& kind = kinds_[nodes.node_class[node]];
    if (kind >= 0) continue;
    kind = static_cast<int64_t>(columns_->nodes.classes.size());
    columns_->nodes.classes.push_back(nodes.node_class[node]);
  }
}

// ---- contents

void PolicyTables::Note(const Change& change) {
  ++version_;
  for (const NodeId node : {change.from_node, change.to_node})
    if (node.valid() && node.index() < content_.size()) content_[node] = 0;
}

PolicyTables::Content PolicyTables::ReadContent(NodeId node) const {
  return {shapes_.Of(node), Whole(RoomOf(cluster_, node, kMemorySlot))};
}

int64_t PolicyTables::ContentOf(NodeId node) const {
  int64_t& content = content_[node];
  if (content == 0) {
    const auto number = static_cast<int64_t>(contents_.size()) + 1;
    content = contents_.try_emplace(ReadContent(node), number).first->second;
  }
  return content;
}

void PolicyTables::Trim() {
  if (contents_.size() <= kMostContents) return;
  contents_.clear();
  ++generation_;
  content_ = IndexVector<NodeId, int64_t>(content_.size());
}

// ---- tables of nodes

PolicyPod PolicyTables::PodOf(PodClassId pod_class) const {
  const packing::PodShape shape = shapes_.Anywhere(pod_class);
  const std::span<const double> request = cluster_.pod_classes().request[pod_class];
  return {.cpu_milli = shape.cpu_milli,
          .memory_bytes = static_cast<int64_t>(std::ceil(request[kMemorySlot.index()])),
          .gpus = shape.gpus,
          .gpu_milli = shape.gpu_milli};
}

void PolicyTables::FillNodes(PodClassId pod_class, std::vector<NodeId>* nodes) {
  const NodeColumns& from = cluster_.nodes();
  PolicyNodeColumns& to = columns_->nodes;
  std::ranges::sort(*nodes, {}, [&](NodeId node) { return from.name_rank[node]; });
  const packing::PodShape anywhere = shapes_.Anywhere(pod_class);
  for (size_t row = 0; row < nodes->size(); ++row) {
    const NodeId node = (*nodes)[row];
    const packing::NodeShape shape = shapes_.Of(node);
    to.node[row] = node.value();
    to.kind[row] = kinds_[from.node_class[node]];
    to.cpu_milli[row] = Whole(from.allocatable[node][kCpuSlot.index()]);
    to.cpu_idle_milli[row] = shape.cpu_milli;
    to.memory_bytes[row] = Whole(from.allocatable[node][kMemorySlot.index()]);
    to.memory_idle_bytes[row] = Whole(RoomOf(cluster_, node, kMemorySlot));
    to.gpus[row] = Whole(from.gpu_count[node]);
    to.gpu_memory_mib[row] = cluster_.node_classes()[from.node_class[node]].has_gpu_memory
                                 ? Whole(from.gpu_memory_mib[node])
                                 : 0;
    to.pod_gpu_milli[row] =
        anywhere.shares() ? shapes_.Of(pod_class, node).gpu_milli : anywhere.gpu_milli;
    int64_t* idle = to.gpu_idle_milli.data() + row * to.most_gpus;
    std::fill_n(idle, to.most_gpus, 0);
    std::copy_n(shape.gpu_milli.begin(), std::min(shape.gpu_milli.size(), to.most_gpus), idle);
  }
}

void PolicyTables::ScoreNodes(size_t function, PodClassId pod_class, std::vector<NodeId>* nodes) {
  FillNodes(pod_class, nodes);
  if (status_.ok()) status_ = run_->Score(function, PodOf(pod_class), nodes->size());
  if (status_.ok()) return;
  std::fill_n(columns_->score.begin(), nodes->size(), 0);
  std::fill_n(columns_->gpu.begin(), nodes->size(), -1);
}

void PolicyTables::FilterNodes(size_t function, PodClassId pod_class, std::vector<NodeId>* nodes) {
  FillNodes(pod_class, nodes);
  if (status_.ok()) status_ = run_->Filter(function, PodOf(pod_class), nodes->size());
  if (!status_.ok()) std::fill_n(columns_->allowed.begin(), nodes->size(), 0);
}

// ---- the table of groups

void PolicyTables::FillGroups(const AttainedService& service) {
  const int64_t now_ns = service.now_ns();
  const PodGroupColumns& from = cluster_.pod_groups();
  PolicyGroupColumns to;
  for (const PodGroupId group : from.lists.waiting) {
    int64_t waiting = 0;
    int64_t running = 0;
    QuotaCount asked;
    for (const SubGroupId pod_set : from.PodSetsOf(group)) {
      for (const PodId pod : cluster_.sub_groups().PodsOf(pod_set)) {
        if (IsActiveAllocated(cluster_.pods().status[pod])) ++running;
        if (cluster_.pods().status[pod] != PodStatus::kPending) continue;
        ++waiting;
        asked += cluster_.ClassOf(pod).requested;
      }
    }
    to.group.push_back(group.value());
    to.queue.push_back(from.queue[group].valid() ? from.queue[group].value() : -1);
    to.priority.push_back(from.priority[group]);
    to.waited_s.push_back(SecondsSince(from.created_ns[group], now_ns));
    to.pods.push_back(waiting);
    to.running.push_back(running);
    to.gpus.push_back(asked[kQuotaGpu]);
    to.cpu.push_back(asked[kQuotaCpu] / 1000);
    to.evicted_s.push_back(SecondsSince(from.last_eviction_ns[group], now_ns));
    to.started_s.push_back(SecondsSince(from.last_start_ns[group], now_ns));
    const ServiceRow& received = service.Of(group).service;
    to.attained_s.push_back(Seconds(received.run_ns));
    to.attained_gpu_s.push_back(Seconds(received.gpu_ns));
    to.estimate_s.push_back(from.estimate_ns[group] < 0 ? kUnknown
                                                        : Seconds(from.estimate_ns[group]));
    to.evictions.push_back(received.evictions);
    to.preemptible.push_back(from.preemptible[group]);
  }
  columns_->key.assign(to.group.size(), 0);
  columns_->groups = std::make_shared<const PolicyGroupColumns>(std::move(to));
}

GroupKeys PolicyTables::OrderGroups(const AttainedService& service) {
  if (!policies_->orders_groups() || !status_.ok()) return {};
  FillGroups(service);
  const std::vector<int32_t>& groups = columns_->groups->group;
  if (groups.empty()) return {};
  status_ = run_->Order(groups.size());
  if (!status_.ok()) return {};
  GroupKeys keys(cluster_.pod_groups().size(), std::numeric_limits<double>::infinity());
  for (size_t row = 0; row < groups.size(); ++row)
    keys[PodGroupId(groups[row])] = columns_->key[row];
  return keys;
}

}  // namespace kai

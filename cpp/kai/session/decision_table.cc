#include "kai/session/decision_table.h"

#include "kai/session/plan_texts.h"

namespace kai {
namespace {

// Adds what a pod gets on its node.
void AddPlacement(const Plan& plan, const CycleLog::Decision& decision, DecisionTable* table) {
  const Cluster& cluster = *plan.cluster;
  const size_t row = table->size();
  table->node.Add(cluster.Text(cluster.nodes().name[decision.node]));
  double gpus = cluster.RequestOf(decision.pod)[kGpuSlot.index()];
  int32_t devices = 0;
  double portion = 0;
  int64_t gpu_memory_mib = 0;
  if (const GpuRequest& gpu = cluster.ClassOf(decision.pod).gpu; gpu.IsShared()) {
    const PodClassId pod_class = cluster.pods().pod_class[decision.pod];
    gpus = cluster.AcceptedOn(pod_class, decision.node)[kQuotaGpu];
    const double part = cluster.PortionOn(pod_class, decision.node);
    if (gpu.kind == GpuRequestKind::kMemory) gpu_memory_mib = gpu.memory_mib;
    std::vector<std::string> groups = plan.GpuGroupsOf(decision);
    // Otherwise the pod gets whole devices, and there is nothing to add.
    if (!groups.empty() || gpu_memory_mib != 0 || part != 1) {
      devices = static_cast<int32_t>(gpu.count);
      portion = part;
    }
    if (!groups.empty()) table->gpu_groups.emplace(row, std::move(groups));
  }
  table->gpus.push_back(gpus);
  table->devices.push_back(devices);
  table->portion.push_back(portion);
  table->gpu_memory_mib.push_back(gpu_memory_mib);
  table->action.AddNone();
  table->for_group.AddNone();
  table->message.AddNone();
  if (decision.zones < 0) return;
  const ZoneLedger::Record& record = plan.zones[static_cast<size_t>(decision.zones)];
  // The record of a pod that was given a second place is only about the last one.
  if (record.node == decision.node && !record.placement.empty())
    table->zones.emplace(row, ZonesOf(cluster, decision.node, record.placement));
}

void AddEviction(const Plan& plan, const CycleLog::Decision& decision, DecisionTable* table) {
  table->node.AddNone();
  table->gpus.push_back(0);
  table->devices.push_back(0);
  table->portion.push_back(0);
  table->gpu_memory_mib.push_back(0);
  table->action.Add(decision.action);
  if (decision.for_group.valid()) {
    table->for_group.Add(plan.cluster->PodGroupName(decision.for_group));
  } else {
    table->for_group.AddNone();
  }
  table->message.Add(MessageOf(plan, decision));
}

int32_t CodeOf(CycleLog::Decision::Kind kind) {
  switch (kind) {
    case CycleLog::Decision::Kind::kBind:
      return 0;
    case CycleLog::Decision::Kind::kPipeline:
      return 1;
    case CycleLog::Decision::Kind::kEvict:
      return 2;
  }
  return 0;
}

}  // namespace

void CodedColumn::Add(std::string_view text) {
  // Rows of one node are often adjacent.
  if (!codes_.empty() && codes_.back() != kNone &&
      texts_[static_cast<size_t>(codes_.back())] == text) {
    codes_.push_back(codes_.back());
    return;
  }
  const auto [found, added] =
      code_of_.try_emplace(std::string(text), static_cast<int32_t>(texts_.size()));
  if (added) texts_.emplace_back(text);
  codes_.push_back(found->second);
}

std::vector<NamedZone> ZonesOf(const Cluster& cluster, NodeId node,
                               const ZonePlacement& placement) {
  std::vector<NamedZone> named;
  if (placement.empty()) return named;  // also for nodes that report no zones
  const NumaNode& zones = *cluster.numa().Find(node);
  for (size_t i = 0; i < placement.size();) {
    const int32_t zone = placement[i].zone;
    NamedZone& each = named.emplace_back(NamedZone{zones.zones[static_cast<size_t>(zone)], {}});
    for (; i < placement.size() && placement[i].zone == zone; ++i) {
      const NumaNode::Resource& resource =
          zones.resources[static_cast<size_t>(placement[i].resource)];
      each.amounts.emplace_back(resource.name,
                                ForPeople(cluster.slots(), resource.slot, placement[i].amount));
    }
  }
  return named;
}

DecisionTable TableOf(const Plan& plan) {
  DecisionTable table;
  for (const CycleLog::Decision& decision : plan.decisions) {
    const bool is_evict = decision.kind == CycleLog::Decision::Kind::kEvict;
    is_evict ? AddEviction(plan, decision, &table) : AddPlacement(plan, decision, &table);
    table.kind.push_back(CodeOf(decision.kind));
    table.pod.Add(plan.cluster->PodName(decision.pod));
  }
  return table;
}

}  // namespace kai

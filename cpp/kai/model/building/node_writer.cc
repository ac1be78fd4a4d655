#include "kai/model/building/node_writer.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "kai/api/accelerators.h"
#include "kai/api/keys.h"
#include "kai/api/units.h"
#include "kai/base/saturating.h"
#include "kai/model/building/row_lookup.h"

namespace kai {

int64_t OtherAccelerators(const ResourceAmounts& amounts) {
  int64_t devices = 0;
  for (const Accelerator& each : kAccelerators) {
    if (!each.is_gpu)
      devices = AddSaturating(devices, AmountOf(amounts, each.resource) / kMillisPerUnit);
  }
  return devices;
}

bool IsInPool(const StringPairs& labels, const ShardParams& params) {
  if (params.node_pool_label_key.empty()) return true;
  const std::string* value = FindLabelText(labels, params.node_pool_label_key);
  if (params.node_pool_label_value.empty()) return value == nullptr;
  return value != nullptr && *value == params.node_pool_label_value;
}

bool IsOurs(const NodeRow& row, const ShardParams& params) {
  return IsInPool(row.labels, params) &&
         (!params.restrict_node_scheduling ||
          FindLabelText(row.labels, keys::kGpuWorker) != nullptr ||
          FindLabelText(row.labels, keys::kCpuWorker) != nullptr);  // spec 3 P10
}

void NameNode(const NodeRow& row, const NodeFacts& facts, NodeId node, Interner* names,
              NodeColumns* nodes) {
  nodes->name[node] = names->Intern(row.name);
  nodes->gpu_memory_mib[node] = facts.gpu_memory_mib.value_or(kUnknownGpuMemoryMib);
}

void SetAllocatable(const NodeRow& row, const NodeFacts& facts, int64_t more_gpus, int64_t dra_gpus,
                    const ResourceSlots& slots, NodeId node, NodeColumns* nodes) {
  const std::span<double> offered = nodes->allocatable[node];
  std::ranges::fill(offered, 0);
  for (const auto& [name, amount] : row.allocatable)
    offered[slots.Find(name).index()] += static_cast<double>(amount);
  double& gpus = offered[kGpuSlot.index()];
  gpus += static_cast<double>(more_gpus);
  nodes->gpu_count[node] = facts.gpu_count.value_or(std::trunc(gpus));
  gpus += static_cast<double>(dra_gpus);
}

NodeClass NodeClassOf(const NodeRow& row, const NodeFacts& facts, int64_t dra_gpus,
                      const NodeLabels& labels, const LabelSet& picked, double gpus,
                      Interner* names) {
  NodeClass node_class;
  node_class.labels = labels.OfClass(picked);
  node_class.state = facts.state;
  node_class.cpu_only = facts.mig == MigMode::kOff && gpus <= 0;  // spec 3 N16
  node_class.has_gpu_memory = facts.gpu_memory_mib.has_value();
  node_class.has_dra_gpus = dra_gpus > 0;
  node_class.has_plugin_gpus = gpus > static_cast<double>(dra_gpus);
  node_class.mig = facts.mig;
  node_class.gpu_worker = facts.gpu_worker;
  node_class.cpu_worker = facts.cpu_worker;
  for (const Taint& taint : row.taints) {
    if (taint.effect == TaintEffect::kPreferNoSchedule || taint.effect == TaintEffect::kNone)
      continue;  // such a taint never refuses pods
    node_class.taints.push_back({.key = names->Intern(taint.key),
                                 .value = names->Intern(taint.value),
                                 .effect = taint.effect});
  }
  std::sort(node_class.taints.begin(), node_class.taints.end());
  return node_class;
}

}  // namespace kai

// Nodes: which of them are ours, and what they offer.
#include <algorithm>
#include <set>

#include "kai/api/accelerators.h"
#include "kai/api/keys.h"
#include "kai/base/parse.h"
#include "kai/base/saturating.h"
#include "kai/model/building/cluster_assembler.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

constexpr double kUnknownGpuMemoryMib = 100;  // spec 3 G1

// MiB of one GPU of the node, floored to hundreds; large values are bytes (spec 3 G1). Nothing: the
// node does not say.
std::optional<double> GpuMemoryMib(const NodeRow& row) {
  const std::string* label = FindDeviceLabel(row.labels, &Accelerator::memory_label);
  const std::optional<int64_t> parsed = label == nullptr ? std::nullopt : ParseInteger(*label);
  if (!parsed || *parsed <= 0) return std::nullopt;
  constexpr int64_t kMib = 1 << 20;
  const int64_t mib = *parsed >= kMib ? *parsed / kMib : *parsed;
  return static_cast<double>(mib - mib % 100);
}

}  // namespace

bool ClusterAssembler::InNodePool(const StringPairs& labels) const {
  // spec 1 F9, spec 5 A32
  const ShardParams& params = c_.params_;
  if (params.node_pool_label_key.empty()) return true;
  const std::string* value = FindLabelText(labels, params.node_pool_label_key);
  if (params.node_pool_label_value.empty()) return value == nullptr;
  return value != nullptr && *value == params.node_pool_label_value;
}

void ClusterAssembler::Nodes(std::vector<NodeRow> rows,
                             const std::vector<ResourceSliceRow>& slices) {
  std::erase_if(rows, [&](const NodeRow& row) {
    if (!InNodePool(row.labels)) return true;
    return c_.params_.restrict_node_scheduling &&
           FindLabelText(row.labels, keys::kGpuWorker) == nullptr &&
           FindLabelText(row.labels, keys::kCpuWorker) == nullptr;  // spec 3 P10
  });
  owned_node_rows_ = std::move(rows);
  for (const NodeRow* row :
       SortedAndUnique(&owned_node_rows_, "Node", NameKey<NodeRow>, &c_.rejections_)) {
    node_rows_.push_back(row);
  }

  std::set<std::string> scalars;
  for (const NodeRow* row : node_rows_) {
    for (const auto& [name, amount] : row->allocatable) scalars.insert(name);
  }
  for (const std::string& name : scalars) SlotOf(name);

  NodeColumns& nodes = c_.nodes_;
  node_dra_gpus_.assign(node_rows_.size(), 0);
  for (const NodeRow* row : node_rows_) {
    const NodeId node = nodes.name.Add(Name(row->name));
    node_by_name_.emplace(row->name, node);
    nodes.name_rank.Add(node.value());
    const std::optional<double> gpu_memory_mib = GpuMemoryMib(*row);
    nodes.gpu_memory_mib.Add(gpu_memory_mib.value_or(kUnknownGpuMemoryMib));
    knows_gpu_memory_.push_back(gpu_memory_mib.has_value());
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

}  // namespace kai

#include "kai/model/claims/device_map.h"

#include <algorithm>
#include <memory>
#include <span>

namespace kai {
namespace {

void AddTo(std::vector<Requirement>* all, const std::vector<Requirement>& more) {
  all->insert(all->end(), more.begin(), more.end());
  std::sort(all->begin(), all->end());
  all->erase(std::unique(all->begin(), all->end()), all->end());
}

}  // namespace

DeviceMap::DeviceMap(std::vector<ResourceSlice> slices, std::vector<Reach> reach)
    : slices_(std::move(slices)), reach_(std::move(reach)) {
  for (size_t i = 0; i < slices_.size(); ++i) {
    const ResourceSlice& slice = slices_[i];
    const auto at = static_cast<int32_t>(i);
    const auto [found, is_new] =
        pool_by_name_.try_emplace({slice.driver, slice.pool}, slices_of_pool_.size());
    const int32_t pool = found->second;
    if (is_new) slices_of_pool_.push_back({.begin = at, .end = at});
    slices_of_pool_[static_cast<size_t>(pool)].end = at + 1;
    if (!reach_[i].is_local) {
      wide_pools_.push_back(pool);
    } else if (reach_[i].node.valid()) {
      local_pools_[reach_[i].node].push_back(pool);
    }
    for (const Device& device : slice.devices) slice_of_.emplace(&device, i);
  }
}

int32_t DeviceMap::PoolOf(const DeviceId& device) const {
  const auto found = pool_by_name_.find({device.driver, device.pool});
  return found == pool_by_name_.end() ? -1 : found->second;
}

NodePools DeviceMap::Gather(NodeId node, const NodeColumns& nodes, const Interner& names) const {
  const auto reaches = [&](const ResourceSlice& slice, const Device*) {
    const Reach& reach = reach_[static_cast<size_t>(&slice - slices_.data())];
    if (reach.is_local) return reach.node == node;
    return reach.all || MatchesAny(reach.terms, nodes.labels[node], nodes.name[node], names);
  };
  NodePools made;
  std::vector<int32_t>& numbers = made.numbers;
  numbers = wide_pools_;
  if (const auto local = local_pools_.find(node); local != local_pools_.end())
    numbers.insert(numbers.end(), local->second.begin(), local->second.end());
  std::sort(numbers.begin(), numbers.end());  // by driver and name
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  for (const int32_t number : numbers) {
    const Span32 range = slices_of_pool_[static_cast<size_t>(number)];
    const auto slices = range.Of(slices_);
    for (Pool& pool : GatherPools(slices, {}, reaches)) made.pools.push_back(std::move(pool));
  }
  return made;
}

ClaimAllocationPtr DeviceMap::AllocationOf(const ClaimDevices& given, const NodeColumns& nodes,
                                           NameId node_name_field) const {
  auto allocation = std::make_shared<ClaimAllocation>();
  NodeTerm all_slices;  // nodes must match the terms of every slice
  for (const GivenDevice& each : given.devices) {
    allocation->devices.push_back(
        {.request = each.request, .device = each.device->id(), .admin_access = each.admin_access});
    const Reach& reach = reach_[slice_of_.at(each.device)];
    if (reach.is_local) {  // one such device binds the claim to its node
      allocation->anywhere = false;
      allocation->nodes = {{.expressions = {},
                            .fields = {{.key = node_name_field,
                                        .op = SelectorOp::kIn,
                                        .values = {nodes.name[reach.node]},
                                        .bound = std::nullopt}}}};
      all_slices = {};
    } else if (!reach.all && reach.terms.size() == 1) {
      AddTo(&all_slices.expressions, reach.terms[0].expressions);
      AddTo(&all_slices.fields, reach.terms[0].fields);
    }
  }
  if (allocation->anywhere && (!all_slices.expressions.empty() || !all_slices.fields.empty())) {
    allocation->anywhere = false;
    allocation->nodes.push_back(std::move(all_slices));
  }
  return allocation;
}

}  // namespace kai

// NUMA zones: of nodes, what pods ask of them, and what pods on nodes have of them.
#include <algorithm>
#include <string>
#include <tuple>

#include "kai/api/accelerators.h"
#include "kai/api/keys.h"
#include "kai/base/parse.h"
#include "kai/base/quote.h"
#include "kai/base/saturating.h"
#include "kai/model/building/cluster_assembler.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

constexpr int64_t kMillicpu = 1000;

// spec 3 U3: by the number the name ends in, those without one last, then by name.
auto ZoneOrder(const NodeZonesRow::Zone& zone) {
  const std::string_view name = zone.name;
  const size_t last_other = name.find_last_not_of("0123456789");
  const std::optional<int64_t> number =
      ParseInteger(name.substr(last_other == name.npos ? 0 : last_other + 1));
  return std::tuple(!number.has_value(), number.value_or(0), name);
}

bool IsDevice(std::string_view resource) {  // spec 3 U4
  return resource != "cpu" && resource != "memory" && !resource.starts_with("hugepages-");
}

std::string_view FieldOf(ZoneRecordRow::Source source) {
  return source == ZoneRecordRow::Source::kObserved ? keys::kNumaObserved : keys::kNumaPredicted;
}

// spec 3 U5: only whole CPUs are given for good.
int64_t ExclusiveCpu(const ContainerRow& container) {
  const int64_t millicpu = AmountOf(container.requests, "cpu");
  return millicpu % kMillicpu == 0 ? millicpu : 0;
}

// spec 3 U5: the most at any time.
int64_t ExclusiveCpu(const std::vector<ContainerRow>& containers) {
  int64_t together = 0;
  int64_t sidecars = 0;
  int64_t init_phase = 0;
  for (const ContainerRow& container : containers) {
    const int64_t millicpu = ExclusiveCpu(container);
    if (container.kind == ContainerRow::Kind::kInit) {
      init_phase = std::max(init_phase, AddSaturating(sidecars, millicpu));
      continue;
    }
    together = AddSaturating(together, millicpu);
    if (container.kind == ContainerRow::Kind::kSidecar)
      sidecars = AddSaturating(sidecars, millicpu);
  }
  return std::max(together, init_phase);
}

}  // namespace

void ClusterAssembler::MakeNumaNodes() {
  NumaColumns& numa = c_.numa_;
  for (const NodeZonesRow* row : SortedAndUnique(&zone_rows_, "NodeResourceTopology",
                                                 NameKey<NodeZonesRow>, &c_.rejections_)) {
    const auto node = node_by_name_.find(row->name);
    if (node == node_by_name_.end() || row->zones.empty()) continue;  // spec 3 U1
    std::set<std::string_view> names;
    const auto twice = std::find_if(row->zones.begin(), row->zones.end(), [&](const auto& zone) {
      return !names.insert(zone.name).second;
    });
    if (twice != row->zones.end()) {
      Reject("NodeResourceTopology", row->name, "zones",
             StrCat("zone ", Quote(twice->name), " is given twice"));
      continue;
    }
    if (numa.empty()) numa.place = IndexVector<NodeId, int32_t>(node_rows_.size(), -1);
    numa.place[node->second] = static_cast<int32_t>(numa.nodes.size());
    numa.nodes.push_back(NumaNodeOf(*row));
    if (row->policy == NumaPolicy::kNone) continue;
    for (const NumaNode::Resource& resource : numa.nodes.back().resources) {
      if (resource.is_device) zone_devices_.insert(resource.slot);
    }
  }
}

NumaNode ClusterAssembler::NumaNodeOf(const NodeZonesRow& row) const {
  NumaNode node{.policy = row.policy, .scope = row.scope};
  std::vector<const NodeZonesRow::Zone*> zones;
  for (const NodeZonesRow::Zone& zone : row.zones) zones.push_back(&zone);
  std::sort(zones.begin(), zones.end(),
            [](const auto* a, const auto* b) { return ZoneOrder(*a) < ZoneOrder(*b); });
  std::map<ResourceSlot, std::string> reported;  // of several names for one thing the last
  for (const NodeZonesRow::Zone* zone : zones) {
    node.zones.push_back(zone->name);
    for (const auto& [name, amount] : zone->allocatable) {
      const ResourceSlot slot = c_.slots_.Find(name);
      if (slot.valid()) reported[slot] = std::max(reported[slot], name);
    }
  }
  for (auto& [slot, name] : reported)
    node.resources.push_back({.slot = slot, .name = name, .is_device = IsDevice(name)});
  node.allocatable.assign(zones.size() * node.resources.size(), 0);
  node.available = node.allocatable;
  const auto fill = [&](size_t zone, const ResourceAmounts& amounts, std::vector<double>* table) {
    for (const auto& [name, amount] : amounts) {
      const ResourceSlot slot = c_.slots_.Find(name);
      const int32_t resource = slot.valid() ? node.ResourceAt(slot) : -1;
      if (resource >= 0)
        (*table)[node.At(zone, static_cast<size_t>(resource))] += static_cast<double>(amount);
    }
  };
  for (size_t i = 0; i < zones.size(); ++i) {
    fill(i, zones[i]->allocatable, &node.allocatable);
    fill(i, zones[i]->available, &node.available);
  }
  return node;
}

NumaNeedsId ClusterAssembler::NumaNeedsOf(const PodRow& row) {
  if (c_.numa_.empty()) return NumaNeedsId();
  // As containers ask for it: what annotations ask of GPUs is no request (spec 3 U16).
  ResourceAmounts pod = row.requests;
  if (row.gpu.kind == GpuRequestKind::kRegular && row.gpu.portion > 0)
    pod.emplace_back(kAnyGpu, row.gpu.count);
  if (!row.gpu.legacy_mig) pod.insert(pod.end(), row.gpu.mig.begin(), row.gpu.mig.end());

  NumaNeeds needs{.guaranteed = row.guaranteed};
  const auto request_of = [&](const ResourceAmounts& amounts, int64_t exclusive_cpu) {
    std::map<ResourceSlot, int64_t> sums;
    for (const auto& [name, amount] : amounts) {
      const ResourceSlot slot = c_.slots_.Find(name);
      if (slot.valid() && slot != kCpuSlot) sums[slot] = AddSaturating(sums[slot], amount);
    }
    sums[kCpuSlot] = needs.guaranteed ? exclusive_cpu : 0;
    NumaRequest request(sums.begin(), sums.end());
    std::erase_if(request, [](const auto& each) { return each.second <= 0; });
    return request;
  };
  const std::vector<ContainerRow> only = {{.kind = ContainerRow::Kind::kApp, .requests = pod}};
  const std::vector<ContainerRow>& containers = row.containers.empty() ? only : row.containers;
  needs.pod = request_of(pod, ExclusiveCpu(containers));
  const bool asks_for_device =
      std::any_of(needs.pod.begin(), needs.pod.end(),
                  [&](const auto& each) { return zone_devices_.contains(each.first); });
  if (!needs.guaranteed && !asks_for_device) return NumaNeedsId();

  // spec 3 U6: sidecars, then apps.
  const auto list = [&](ContainerRow::Kind kind, std::vector<NumaRequest>* requests) {
    for (const ContainerRow& container : containers) {
      if (container.kind == kind)
        requests->push_back(request_of(container.requests, ExclusiveCpu(container)));
    }
  };
  list(ContainerRow::Kind::kSidecar, &needs.concurrent);
  list(ContainerRow::Kind::kApp, &needs.concurrent);
  list(ContainerRow::Kind::kInit, &needs.serial);
  const auto [found, added] =
      numa_needs_ids_.try_emplace(needs, NumaNeedsId(numa_needs_ids_.size()));
  if (added) c_.numa_.needs.Add(std::move(needs));
  return found->second;
}

void ClusterAssembler::NotePlacement(const PodDraft& draft, PodId pod) {
  // spec 3 U12, U13: of pods of pod groups, the first record that is there and makes sense. One
  // that names a zone the node does not have says nothing, and no other is asked.
  const NumaNode* node = draft.node.valid() ? c_.numa_.Find(draft.node) : nullptr;
  if (node == nullptr || !c_.pods_.group[pod].valid() || !c_.ClassOf(pod).numa.valid()) return;
  std::vector<ZoneRecordRow>& records = draft.row->zone_records;
  std::sort(records.begin(), records.end(),
            [](const auto& a, const auto& b) { return a.source < b.source; });
  for (const ZoneRecordRow& record : records) {
    if (!record.problem.empty()) {
      Reject("Pod", NameOf(*draft.row),
             StrCat("metadata.annotations[", Quote(FieldOf(record.source)), "]"), record.problem);
    }
    if (record.zones.empty()) continue;
    std::map<std::pair<int32_t, int32_t>, double> amounts;
    for (const ZoneAmountsRow& row : record.zones) {
      const int32_t zone = node->ZoneNamed(row.zone);
      if (zone < 0) return;
      for (const auto& [name, amount] : row.amounts) {
        const ResourceSlot slot = c_.slots_.Find(name);
        const int32_t resource = slot.valid() ? node->ResourceAt(slot) : -1;
        if (resource >= 0) amounts[{zone, resource}] += static_cast<double>(amount);
      }
    }
    ZonePlacement placement;
    for (const auto& [place, amount] : amounts) {
      if (amount > 0)
        placement.push_back({.zone = place.first, .resource = place.second, .amount = amount});
    }
    if (!placement.empty()) c_.numa_.placements.emplace_back(pod, std::move(placement));
    return;
  }
}

}  // namespace kai

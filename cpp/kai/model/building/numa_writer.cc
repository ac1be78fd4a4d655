#include "kai/model/building/numa_writer.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "kai/api/accelerators.h"
#include "kai/api/keys.h"
#include "kai/base/parse.h"
#include "kai/base/quote.h"
#include "kai/base/saturating.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

constexpr int64_t kMillicpu = 1000;

// spec 3 U3: by the number at the end of the name, zones without a number last, then by name.
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

// spec 3 U5: only whole CPUs are exclusive.
int64_t ExclusiveCpu(const ContainerRow& container) {
  const int64_t millicpu = AmountOf(container.requests, "cpu");
  return millicpu % kMillicpu == 0 ? millicpu : 0;
}

// spec 3 U5: the maximum over time.
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

NumaNode NumaNodeOf(const NodeZonesRow& row, const ResourceSlots& slots) {
  NumaNode node{.policy = row.policy, .scope = row.scope};
  std::vector<const NodeZonesRow::Zone*> zones;
  for (const NodeZonesRow::Zone& zone : row.zones) zones.push_back(&zone);
  std::sort(zones.begin(), zones.end(),
            [](const auto* a, const auto* b) { return ZoneOrder(*a) < ZoneOrder(*b); });
  std::map<ResourceSlot, std::string> reported;  // of several names for one resource the last
  for (const NodeZonesRow::Zone* zone : zones) {
    node.zones.push_back(zone->name);
    for (const auto& [name, amount] : zone->allocatable) {
      const ResourceSlot slot = slots.Find(name);
      if (slot.valid()) reported[slot] = std::max(reported[slot], name);
    }
  }
  for (auto& [slot, name] : reported)
    node.resources.push_back({.slot = slot, .name = name, .is_device = IsDevice(name)});
  node.allocatable.assign(zones.size() * node.resources.size(), 0);
  node.available = node.allocatable;
  const auto fill = [&](size_t zone, const ResourceAmounts& amounts, std::vector<double>* table) {
    for (const auto& [name, amount] : amounts) {
      const ResourceSlot slot = slots.Find(name);
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

// False: the node lacks some zone.
bool PlacementOf(const ZoneRecordRow& record, const NumaNode& node, const ResourceSlots& slots,
                 ZonePlacement* placement) {
  std::map<std::pair<int32_t, int32_t>, double> amounts;
  for (const ZoneAmountsRow& row : record.zones) {
    const int32_t zone = node.ZoneNamed(row.zone);
    if (zone < 0) return false;
    for (const auto& [name, amount] : row.amounts) {
      const ResourceSlot slot = slots.Find(name);
      const int32_t resource = slot.valid() ? node.ResourceAt(slot) : -1;
      if (resource >= 0) amounts[{zone, resource}] += static_cast<double>(amount);
    }
  }
  for (const auto& [place, amount] : amounts) {
    if (amount > 0)
      placement->push_back({.zone = place.first, .resource = place.second, .amount = amount});
  }
  return true;
}

}  // namespace

void NumaWriter::AddNode(const NodeZonesRow& row, NodeId node, size_t nodes,
                         std::vector<Rejection>* rejections) {
  if (row.zones.empty()) return;  // spec 3 U1
  std::set<std::string_view> names;
  for (const NodeZonesRow::Zone& zone : row.zones) {
    if (names.insert(zone.name).second) continue;
    rejections->push_back({.kind = "NodeResourceTopology",
                           .name = row.name,
                           .field = "zones",
                           .message = StrCat("zone ", Quote(zone.name), " occurs twice")});
    return;
  }
  if (numa_.empty()) numa_.place = IndexVector<NodeId, int32_t>(nodes, -1);
  numa_.place[node] = static_cast<int32_t>(numa_.nodes.size());
  numa_.nodes.push_back(NumaNodeOf(row, slots_));
  if (row.policy == NumaPolicy::kNone) return;
  for (const NumaNode::Resource& resource : numa_.nodes.back().resources) {
    if (resource.is_device) aligned_devices_.insert(resource.slot);
  }
}

bool NumaWriter::ChangeNode(const NodeZonesRow& row, NodeId node) {
  if (numa_.Find(node) == nullptr) return false;
  NumaNode& known = numa_.nodes[static_cast<size_t>(numa_.place[node])];
  NumaNode reported = NumaNodeOf(row, slots_);
  if (reported.policy != known.policy || reported.scope != known.scope ||
      reported.zones != known.zones ||
      !std::ranges::equal(reported.resources, known.resources, [](const auto& a, const auto& b) {
        return a.slot == b.slot && a.name == b.name;
      }))
    return false;
  known = std::move(reported);
  return true;
}

NumaNeedsId NumaWriter::NeedsOf(const CompactPod& row, const GpuRequest& gpu) {
  if (numa_.empty()) return NumaNeedsId();
  // The requests of containers only: GPU requests in annotations do not count (spec 3 U16).
  ResourceAmounts pod = row.spec->requests;
  if (gpu.kind == GpuRequestKind::kRegular && gpu.portion > 0) pod.emplace_back(kAnyGpu, gpu.count);
  if (!gpu.legacy_mig) pod.insert(pod.end(), gpu.mig.begin(), gpu.mig.end());

  NumaNeeds needs{.guaranteed = row.spec->guaranteed};
  const auto request_of = [&](const ResourceAmounts& amounts, int64_t exclusive_cpu) {
    std::map<ResourceSlot, int64_t> sums;
    for (const auto& [name, amount] : amounts) {
      const ResourceSlot slot = slots_.Find(name);
      if (slot.valid() && slot != kCpuSlot) sums[slot] = AddSaturating(sums[slot], amount);
    }
    sums[kCpuSlot] = needs.guaranteed ? exclusive_cpu : 0;
    NumaRequest request(sums.begin(), sums.end());
    std::erase_if(request, [](const auto& each) { return each.second <= 0; });
    return request;
  };
  const std::vector<ContainerRow> only = {{.kind = ContainerRow::Kind::kApp, .requests = pod}};
  const std::vector<ContainerRow>& containers =
      row.spec->containers.empty() ? only : row.spec->containers;
  needs.pod = request_of(pod, ExclusiveCpu(containers));
  const bool requests_device =
      std::any_of(needs.pod.begin(), needs.pod.end(),
                  [&](const auto& each) { return aligned_devices_.contains(each.first); });
  if (!needs.guaranteed && !requests_device) return NumaNeedsId();

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
  return numa_.needs.Add(std::move(needs));
}

void NumaWriter::NotePlacement(const CompactPod& row, const BindRequestRow* bind_request, PodId pod,
                               NodeId at, std::vector<Rejection>* rejections) {
  // spec 3 U12, U13: uses the first valid record. If that record contains a zone that the node
  // lacks, the pod has no known zones, and no other record is used.
  const NumaNode* node = at.valid() ? numa_.Find(at) : nullptr;
  if (node == nullptr) return;
  std::vector<const ZoneRecordRow*> records;
  for (const ZoneRecordRow& record : row.extras->zone_records) records.push_back(&record);
  ZoneRecordRow requested{.source = ZoneRecordRow::Source::kBindRequest};
  if (bind_request != nullptr && !bind_request->zones.empty()) {
    requested.zones = bind_request->zones;
    records.push_back(&requested);
  }
  std::sort(records.begin(), records.end(),
            [](const auto* a, const auto* b) { return a->source < b->source; });
  for (const ZoneRecordRow* record : records) {
    if (!record->problem.empty()) {
      rejections->push_back(
          {.kind = "Pod",
           .name = NameOf(row),
           .field = StrCat("metadata.annotations[", Quote(FieldOf(record->source)), "]"),
           .message = record->problem});
    }
    if (record->zones.empty()) continue;
    ZonePlacement placement;
    if (PlacementOf(*record, *node, slots_, &placement) && !placement.empty())
      numa_.placements.insert(PlaceOf(pod), {pod, std::move(placement)});
    return;
  }
}

void NumaWriter::ForgetPlacement(PodId pod) {
  const auto place = PlaceOf(pod);
  if (place != numa_.placements.end() && place->first == pod) numa_.placements.erase(place);
}

std::vector<std::pair<PodId, ZonePlacement>>::iterator NumaWriter::PlaceOf(PodId pod) {
  return std::ranges::lower_bound(numa_.placements, pod, {},
                                  [](const auto& each) { return each.first; });
}

}  // namespace kai

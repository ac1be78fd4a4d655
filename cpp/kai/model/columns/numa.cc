#include "kai/model/columns/numa.h"

#include <algorithm>

namespace kai {

int32_t NumaNode::ZoneNamed(std::string_view name) const {
  const auto found = std::find(zones.begin(), zones.end(), name);
  return found == zones.end() ? -1 : static_cast<int32_t>(found - zones.begin());
}

int32_t NumaNode::ResourceAt(ResourceSlot slot) const {
  const auto found =
      std::lower_bound(resources.begin(), resources.end(), slot,
                       [](const Resource& each, ResourceSlot key) { return each.slot < key; });
  return found == resources.end() || found->slot != slot
             ? -1
             : static_cast<int32_t>(found - resources.begin());
}

double ForPeople(const ResourceSlots& slots, ResourceSlot slot, double amount) {
  constexpr double kMilli = 1000;
  const std::string& name = slots.Name(slot);
  const bool whole = slot == kMemorySlot || slot == kGpuSlot || slot == kPodsSlot ||
                     name == "ephemeral-storage" || name == "storage" || slots.IsMig(slot);
  return whole ? amount : amount / kMilli;
}

}  // namespace kai

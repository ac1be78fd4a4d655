// NUMA zones of nodes, and what pods ask of them and hold there (spec 3 U1-U17), as the cycle
// begins: placement/numa keeps what becomes of them.
//
//   cluster->numa().Find(NodeNamed(*cluster, "m"))     // null: nothing is known of its zones
//
// Invariants: without reports all of it is empty, and pods ask for nothing. Cost: O(1), and
// O(zones) or O(resources) by name. Threads: plain data: many readers.
#ifndef KAI_MODEL_COLUMNS_NUMA_H_
#define KAI_MODEL_COLUMNS_NUMA_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/base/index_vector.h"
#include "kai/base/interned.h"
#include "kai/model/columns/ids.h"
#include "kai/model/columns/resources.h"
#include "kai/model/rows/rows.h"

namespace kai {

// Part of what a pod has of a node: so much of one resource in one zone, both by their places in a
// NumaNode.
struct ZoneAmount {
  int32_t zone = 0;
  int32_t resource = 0;
  double amount = 0;

  friend auto operator<=>(const ZoneAmount&, const ZoneAmount&) = default;
};
// By zone, then resource; nothing that is zero.
using ZonePlacement = std::vector<ZoneAmount>;

struct NumaNode {
  struct Resource {
    ResourceSlot slot;
    std::string name;        // as reported
    bool is_device = false;  // neither CPU nor memory: aligned for every pod (spec 3 U4)
  };

  NumaPolicy policy = NumaPolicy::kNone;
  NumaScope scope = NumaScope::kContainer;
  std::vector<std::string> zones = {};   // in the order of spec 3 U3
  std::vector<Resource> resources = {};  // that some zone reports and pods can ask for; by slot
  std::vector<double> allocatable = {};  // zones times resources, a row per zone
  std::vector<double> available = {};    // likewise: what is left, as reported

  size_t At(size_t zone, size_t resource) const { return zone * resources.size() + resource; }
  // Negative: no such zone, or resource.
  int32_t ZoneNamed(std::string_view name) const;
  int32_t ResourceAt(ResourceSlot slot) const;
};

// What one container asks for, or a pod as a whole; by slot, nothing that is zero.
using NumaRequest = std::vector<std::pair<ResourceSlot, int64_t>>;

struct NumaNeeds {
  bool guaranteed = false;  // else only devices are aligned
  // Scope container: those that run beside each other, and those that run alone, before them.
  std::vector<NumaRequest> concurrent = {};
  std::vector<NumaRequest> serial = {};
  NumaRequest pod = {};  // scope pod

  friend auto operator<=>(const NumaNeeds&, const NumaNeeds&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const NumaNeeds& needs) {
    return H::combine(std::move(h), needs.guaranteed, needs.concurrent, needs.serial, needs.pod);
  }
};

struct NumaColumns {
  IndexVector<NodeId, int32_t> place;  // in `nodes`; negative: nothing is known. Empty: of none
  std::vector<NumaNode> nodes;
  Interned<NumaNeedsId, NumaNeeds> needs;
  // Pods that hold a node, and are known to have their place in these zones; by pod.
  std::vector<std::pair<PodId, ZonePlacement>> placements;

  bool empty() const { return nodes.empty(); }
  const NumaNode* Find(NodeId node) const {
    return empty() || place[node] < 0 ? nullptr : &nodes[static_cast<size_t>(place[node])];
  }
};

// An amount as people count it: cores, bytes, devices, pieces.
double ForPeople(const ResourceSlots& slots, ResourceSlot slot, double amount);

}  // namespace kai

#endif  // KAI_MODEL_COLUMNS_NUMA_H_

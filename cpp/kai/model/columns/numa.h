// NUMA zones of nodes, what pods request of them, and what pods hold in them (spec 3 U1-U17) at the
// start of the cycle. placement/numa keeps what changes during the cycle.
//
//   cluster->numa().Find(NodeNamed(*cluster, "m"))     // null: nothing is known of its zones
//
// Invariants: if no node reports zones, everything is empty and no pod has NUMA needs. Cost: O(1),
// and O(zones) or O(resources) by name. Threads: plain data: many readers.
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

// Part of what a pod holds on a node: an amount of one resource in one zone. Zone and resource are
// positions in the lists of a NumaNode.
struct ZoneAmount {
  int32_t zone = 0;
  int32_t resource = 0;
  double amount = 0;

  friend auto operator<=>(const ZoneAmount&, const ZoneAmount&) = default;
};
// By zone, then resource; without zeros.
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
  std::vector<Resource> resources = {};  // reported by a zone and usable by pods; by slot
  std::vector<double> allocatable = {};  // zones times resources, a row per zone
  std::vector<double> available = {};    // the same layout: what is left, as reported

  size_t At(size_t zone, size_t resource) const { return zone * resources.size() + resource; }
  // The position; negative: there is no such zone or resource.
  int32_t ZoneNamed(std::string_view name) const;
  int32_t ResourceAt(ResourceSlot slot) const;
};

// The request of one container, or of a whole pod; by slot, without zeros.
using NumaRequest = std::vector<std::pair<ResourceSlot, int64_t>>;

struct NumaNeeds {
  bool guaranteed = false;  // else only devices are aligned
  // For scope container: the containers that run at the same time, and those that run alone before
  // them.
  std::vector<NumaRequest> concurrent = {};
  std::vector<NumaRequest> serial = {};
  NumaRequest pod = {};  // for scope pod

  friend auto operator<=>(const NumaNeeds&, const NumaNeeds&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const NumaNeeds& needs) {
    return H::combine(std::move(h), needs.guaranteed, needs.concurrent, needs.serial, needs.pod);
  }
};

struct NumaColumns {
  IndexVector<NodeId, int32_t> place;  // in `nodes`; negative: no report. May be empty
  std::vector<NumaNode> nodes;
  Interned<NumaNeedsId, NumaNeeds> needs;
  // Pods on a node whose zones are known; by pod.
  std::vector<std::pair<PodId, ZonePlacement>> placements;

  bool empty() const { return nodes.empty(); }
  const NumaNode* Find(NodeId node) const {
    return empty() || place[node] < 0 ? nullptr : &nodes[static_cast<size_t>(place[node])];
  }
};

// An amount in units for people: cores, bytes, devices, pieces.
double ForPeople(const ResourceSlots& slots, ResourceSlot slot, double amount);

}  // namespace kai

#endif  // KAI_MODEL_COLUMNS_NUMA_H_

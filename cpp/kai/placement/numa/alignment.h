// Computes the zones that a node's Topology Manager would give to containers (spec 3 U6-U10). Pure
// functions over tables of zones times resources.
//
//   const Alignment found = Align(NumaPolicy::kSingleZone, zones.table(), {{{3}}}, {});
//   found.fits                       // true: in zone 1; 1 and 4 are left in the two zones
//   found.placement[0].zone          // 1
//
// Invariants: no zone gives more than it has; equal tables give equal answers. Cost: O(zones *
// resources) per container; with policy restricted and several zones per container, times zones; if
// several resources compete for zones, kMostMasks limits the attempts. Threads: thread-safe.
#ifndef KAI_PLACEMENT_NUMA_ALIGNMENT_H_
#define KAI_PLACEMENT_NUMA_ALIGNMENT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kai/model/columns/numa.h"

namespace kai {

struct ZoneTable {
  size_t zones = 0;
  size_t resources = 0;
  std::span<const double> allocatable;  // a row of resources per zone
  std::span<const double> available;    // the same layout; may be negative

  double Allocatable(size_t zone, size_t resource) const {
    return allocatable[zone * resources + resource];
  }
};

// By resource; 0 for resources that are not aligned.
using ZoneRequest = std::vector<double>;

struct Alignment {
  bool fits = false;
  ZonePlacement placement = {};  // the sum over the concurrent containers

  int32_t CountZones() const;
};

// Each of `concurrent` takes its part before the next one is aligned; each of `serial` is aligned
// alone. With policy none every request fits, with an empty placement.
Alignment Align(NumaPolicy policy, const ZoneTable& table, std::span<const ZoneRequest> concurrent,
                std::span<const ZoneRequest> serial);

// The most single choices of zones that a search tries before it gives up. With one resource no
// choice is ever undone; only dozens of very different zones need more tries.
inline constexpr int64_t kMostMasks = 100'000;

}  // namespace kai

#endif  // KAI_PLACEMENT_NUMA_ALIGNMENT_H_

// Which zones a node's Topology Manager would give to containers (spec 3 U6-U10). Pure functions
// over tables of zones times resources.
//
//   const Alignment found = Align(NumaPolicy::kSingleZone, zones.table(), {{{3}}}, {});
//   found.fits                       // true: in zone 1, of two with 1 and 4 left
//   found.placement[0].zone          // 1
//
// Invariants: no zone gives more than it has; equal tables give equal answers. Cost: O(zones *
// resources) per container, with policy restricted and several zones per container times zones;
// where several resources compete for zones, the attempts are bounded by kMostMasks. Threads:
// thread-safe.
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
  std::span<const double> available;    // likewise; may be negative

  double Allocatable(size_t zone, size_t resource) const {
    return allocatable[zone * resources + resource];
  }
};

// By resource; what is not aligned is zero.
using ZoneRequest = std::vector<double>;

struct Alignment {
  bool fits = false;
  ZonePlacement placement = {};  // of those that run beside each other, together

  int32_t CountZones() const;
};

// `concurrent` each take their part before the next one looks; `serial` are asked alone. With
// policy none everything fits, nowhere in particular.
Alignment Align(NumaPolicy policy, const ZoneTable& table, std::span<const ZoneRequest> concurrent,
                std::span<const ZoneRequest> serial);

// Zones in which single choices are looked at before a mask counts as not found. With one resource
// no choice is ever taken back; more than this takes dozens of zones that are alike in no way.
inline constexpr int64_t kMostMasks = 100'000;

}  // namespace kai

#endif  // KAI_PLACEMENT_NUMA_ALIGNMENT_H_

// NodeFacts: what a node says of itself, with no configuration and no other object looked at.
//
//   const NodeFacts facts = NodeFactsOf(row);
//   facts.state & kCordoned
//
// Invariants: equal rows have equal facts. Cost: O(labels and resources of the row). Threads: pure
// functions.
#ifndef KAI_MODEL_BUILDING_NODE_FACTS_H_
#define KAI_MODEL_BUILDING_NODE_FACTS_H_

#include <cstdint>
#include <optional>

#include "kai/model/columns/node.h"
#include "kai/model/rows/rows.h"

namespace kai {

inline constexpr double kUnknownGpuMemoryMib = 100;  // spec 3 G1

struct NodeFacts {
  uint8_t state = 0;  // NodeStateBits
  MigMode mig = MigMode::kOff;
  bool gpu_worker = false;
  bool cpu_worker = false;
  std::optional<double> gpu_memory_mib;  // of one device; nothing: the node does not say
  std::optional<double> gpu_count;       // by its label
};

NodeFacts NodeFactsOf(const NodeRow& row);

// Of one device, as the node's label says it, and not rounded; nothing: it does not say, or says
// nothing that is above 0.
std::optional<int64_t> DeviceMemoryMib(const NodeRow& row);

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_NODE_FACTS_H_

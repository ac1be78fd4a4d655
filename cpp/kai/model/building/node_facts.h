// NodeFacts: what follows from the row of a node, without configuration or other objects.
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
  std::optional<double> gpu_memory_mib;  // of one device; nothing: not given
  std::optional<double> gpu_count;       // from the node's label
};

NodeFacts NodeFactsOf(const NodeRow& row);

// The memory of one device from the node's label, not rounded; nothing: the label is missing or not
// above 0.
std::optional<int64_t> DeviceMemoryMib(const NodeRow& row);

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_NODE_FACTS_H_

// NodeRow: nodes, their NUMA zones, and topologies, as rows (rows.h).
//
//   row.allocatable.emplace_back("amd.com/gpu", 3);
//
// Invariants: nothing is checked yet. Cost: plain data. Threads: plain data.
#ifndef KAI_MODEL_ROWS_NODE_ROW_H_
#define KAI_MODEL_ROWS_NODE_ROW_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kai/model/rows/terms.h"

namespace kai {

// What the kubelet's Topology Manager does with pods that cannot be aligned, and the unit that it
// aligns (spec 3 U2).
enum class NumaPolicy : uint8_t { kNone, kBestEffort, kRestricted, kSingleZone };
enum class NumaScope : uint8_t { kContainer, kPod };

// The NUMA zones of the node with that name (spec 3 U1).
struct NodeZonesRow {
  struct Zone {
    std::string name;
    ResourceAmounts allocatable = {};
    ResourceAmounts available = {};
  };
  std::string name;
  NumaPolicy policy = NumaPolicy::kNone;
  NumaScope scope = NumaScope::kContainer;
  std::vector<Zone> zones = {};  // of type Node
};

enum class ConditionStatus : uint8_t { kAbsent, kTrue, kFalse, kUnknown };

struct NodeRow {
  NodeRow();
  NodeRow(const NodeRow&);
  NodeRow(NodeRow&&) noexcept;
  NodeRow& operator=(const NodeRow&);
  NodeRow& operator=(NodeRow&&) noexcept;
  ~NodeRow();
  bool operator==(const NodeRow&) const;
  size_t HeapBytes() const;

  std::string name;
  StringPairs labels;
  ResourceAmounts allocatable;  // with GPUs of every vendor, MIG slices and "pods" by name
  bool unschedulable = false;
  std::vector<Taint> taints;
  ConditionStatus ready = ConditionStatus::kAbsent;
  ConditionStatus memory_pressure = ConditionStatus::kAbsent;
  ConditionStatus disk_pressure = ConditionStatus::kAbsent;
  ConditionStatus pid_pressure = ConditionStatus::kAbsent;
  ConditionStatus network_unavailable = ConditionStatus::kAbsent;
};

struct TopologyRow {
  struct Level {
    std::string node_label;
    std::string alias;
  };
  std::string name;
  std::vector<Level> levels;  // the largest domains first
};

}  // namespace kai

#endif  // KAI_MODEL_ROWS_NODE_ROW_H_

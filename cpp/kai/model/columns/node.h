// The columns of nodes.
//
//   MatchesNode(constraint, labels, nodes.name[node], cluster_.names())
//   cluster_.GpusRequestedOn(pod_class, node)
//
// Invariants: ids are 0 to size()-1: when a node is removed, the last node gets its id. During a
// cycle only the ledger and shared_gpus change, through a Statement. Cost: an access to an array.
// Threads: many readers while no statement is open.
#ifndef KAI_MODEL_COLUMNS_NODE_H_
#define KAI_MODEL_COLUMNS_NODE_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kai/base/index_vector.h"
#include "kai/model/columns/labels.h"
#include "kai/model/columns/resources.h"
#include "kai/model/columns/shared_gpu.h"

namespace kai {

// States of a node that make it refuse every pod, as bits (spec 3 P7).
enum NodeStateBit : uint8_t {
  kCordoned = 1 << 0,
  kNotReady = 1 << 1,
  kMemoryPressure = 1 << 2,
  kDiskPressure = 1 << 3,
  kPidPressure = 1 << 4,
  kNetworkUnavailable = 1 << 5,
};

// Whether GPUs are split into MIG slices, and the resource names of the slices (spec 3 M6, M7).
enum class MigMode : uint8_t {
  kOff,
  kNone,    // no strategy: no restriction
  kSingle,  // as nvidia.com/gpu
  kMixed,   // only under their own names
};

// What static filters read of a node: all nodes of one class get the same answer. Label keys with
// nearly as many values as nodes are not part of the class.
struct NodeClass {
  LabelSet labels;  // only keys that some constraint in the input uses
  std::vector<InternedTaint> taints;
  uint8_t state = 0;  // NodeStateBits
  bool cpu_only = false;
  bool has_gpu_memory = false;  // the memory of each of its devices (spec 3 G1)
  bool has_dra_gpus = false;
  bool has_plugin_gpus = false;  // a device plugin offers some
  MigMode mig = MigMode::kOff;
  bool gpu_worker = false;
  bool cpu_worker = false;

  friend auto operator<=>(const NodeClass&, const NodeClass&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const NodeClass& each) {
    return H::combine(std::move(h), each.labels, each.taints, each.state, each.mig);
  }
};

struct NodeColumns {
  IndexVector<NodeId, NameId> name;
  IndexVector<NodeId, int32_t> name_rank;  // position in the order of names: the lower wins a tie
  IndexVector<NodeId, NodeClassId> node_class;
  IndexVector<NodeId, LabelSet> labels;        // of used keys, also those outside of classes
  IndexVector<NodeId, double> gpu_count;       // by label, else whole allocatable GPUs (spec 3 N5)
  IndexVector<NodeId, double> gpu_memory_mib;  // of one device (spec 3 G1); 100 means unknown
  IndexVector<NodeId, uint8_t> cpu_only;       // spec 3 N16

  // The ledger (spec 2 S5, spec 3 N1).
  ResourceTable<NodeId> allocatable;
  ResourceTable<NodeId> idle;       // allocatable minus what occupies the node
  ResourceTable<NodeId> releasing;  // what evicted pods give back, minus what is promised
  ResourceTable<NodeId> used;
  // The GPUs of the node that pods share, or have shared in this cycle. First those that the
  // snapshot names, by name.
  IndexVector<NodeId, std::vector<SharedGpu>> shared_gpus;

  size_t size() const { return name.size(); }
  // The caller fills the new rows.
  void Resize(size_t size) {
    name.Resize(size);
    name_rank.Resize(size);
    node_class.Resize(size);
    labels.Resize(size);
    gpu_count.Resize(size);
    gpu_memory_mib.Resize(size);
    cpu_only.Resize(size);
    for (ResourceTable<NodeId>* table : {&allocatable, &idle, &releasing, &used})
      table->Resize(size);
    shared_gpus.Resize(size);
  }
  // Moves row `from` to row `to`.
  void Move(NodeId from, NodeId to) {
    name[to] = name[from];
    name_rank[to] = name_rank[from];
    node_class[to] = node_class[from];
    labels[to] = std::move(labels[from]);
    gpu_count[to] = gpu_count[from];
    gpu_memory_mib[to] = gpu_memory_mib[from];
    cpu_only[to] = cpu_only[from];
    for (ResourceTable<NodeId>* table : {&allocatable, &idle, &releasing, &used})
      std::ranges::copy(std::as_const(*table)[from], (*table)[to].begin());
    shared_gpus[to] = std::move(shared_gpus[from]);
  }
};

}  // namespace kai

#endif  // KAI_MODEL_COLUMNS_NODE_H_

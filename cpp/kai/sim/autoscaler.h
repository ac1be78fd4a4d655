// Autoscaler: decides which nodes to order for waiting pods and which empty nodes to remove, like
// Kubernetes' cluster autoscaler.
//
//   Autoscaler(pools, nodes).Look(now_ns, waiting, &used);
//
// It packs the waiting jobs in their order: each pod goes to the first node by name with enough
// room, among nodes that take pods and then among ordered ones. If there is none, it orders a node
// of a pool that fits the pod: of the cheapest pool, then of that with the fewest GPUs, then of the
// first by name. If fewer pods of a job fit than it needs to start, it orders nothing for the job.
// It removes nodes that were empty for the pool's idle time and that the packing left empty,
// starting with the last node, down to the pool's minimum.
//
// Invariants: the same arguments give the same orders; a pool never exceeds its size. Cost: in the
// worst case, waiting pods times nodes. Threads: const calls from many.
#ifndef KAI_SIM_AUTOSCALER_H_
#define KAI_SIM_AUTOSCALER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kai/model/rows/rows.h"
#include "kai/sim/workload.h"

namespace kai {

// The requests of a pod.
struct PodNeeds {
  int64_t micro_gpus = 0;
  int64_t millicpu = 0;
  int64_t memory_bytes = 0;
  const std::vector<std::string>* models = nullptr;  // null or empty: any
};

// The free capacity of a node.
struct SpareRoom {
  int64_t cards = 0;                // free whole GPUs
  std::vector<int64_t> parts = {};  // free millionths of each shared GPU
  int64_t millicpu = 0;
  int64_t memory_bytes = 0;
  int64_t pods = 0;
  std::string_view model = {};

  static SpareRoom Of(const NodeRow& node);  // the row must outlive it
  bool Fits(const PodNeeds& pod) const;
  void Take(const PodNeeds& pod);
};

class Autoscaler {
 public:
  // One job: equal pods that wait. At least `least` of them have to fit before any starts.
  struct Waiting {
    int32_t pods = 0;
    int32_t least = 1;
    PodNeeds needs = {};
  };
  struct NodeState {
    enum class Stage : uint8_t {
      kAbsent,  // can be ordered
      kOrdered,
      kTakesPods,
      kClosed,  // exists or has failed, and takes no pods
    };
    Stage stage = Stage::kAbsent;
    std::optional<int64_t> empty_since_ns = {};  // empty: it has pods
    SpareRoom room = {};                         // if absent or ordered: its future capacity
  };
  struct Orders {
    std::vector<int32_t> order;  // node indices
    std::vector<int32_t> remove;
    std::optional<int64_t> look_again_ns;  // a node may be removed then
  };

  // Uses indices into `nodes`, but keeps no reference to it.
  Autoscaler(const std::vector<SimNodePool>& pools, const std::vector<NodeRow>& nodes);

  bool has_pools() const { return !pools_.empty(); }
  int64_t ReadyNs(int32_t node) const;
  // `nodes`: all nodes by index; the call uses up their rooms.
  Orders Look(int64_t now_ns, std::span<const Waiting> waiting,
              std::vector<NodeState>* nodes) const;

 private:
  struct Pool {
    std::vector<int32_t> nodes;  // in the order in which they are ordered
    int64_t least = 0;
    int64_t ready_ns = 0;
    int64_t idle_ns = 0;
  };
  class Packing;

  std::vector<Pool> pools_;       // in the order in which they are tried
  std::vector<int32_t> pool_of_;  // by node; -1: in no pool
};

}  // namespace kai

#endif  // KAI_SIM_AUTOSCALER_H_

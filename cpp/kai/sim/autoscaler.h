// Autoscaler: which nodes to order for pods that wait, and which empty ones to remove, after the
// manner of Kubernetes' cluster autoscaler.
//
//   Autoscaler(pools, nodes).Look(now_ns, waiting, &used);
//
// Waiting jobs are packed in their order, each pod on the first node in the order of names that has
// room: nodes that take pods, then those that are ordered. Where none has, a node is ordered of the
// pool that takes the pod: the cheapest, then that with the fewest GPUs, then the first by name. If
// fewer pods of a job find room than it needs to start, nothing is ordered for it. A node that was
// empty for the pool's idle time, and that the packing left empty, is removed, the last first, down
// to the pool's least.
//
// Invariants: the same arguments give the same orders; a pool never has more nodes than it may.
// Cost: pods that wait, times nodes, in the worst case. Threads: const calls from many.
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

// What a pod asks for.
struct PodNeeds {
  int64_t micro_gpus = 0;
  int64_t millicpu = 0;
  int64_t memory_bytes = 0;
  const std::vector<std::string>* models = nullptr;  // null or empty: any
};

// What a node has left.
struct SpareRoom {
  int64_t cards = 0;                // whole GPUs
  std::vector<int64_t> parts = {};  // what is left of cards that pods share, in millionths
  int64_t millicpu = 0;
  int64_t memory_bytes = 0;
  int64_t pods = 0;
  std::string_view model = {};

  static SpareRoom Of(const NodeRow& node);  // which has to stay
  bool Fits(const PodNeeds& pod) const;
  void Take(const PodNeeds& pod);
};

class Autoscaler {
 public:
  // One job: so many equal pods wait, of which `least` have to find room for any to start.
  struct Waiting {
    int32_t pods = 0;
    int32_t least = 1;
    PodNeeds needs = {};
  };
  struct NodeState {
    enum class Stage : uint8_t {
      kAbsent,  // it can be ordered
      kOrdered,
      kTakesPods,
      kClosed,  // it is there, or failed, and takes no pods
    };
    Stage stage = Stage::kAbsent;
    std::optional<int64_t> empty_since_ns = {};  // no pod is on it; nothing: some are
    SpareRoom room = {};                         // as it would be, if it is absent or ordered
  };
  struct Orders {
    std::vector<int32_t> order;  // nodes
    std::vector<int32_t> remove;
    std::optional<int64_t> look_again_ns;  // a node may be removed then
  };

  // Places of `nodes`, of which it keeps nothing.
  Autoscaler(const std::vector<SimNodePool>& pools, const std::vector<NodeRow>& nodes);

  bool has_pools() const { return !pools_.empty(); }
  int64_t ReadyNs(int32_t node) const;
  // `nodes`: all, by place; their rooms are used up.
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
  std::vector<int32_t> pool_of_;  // by node; -1: of none
};

}  // namespace kai

#endif  // KAI_SIM_AUTOSCALER_H_

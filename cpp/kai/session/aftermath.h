// The state after a cycle: which of the waiting groups come next, and what is free on the nodes
// once the decisions are carried out. Computed on request, by running the cycle of a plan again.
//
//   after = AftermathOf(cycle);                 // in Session::Options::inspect
//   for (const Aftermath::Turn& turn : after.order)
//   left.after.nodes[0].free_gpus               // 3
//
// Invariants: the cycle does not change. Cost: O(waiting groups * log) comparisons of groups and
// queues, and O(nodes). Threads: those of the cycle: one thread.
#ifndef KAI_SESSION_AFTERMATH_H_
#define KAI_SESSION_AFTERMATH_H_

#include <vector>

#include "kai/actions/action.h"
#include "kai/fairshare/queue_order.h"
#include "kai/placement/node_shapes.h"

namespace kai {

struct Aftermath {
  // A waiting group at its turn, with its request and the standing of the queues above it.
  struct Turn {
    struct Queue {
      QueueId queue;
      QueueStanding standing;
    };
    PodGroupId group;
    ElasticState elastic_state = ElasticState::kBelow;
    QuotaCount request;         // of the pods that it would start next
    std::vector<Queue> queues;  // from the top queue to its own
  };
  struct NodeRoom {
    NodeId node;
    double free_gpus = 0;       // whole GPUs that no pod holds or is promised
    double leaving_gpus = 0;    // whole GPUs that will be released, minus promised ones
    std::vector<double> parts;  // the free part of each shared GPU
    double free_millicpu = 0;
    double free_bytes = 0;
  };

  // The order of a worklist in which each group, at its turn, got what it would start next, so that
  // its queue holds more from then on. Leaves out groups that cannot be tried because some of their
  // pods do not exist yet.
  std::vector<Turn> order;
  std::vector<NodeRoom> nodes;  // sorted by name
  MeasuredShapes measured;      // for the typical pods that make up 95 % of all
};

Aftermath AftermathOf(const CycleView& cycle);

}  // namespace kai

#endif  // KAI_SESSION_AFTERMATH_H_

// What a cycle leaves: which of the groups that still wait come next, and what is free on the nodes
// once the decisions are carried out. Asked for after a plan, by running its cycle again.
//
//   after = AftermathOf(cycle);                 // in Session::Options::inspect
//   for (const Aftermath::Turn& turn : after.order)
//   left.after.nodes[0].free_gpus               // 3
//
// Invariants: the cycle is as it was. Cost: O(waiting groups * log) comparisons of groups and
// queues, and O(nodes). Threads: those of the cycle: one thread.
#ifndef KAI_SESSION_AFTERMATH_H_
#define KAI_SESSION_AFTERMATH_H_

#include <vector>

#include "kai/actions/action.h"
#include "kai/fairshare/queue_order.h"
#include "kai/placement/node_shapes.h"

namespace kai {

struct Aftermath {
  // A group that waits, when its turn comes: with its request, and how the queues above it stand.
  struct Turn {
    struct Queue {
      QueueId queue;
      QueueStanding standing;
    };
    PodGroupId group;
    ElasticState elastic_state = ElasticState::kBelow;
    QuotaCount request;         // of the pods that it wants next
    std::vector<Queue> queues;  // from the top to its own
  };
  struct NodeRoom {
    NodeId node;
    double free_gpus = 0;       // whole ones that no pod holds or is promised
    double leaving_gpus = 0;    // whole ones that come free, less what is promised of them
    std::vector<double> parts;  // what is free of each GPU that pods share, as a part of it
    double free_millicpu = 0;
    double free_bytes = 0;
  };

  // As a worklist would give them, if each got in its turn what it wants next: its queue then has
  // so much more. Without those that cannot be tried, because pods of theirs have not arrived.
  std::vector<Turn> order;
  std::vector<NodeRoom> nodes;  // in the order of names
  MeasuredShapes measured;      // by the typical pods that are 95 % of all
};

Aftermath AftermathOf(const CycleView& cycle);

}  // namespace kai

#endif  // KAI_SESSION_AFTERMATH_H_

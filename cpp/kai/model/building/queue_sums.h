// The amounts of one node and one pod in the sums of queues.
//
//   c_.total_ += OfferedToQueues(c_, node);
//   const QueueSums own = SumsOf(c_, pod, &queue);
//
// Invariants: spec 1 F30 and F32. Cost: O(1), the tree O(queues). Threads: one thread that writes
// the sums.
#ifndef KAI_MODEL_BUILDING_QUEUE_SUMS_H_
#define KAI_MODEL_BUILDING_QUEUE_SUMS_H_

#include "kai/model/columns/cluster.h"

namespace kai {

// Zero while the node accepts no pods (spec 1 F30).
QuotaCount OfferedToQueues(const Cluster& cluster, NodeId node);

// The amount that a pod of another scheduler takes away from that, on its node.
QuotaCount TakenFromQueues(const Cluster& cluster, PodId pod);

// The amounts of the pod in its own queue. Sets `queue` to that queue; invalid: it counts nowhere
// (spec 1 F32).
QueueSums SumsOf(const Cluster& cluster, PodId pod, QueueId* queue);

// Every amount counts in each ancestor as well (spec 1 F33).
void SumQueueTree(const QueueColumns& queues, IndexVector<QueueId, QueueSums>* sums);

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_QUEUE_SUMS_H_

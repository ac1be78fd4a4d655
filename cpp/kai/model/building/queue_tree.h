// Queues: their trees, and the values from their objects, as columns.
//
//   KeepWholeQueueTrees(&kept, &w_.rejections);
//   WriteQueues(kept, &c_.names_, &w_.directory, &c_.queues_);
//
// Invariants: after KeepWholeQueueTrees() every parent exists, and no queue is its own ancestor.
// Cost: O(queues · log), and O(depth) for each queue that is left out. Not thread-safe.
#ifndef KAI_MODEL_BUILDING_QUEUE_TREE_H_
#define KAI_MODEL_BUILDING_QUEUE_TREE_H_

#include <vector>

#include "kai/base/interner.h"
#include "kai/model/building/directory.h"
#include "kai/model/columns/queue.h"
#include "kai/model/rows/rows.h"

namespace kai {

// Puts every queue that has a parent below one unlimited queue, and removes the others (spec 1
// F12).
void FlattenQueues(std::vector<QueueRow>* rows, std::vector<Rejection>* rejections);

// Removes queues below a missing parent or in a cycle (spec 1 F10, F11).
void KeepWholeQueueTrees(std::vector<QueueRow>* rows, std::vector<Rejection>* rejections);

// `rows`: complete trees, in the order of their ids.
void WriteQueues(const std::vector<QueueRow>& rows, Interner* names, Directory* directory,
                 QueueColumns* queues);

// Writes the values of a queue, except its place in the tree. The row of the queue must exist.
void WriteQuotas(const QueueRow& row, QueueId queue, Interner* names, QueueColumns* queues);

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_QUEUE_TREE_H_

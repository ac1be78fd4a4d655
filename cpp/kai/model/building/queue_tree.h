// Queues: which of them hang together, and what their owners wrote, as columns.
//
//   KeepWholeQueueTrees(&kept, &w_.rejections);
//   WriteQueues(kept, &c_.names_, &w_.directory, &c_.queues_);
//
// Invariants: after KeepWholeQueueTrees() every parent is there, and no queue is its own ancestor.
// Cost: O(queues · log), and O(depth) for each queue that is left out. Not thread-safe.
#ifndef KAI_MODEL_BUILDING_QUEUE_TREE_H_
#define KAI_MODEL_BUILDING_QUEUE_TREE_H_

#include <vector>

#include "kai/base/interner.h"
#include "kai/model/building/directory.h"
#include "kai/model/columns/queue.h"
#include "kai/model/rows/rows.h"

namespace kai {

// spec 1 F12: everything with a parent hangs below one unlimited queue; the rest goes.
void FlattenQueues(std::vector<QueueRow>* rows, std::vector<Rejection>* rejections);

// Leaves out what hangs below a parent that is missing, or in a cycle (spec 1 F10, F11).
void KeepWholeQueueTrees(std::vector<QueueRow>* rows, std::vector<Rejection>* rejections);

// `rows` are whole trees, in the order in which they get their ids.
void WriteQueues(const std::vector<QueueRow>& rows, Interner* names, Directory* directory,
                 QueueColumns* queues);

// What the owner of a queue wrote, but for its place in the tree. Its row is there already.
void WriteQuotas(const QueueRow& row, QueueId queue, Interner* names, QueueColumns* queues);

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_QUEUE_TREE_H_

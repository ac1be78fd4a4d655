// Writes one node into the columns, step by step.
//
//   NameNode(row, facts, node, &c_.names_, &nodes);
//   w_.OfferNode(node, row, facts);       // SetAllocatable()
//   w_.ClassifyNode(node, row, facts);    // NodeClassOf()
//
// Invariants: a node's class contains everything that static filters read. Cost: O(labels and
// resources of the row). Not thread-safe.
#ifndef KAI_MODEL_BUILDING_NODE_WRITER_H_
#define KAI_MODEL_BUILDING_NODE_WRITER_H_

#include <string_view>

#include "kai/base/interner.h"
#include "kai/model/building/node_facts.h"
#include "kai/model/building/node_labels.h"
#include "kai/model/columns/node.h"
#include "kai/model/columns/resources.h"
#include "kai/model/rows/rows.h"

namespace kai {

// The number of devices that KAI does not count as GPUs. Their resource stays, because the pods of
// one vendor need the nodes of that vendor.
int64_t OtherAccelerators(const ResourceAmounts& amounts);

// Whether these labels are in the node pool of the shard (spec 1 F9, spec 5 A32); for nodes, queues
// and pod groups.
bool IsInPool(const StringPairs& labels, const ShardParams& params);
// Whether the shard schedules on the node.
bool IsOurs(const NodeRow& row, const ShardParams& params);

// For the next two functions, the row of the node must exist.
void NameNode(const NodeRow& row, const NodeFacts& facts, NodeId node, Interner* names,
              NodeColumns* nodes);
// `more_gpus`: other accelerators that count as GPUs. `dra_gpus`: GPUs from resource slices (spec 3
// N1).
void SetAllocatable(const NodeRow& row, const NodeFacts& facts, int64_t more_gpus, int64_t dra_gpus,
                    const ResourceSlots& slots, NodeId node, NodeColumns* nodes);

NodeClass NodeClassOf(const NodeRow& row, const NodeFacts& facts, int64_t dra_gpus,
                      const NodeLabels& labels, const LabelSet& picked, double gpus,
                      Interner* names);

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_NODE_WRITER_H_

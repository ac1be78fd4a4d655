// SharedGpuLists: which GPUs of which nodes pods share, by the names of their groups.
//
//   SharedGpuLists shared;
//   shared.Note(*draft.row, draft.node);    // of every pod that shares
//   shared.Write(&c_.names_, &c_.nodes_);
//   shared.Of(*draft.row, draft.node)
//
// Invariants: a node's list goes by name. Cost: O(groups of the pod · log). Not thread-safe.
#ifndef KAI_MODEL_BUILDING_SHARED_GPU_LISTS_H_
#define KAI_MODEL_BUILDING_SHARED_GPU_LISTS_H_

#include <map>
#include <string_view>
#include <utility>

#include "kai/base/interner.h"
#include "kai/model/columns/node.h"
#include "kai/model/rows/rows.h"

namespace kai {

class SharedGpuLists {
 public:
  // The row has to outlive the lists.
  void Note(const PodRow& row, NodeId node);
  void Write(Interner* names, NodeColumns* nodes);
  GpuList Of(const PodRow& row, NodeId node) const;

 private:
  // Places in their nodes' lists.
  std::map<std::pair<NodeId, std::string_view>, int32_t> places_;
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_SHARED_GPU_LISTS_H_

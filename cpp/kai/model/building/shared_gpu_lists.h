// SharedGpuLists: the GPUs that pods share on each node, by the names of their groups.
//
//   SharedGpuLists shared;
//   shared.Note(draft.gpu_groups(), draft.node);    // of every pod that shares
//   shared.Write(&c_.names_, &c_.nodes_);
//   shared.Of(draft.gpu_groups(), draft.node)
//
// Invariants: a node's list is sorted by name. Cost: O(groups of the pod · log). Not thread-safe.
#ifndef KAI_MODEL_BUILDING_SHARED_GPU_LISTS_H_
#define KAI_MODEL_BUILDING_SHARED_GPU_LISTS_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/base/interner.h"
#include "kai/model/columns/node.h"
#include "kai/model/rows/rows.h"

namespace kai {

class SharedGpuLists {
 public:
  // The names must live longer than the lists.
  void Note(const std::vector<std::string>& groups, NodeId node);
  void Write(Interner* names, NodeColumns* nodes);
  GpuList Of(const std::vector<std::string>& groups, NodeId node) const;

 private:
  // Positions in the lists of their nodes.
  std::map<std::pair<NodeId, std::string_view>, int32_t> places_;
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_SHARED_GPU_LISTS_H_

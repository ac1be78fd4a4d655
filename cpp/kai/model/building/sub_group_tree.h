// SubGroupTree: the sets of sub-groups and the pod sets of one pod group (spec 2 G5).
//
//   const SubGroupTree tree = SubGroupTreeOf(spec);
//   if (!tree.problem.empty())    // the sets are those of KAI's built-in tree
//   tree.sets.size()
//
// Invariants: the root is first, every set comes after its parent, and siblings are sorted by name.
// Cost: O(sub-groups · log). Threads: a pure function.
#ifndef KAI_MODEL_BUILDING_SUB_GROUP_TREE_H_
#define KAI_MODEL_BUILDING_SUB_GROUP_TREE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kai/model/rows/rows.h"

namespace kai {

struct SubGroupTree {
  struct Set {
    int32_t parent = -1;  // in `sets`
    std::string_view name = {};
    bool is_pod_set = false;
    int32_t minimum = 1;                              // pods of a pod set; else direct children
    bool minimum_given = false;                       // else a set needs all its children
    const TopologyConstraintRow* topology = nullptr;  // points into the row
  };
  std::vector<Set> sets;  // breadth first, siblings by name
  std::string problem;
};

SubGroupTree SubGroupTreeOf(const PodGroupSpecRow& row);

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_SUB_GROUP_TREE_H_

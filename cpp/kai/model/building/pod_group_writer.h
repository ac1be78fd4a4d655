// PodGroupWriter: writes one pod group and its tree of sub-groups into the columns.
//
//   const PodGroupId group = w_.pod_groups->Add(*row);
//   w_.creation.Add(group);
//
// Invariants: a group with an unknown queue keeps priority 0 and is not preemptible (spec 2 G3); a
// group with an invalid tree has KAI's built-in tree. Cost: O(sub-groups · log). Not thread-safe.
#ifndef KAI_MODEL_BUILDING_POD_GROUP_WRITER_H_
#define KAI_MODEL_BUILDING_POD_GROUP_WRITER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "kai/model/building/directory.h"
#include "kai/model/building/topology_writer.h"
#include "kai/model/columns/pod_group.h"
#include "kai/model/rows/rows.h"

namespace kai {

struct SubGroupTree;

class PriorityClasses {
 public:
  explicit PriorityClasses(const std::vector<PriorityClassRow>& rows);
  // The priority of a pod group with this class (spec 2 G4).
  int64_t ValueOf(const std::string& name) const;

 private:
  absl::flat_hash_map<std::string, int64_t> values_;
  int64_t default_value_;
};

// True: the group had one attempt in this node pool and has used it (spec 2 G2).
bool HasUsedItsTry(const PodGroupSpecRow& row, const ShardParams& params);

class PodGroupWriter {
 public:
  struct Surroundings {
    const ShardParams* params;
    const PriorityClasses* priorities;
    Interner* names;
    Directory* directory;
    TopologyWriter* topologies;
    std::vector<Rejection>* rejections;
    uint64_t seed = 0;  // ClusterRows::numbering_seed
  };
  PodGroupWriter(const Surroundings& at, PodGroupColumns* groups, SubGroupColumns* sets)
      : at_(at), groups_(*groups), sets_(*sets) {}

  PodGroupId Add(const CompactPodGroup& row);
  // Writes when the group started, became stale and lost pods, and its received service: all that
  // differs from one plan to the next.
  void Stamp(const CompactPodGroup& row, PodGroupId group);

 private:
  void AddSets(PodGroupId group, const SubGroupTree& tree, const DomainCountRow* domain_count);

  Surroundings at_;
  PodGroupColumns& groups_;
  SubGroupColumns& sets_;
  // For the tree that is being added: its sets, and the pod sets by name.
  std::vector<SubGroupId> ids_;
  std::vector<std::pair<std::string_view, SubGroupId>> pod_sets_;
};

// Decides ties between pod groups: the older first, then the lower name (without namespace: KAI's
// UID), then the namespace.
class CreationOrder {
 public:
  CreationOrder(const Interner& names, PodGroupColumns* groups)
      : groups_(*groups), order_(IsBefore{&names, groups}) {}

  // Ranks a new group between its neighbours. From time to time all groups are ranked again.
  void Add(PodGroupId group);
  // The columns of the group must not have changed before.
  void Remove(PodGroupId group) { order_.erase(group); }
  // Ranks all groups, when none is ranked yet.
  void AddAll();

 private:
  struct IsBefore {
    const Interner* names;
    const PodGroupColumns* groups;
    bool operator()(PodGroupId a, PodGroupId b) const;
  };
  static constexpr int64_t kGap = int64_t{1} << 20;  // between neighbours

  void Rank();

  PodGroupColumns& groups_;
  absl::btree_set<PodGroupId, IsBefore> order_;
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_POD_GROUP_WRITER_H_

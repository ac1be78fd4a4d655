// The columns of pod groups and of the trees of sub-groups inside them.
//
//   const SubGroupColumns& sets = cluster.sub_groups();
//   if (sets.is_pod_set[set] != 0) return StrCat(name, ":", sets.minimum[set]);
//
// Every pod group has a root set. Below it are sets, and pod sets as leaves (spec 2 G5). A group
// without sub-groups is a root with one pod set with the name "default".
//
// Invariants: only a Statement changes `counts`; everything else is as the cluster was built. Cost:
// an access to an array. Threads: many readers while no statement is open.
#ifndef KAI_MODEL_COLUMNS_POD_GROUP_H_
#define KAI_MODEL_COLUMNS_POD_GROUP_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kai/base/index_vector.h"
#include "kai/model/columns/ids.h"
#include "kai/model/columns/pod_status.h"
#include "kai/model/rows/pod_group_row.h"

namespace kai {

// A part of a list of ids; the owner keeps the list in one array.
struct Span32 {
  int32_t begin = 0;
  int32_t end = 0;

  int32_t size() const { return end - begin; }
  // That part of `list`.
  template <typename T>
  std::span<const T> Of(const std::vector<T>& list) const {
    return std::span(list).subspan(static_cast<size_t>(begin), static_cast<size_t>(size()));
  }
  friend bool operator==(const Span32&, const Span32&) = default;
};

// The number of pods of a pod set, by status.
struct StatusCounts {
  std::array<int32_t, kPodStatuses> pods{};
  int32_t evicted_again = 0;  // as in KAI: each makes alive() smaller (decision 0008)

  int32_t& operator[](PodStatus status) { return pods[static_cast<size_t>(status)]; }
  int32_t operator[](PodStatus status) const { return pods[static_cast<size_t>(status)]; }
  // The groups of pod_status.h, written out, because every comparison of pod groups computes these
  // sums.
  int32_t allocated() const {
    return (*this)[PodStatus::kAllocated] + (*this)[PodStatus::kBinding] +
           (*this)[PodStatus::kBound] + (*this)[PodStatus::kRunning];
  }
  int32_t active_allocated() const { return allocated() + (*this)[PodStatus::kPipelined]; }
  int32_t active_used() const {
    return active_allocated() + (*this)[PodStatus::kReleasing] +
           (*this)[PodStatus::kStuckInReleasing];
  }
  int32_t alive() const {
    return active_allocated() + (*this)[PodStatus::kPending] + (*this)[PodStatus::kGated] -
           evicted_again;
  }
  friend bool operator==(const StatusCounts&, const StatusCounts&) = default;
};

// The elastic state of a pod group (spec 1 F73): some pod set below its minimum, all exactly at it,
// or some above.
enum class ElasticState : uint8_t { kBelow, kAt, kAbove };

struct SubGroupColumns {
  IndexVector<SubGroupId, NameId> name;
  IndexVector<SubGroupId, PodGroupId> group;
  IndexVector<SubGroupId, SubGroupId> parent;  // invalid for the root
  IndexVector<SubGroupId, uint8_t> is_pod_set;
  IndexVector<SubGroupId, int32_t> minimum;        // pod sets: in pods; sets: in direct children
  IndexVector<SubGroupId, uint8_t> minimum_given;  // sets: has minSubGroup; else all children
  IndexVector<SubGroupId, TopologyConstraintId> topology;  // invalid: none
  IndexVector<SubGroupId, Span32> children;                // of `child_list`, by name
  IndexVector<SubGroupId, Span32> pods;                    // of `pod_list`, by age, then UID
  std::vector<SubGroupId> child_list;
  std::vector<PodId> pod_list;
  std::vector<SubGroupId> labelled;   // pod sets with a pod with a label that a pod order uses
  std::vector<SubGroupId> completed;  // pod sets with a succeeded pod
  IndexVector<SubGroupId, StatusCounts> counts;  // pod sets only

  std::span<const SubGroupId> ChildrenOf(SubGroupId set) const {
    return children[set].Of(child_list);
  }
  std::span<const PodId> PodsOf(SubGroupId pod_set) const { return pods[pod_set].Of(pod_list); }
  size_t size() const { return name.size(); }
  // The caller fills the new rows.
  void Resize(size_t size) {
    name.Resize(size);
    group.Resize(size);
    parent.Resize(size);
    is_pod_set.Resize(size);
    minimum.Resize(size);
    minimum_given.Resize(size);
    topology.Resize(size);
    children.Resize(size);
    pods.Resize(size);
    counts.Resize(size);
  }
};

// Lists of groups that actions read. They are made once, when a cluster is built, so that the cost
// of a cycle depends on the waiting groups and not on the running ones. Each list is sorted by age,
// then name (spec 1 F60).
struct PodGroupLists {
  // Groups with a waiting pod. No group joins this list during a cycle.
  std::vector<PodGroupId> waiting;
  // Preemptible groups in a leaf queue with a pod that holds a node.
  std::vector<PodGroupId> may_lose;
  IndexVector<QueueId, std::vector<PodGroupId>> may_lose_in;  // the same, by leaf queue
  // Bounds over all groups of a queue that may lose pods, so that searches need not check each of
  // them. After groups have left the list, the bounds may be wider than necessary.
  struct Bounds {
    int32_t lowest_priority = std::numeric_limits<int32_t>::max();
    int32_t highest_priority = std::numeric_limits<int32_t>::min();
    int64_t latest_start_ns = std::numeric_limits<int64_t>::min();
    bool youngest_first = true;  // the list is in the order in which groups become victims
    int32_t left = 0;            // groups that have left the list since the bounds were computed
  };
  IndexVector<QueueId, Bounds> bounds_in;
  // All groups except those that only run: only these, and groups that a cycle changes, can have a
  // message.
  std::vector<PodGroupId> notable;
};

struct PodGroupColumns {
  IndexVector<PodGroupId, NameId> namespace_name;
  IndexVector<PodGroupId, NameId> name;        // invalid: the group is gone
  IndexVector<PodGroupId, NameId> owner_name;  // name of its workload; invalid: unknown
  IndexVector<PodGroupId, QueueId> queue;      // invalid: the queue does not exist
  IndexVector<PodGroupId, NameId> queue_name;  // as written
  IndexVector<PodGroupId, int32_t> priority;
  IndexVector<PodGroupId, uint8_t> preemptible;
  IndexVector<PodGroupId, int64_t> created_ns;     // INT64_MIN: unknown
  IndexVector<PodGroupId, int64_t> creation_rank;  // of (created, name): the lower wins a tie
  IndexVector<PodGroupId, SubGroupId> root;
  IndexVector<PodGroupId, Span32> pod_sets;  // of `pod_set_list`, by name
  std::vector<SubGroupId> pod_set_list;
  IndexVector<PodGroupId, std::vector<PodId>> misfits;  // pods of unknown sub-groups (spec 2 G6)
  IndexVector<PodGroupId, uint8_t> backoff_prefix;      // messages name the node pool (spec 2 M2)
  IndexVector<PodGroupId, NameId> node_pool;            // its node-pool label, or "default"
  IndexVector<PodGroupId, int64_t> last_start_ns;       // INT64_MIN: none
  IndexVector<PodGroupId, int64_t> stale_since_ns;
  IndexVector<PodGroupId, int64_t> last_eviction_ns;
  IndexVector<PodGroupId, int64_t> estimate_ns;  // of its run time; -1: none
  IndexVector<PodGroupId, ServiceRow> service;
  IndexVector<PodGroupId, int64_t> preemption_delay_ns;  // 0: none
  IndexVector<PodGroupId, int64_t> staleness_grace_ns;   // or the shard's; negative: never
  IndexVector<PodGroupId, uint8_t> may_run;   // false: a waiting pod needs unknown namespaces
  IndexVector<PodGroupId, uint8_t> has_bare;  // a pod on a node would not be created again
  IndexVector<PodGroupId, ElasticState> elastic_state;  // as the cluster was built
  PodGroupLists lists;

  std::span<const SubGroupId> PodSetsOf(PodGroupId group) const {
    return pod_sets[group].Of(pod_set_list);
  }
  // Whether `a` becomes a victim before `b`, as the cluster was built: the lowest priority first,
  // then groups above their minimum, then the youngest (spec 1 F108).
  bool IsVictimBefore(PodGroupId a, PodGroupId b) const {
    if (priority[a] != priority[b]) return priority[a] < priority[b];
    if (elastic_state[a] != elastic_state[b]) return elastic_state[a] > elastic_state[b];
    return creation_rank[a] > creation_rank[b];
  }
  size_t size() const { return name.size(); }
};

inline std::vector<PodGroupId> InOrderOfCreation(const PodGroupColumns& groups) {
  std::vector<PodGroupId> order;
  order.reserve(groups.size());
  for (const PodGroupId group : groups.name.ids()) {
    if (groups.name[group].valid()) order.push_back(group);
  }
  std::ranges::sort(order, {}, [&](PodGroupId group) { return groups.creation_rank[group]; });
  return order;
}

}  // namespace kai

#endif  // KAI_MODEL_COLUMNS_POD_GROUP_H_

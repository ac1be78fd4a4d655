// The columns of queues, as their objects define them. fairshare/usage.h has their usage and
// deserved shares.
//
//   cluster.queues().ChildrenOf(QueueNamed(cluster, name))    // by name
//
// Invariants: trees are complete: every parent exists; nothing changes after the load. Cost: an
// access to an array. Threads: many readers.
#ifndef KAI_MODEL_COLUMNS_QUEUE_H_
#define KAI_MODEL_COLUMNS_QUEUE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kai/api/quota_count.h"
#include "kai/api/units.h"
#include "kai/base/index_vector.h"
#include "kai/model/columns/ids.h"
#include "kai/model/columns/pod_group.h"

namespace kai {

// The requests of the pods of a queue and of all queues below it, the resources that they hold, and
// the part held by non-preemptible pods (spec 1 F31-F33).
struct QueueSums {
  QuotaCount requested{};
  QuotaCount allocated{};
  QuotaCount allocated_non_preemptible{};

  QueueSums& operator+=(const QueueSums& more) {
    requested += more.requested;
    allocated += more.allocated;
    allocated_non_preemptible += more.allocated_non_preemptible;
    return *this;
  }
  QueueSums& operator-=(const QueueSums& less) {
    requested -= less.requested;
    allocated -= less.allocated;
    allocated_non_preemptible -= less.allocated_non_preemptible;
    return *this;
  }
  friend bool operator==(const QueueSums&, const QueueSums&) = default;
};

struct QueueColumns {
  IndexVector<QueueId, NameId> name;
  IndexVector<QueueId, int32_t> name_rank;    // position in the order of names
  IndexVector<QueueId, NameId> display_name;  // its name in messages
  IndexVector<QueueId, QueueId> parent;       // invalid: top level
  IndexVector<QueueId, Span32> children;      // of `child_list`, by name
  std::vector<QueueId> child_list;
  std::vector<QueueId> top_level;      // by name
  std::vector<QueueId> parents_first;  // every queue after its parent
  IndexVector<QueueId, int64_t> priority;
  IndexVector<QueueId, int64_t> created_ns;    // INT64_MIN: unknown
  IndexVector<QueueId, QuotaVector> deserved;  // millicores, bytes, devices; -1 unlimited
  IndexVector<QueueId, QuotaVector> limit;
  IndexVector<QueueId, QuotaVector> over_quota_weight;
  IndexVector<QueueId, QuotaVector> past_usage;  // parts of the capacity (spec 1 F119)
  IndexVector<QueueId, std::optional<int64_t>> preempt_min_runtime_ns;
  IndexVector<QueueId, std::optional<int64_t>> reclaim_min_runtime_ns;
  IndexVector<QueueId, QueueSums> sums;  // as the cluster was built

  std::span<const QueueId> ChildrenOf(QueueId queue) const {
    return children[queue].Of(child_list);
  }
  size_t size() const { return name.size(); }
  bool IsLeaf(QueueId queue) const { return children[queue].size() == 0; }
};

}  // namespace kai

#endif  // KAI_MODEL_COLUMNS_QUEUE_H_

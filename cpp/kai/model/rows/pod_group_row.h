// PodGroupRow, QueueRow: pod groups with their sub-groups, queues, priority classes, as rows
// (rows.h).
//
//   PodGroupRow row;
//   row.queue = std::move(queue);
//
// Invariants: nothing is checked yet. Cost: plain data. Threads: plain data.
#ifndef KAI_MODEL_ROWS_POD_GROUP_ROW_H_
#define KAI_MODEL_ROWS_POD_GROUP_ROW_H_

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kai/api/units.h"
#include "kai/model/rows/terms.h"

namespace kai {

struct TopologyConstraintRow {
  std::string topology;
  std::string required_level;
  std::string preferred_level;

  friend bool operator==(const TopologyConstraintRow&, const TopologyConstraintRow&) = default;
};

// The number of domains of its preferred level that a pod group should use, from its annotations.
struct DomainCountRow {
  int64_t least = 0;
  int64_t most = 0;  // 0: any number
  bool balanced = false;

  bool Any() const { return least > 1 || most > 0 || balanced; }

  friend bool operator==(const DomainCountRow&, const DomainCountRow&) = default;
};

struct SubGroupRow {
  std::string name;
  std::optional<std::string> parent;
  std::optional<int64_t> min_member;
  std::optional<int64_t> min_sub_group;
  TopologyConstraintRow topology;

  friend bool operator==(const SubGroupRow&, const SubGroupRow&) = default;
};

// The service that a pod group has received up to `until_ns`, from an annotation. After that time,
// the resources that it holds are added.
struct ServiceRow {
  int64_t run_ns = 0;  // time during which some of its pods held nodes
  int64_t gpu_ns = 0;  // the same, times the GPUs that they held
  int64_t until_ns = std::numeric_limits<int64_t>::min();
  int32_t evictions = 0;  // number of times it lost pods

  friend bool operator==(const ServiceRow&, const ServiceRow&) = default;
};

// The fields of a pod group that no other one has: its names, times and history.
struct PodGroupIdentityRow {
  std::string namespace_name;
  std::string name;
  std::string owner_name;  // of the workload that the group was made for; empty: unknown
  std::optional<int64_t> created_ns;
  std::optional<int64_t> last_start_ns;  // annotations of spec 2 G16
  std::optional<int64_t> stale_since_ns;
  std::optional<int64_t> last_eviction_ns;
  std::optional<int64_t> estimate_ns;  // how long its user expects it to run
  ServiceRow service;

  friend bool operator==(const PodGroupIdentityRow&, const PodGroupIdentityRow&) = default;
};

// The fields that many pod groups have in common.
struct PodGroupSpecRow {
  StringPairs labels;  // only the node-pool label is used
  std::string queue;
  std::string priority_class;
  std::string preemptibility;
  std::optional<int64_t> min_member;
  std::optional<int64_t> min_sub_group;
  std::vector<SubGroupRow> sub_groups;
  TopologyConstraintRow topology;
  DomainCountRow domain_count;
  std::optional<int64_t> preemption_delay_ns;
  std::optional<int64_t> staleness_grace_ns;
  std::optional<int64_t> scheduling_backoff;
  bool mark_unschedulable = true;
  std::string latest_condition_node_pool;  // of status.schedulingConditions, highest transitionID;
                                           // empty: no condition

  friend bool operator==(const PodGroupSpecRow&, const PodGroupSpecRow&) = default;
};

struct PodGroupRow : PodGroupIdentityRow, PodGroupSpecRow {
  PodGroupRow();
  PodGroupRow(const PodGroupRow&);
  PodGroupRow(PodGroupRow&&) noexcept;
  PodGroupRow& operator=(const PodGroupRow&);
  PodGroupRow& operator=(PodGroupRow&&) noexcept;
  ~PodGroupRow();
  bool operator==(const PodGroupRow&) const;
};

// quota, overQuotaWeight and limit of one resource, as written: gpu in devices, cpu in millicores,
// memory in megabytes (spec 1 F2).
struct QuotaRow {
  double quota = 0;
  double over_quota_weight = 0;
  double limit = 0;

  friend bool operator==(const QuotaRow&, const QuotaRow&) = default;
};

struct QueueRow {
  std::string name;
  std::string display_name;
  std::string parent;
  StringPairs labels;  // only the node-pool label is used
  std::optional<int64_t> created_ns;
  std::optional<int64_t> priority;
  std::array<QuotaRow, 3> resources;  // cpu, memory, gpu (the order of spec 1 F20)
  std::optional<int64_t> preempt_min_runtime_ns;
  std::optional<int64_t> reclaim_min_runtime_ns;
  QuotaVector past_usage = {};  // not a field of the object (PastUsages)

  friend bool operator==(const QueueRow&, const QueueRow&) = default;
};

// Past usage of queues, as fractions of the cluster's capacity (spec 1 F119); by name. A missing
// queue has used nothing.
using PastUsages = std::map<std::string, QuotaVector, std::less<>>;
inline bool IsPastUsage(double part) { return part >= 0 && std::isfinite(part); }

struct PriorityClassRow {
  std::string name;
  int64_t value = 0;
  bool global_default = false;

  friend bool operator==(const PriorityClassRow&, const PriorityClassRow&) = default;
};

}  // namespace kai

#endif  // KAI_MODEL_ROWS_POD_GROUP_ROW_H_

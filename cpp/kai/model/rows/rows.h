// Rows: Kubernetes objects, reduced to the fields that the scheduler uses, in exact integers, with
// names as text. Ingest makes them.
//
//   NodeRow row = MakeNodeRow("n1", {.gpus = 2});
//   row.allocatable.emplace_back("amd.com/gpu", 3);
//   const auto cluster = MakeCluster().Add(row).Build();
//
// Invariants: a row contains what its object contains: an absent field stays absent (nullopt,
// empty). Only the code that builds the cluster adds defaults and checks values. Cost: plain data.
// The special members of the largest rows are in rows.cc, because inline they took much of the
// compile time of every file. Threads: plain data.
#ifndef KAI_MODEL_ROWS_ROWS_H_
#define KAI_MODEL_ROWS_ROWS_H_

#include <cstdint>
#include <string>

#include "kai/model/rows/claim_rows.h"
#include "kai/model/rows/compact_rows.h"
#include "kai/model/rows/node_row.h"
#include "kai/model/rows/pod_group_row.h"
#include "kai/model/rows/pod_row.h"
#include "kai/model/rows/storage_rows.h"
#include "kai/model/rows/terms.h"

namespace kai {

struct ConfigMapRow {
  std::string namespace_name;
  std::string name;

  friend bool operator==(const ConfigMapRow&, const ConfigMapRow&) = default;
};

struct NamespaceRow {
  std::string name;
  StringPairs labels;

  friend bool operator==(const NamespaceRow&, const NamespaceRow&) = default;
};

// The scheduler's command line as a snapshot stores it (spec 2 L3, L7). The initial values are the
// defaults of the flags: they apply when the whole object is missing. If the object exists but
// lacks a member, the member has Go's zero value, which the reader of `schedulerParams` fills in.
struct ShardParams {
  std::string scheduler_name = "kai-scheduler";
  bool restrict_node_scheduling = false;
  std::string node_pool_label_key = "kai.scheduler/node-pool";
  std::string node_pool_label_value;
  int64_t max_consolidation_preemptees = 16;
  bool schedule_csi_storage = false;
  bool use_scheduling_signatures = true;
  bool full_hierarchy_fairness = true;
  bool allow_consolidating_reclaim = true;
  int64_t default_staleness_grace_ns = 60'000'000'000;
  int64_t stuck_in_releasing_threshold_ns = 120'000'000'000;
  bool detailed_fit_errors = false;
  std::string queue_label_key = "kai.scheduler/queue";
  // Not in KAI: how devices count as GPUs.
  bool count_mig_as_parts = false;      // a MIG slice as its part of a GPU
  bool count_all_accelerators = false;  // devices of every vendor (accelerators.h)
};

}  // namespace kai

#endif  // KAI_MODEL_ROWS_ROWS_H_

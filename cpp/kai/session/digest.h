// A plan summarised for a page: counts of decisions, the decisions by pod group or queue, and the
// waiting groups by the reasons why they wait. A page has few rows at any cluster size.
//   const PlanCounts counts = PageCountsOf(plan);
//   DecisionRowsOf(plan, TableOf(plan), most)      // a row per pod group, or per queue
//
// Invariants: rows depend on the plan alone; a row's position is that of the first decision or
// group that it counts. Cost: O(decisions), and O(groups + pods) for the waiting groups. Threads:
// pure functions of a plan that does not change.
#ifndef KAI_SESSION_DIGEST_H_
#define KAI_SESSION_DIGEST_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/session/decision_table.h"
#include "kai/session/plan.h"

namespace kai {

struct PlanCounts {
  std::array<int64_t, 3> decisions = {};  // indexed like DecisionTable::kKinds
  int64_t groups = 0;
  int64_t waiting = 0;  // groups with pods that have no place after the cycle
};
PlanCounts PageCountsOf(const Plan& plan);
// True if a group with this verdict has pods that have no place after the cycle.
bool IsWaiting(Verdict verdict);

// Decisions of one kind about one pod group, or about the groups of one queue.
struct DecisionRow {
  int32_t kind = 0;   // index into DecisionTable::kKinds
  std::string group;  // the first group; the pod's name, if it has no group
  int64_t groups = 0;
  int64_t pods = 0;
  double gpus = 0;  // by device; MIG slices as queues count them
  // For evictions.
  std::string_view action;
  std::string for_group;
  // Where the pods go: the first nodes with their numbers of pods, and the number of all nodes.
  std::vector<std::pair<std::string, int64_t>> places;
  int64_t nodes = 0;
};

struct DecisionRows {
  std::vector<DecisionRow> rows;
  // What is counted in rows beyond `most`.
  int64_t hidden_pods = 0;
  int64_t hidden_groups = 0;
};
// The first `most` rows: one per pod group or, if that gives more than `most`, one per queue.
DecisionRows DecisionRowsOf(const Plan& plan, const DecisionTable& decisions, size_t most);

// Waiting groups with equal requests, equal progress and equal reasons, apart from their own names.
struct WaitingClass {
  std::vector<std::string> names;  // sorted
  // True if the groups are in different queues; these queues are all below the same queue with a
  // limit of GPUs, or none is limited.
  bool spans_queues = false;
};
// Sorted by the first name of each.
std::vector<WaitingClass> WaitingClassesOf(const Plan& plan);

}  // namespace kai

#endif  // KAI_SESSION_DIGEST_H_

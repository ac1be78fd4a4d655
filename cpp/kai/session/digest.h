// A plan in the rows of a page: how many of what was decided, the decisions by pod group or queue,
// and the groups that wait by what keeps them. However large the cluster is, a page has few rows.
//
//   const PlanCounts counts = PageCountsOf(plan);
//   DecisionRowsOf(plan, TableOf(plan), most)      // a row per pod group, or per queue
//
// Invariants: rows depend on the plan alone; each is where the first of what it counts is. Cost:
// O(decisions), and O(groups + pods) for those that wait. Threads: pure functions of a plan that
// does not change.
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
  std::array<int64_t, 3> decisions = {};  // by DecisionTable::kKinds
  int64_t groups = 0;
  int64_t waiting = 0;  // of these, groups with pods that have no place after the cycle
};
PlanCounts PageCountsOf(const Plan& plan);
// Whether a group of this verdict has pods that have no place after the cycle.
bool IsWaiting(Verdict verdict);

// Decisions of one kind about one pod group, or about the groups of one queue.
struct DecisionRow {
  int32_t kind = 0;   // of DecisionTable::kKinds
  std::string group;  // the first; the pod's name, where it is in none
  int64_t groups = 0;
  int64_t pods = 0;
  double gpus = 0;
  // Of evictions.
  std::string_view action;
  std::string for_group;
  // Where the pods go: the first nodes, with how many pods, and how many nodes there are.
  std::vector<std::pair<std::string, int64_t>> places;
  int64_t nodes = 0;
};

struct DecisionRows {
  std::vector<DecisionRow> rows;
  // What rows beyond `most` would count.
  int64_t hidden_pods = 0;
  int64_t hidden_groups = 0;
};
// By pod group; where those are more than `most` rows, by queue. The first `most` of them.
DecisionRows DecisionRowsOf(const Plan& plan, const DecisionTable& decisions, size_t most);

// Groups that wait and ask for the same, stand alike and have the same reasons, names of their own
// aside.
struct WaitingClass {
  std::vector<std::string> names;  // in order
  // Of different queues, of which none has a limit of GPUs, or all are below the same one.
  bool spans_queues = false;
};
// By the first name of each.
std::vector<WaitingClass> WaitingClassesOf(const Plan& plan);

}  // namespace kai

#endif  // KAI_SESSION_DIGEST_H_

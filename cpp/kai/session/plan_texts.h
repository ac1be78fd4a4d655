// A plan as sentences: KAI's events and conditions, and the message of every reason. A cycle makes
// no texts; callers make those that they show.
//
//   for (const std::string& message : EventsOf(plan, group)) ...
//   for (const ReportedReason& reason : ReasonsOf(plan, group)) {
//   MessageOf(plan, decision)
//
// Invariants: texts depend on the plan alone. Cost: a string for each. Threads: pure functions of a
// plan that does not change.
#ifndef KAI_SESSION_PLAN_TEXTS_H_
#define KAI_SESSION_PLAN_TEXTS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/session/plan.h"
#include "kai/texts/reason_facts.h"

namespace kai {

// The message of an eviction, which its pod gets (spec 2 R6, D7).
std::string MessageOf(const Plan& plan, const CycleLog::Decision& decision);

// The texts of the pod group's event and condition.
std::vector<std::string> EventsOf(const Plan& plan, PodGroupId group);

struct ReportedReason {
  std::string_view code;
  std::string message;
  PodId pod;                                     // invalid: the whole group
  std::optional<Reason> reason = {};             // empty: the pod is evicted
  const CycleLog::Decision* eviction = nullptr;  // the decision to evict it
};
// The reasons of its outcome; with `evictions`, followed by why its pods leave, by pod. Valid as
// long as the plan.
std::vector<ReportedReason> ReasonsOf(const Plan& plan, PodGroupId group, bool evictions = true);

// The facts of a reason (texts/reason_facts.h); for an eviction, its action and the pod group that
// it is for.
Facts FactsOf(const Plan& plan, const ReportedReason& reason, PodGroupId group);

// In the format of the annotation: "run=3600 gpu=28800 evictions=1 until=2026-01-01T00:00:00Z".
std::string ServiceText(const ServiceRow& service);

// The condition of every waiting pod, by name (spec 2 M2).
std::vector<std::pair<PodId, std::string>> ConditionsOf(const Plan& plan);

}  // namespace kai

#endif  // KAI_SESSION_PLAN_TEXTS_H_

// A plan in sentences: KAI's events and conditions, and the message beside every reason. A cycle
// makes none of them; the caller asks for what it shows.
//
//   for (const std::string& message : EventsOf(plan, group)) ...
//   for (const ToldReason& reason : ReasonsOf(plan, group)) {
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

// What an evicted pod is told: the text of a decision to evict (spec 2 R6, D7).
std::string MessageOf(const Plan& plan, const CycleLog::Decision& decision);

// The texts of the pod group's event and condition.
std::vector<std::string> EventsOf(const Plan& plan, PodGroupId group);

struct ToldReason {
  std::string_view code;
  std::string message;
  PodId pod;                                     // invalid: the group as a whole
  std::optional<Reason> reason = {};             // nothing: the pod is evicted,
  const CycleLog::Decision* eviction = nullptr;  // by this decision
};
// Those of its outcome, then, with `evictions`, why pods of it leave, by pod. Good as long as the
// plan.
std::vector<ToldReason> ReasonsOf(const Plan& plan, PodGroupId group, bool evictions = true);

// What a told reason speaks of (texts/reason_facts.h); of an eviction its action, and the pod group
// it is for.
Facts FactsOf(const Plan& plan, const ToldReason& reason, PodGroupId group);

// As the annotation has it: "run=3600 gpu=28800 evictions=1 until=2026-01-01T00:00:00Z".
std::string ServiceText(const ServiceRow& service);

// The condition of every waiting pod, by name (spec 2 M2).
std::vector<std::pair<PodId, std::string>> ConditionsOf(const Plan& plan);

}  // namespace kai

#endif  // KAI_SESSION_PLAN_TEXTS_H_

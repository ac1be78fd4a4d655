// Matchers and printers for plans.
//
//   EXPECT_THAT(plan, PlanIs(Binds("vision/train-0", "n1"), Pipelines("speech/bulk", "n2")));
//   EXPECT_THAT(plan, PlanIs());                                    // no decisions
//   EXPECT_THAT(plan, HasVerdict("vision/train", Verdict::kUnschedulable));
//   EXPECT_THAT(plan, HasMessage("vision/train", HasSubstr("GPUs")));
//
// PlanIs() lists all decisions in order. The name of a pod matches one decision; the name of a pod
// group matches all adjacent decisions about its pods; Binds(3, ...) matches exactly three of them.
#ifndef KAI_TESTING_MATCHERS_MATCHERS_H_
#define KAI_TESTING_MATCHERS_MATCHERS_H_

#include <gmock/gmock.h>

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "kai/session/plan_texts.h"

namespace kai {

// One expectation of PlanIs().
struct ExpectedDecision {
  CycleLog::Decision::Kind kind = CycleLog::Decision::Kind::kBind;
  int count = 0;     // 0: one for a pod, one or more for a pod group
  std::string name;  // "ns/pod" or "ns/group"
  std::string node;  // "": any
};

ExpectedDecision Binds(std::string name, std::string node = "");
ExpectedDecision Binds(int count, std::string group, std::string node = "");
ExpectedDecision Pipelines(std::string name, std::string node = "");
ExpectedDecision Pipelines(int count, std::string group, std::string node = "");
ExpectedDecision Evicts(std::string name);
ExpectedDecision Evicts(int count, std::string group);

testing::Matcher<const Plan&> PlanIsList(std::vector<ExpectedDecision> expected);
template <typename... Expected>
testing::Matcher<const Plan&> PlanIs(Expected... expected) {
  return PlanIsList({std::move(expected)...});
}

testing::Matcher<const Plan&> HasVerdict(std::string group, Verdict verdict);
// The text of the pod group's event; empty if it has none.
testing::Matcher<const Plan&> HasMessage(std::string group, testing::Matcher<std::string> text);
// One of the pod group's reasons has this code.
testing::Matcher<const Plan&> Reasons(std::string group, std::string_view code);

// "bind vision/train-0 on n1", one line per decision.
std::string DecisionsText(const Plan& plan);
// The outcome of a pod group as texts.
struct ReportedOutcome {
  Verdict verdict = Verdict::kRunning;
  std::vector<std::string> events;
  std::vector<ReportedReason> reasons;
  GroupStamps writes;
};
ReportedOutcome OutcomeOf(const Plan& plan, std::string_view group);

// For Google Test.
void PrintTo(const Plan& plan, std::ostream* out);
void PrintTo(Verdict verdict, std::ostream* out);

}  // namespace kai

#endif  // KAI_TESTING_MATCHERS_MATCHERS_H_

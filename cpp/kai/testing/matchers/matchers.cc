#include "kai/testing/matchers/matchers.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "kai/base/text.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai {
namespace {

using Kind = CycleLog::Decision::Kind;

std::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kBind:
      return "bind";
    case Kind::kPipeline:
      return "pipeline";
    case Kind::kEvict:
      return "evict";
  }
  return "?";
}

std::string DecisionText(const Plan& plan, const CycleLog::Decision& decision) {
  std::string text = StrCat(KindName(decision.kind), " ", plan.cluster->PodName(decision.pod));
  if (decision.node.valid()) {
    StrAppend(&text, " on ", plan.cluster->Text(plan.cluster->nodes().name[decision.node]));
  }
  return text;
}

std::string ExpectedText(const ExpectedDecision& expected) {
  std::string text = StrCat(KindName(expected.kind), " ");
  if (expected.count > 0) StrAppend(&text, expected.count, " of ");
  StrAppend(&text, expected.name);
  if (!expected.node.empty()) StrAppend(&text, " on ", expected.node);
  return text;
}

bool Fits(const Plan& plan, const ExpectedDecision& expected, const CycleLog::Decision& decision) {
  const Cluster& cluster = *plan.cluster;
  if (decision.kind != expected.kind) return false;
  if (!expected.node.empty() &&
      (!decision.node.valid() ||
       cluster.Text(cluster.nodes().name[decision.node]) != expected.node)) {
    return false;
  }
  if (expected.count == 0 && cluster.PodName(decision.pod) == expected.name) return true;
  const PodGroupId group = cluster.pods().group[decision.pod];
  return group.valid() && cluster.PodGroupName(group) == expected.name;
}

// How many decisions from `begin` on match an expectation; 0 if it is not met.
size_t Take(const Plan& plan, const ExpectedDecision& expected, size_t begin) {
  const auto& decisions = plan.decisions;
  size_t end = begin;
  while (end < decisions.size() && Fits(plan, expected, decisions[end])) {
    ++end;
    if (expected.count > 0 && end - begin == static_cast<size_t>(expected.count))
      return end - begin;
    if (plan.cluster->PodName(decisions[begin].pod) == expected.name) return 1;
  }
  return expected.count > 0 ? 0 : end - begin;
}

class PlanIsMatcher {
 public:
  using is_gtest_matcher = void;

  explicit PlanIsMatcher(std::vector<ExpectedDecision> expected) : expected_(std::move(expected)) {}

  bool MatchAndExplain(const Plan& plan, testing::MatchResultListener* listener) const {
    size_t at = 0;
    for (const ExpectedDecision& expected : expected_) {
      const size_t taken = Take(plan, expected, at);
      if (taken == 0) {
        *listener << "no \"" << ExpectedText(expected) << "\" at decision " << at;
        return false;
      }
      at += taken;
    }
    if (at == plan.decisions.size()) return true;
    *listener << "decision " << at
              << " and all after it are not expected: " << DecisionText(plan, plan.decisions[at]);
    return false;
  }

  void DescribeTo(std::ostream* out) const {
    *out << "decides";
    for (const ExpectedDecision& each : expected_) *out << "\n  " << ExpectedText(each);
    if (expected_.empty()) *out << " nothing";
  }
  void DescribeNegationTo(std::ostream* out) const {
    *out << "is any other plan than one that ";
    DescribeTo(out);
  }

 private:
  std::vector<ExpectedDecision> expected_;
};

MATCHER_P2(HasVerdictMatcher, group, verdict, "") {
  const Verdict found = OutcomeOf(arg, group).verdict;
  *result_listener << group << " is " << VerdictName(found);
  return found == verdict;
}

MATCHER_P2(HasMessageMatcher, group, text, "") {
  const std::vector<std::string>& events = OutcomeOf(arg, group).events;
  return testing::ExplainMatchResult(text, events.empty() ? std::string() : events.front(),
                                     result_listener);
}

MATCHER_P2(ReasonsMatcher, group, code, "") {
  const std::vector<ReportedReason> reasons = OutcomeOf(arg, group).reasons;
  for (const ReportedReason& reason : reasons) *result_listener << "[" << reason.code << "] ";
  return std::ranges::find(reasons, code, &ReportedReason::code) != reasons.end();
}

}  // namespace

ExpectedDecision Binds(std::string name, std::string node) {
  return {Kind::kBind, 0, std::move(name), std::move(node)};
}
ExpectedDecision Binds(int count, std::string group, std::string node) {
  return {Kind::kBind, count, std::move(group), std::move(node)};
}
ExpectedDecision Pipelines(std::string name, std::string node) {
  return {Kind::kPipeline, 0, std::move(name), std::move(node)};
}
ExpectedDecision Pipelines(int count, std::string group, std::string node) {
  return {Kind::kPipeline, count, std::move(group), std::move(node)};
}
ExpectedDecision Evicts(std::string name) { return {Kind::kEvict, 0, std::move(name), ""}; }
ExpectedDecision Evicts(int count, std::string group) {
  return {Kind::kEvict, count, std::move(group), ""};
}

testing::Matcher<const Plan&> PlanIsList(std::vector<ExpectedDecision> expected) {
  return PlanIsMatcher(std::move(expected));
}
testing::Matcher<const Plan&> HasVerdict(std::string group, Verdict verdict) {
  return HasVerdictMatcher(std::move(group), verdict);
}
testing::Matcher<const Plan&> HasMessage(std::string group, testing::Matcher<std::string> text) {
  return HasMessageMatcher(std::move(group), std::move(text));
}
testing::Matcher<const Plan&> Reasons(std::string group, std::string_view code) {
  return ReasonsMatcher(std::move(group), std::string(code));
}

std::string DecisionsText(const Plan& plan) {
  std::string text;
  for (const CycleLog::Decision& decision : plan.decisions) {
    StrAppend(&text, DecisionText(plan, decision), "\n");
  }
  return text;
}

ReportedOutcome OutcomeOf(const Plan& plan, std::string_view group) {
  const PodGroupId id = PodGroupNamed(*plan.cluster, group);
  const GroupOutcome& outcome = plan.OutcomeOf(id);
  return {.verdict = outcome.verdict,
          .events = EventsOf(plan, id),
          .reasons = ReasonsOf(plan, id),
          .writes = outcome.writes};
}

void PrintTo(const Plan& plan, std::ostream* out) {
  *out << (plan.decisions.empty() ? "a plan that decides nothing"
                                  : "a plan that decides\n" + DecisionsText(plan));
}
void PrintTo(Verdict verdict, std::ostream* out) { *out << VerdictName(verdict); }

}  // namespace kai

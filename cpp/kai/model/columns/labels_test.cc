#include "kai/model/columns/labels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace kai::labels_test {
namespace {

// Builds labels, requirements and tolerations from texts, with one interner.
class LabelsTest : public ::testing::Test {
 protected:
  LabelSet Labels(const StringPairs& pairs) {
    LabelSet labels;
    for (const auto& [key, value] : pairs) {
      labels.push_back({names_.Intern(key), names_.Intern(value)});
    }
    std::sort(labels.begin(), labels.end());
    return labels;
  }

  // Whether `zone <op> values` holds for a node whose zone is `zone`; null: it has no zone.
  bool Holds(SelectorOp op, std::vector<std::string> values, const char* zone) {
    const Requirement requirement = InternRequirement({"zone", op, std::move(values)}, &names_);
    return Matches(requirement, zone == nullptr ? NameId() : names_.Intern(zone), names_);
  }

  NodeTerm Term(const std::vector<SelectorRequirement>& expressions,
                const std::vector<SelectorRequirement>& fields = {}) {
    NodeTerm term;
    for (const auto& each : expressions) {
      term.expressions.push_back(InternRequirement(each, &names_));
    }
    for (const auto& each : fields) term.fields.push_back(InternRequirement(each, &names_));
    return term;
  }

  bool DoesMatchNode(const NodeConstraint& constraint, const StringPairs& labels) {
    return MatchesNode(constraint, Labels(labels), names_.Intern("n1"), names_);
  }

  bool IsTolerated(const Toleration& toleration, const Taint& taint) {
    const InternedToleration interned = {
        .key = toleration.key.empty() ? NameId() : names_.Intern(toleration.key),
        .exists = toleration.exists,
        .value = names_.Intern(toleration.value),
        .effect = toleration.effect};
    const InternedTaint on_node = {.key = names_.Intern(taint.key),
                                   .value = names_.Intern(taint.value),
                                   .effect = taint.effect};
    return Tolerates(std::vector<InternedToleration>{interned}, on_node);
  }

  Interner names_;
};

TEST_F(LabelsTest, FindLabelGivesTheValueOrNothing) {
  const LabelSet labels = Labels({{"zone", "east"}, {"model", "a100"}});
  EXPECT_EQ(FindLabel(labels, names_.Intern("zone")), names_.Intern("east"));
  EXPECT_EQ(FindLabel(labels, names_.Intern("model")), names_.Intern("a100"));
  EXPECT_FALSE(FindLabel(labels, names_.Intern("rack")).valid());
  EXPECT_FALSE(FindLabel({}, names_.Intern("zone")).valid());
}

TEST_F(LabelsTest, InNeedsOneOfTheValues) {
  EXPECT_TRUE(Holds(SelectorOp::kIn, {"west", "east"}, "east"));
  EXPECT_FALSE(Holds(SelectorOp::kIn, {"west", "east"}, "north"));
  EXPECT_FALSE(Holds(SelectorOp::kIn, {"west", "east"}, nullptr));
  EXPECT_FALSE(Holds(SelectorOp::kIn, {}, "east"));
}

TEST_F(LabelsTest, NotInAcceptsAMissingKey) {
  EXPECT_FALSE(Holds(SelectorOp::kNotIn, {"west", "east"}, "east"));
  EXPECT_TRUE(Holds(SelectorOp::kNotIn, {"west", "east"}, "north"));
  EXPECT_TRUE(Holds(SelectorOp::kNotIn, {"west", "east"}, nullptr));
}

TEST_F(LabelsTest, ExistsChecksOnlyTheKey) {
  EXPECT_TRUE(Holds(SelectorOp::kExists, {}, ""));
  EXPECT_FALSE(Holds(SelectorOp::kExists, {}, nullptr));
  EXPECT_FALSE(Holds(SelectorOp::kDoesNotExist, {}, "east"));
  EXPECT_TRUE(Holds(SelectorOp::kDoesNotExist, {}, nullptr));
}

TEST_F(LabelsTest, GtAndLtCompareWholeNumbers) {
  EXPECT_TRUE(Holds(SelectorOp::kGt, {"9"}, "10"));
  EXPECT_FALSE(Holds(SelectorOp::kGt, {"10"}, "10"));
  EXPECT_TRUE(Holds(SelectorOp::kLt, {"-1"}, "-2"));
  EXPECT_FALSE(Holds(SelectorOp::kLt, {"10"}, "10"));
  EXPECT_TRUE(Holds(SelectorOp::kGt, {"+9"}, "10"));
}

TEST_F(LabelsTest, GtAndLtAreFalseForOtherValues) {
  EXPECT_FALSE(Holds(SelectorOp::kGt, {"9"}, nullptr));
  EXPECT_FALSE(Holds(SelectorOp::kGt, {"9"}, "ten"));
  EXPECT_FALSE(Holds(SelectorOp::kLt, {"9"}, ""));
  EXPECT_FALSE(Holds(SelectorOp::kLt, {"nine"}, "1"));
  EXPECT_FALSE(Holds(SelectorOp::kLt, {"9.5"}, "1"));
  EXPECT_FALSE(Holds(SelectorOp::kGt, {}, "1"));
  EXPECT_FALSE(Holds(SelectorOp::kGt, {"1", "2"}, "3"));
}

TEST_F(LabelsTest, RequirementsAreEqualForAnyOrderOfTheirValues) {
  EXPECT_EQ(InternRequirement({"zone", SelectorOp::kIn, {"a", "b"}}, &names_),
            InternRequirement({"zone", SelectorOp::kIn, {"b", "a"}}, &names_));
}

TEST_F(LabelsTest, AllRequirementsMustHold) {
  const std::vector<Requirement> both = {
      InternRequirement({"zone", SelectorOp::kIn, {"east"}}, &names_),
      InternRequirement({"model", SelectorOp::kExists, {}}, &names_)};
  EXPECT_TRUE(MatchesAll(both, Labels({{"zone", "east"}, {"model", "a100"}}), names_));
  EXPECT_FALSE(MatchesAll(both, Labels({{"zone", "east"}}), names_));
  EXPECT_TRUE(MatchesAll({}, {}, names_)) << "no requirements";
}

TEST_F(LabelsTest, ANodeSelectorNeedsEveryPair) {
  NodeConstraint constraint;
  constraint.selector = {InternRequirement({"zone", SelectorOp::kIn, {"east"}}, &names_),
                         InternRequirement({"model", SelectorOp::kIn, {"a100"}}, &names_)};
  EXPECT_TRUE(DoesMatchNode(constraint, {{"model", "a100"}, {"zone", "east"}}));
  EXPECT_FALSE(DoesMatchNode(constraint, {{"zone", "east"}}));
  EXPECT_TRUE(DoesMatchNode(NodeConstraint(), {}));
}

TEST_F(LabelsTest, OneMatchingTermOfANodeAffinityIsEnough) {
  NodeConstraint constraint;
  constraint.has_affinity = true;
  constraint.affinity = {
      Term({{"zone", SelectorOp::kIn, {"east"}}}),
      Term({{"model", SelectorOp::kIn, {"a100"}}, {"zone", SelectorOp::kDoesNotExist, {}}})};
  EXPECT_TRUE(DoesMatchNode(constraint, {{"zone", "east"}}));
  EXPECT_TRUE(DoesMatchNode(constraint, {{"model", "a100"}}));
  EXPECT_FALSE(DoesMatchNode(constraint, {{"model", "a100"}, {"zone", "west"}}));
}

TEST_F(LabelsTest, ANodeAffinityWithoutTermsMatchesNothing) {
  NodeConstraint constraint;
  constraint.has_affinity = true;
  EXPECT_FALSE(DoesMatchNode(constraint, {{"zone", "east"}}));
  constraint.affinity = {Term({})};  // an empty term matches nothing either
  EXPECT_FALSE(DoesMatchNode(constraint, {{"zone", "east"}}));
}

TEST_F(LabelsTest, SelectorAndAffinityMustBothHold) {
  NodeConstraint constraint;
  constraint.selector = {InternRequirement({"zone", SelectorOp::kIn, {"east"}}, &names_)};
  constraint.has_affinity = true;
  constraint.affinity = {Term({{"model", SelectorOp::kExists, {}}})};
  EXPECT_TRUE(DoesMatchNode(constraint, {{"zone", "east"}, {"model", "a100"}}));
  EXPECT_FALSE(DoesMatchNode(constraint, {{"zone", "east"}}));
  EXPECT_FALSE(DoesMatchNode(constraint, {{"model", "a100"}}));
}

TEST_F(LabelsTest, FieldsMatchTheNameOfTheNode) {
  NodeConstraint constraint;
  constraint.has_affinity = true;
  constraint.affinity = {Term({}, {{"metadata.name", SelectorOp::kIn, {"n1"}}})};
  EXPECT_TRUE(DoesMatchNode(constraint, {}));
  constraint.affinity = {Term({}, {{"metadata.name", SelectorOp::kNotIn, {"n1"}}})};
  EXPECT_FALSE(DoesMatchNode(constraint, {}));
  constraint.affinity = {
      Term({{"zone", SelectorOp::kExists, {}}}, {{"metadata.name", SelectorOp::kIn, {"n1"}}})};
  EXPECT_FALSE(DoesMatchNode(constraint, {})) << "expressions and fields must both hold";
}

// ---- tolerations

constexpr TaintEffect kNone = TaintEffect::kNone;
constexpr TaintEffect kNoSchedule = TaintEffect::kNoSchedule;
constexpr TaintEffect kNoExecute = TaintEffect::kNoExecute;

struct TolerationCase {
  const char* says;
  Toleration toleration;
  Taint taint;
  bool tolerated;
};

TEST_F(LabelsTest, TolerationsFollowKubernetes) {
  const Taint taint = {"gpu", "yes", kNoSchedule};
  const std::vector<TolerationCase> cases = {
      {"same key, value and effect", {"gpu", false, "yes", kNoSchedule}, taint, true},
      {"any effect", {"gpu", false, "yes", kNone}, taint, true},
      {"another effect", {"gpu", false, "yes", kNoExecute}, taint, false},
      {"another value", {"gpu", false, "no", kNone}, taint, false},
      {"another key", {"cpu", false, "yes", kNone}, taint, false},
      {"exists, whatever the value", {"gpu", true, "", kNone}, taint, true},
      {"exists for another key", {"cpu", true, "", kNone}, taint, false},
      {"exists with another effect", {"gpu", true, "", kNoExecute}, taint, false},
      {"exists without a key: everything", {"", true, "", kNone}, taint, true},
      {"exists without a key, with its effect", {"", true, "", kNoSchedule}, taint, true},
      {"exists without a key, another effect", {"", true, "", kNoExecute}, taint, false},
      {"equal without a key: nothing", {"", false, "yes", kNone}, taint, false},
      {"an empty value is a value", {"gpu", false, "", kNone}, {"gpu", "", kNoSchedule}, true},
      {"an empty value is not any value", {"gpu", false, "", kNone}, taint, false},
  };
  for (const TolerationCase& each : cases) {
    EXPECT_EQ(IsTolerated(each.toleration, each.taint), each.tolerated) << each.says;
  }
}

TEST_F(LabelsTest, OneTolerationOfSeveralIsEnough) {
  const InternedTaint taint = {names_.Intern("gpu"), names_.Intern("yes"), kNoSchedule};
  const std::vector<InternedToleration> tolerations = {
      {.key = names_.Intern("cpu"), .exists = true, .value = NameId(), .effect = kNone},
      {.key = names_.Intern("gpu"), .exists = true, .value = NameId(), .effect = kNone}};
  EXPECT_TRUE(Tolerates(tolerations, taint));
  EXPECT_FALSE(Tolerates({}, taint));
}

}  // namespace
}  // namespace kai::labels_test

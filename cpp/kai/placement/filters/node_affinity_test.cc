#include <gtest/gtest.h>

#include "kai/base/text.h"
#include "kai/placement/filters/filter_for_test.h"
#include "kai/placement/filters/filters.h"

namespace kai::node_affinity_test {
namespace {

constexpr char kRefused[] = "node(s) didn't match Pod's node affinity/selector";

// The answer for a pod with this required node affinity, on a node "n" with these labels.
std::string AnswerFor(StringPairs labels, std::vector<NodeSelectorTerm> terms,
                      StringPairs selector = {}) {
  ClusterMaker maker = MakeCluster()
                           .Node("n", {.labels = std::move(labels)})
                           .Pending("ns/p", {.node_selector = std::move(selector)});
  maker.rows().pods[0].has_node_affinity = true;
  maker.rows().pods[0].node_affinity = std::move(terms);
  const auto cluster = maker.Build();
  return AnswerOf(*MakeNodeAffinityFilter(*cluster), *cluster, "ns/p-0", "n");
}

NodeSelectorTerm Term(std::string key, SelectorOp op, std::vector<std::string> values = {}) {
  return {.expressions = {{.key = std::move(key), .op = op, .values = std::move(values)}},
          .fields = {}};
}

TEST(NodeAffinityFilterTest, ANodeSelectorRequiresEveryLabel) {
  const auto cluster = MakeCluster()
                           .Node("both", {.labels = {{"zone", "a"}, {"gpu", "h100"}}})
                           .Node("one", {.labels = {{"zone", "a"}}})
                           .Node("other", {.labels = {{"zone", "a"}, {"gpu", "l40"}}})
                           .Pending("ns/p", {.node_selector = {{"zone", "a"}, {"gpu", "h100"}}})
                           .Build();
  const auto filter = MakeNodeAffinityFilter(*cluster);
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/p-0", "both"), "");
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/p-0", "one"), kRefused);
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/p-0", "other"), kRefused);
}

TEST(NodeAffinityFilterTest, InRequiresOneOfTheValues) {
  const NodeSelectorTerm term = Term("zone", SelectorOp::kIn, {"b", "a"});
  EXPECT_EQ(AnswerFor({{"zone", "a"}}, {term}), "");
  EXPECT_EQ(AnswerFor({{"zone", "c"}}, {term}), kRefused);
  EXPECT_EQ(AnswerFor({}, {term}), kRefused);
}

TEST(NodeAffinityFilterTest, NotInMatchesAMissingKey) {
  const NodeSelectorTerm term = Term("zone", SelectorOp::kNotIn, {"a", "b"});
  EXPECT_EQ(AnswerFor({{"zone", "c"}}, {term}), "");
  EXPECT_EQ(AnswerFor({{"zone", "a"}}, {term}), kRefused);
  EXPECT_EQ(AnswerFor({}, {term}), "");
}

TEST(NodeAffinityFilterTest, ExistsAndDoesNotExistCheckOnlyTheKey) {
  EXPECT_EQ(AnswerFor({{"gpu", ""}}, {Term("gpu", SelectorOp::kExists)}), "");
  EXPECT_EQ(AnswerFor({}, {Term("gpu", SelectorOp::kExists)}), kRefused);
  EXPECT_EQ(AnswerFor({}, {Term("gpu", SelectorOp::kDoesNotExist)}), "");
  EXPECT_EQ(AnswerFor({{"gpu", ""}}, {Term("gpu", SelectorOp::kDoesNotExist)}), kRefused);
}

TEST(NodeAffinityFilterTest, GtAndLtCompareWholeNumbers) {
  EXPECT_EQ(AnswerFor({{"cores", "65"}}, {Term("cores", SelectorOp::kGt, {"64"})}), "");
  EXPECT_EQ(AnswerFor({{"cores", "64"}}, {Term("cores", SelectorOp::kGt, {"64"})}), kRefused);
  EXPECT_EQ(AnswerFor({{"cores", "9"}}, {Term("cores", SelectorOp::kLt, {"64"})}), "");
  EXPECT_EQ(AnswerFor({{"cores", "-1"}}, {Term("cores", SelectorOp::kLt, {"0"})}), "");
}

TEST(NodeAffinityFilterTest, AValueThatIsNotANumberMatchesNeitherGtNorLt) {
  for (const SelectorOp op : {SelectorOp::kGt, SelectorOp::kLt}) {
    EXPECT_EQ(AnswerFor({{"cores", "many"}}, {Term("cores", op, {"0"})}), kRefused);
    EXPECT_EQ(AnswerFor({{"cores", "1.5"}}, {Term("cores", op, {"1"})}), kRefused);
    EXPECT_EQ(AnswerFor({{"cores", "1"}}, {Term("cores", op, {"few"})}), kRefused);
    EXPECT_EQ(AnswerFor({{"cores", "1"}}, {Term("cores", op, {"0", "2"})}), kRefused);
    EXPECT_EQ(AnswerFor({}, {Term("cores", op, {"0"})}), kRefused);
  }
}

TEST(NodeAffinityFilterTest, OneTermIsEnoughButItsExpressionsMustAllHold) {
  const NodeSelectorTerm both{
      .expressions = {{.key = "zone", .op = SelectorOp::kIn, .values = {"a"}},
                      {.key = "gpu", .op = SelectorOp::kExists, .values = {}}},
      .fields = {}};
  EXPECT_EQ(AnswerFor({{"zone", "a"}, {"gpu", "l40"}}, {both}), "");
  EXPECT_EQ(AnswerFor({{"zone", "a"}}, {both}), kRefused);
  EXPECT_EQ(AnswerFor({{"zone", "a"}}, {both, Term("zone", SelectorOp::kIn, {"a"})}), "");
}

TEST(NodeAffinityFilterTest, NoTermsAndEmptyTermsMatchNothing) {
  EXPECT_EQ(AnswerFor({{"zone", "a"}}, {}), kRefused);
  EXPECT_EQ(AnswerFor({{"zone", "a"}}, {NodeSelectorTerm{}}), kRefused);
}

TEST(NodeAffinityFilterTest, SelectorAndAffinityMustBothHold) {
  const NodeSelectorTerm zone = Term("zone", SelectorOp::kIn, {"a"});
  EXPECT_EQ(AnswerFor({{"zone", "a"}, {"gpu", "l40"}}, {zone}, {{"gpu", "l40"}}), "");
  EXPECT_EQ(AnswerFor({{"zone", "a"}}, {zone}, {{"gpu", "l40"}}), kRefused);
  EXPECT_EQ(AnswerFor({{"zone", "b"}, {"gpu", "l40"}}, {zone}, {{"gpu", "l40"}}), kRefused);
}

TEST(NodeAffinityFilterTest, AFieldCanNameTheNode) {
  const NodeSelectorTerm here{
      .expressions = {},
      .fields = {{.key = "metadata.name", .op = SelectorOp::kIn, .values = {"n"}}}};
  const NodeSelectorTerm elsewhere{
      .expressions = {},
      .fields = {{.key = "metadata.name", .op = SelectorOp::kNotIn, .values = {"n"}}}};
  EXPECT_EQ(AnswerFor({}, {here}), "");
  EXPECT_EQ(AnswerFor({}, {elsewhere}), kRefused);
}

TEST(NodeAffinityFilterTest, LabelsWithAValuePerNodeAreCheckedPerNode) {
  ClusterMaker maker =
      MakeCluster()
          .Pending("ns/pinned", {.node_selector = {{"kubernetes.io/hostname", "n7"}}})
          .Pending("ns/zoned", {.node_selector = {{"zone", "even"}}})
          .Pending("ns/plain");
  for (int i = 0; i < 40; ++i) {
    maker.Node(StrCat("n", i), {.labels = {{"kubernetes.io/hostname", StrCat("n", i)},
                                           {"zone", i % 2 == 0 ? "even" : "odd"}}});
  }
  const auto cluster = maker.Build();
  const auto filter = MakeNodeAffinityFilter(*cluster);
  EXPECT_EQ(ScopeOf(*filter, *cluster, "ns/pinned-0"), Filter::Scope::kNode);
  EXPECT_EQ(ScopeOf(*filter, *cluster, "ns/zoned-0"), Filter::Scope::kNodeClass);
  EXPECT_EQ(ScopeOf(*filter, *cluster, "ns/plain-0"), Filter::Scope::kNothing);
  EXPECT_EQ(cluster->node_classes().size(), 2u) << "hostnames must not make classes";
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/pinned-0", "n7"), "");
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/pinned-0", "n8"), kRefused);
}

}  // namespace
}  // namespace kai::node_affinity_test

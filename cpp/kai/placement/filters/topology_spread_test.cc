#include <gtest/gtest.h>

#include "kai/placement/filters/filter_for_test.h"
#include "kai/placement/filters/filters.h"
#include "kai/placement/rooms_for_test.h"

namespace kai::topology_spread_test {
namespace {

constexpr char kUneven[] = "node(s) didn't match pod topology spread constraints";
constexpr char kNoLabel[] =
    "node(s) didn't match pod topology spread constraints (missing required label)";

SpreadConstraintRow Web(int64_t max_skew = 1) {
  SpreadConstraintRow row;
  row.selector = {{.key = "app", .op = SelectorOp::kIn, .values = {"web"}}};
  row.topology_key = "zone";
  row.max_skew = max_skew;
  return row;
}

// Two pods in zone a, one in zone b, and a node without a zone.
ClusterMaker Zones() {
  return MakeCluster()
      .Node("a1", {.labels = {{"zone", "a"}}})
      .Node("b1", {.labels = {{"zone", "b"}}})
      .Node("lone")
      .Running("ns/there", {.pods = 2, .node = "a1", .labels = {{"app", "web"}}})
      .Running("ns/there", {.pods = 1, .node = "b1", .labels = {{"app", "web"}}});
}

PodsSpec Spread(SpreadConstraintRow row) {
  return {.labels = {{"app", "web"}}, .spread = {std::move(row)}};
}

std::string Answer(ClusterMaker maker, std::string_view node) {
  const auto cluster = maker.Build();
  return AnswerOf(*MakeTopologySpreadFilter(*cluster), *cluster, "ns/p-0", node);
}

TEST(TopologySpreadFilterTest, ADomainMayExceedTheEmptiestByTheSkew) {
  const ClusterMaker maker = Zones().Pending("ns/p", Spread(Web()));
  EXPECT_EQ(Answer(maker, "a1"), kUneven);  // 2 + 1 - 1 > 1
  EXPECT_EQ(Answer(maker, "b1"), "");
  EXPECT_EQ(Answer(Zones().Pending("ns/p", Spread(Web(2))), "a1"), "");
}

TEST(TopologySpreadFilterTest, ANodeWithoutTheLabelIsNoDomain) {
  EXPECT_EQ(Answer(Zones().Pending("ns/p", Spread(Web())), "lone"), kNoLabel);
}

TEST(TopologySpreadFilterTest, APodThatDoesNotMatchItsOwnSelectorAddsNothing) {
  EXPECT_EQ(Answer(Zones().Pending("ns/p", {.spread = {Web()}}), "a1"), "");
}

TEST(TopologySpreadFilterTest, WithTooFewDomainsTheMinimumIsZero) {
  SpreadConstraintRow row = Web(2);
  row.min_domains = 3;
  EXPECT_EQ(Answer(Zones().Pending("ns/p", Spread(row)), "a1"), kUneven);  // 2 + 1 - 0 > 2
  EXPECT_EQ(Answer(Zones().Pending("ns/p", Spread(row)), "b1"), "");
}

TEST(TopologySpreadFilterTest, NodesThatThePodMayNotUseDoNotCount) {
  // Zone c is empty, but the pod may not go there.
  ClusterMaker maker = Zones().Node("c1", {.labels = {{"zone", "c"}, {"kind", "slow"}}});
  PodsSpec spec = Spread(Web());
  EXPECT_EQ(Answer(ClusterMaker(maker).Pending("ns/p", spec), "b1"), kUneven);
  spec.spread[0].honor_node_affinity = true;
  maker.Pending("ns/p", spec);
  maker.rows().pods.back().has_node_affinity = true;
  maker.rows().pods.back().node_affinity = {
      {.expressions = {{.key = "kind", .op = SelectorOp::kDoesNotExist, .values = {}}},
       .fields = {}}};
  EXPECT_EQ(Answer(maker, "b1"), "");
  maker.rows().pods.back().spread[0].honor_node_affinity = false;
  EXPECT_EQ(Answer(maker, "b1"), kUneven);
}

TEST(TopologySpreadFilterTest, TaintsCountIfTheConstraintHonorsThem) {
  const Taint taint{.key = "k", .value = "", .effect = TaintEffect::kNoSchedule};
  ClusterMaker maker = Zones().Node("c1", {.labels = {{"zone", "c"}}, .taints = {taint}});
  EXPECT_EQ(Answer(ClusterMaker(maker).Pending("ns/p", Spread(Web())), "b1"), kUneven);
  SpreadConstraintRow row = Web();
  row.honor_taints = true;
  EXPECT_EQ(Answer(maker.Pending("ns/p", Spread(row)), "b1"), "");
}

TEST(TopologySpreadFilterTest, APreferredSpreadRefusesNoPod) {
  SpreadConstraintRow row = Web();
  row.required = false;
  const auto cluster = Zones().Pending("ns/p", Spread(row)).Build();
  EXPECT_EQ(ScopeOf(*MakeTopologySpreadFilter(*cluster), *cluster, "ns/p-0"),
            Filter::Scope::kNothing);
}

TEST(TopologySpreadFilterTest, AGroupFillsDomainsEvenlyAndTerminatingPodsDoNotCount) {
  Rooms rooms(MakeCluster()
                  .Node("a1", {.labels = {{"zone", "a"}}})
                  .Node("b1", {.labels = {{"zone", "b"}}})
                  .Pending("ns/p", {.pods = 3, .labels = {{"app", "web"}}, .spread = {Web()}})
                  .Build(),
              {.spread = true});
  rooms.Place("ns/p-0", "a1");
  EXPECT_EQ(rooms.Find("ns/p-1"), "b1");
  rooms.Evict("ns/p-0");
  EXPECT_EQ(rooms.Find("ns/p-1"), "a1");
  rooms.statement().RollBackTo(1);
  EXPECT_EQ(rooms.Find("ns/p-1"), "b1");
}

TEST(TopologySpreadFilterTest, IsOffByDefault) {
  Rooms rooms(Zones().Pending("ns/p", Spread(Web())).Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "a1");
}

}  // namespace
}  // namespace kai::topology_spread_test

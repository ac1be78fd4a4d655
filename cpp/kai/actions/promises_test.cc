#include "kai/actions/promises.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kai/session/config.h"
#include "kai/session/session.h"
#include "kai/testing/makers/cluster_maker.h"
#include "kai/testing/matchers/matchers.h"

namespace kai::promises_test {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kEndsNs = kTestNowNs + 60 * kSecondNs;

// Pods and their promised nodes; those of a group are adjacent.
using Places = std::vector<std::pair<std::string, std::string>>;

Plan RunWith(const ClusterMaker& maker, const Places& promised,
             std::string_view config = R"({"actions": "allocate"})", int64_t now_ns = kTestNowNs) {
  const std::shared_ptr<Cluster> cluster = maker.Build();
  std::vector<PromisedPlace> places;
  for (const auto& [name, node] : promised) {
    const PodId pod = PodNamed(*cluster, name);
    places.push_back({.group = cluster->pods().group[pod],
                      .pod_set = cluster->pods().pod_set[pod],
                      .pod = pod,
                      .node = NodeNamed(*cluster, node),
                      .ends_ns = kEndsNs});
  }
  absl::StatusOr<Config> parsed = Config::Parse(config, {});
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  absl::StatusOr<Plan> plan =
      Session(*std::move(parsed))
          .Run(cluster, CycleTime(now_ns), nullptr, nullptr, {.places = places});
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *std::move(plan);
}

// "ns/a-0 rests": the places that are still promised.
std::string Kept(const Plan& plan, const Places& promised) {
  std::string text;
  for (const KeptPlace& kept : plan.kept_promises) {
    text += kept.pod.valid() ? plan.cluster->PodName(kept.pod) + " on " : "rests on ";
    text += promised[kept.place].second + "; ";
  }
  return text;
}

TEST(PromisesTest, AnIdlePlaceIsKeptEvenIfAnotherGroupComesFirst) {
  const ClusterMaker maker = MakeCluster()
                                 .Node("n", {.gpus = 1})
                                 .Pending("ns/first", {.gpus = 1})
                                 .Pending("ns/late", {.gpus = 1});
  EXPECT_THAT(RunWith(maker, {}), PlanIs(Binds("ns/first-0", "n")));
  const Places promised = {{"ns/late-0", "n"}};
  const Plan plan = RunWith(maker, promised);
  EXPECT_THAT(plan, PlanIs(Binds("ns/late-0", "n")));
  EXPECT_TRUE(OutcomeOf(plan, "ns/late").writes.last_start);
  EXPECT_EQ(Kept(plan, promised), "ns/late-0 on n; ") << "until it has started";
}

TEST(PromisesTest, AnIdlePlaceIsKeptEvenIfAnotherNodeIsBetter) {
  EXPECT_THAT(
      RunWith(
          MakeCluster().Node("a", {.gpus = 1}).Node("b", {.gpus = 2}).Pending("ns/g", {.gpus = 1}),
          {{"ns/g-0", "b"}}),
      PlanIs(Binds("ns/g-0", "b")));
}

TEST(PromisesTest, APlaceWithTerminatingPodsIsPipelinedAgain) {
  EXPECT_THAT(RunWith(MakeCluster()
                          .Node("n", {.gpus = 1})
                          .Releasing("ns/old", {.gpus = 1, .node = "n"})
                          .Pending("ns/first", {.gpus = 1})
                          .Pending("ns/late", {.gpus = 1}),
                      {{"ns/late-0", "n"}}),
              PlanIs(Pipelines("ns/late-0", "n")));
}

TEST(PromisesTest, APlaceWithoutRoomIsLost) {
  const Places promised = {{"ns/g-0", "n"}};
  const Plan plan = RunWith(MakeCluster()
                                .Node("n", {.gpus = 1})
                                .Node("o", {.gpus = 1})
                                .Running("ns/stays", {.gpus = 1, .node = "n"})
                                .Pending("ns/g", {.gpus = 1}),
                            promised);
  EXPECT_THAT(plan, PlanIs(Binds("ns/g-0", "o")));
  EXPECT_EQ(Kept(plan, promised), "");
}

TEST(PromisesTest, APartOfAGangDoesNotKeepItsPlaces) {
  const Places promised = {{"ns/gang-0", "a"}, {"ns/gang-1", "b"}};
  const Plan plan = RunWith(MakeCluster()
                                .Node("a", {.gpus = 1})
                                .Node("b", {.gpus = 1})
                                .Running("ns/stays", {.gpus = 1, .node = "b"})
                                .Pending("ns/gang", {.pods = 2, .gpus = 1, .min_member = 2})
                                .Pending("ns/late", {.gpus = 1}),
                            promised);
  EXPECT_THAT(plan, PlanIs(Binds("ns/late-0", "a")));
  EXPECT_EQ(Kept(plan, promised), "");
}

TEST(PromisesTest, TerminatingPodsDoNotCompleteAGang) {
  const Places promised = {{"ns/gang-1", "b"}};
  const Plan plan = RunWith(MakeCluster()
                                .Node("a", {.gpus = 1})
                                .Node("b", {.gpus = 1})
                                .Releasing("ns/gang", {.gpus = 1, .node = "a", .min_member = 2})
                                .Pending("ns/gang", {.gpus = 1}),
                            promised);
  EXPECT_THAT(plan, PlanIs());
  EXPECT_EQ(Kept(plan, promised), "rests on b; ") << "the other pod may come back";
}

TEST(PromisesTest, APodThatIsDeletedBeforeItHadANodeDoesNotCompleteAGang) {
  const Places promised = {{"ns/gang-0", "a"}, {"ns/gang-1", "b"}};
  ClusterMaker maker = MakeCluster()
                           .Node("a", {.gpus = 1})
                           .Node("b", {.gpus = 1})
                           .Pending("ns/gang", {.pods = 2, .gpus = 1, .min_member = 2});
  EXPECT_THAT(RunWith(maker, promised), PlanIs(Binds("ns/gang-0", "a"), Binds("ns/gang-1", "b")));
  maker.rows().pods[1].deletion_ns = kTestNowNs;
  const Plan plan = RunWith(maker, promised);
  EXPECT_THAT(plan, PlanIs());
  EXPECT_EQ(Kept(plan, promised), "rests on a; rests on b; ");
}

TEST(PromisesTest, ACompleteSubGroupKeepsItsPlaces) {
  ClusterMaker maker = MakeCluster()
                           .Node("a", {.gpus = 2})
                           .Node("b", {.gpus = 1})
                           .Node("c", {.gpus = 1})
                           .Running("ns/stays", {.gpus = 1, .node = "c"})
                           .Pending("ns/g", {.pods = 2, .gpus = 1, .subgroup = "one"})
                           .Pending("ns/g", {.pods = 2, .gpus = 1, .subgroup = "two"});
  PodGroupRow& group = maker.rows().pod_groups[1];
  group.min_sub_group = 1;
  group.sub_groups.resize(2);
  group.sub_groups[0].name = "one";
  group.sub_groups[1].name = "two";
  for (SubGroupRow& row : group.sub_groups) row.min_member = 2;
  const Places promised = {{"ns/g-0", "a"}, {"ns/g-1", "a"}, {"ns/g-2", "b"}, {"ns/g-3", "c"}};
  const Plan plan = RunWith(maker, promised);
  EXPECT_THAT(plan, PlanIs(Binds("ns/g-0", "a"), Binds("ns/g-1", "a")));
  EXPECT_EQ(Kept(plan, promised), "ns/g-0 on a; ns/g-1 on a; ");
}

TEST(PromisesTest, AnElasticGroupKeepsItsOtherPlaces) {
  const Places promised = {{"ns/g-0", "a"}, {"ns/g-1", "b"}};
  const Plan plan = RunWith(MakeCluster()
                                .Node("a", {.gpus = 1})
                                .Node("b", {.gpus = 1})
                                .Running("ns/stays", {.gpus = 1, .node = "b"})
                                .Pending("ns/first", {.gpus = 1})
                                .Pending("ns/g", {.pods = 2, .gpus = 1, .min_member = 1}),
                            promised);
  EXPECT_THAT(plan, PlanIs(Binds("ns/g-0", "a")));
  EXPECT_EQ(Kept(plan, promised), "ns/g-0 on a; ");
}

TEST(PromisesTest, AGangIsPipelinedWholeIfOnePodHasToWait) {
  EXPECT_THAT(RunWith(MakeCluster()
                          .Node("a", {.gpus = 1})
                          .Node("b", {.gpus = 1})
                          .Releasing("ns/old", {.gpus = 1, .node = "b"})
                          .Pending("ns/gang", {.pods = 2, .gpus = 1, .min_member = 2}),
                      {{"ns/gang-0", "a"}, {"ns/gang-1", "b"}}),
              PlanIs(Pipelines("ns/gang-1", "b"), Pipelines("ns/gang-0", "a")));
}

TEST(PromisesTest, APlaceAboveALimitIsLost) {
  const Places promised = {{"q/g-0", "n"}};
  const Plan plan = RunWith(MakeCluster()
                                .Queue("q", {.limit_gpus = 1})
                                .Queue("r")
                                .Node("n", {.gpus = 2})
                                .Running("q/old", {.gpus = 1, .node = "n"})
                                .Pending("q/g", {.gpus = 1})
                                .Pending("r/other", {.gpus = 1}),
                            promised);
  EXPECT_THAT(plan, PlanIs(Binds("r/other-0", "n")));
  EXPECT_EQ(Kept(plan, promised), "");
}

TEST(PromisesTest, APodThatHasStartedDoesNotPassItsPlaceToItsGroup) {
  const Places promised = {{"ns/g-0", "n"}};
  const Plan plan = RunWith(MakeCluster()
                                .Node("n", {.gpus = 2})
                                .Running("ns/g", {.gpus = 1, .node = "n", .min_member = 1})
                                .Pending("ns/first", {.gpus = 1, .priority = 90})
                                .Pending("ns/g", {.gpus = 1}),
                            promised);
  EXPECT_THAT(plan, PlanIs(Binds("ns/first-0", "n")));
  EXPECT_EQ(Kept(plan, promised), "");
}

TEST(PromisesTest, APodUsesOnePlace) {
  const Places promised = {{"ns/g-0", "a"}, {"ns/g-0", "b"}};
  const Plan plan = RunWith(
      MakeCluster().Node("a", {.gpus = 1}).Node("b", {.gpus = 1}).Pending("ns/g", {.gpus = 1}),
      promised);
  EXPECT_THAT(plan, PlanIs(Binds("ns/g-0", "a")));
  EXPECT_EQ(Kept(plan, promised), "ns/g-0 on a; rests on b; ");
}

TEST(PromisesTest, ATerminatingPodKeepsThePlaceThatItMovesTo) {
  const ClusterMaker maker = MakeCluster()
                                 .Node("a", {.gpus = 1})
                                 .Node("b", {.gpus = 1})
                                 .Releasing("ns/moves", {.gpus = 1, .node = "a"})
                                 .Pending("ns/other", {.gpus = 1});
  const Places promised = {{"ns/moves-0", "b"}};
  const Plan plan = RunWith(maker, promised);
  EXPECT_THAT(plan, PlanIs(Pipelines("ns/moves-0", "b"), Pipelines("ns/other-0", "a")));
  EXPECT_THAT(plan, HasVerdict("ns/moves", Verdict::kPipelined));
  EXPECT_EQ(Kept(plan, promised), "ns/moves-0 on b; ");
  // On the node that it is already on, it holds nothing more.
  const Places same = {{"ns/moves-0", "a"}};
  const Plan stays = RunWith(maker, same);
  EXPECT_THAT(stays, PlanIs(Binds("ns/other-0", "b")));
  EXPECT_EQ(Kept(stays, same), "rests on a; ");
}

TEST(PromisesTest, APlaceIsKeptWhileItsGroupLacksPods) {
  const ClusterMaker maker = MakeCluster()
                                 .Node("n", {.gpus = 1})
                                 .Pending("ns/gang", {.gpus = 1, .min_member = 2})
                                 .Pending("ns/other", {.gpus = 1});
  const Places promised = {{"ns/gang-0", "n"}};
  const Plan plan = RunWith(maker, promised);
  EXPECT_THAT(plan, PlanIs(Binds("ns/other-0", "n")));
  EXPECT_EQ(Kept(plan, promised), "rests on n; ");
  EXPECT_EQ(plan.holds.until_ns, kEndsNs);
  EXPECT_EQ(plan.holds.then, WakeReason::kPromiseEnds);
  EXPECT_EQ(Kept(RunWith(maker, promised, R"({"actions": "allocate"})", kEndsNs), promised), "");
}

TEST(PromisesTest, AGangThatNeedsOneRackKeepsPlacesInOneOnly) {
  ClusterMaker maker = MakeCluster()
                           .Add(TopologyRow{.name = "t", .levels = {{"rack", ""}}})
                           .Node("a", {.gpus = 1, .labels = {{"rack", "r1"}}})
                           .Node("b", {.gpus = 1, .labels = {{"rack", "r1"}}})
                           .Node("c", {.gpus = 1, .labels = {{"rack", "r2"}}})
                           .Pending("ns/gang", {.pods = 2, .gpus = 1, .min_member = 2});
  maker.rows().pod_groups[0].topology = {
      .topology = "t", .required_level = "rack", .preferred_level = ""};
  const Places promised = {{"ns/gang-0", "b"}, {"ns/gang-1", "a"}};
  EXPECT_THAT(RunWith(maker, promised), PlanIs(Binds("ns/gang-0", "b"), Binds("ns/gang-1", "a")));
  maker.rows().nodes[1].labels = {{"rack", "r3"}};
  const Plan apart = RunWith(maker, promised);
  EXPECT_THAT(apart, PlanIs());
  EXPECT_EQ(Kept(apart, promised), "");
  EXPECT_THAT(apart, HasMessage("ns/gang", HasSubstr("rack")));
}

TEST(PromisesTest, PlacesAreNotUsedWithoutAllocateOrAsKai) {
  const ClusterMaker maker = MakeCluster().Node("n", {.gpus = 1}).Pending("ns/g", {.gpus = 1});
  EXPECT_THAT(RunWith(maker, {{"ns/g-0", "n"}}, R"({"actions": "reclaim"})"), PlanIs());
  EXPECT_THAT(
      RunWith(
          MakeCluster().Node("n", {.gpus = 1}).Node("o", {.gpus = 1}).Pending("ns/g", {.gpus = 1}),
          {{"ns/g-0", "o"}}, R"({"actions": "allocate", "compat": {"promises": "kai"}})"),
      PlanIs(Binds("ns/g-0", "n")));
}

}  // namespace
}  // namespace kai::promises_test

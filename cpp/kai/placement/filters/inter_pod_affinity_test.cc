#include <gtest/gtest.h>

#include "kai/model/changes/statement.h"
#include "kai/placement/filters/filter_for_test.h"
#include "kai/placement/filters/filters.h"
#include "kai/placement/rooms_for_test.h"

namespace kai::inter_pod_affinity_test {
namespace {

constexpr char kZone[] = "zone";
constexpr char kHost[] = "host";
constexpr char kNoAffinity[] = "node(s) didn't match pod affinity rules";
constexpr char kKeepsAway[] = "node(s) didn't match pod anti-affinity rules";
constexpr char kKeptAway[] = "node(s) didn't satisfy existing pods anti-affinity rules";

PodAffinityTerm PodsWith(StringPairs labels, std::string key) {
  LabelSelector selector;
  for (const auto& [name, value] : labels) {
    selector.push_back({.key = name, .op = SelectorOp::kIn, .values = {value}});
  }
  return {.selector = selector,
          .namespaces = {},
          .all_namespaces = false,
          .topology_key = std::move(key)};
}

PodAffinityRow Near(std::vector<PodAffinityTerm> terms) {
  return {.required = std::move(terms), .required_anti = {}, .preferred = {}, .preferred_anti = {}};
}
PodAffinityRow AwayFrom(std::vector<PodAffinityTerm> terms) {
  return {.required = {}, .required_anti = std::move(terms), .preferred = {}, .preferred_anti = {}};
}

// Two nodes in zone a, one in zone b, one outside of all zones.
ClusterMaker Zones() {
  return MakeCluster()
      .Node("a1", {.labels = {{kZone, "a"}, {kHost, "a1"}}})
      .Node("a2", {.labels = {{kZone, "a"}, {kHost, "a2"}}})
      .Node("b1", {.labels = {{kZone, "b"}, {kHost, "b1"}}})
      .Node("lone");
}

std::string AnswerFor(const Cluster& cluster, std::string_view node,
                      std::string_view pod = "ns/p-0", Leaving leaving = Leaving::kMakeRoom) {
  return AnswerOf(*MakeInterPodAffinityFilter(cluster, leaving), cluster, pod, node);
}

TEST(InterPodAffinityFilterTest, AffinityRequiresASelectedPodInTheSameDomain) {
  const auto cluster = Zones()
                           .Running("ns/web", {.node = "a1", .labels = {{"app", "web"}}})
                           .Pending("ns/p", {.affinity = Near({PodsWith({{"app", "web"}}, kZone)})})
                           .Build();
  EXPECT_EQ(AnswerFor(*cluster, "a1"), "");
  EXPECT_EQ(AnswerFor(*cluster, "a2"), "");
  EXPECT_EQ(AnswerFor(*cluster, "b1"), kNoAffinity);
  EXPECT_EQ(AnswerFor(*cluster, "lone"), kNoAffinity);
}

TEST(InterPodAffinityFilterTest, AntiAffinityExcludesTheWholeDomain) {
  const auto cluster =
      Zones()
          .Running("ns/web", {.node = "a1", .labels = {{"app", "web"}}})
          .Pending("ns/p", {.affinity = AwayFrom({PodsWith({{"app", "web"}}, kZone)})})
          .Pending("ns/q", {.affinity = AwayFrom({PodsWith({{"app", "web"}}, kHost)})})
          .Build();
  EXPECT_EQ(AnswerFor(*cluster, "a1"), kKeepsAway);
  EXPECT_EQ(AnswerFor(*cluster, "a2"), kKeepsAway);
  EXPECT_EQ(AnswerFor(*cluster, "b1"), "");
  EXPECT_EQ(AnswerFor(*cluster, "lone"), "") << "no pod is near outside of all zones";
  EXPECT_EQ(AnswerFor(*cluster, "a1", "ns/q-0"), kKeepsAway);
  EXPECT_EQ(AnswerFor(*cluster, "a2", "ns/q-0"), "");
}

TEST(InterPodAffinityFilterTest, AntiAffinityOfPlacedPodsExcludesOtherPods) {
  const auto cluster =
      Zones()
          .Running("ns/shy",
                   {.node = "a1", .affinity = AwayFrom({PodsWith({{"app", "web"}}, kZone)})})
          .Pending("ns/p", {.labels = {{"app", "web"}}})
          .Pending("ns/other", {.labels = {{"app", "db"}}})
          .Build();
  EXPECT_EQ(AnswerFor(*cluster, "a1"), kKeptAway);
  EXPECT_EQ(AnswerFor(*cluster, "a2"), kKeptAway);
  EXPECT_EQ(AnswerFor(*cluster, "b1"), "");
  EXPECT_EQ(AnswerFor(*cluster, "lone"), "");
  EXPECT_EQ(AnswerFor(*cluster, "a1", "ns/other-0"), "");
}

TEST(InterPodAffinityFilterTest, TheAntiAffinityOfThePodIsReportedBeforeThatOfOthers) {
  const auto cluster =
      Zones()
          .Running("ns/shy", {.node = "a1",
                              .labels = {{"app", "shy"}},
                              .affinity = AwayFrom({PodsWith({{"app", "web"}}, kZone)})})
          .Pending("ns/p", {.labels = {{"app", "web"}},
                            .affinity = AwayFrom({PodsWith({{"app", "shy"}}, kZone)})})
          .Build();
  EXPECT_EQ(AnswerFor(*cluster, "a1"), kKeepsAway);
}

TEST(InterPodAffinityFilterTest, TheFirstPodOfASeriesMayBePlacedInAnyDomain) {
  const auto cluster = Zones()
                           .Pending("ns/p", {.labels = {{"app", "web"}},
                                             .affinity = Near({PodsWith({{"app", "web"}}, kZone)})})
                           .Build();
  EXPECT_EQ(AnswerFor(*cluster, "a1"), "");
  EXPECT_EQ(AnswerFor(*cluster, "b1"), "");
  EXPECT_EQ(AnswerFor(*cluster, "lone"), kNoAffinity) << "without a zone there is no first pod";
}

TEST(InterPodAffinityFilterTest, TheSecondPodOfASeriesIsPlacedInTheDomainOfTheFirst) {
  const auto cluster = Zones()
                           .Pending("ns/p", {.pods = 2,
                                             .labels = {{"app", "web"}},
                                             .affinity = Near({PodsWith({{"app", "web"}}, kZone)})})
                           .Build();
  const auto statement = Statement::Open(cluster.get(), {});
  const Statement::Checkpoint start = statement->Mark();
  statement->Place(PodNamed(*cluster, "ns/p-0"), NodeNamed(*cluster, "b1"));
  EXPECT_EQ(AnswerFor(*cluster, "a1", "ns/p-1"), kNoAffinity);
  EXPECT_EQ(AnswerFor(*cluster, "b1", "ns/p-1"), "");
  statement->RollBackTo(start);
  EXPECT_EQ(AnswerFor(*cluster, "a1", "ns/p-1"), "") << "the first pod is gone again";
}

TEST(InterPodAffinityFilterTest, APodThatSelectsOtherPodsIsNoFirstPodOfASeries) {
  const auto cluster = Zones()
                           .Pending("ns/p", {.labels = {{"app", "api"}},
                                             .affinity = Near({PodsWith({{"app", "web"}}, kZone)})})
                           .Build();
  EXPECT_EQ(AnswerFor(*cluster, "a1"), kNoAffinity);
}

TEST(InterPodAffinityFilterTest, PodsOutsideOfAllDomainsDoNotStartASeries) {
  const auto cluster = Zones()
                           .Running("ns/old", {.node = "lone", .labels = {{"app", "web"}}})
                           .Pending("ns/p", {.labels = {{"app", "web"}},
                                             .affinity = Near({PodsWith({{"app", "web"}}, kZone)})})
                           .Build();
  EXPECT_EQ(AnswerFor(*cluster, "a1"), "");
}

TEST(InterPodAffinityFilterTest, TermsSelectPodsOfTheOwnNamespaceByDefault) {
  PodAffinityTerm own = PodsWith({{"app", "web"}}, kZone);
  PodAffinityTerm named = own;
  named.namespaces = {"team", "other"};
  PodAffinityTerm all = own;
  all.all_namespaces = true;
  const auto cluster = Zones()
                           .Running("team/web", {.node = "a1", .labels = {{"app", "web"}}})
                           .Pending("ns/own", {.affinity = AwayFrom({own})})
                           .Pending("ns/named", {.affinity = AwayFrom({named})})
                           .Pending("ns/all", {.affinity = AwayFrom({all})})
                           .Build();
  EXPECT_EQ(AnswerFor(*cluster, "a1", "ns/own-0"), "");
  EXPECT_EQ(AnswerFor(*cluster, "a1", "ns/named-0"), kKeepsAway);
  EXPECT_EQ(AnswerFor(*cluster, "a1", "ns/all-0"), kKeepsAway);
}

TEST(InterPodAffinityFilterTest, ListedNamespacesReplaceTheOwnNamespace) {
  PodAffinityTerm elsewhere = PodsWith({{"app", "web"}}, kZone);
  elsewhere.namespaces = {"team"};
  const auto cluster = Zones()
                           .Running("ns/web", {.node = "a1", .labels = {{"app", "web"}}})
                           .Pending("ns/p", {.affinity = AwayFrom({elsewhere})})
                           .Build();
  EXPECT_EQ(AnswerFor(*cluster, "a1"), "");
}

TEST(InterPodAffinityFilterTest, OnePodHasToMatchAllTerms) {
  const PodAffinityRow wish =
      Near({PodsWith({{"app", "web"}}, kZone), PodsWith({{"tier", "gold"}}, kZone)});
  const auto apart = Zones()
                         .Running("ns/web", {.node = "a1", .labels = {{"app", "web"}}})
                         .Running("ns/gold", {.node = "a2", .labels = {{"tier", "gold"}}})
                         .Pending("ns/p", {.affinity = wish})
                         .Build();
  EXPECT_EQ(AnswerFor(*apart, "a1"), kNoAffinity);
  const auto together =
      Zones()
          .Running("ns/both", {.node = "a1", .labels = {{"app", "web"}, {"tier", "gold"}}})
          .Pending("ns/p", {.affinity = wish})
          .Build();
  EXPECT_EQ(AnswerFor(*together, "a2"), "");
}

TEST(InterPodAffinityFilterTest, SeveralTermsMayHaveDifferentTopologyKeys) {
  const auto cluster = Zones()
                           .Running("ns/web", {.node = "a1", .labels = {{"app", "web"}}})
                           .Pending("ns/p", {.affinity = Near({PodsWith({{"app", "web"}}, kZone),
                                                               PodsWith({{"app", "web"}}, kHost)})})
                           .Build();
  EXPECT_EQ(AnswerFor(*cluster, "a1"), "");
  EXPECT_EQ(AnswerFor(*cluster, "a2"), kNoAffinity);
}

TEST(InterPodAffinityFilterTest, OneMatchingAntiAffinityTermIsEnoughToRefuse) {
  const PodAffinityRow wish =
      AwayFrom({PodsWith({{"app", "web"}}, kHost), PodsWith({{"app", "db"}}, kHost)});
  const auto cluster = Zones()
                           .Running("ns/db", {.node = "a1", .labels = {{"app", "db"}}})
                           .Pending("ns/p", {.affinity = wish})
                           .Build();
  EXPECT_EQ(AnswerFor(*cluster, "a1"), kKeepsAway);
  EXPECT_EQ(AnswerFor(*cluster, "a2"), "");
}

TEST(InterPodAffinityFilterTest, AsKaiTerminatingPodsStillCount) {
  const auto cluster =
      Zones()
          .Releasing("ns/web", {.node = "a1", .labels = {{"app", "web"}}})
          .Pending("ns/near", {.affinity = Near({PodsWith({{"app", "web"}}, kZone)})})
          .Pending("ns/away", {.affinity = AwayFrom({PodsWith({{"app", "web"}}, kZone)})})
          .Build();
  const auto in_kai = [&](std::string_view pod) {
    return AnswerFor(*cluster, "a2", pod, Leaving::kStillCount);
  };
  EXPECT_EQ(in_kai("ns/near-0"), "");
  EXPECT_EQ(in_kai("ns/away-0"), kKeepsAway);
}

TEST(InterPodAffinityFilterTest, AsKaiEvictedPodsStillCount) {
  const auto cluster =
      Zones()
          .Running("ns/web", {.node = "a1", .labels = {{"app", "web"}}})
          .Pending("ns/p", {.affinity = AwayFrom({PodsWith({{"app", "web"}}, kZone)})})
          .Build();
  const auto statement = Statement::Open(cluster.get(), {});
  statement->Evict(PodNamed(*cluster, "ns/web-0"));
  EXPECT_EQ(AnswerFor(*cluster, "a1", "ns/p-0", Leaving::kStillCount), kKeepsAway);
}

TEST(InterPodAffinityFilterTest, PodsThatHaveEndedOrWaitDoNotCount) {
  const auto cluster =
      Zones()
          .Succeeded("ns/done", {.node = "a1", .labels = {{"app", "web"}}})
          .Pending("ns/waits", {.labels = {{"app", "web"}}})
          .Pending("ns/p", {.affinity = AwayFrom({PodsWith({{"app", "web"}}, kZone)})})
          .Build();
  EXPECT_EQ(AnswerFor(*cluster, "a1"), "");
}

TEST(InterPodAffinityFilterTest, PodsOfOtherSchedulersCount) {
  const auto cluster = Zones()
                           .Foreign("ns/web", {.node = "b1", .labels = {{"app", "web"}}})
                           .Pending("ns/p", {.affinity = Near({PodsWith({{"app", "web"}}, kZone)})})
                           .Build();
  EXPECT_EQ(AnswerFor(*cluster, "b1"), "");
  EXPECT_EQ(AnswerFor(*cluster, "a1"), kNoAffinity);
}

TEST(InterPodAffinityFilterTest, AMissingSelectorSelectsNoPodAndAnEmptyOneAll) {
  PodAffinityTerm no_selector = PodsWith({}, kZone);
  no_selector.selector = std::nullopt;
  const PodAffinityTerm everybody = PodsWith({}, kZone);
  const auto cluster = Zones()
                           .Running("ns/web", {.node = "a1"})
                           .Pending("ns/none", {.affinity = AwayFrom({no_selector})})
                           .Pending("ns/all", {.affinity = AwayFrom({everybody})})
                           .Build();
  EXPECT_EQ(AnswerFor(*cluster, "a1", "ns/none-0"), "");
  EXPECT_EQ(AnswerFor(*cluster, "a1", "ns/all-0"), kKeepsAway);
}

TEST(InterPodAffinityFilterTest, IsSkippedForPodsWithoutMatchingTerms) {
  const auto cluster =
      Zones()
          .Pending("ns/shy", {.affinity = AwayFrom({PodsWith({{"app", "web"}}, kZone)})})
          .Pending("ns/p", {.labels = {{"app", "web"}}})
          .Pending("ns/other")
          .Build();
  const auto filter = MakeInterPodAffinityFilter(*cluster, Leaving::kMakeRoom);
  EXPECT_EQ(ScopeOf(*filter, *cluster, "ns/other-0"), Filter::Scope::kNothing);
  EXPECT_EQ(ScopeOf(*filter, *cluster, "ns/p-0"), Filter::Scope::kNothing)
      << "the pod with anti-affinity has no node yet";
  const auto statement = Statement::Open(cluster.get(), {});
  statement->Place(PodNamed(*cluster, "ns/shy-0"), NodeNamed(*cluster, "a1"));
  EXPECT_EQ(ScopeOf(*filter, *cluster, "ns/p-0"), Filter::Scope::kNode);
}

// ---- pods that are leaving (spec 2 W11)

ClusterMaker OnlyZoneA() {
  return MakeCluster().Node("a1", {.labels = {{kZone, "a"}}}).Node("lone", {.cordoned = true});
}

TEST(LeavingNeighbourTest, PodsWaitUntilAnEvictedPodWithAntiAffinityIsGone) {
  const auto cluster = [] {
    return OnlyZoneA()
        .Running("ns/web", {.node = "a1", .labels = {{"app", "web"}}})
        .Pending("ns/p", {.affinity = AwayFrom({PodsWith({{"app", "web"}}, kZone)})})
        .Build();
  };
  Rooms rooms(cluster());
  EXPECT_EQ(rooms.Find("ns/p-0"), "nowhere");
  rooms.Evict("ns/web-0");
  EXPECT_EQ(rooms.Find("ns/p-0"), "a1 later");
  rooms.statement().RollBackTo(0);
  EXPECT_EQ(rooms.Find("ns/p-0"), "nowhere");

  Rooms as_kai(cluster(), {.leaving = Leaving::kStillCount});
  as_kai.Evict("ns/web-0");
  EXPECT_EQ(as_kai.Find("ns/p-0"), "nowhere");
}

TEST(LeavingNeighbourTest, TheAntiAffinityOfAnEvictedPodEndsOnceItIsGone) {
  Rooms rooms(OnlyZoneA()
                  .Running("ns/shy", {.node = "a1",
                                      .affinity = AwayFrom({PodsWith({{"app", "web"}}, kZone)})})
                  .Pending("ns/p", {.labels = {{"app", "web"}}})
                  .Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "nowhere");
  rooms.Evict("ns/shy-0");
  EXPECT_EQ(rooms.Find("ns/p-0"), "a1 later");
}

TEST(LeavingNeighbourTest, APlaceBesideATerminatingPodDoesNotLast) {
  const auto cluster = [] {
    return OnlyZoneA()
        .Running("ns/web", {.node = "a1", .labels = {{"app", "web"}}})
        .Pending("ns/p", {.affinity = Near({PodsWith({{"app", "web"}}, kZone)})})
        .Build();
  };
  for (const Leaving leaving : {Leaving::kMakeRoom, Leaving::kStillCount}) {
    Rooms rooms(cluster(), {.leaving = leaving});
    rooms.search().OnlyLasting(true);
    EXPECT_EQ(rooms.Find("ns/p-0"), "a1");
    EXPECT_FALSE(rooms.search().RefusedPassing());
    rooms.Evict("ns/web-0");
    const bool as_kai = leaving == Leaving::kStillCount;
    EXPECT_EQ(rooms.Find("ns/p-0"), as_kai ? "a1" : "nowhere");
    EXPECT_EQ(rooms.search().RefusedPassing(), !as_kai);
    rooms.search().OnlyLasting(false);
    EXPECT_EQ(rooms.Find("ns/p-0"), "a1") << "it attracts until it is gone";
  }
}

TEST(LeavingNeighbourTest, ATerminatingPodOfASeriesStillBelongsToIt) {
  // So the next one may not start the series again in another domain.
  Rooms rooms(MakeCluster()
                  .Node("a1", {.labels = {{kZone, "a"}}, .cordoned = true})
                  .Node("b1", {.labels = {{kZone, "b"}}})
                  .Running("ns/web", {.node = "a1", .labels = {{"app", "web"}}})
                  .Pending("ns/p", {.labels = {{"app", "web"}},
                                    .affinity = Near({PodsWith({{"app", "web"}}, kZone)})})
                  .Build());
  rooms.Evict("ns/web-0");
  EXPECT_EQ(rooms.Find("ns/p-0"), "nowhere");
}

TEST(LeavingNeighbourTest, ASelectedPodThatMovesCountsInItsNewDomain) {
  Rooms rooms(MakeCluster()
                  .Node("a1", {.labels = {{kZone, "a"}}})
                  .Node("b1", {.labels = {{kZone, "b"}}})
                  .Running("ns/web", {.node = "a1", .labels = {{"app", "web"}}})
                  .Pending("ns/p", {.affinity = Near({PodsWith({{"app", "web"}}, kZone)})})
                  .Build());
  rooms.Evict("ns/web-0");
  rooms.Pipeline("ns/web-0", "b1");
  rooms.search().OnlyLasting(true);
  EXPECT_EQ(rooms.Find("ns/p-0"), "b1");
}

TEST(LeavingNeighbourTest, AnEvictedPodWithAntiAffinityToItsOwnLabelsMayReturn) {
  // In KAI an evicted pod blocks itself.
  const auto cluster = [] {
    return OnlyZoneA()
        .Running("ns/web", {.node = "a1",
                            .labels = {{"app", "web"}},
                            .affinity = AwayFrom({PodsWith({{"app", "web"}}, kZone)})})
        .Build();
  };
  Rooms rooms(cluster());
  rooms.Evict("ns/web-0");
  EXPECT_EQ(rooms.Find("ns/web-0"), "a1 later");
  Rooms as_kai(cluster(), {.leaving = Leaving::kStillCount});
  as_kai.Evict("ns/web-0");
  EXPECT_EQ(as_kai.Find("ns/web-0"), "nowhere");
}

}  // namespace
}  // namespace kai::inter_pod_affinity_test

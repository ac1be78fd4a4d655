// Inter-pod affinity: which pods a term selects, and how many of them are in each domain.
#include "kai/model/columns/affinity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/model/changes/statement.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai::affinity_test {
namespace {

// Selects pods with the label app=<app>, in these namespaces or in the owner's.
PodAffinityTerm About(std::string app, std::string key = "zone",
                      std::vector<std::string> namespaces = {}) {
  return {.selector = LabelSelector{{"app", SelectorOp::kIn, {std::move(app)}}},
          .namespaces = std::move(namespaces),
          .topology_key = std::move(key)};
}

PodAffinityRow Requires(PodAffinityTerm term) {
  return {
      .required = {std::move(term)}, .required_anti = {}, .preferred = {}, .preferred_anti = {}};
}
PodAffinityRow Avoids(PodAffinityTerm term) {
  return {
      .required = {}, .required_anti = {std::move(term)}, .preferred = {}, .preferred_anti = {}};
}
PodAffinityRow Prefers(PodAffinityTerm term, int32_t weight) {
  return {.required = {},
          .required_anti = {},
          .preferred = {{std::move(term), weight}},
          .preferred_anti = {}};
}
PodAffinityRow PrefersToAvoid(PodAffinityTerm term, int32_t weight) {
  return {.required = {},
          .required_anti = {},
          .preferred = {},
          .preferred_anti = {{std::move(term), weight}}};
}

// Nodes e1 and e2 in the east, w1 in the west, and one without a zone.
ClusterMaker Zones() {
  return MakeCluster()
      .Node("e1", {.gpus = 8, .labels = {{"zone", "east"}}})
      .Node("e2", {.gpus = 8, .labels = {{"zone", "east"}}})
      .Node("w1", {.gpus = 8, .labels = {{"zone", "west"}}})
      .Node("nowhere", {.gpus = 8});
}

PodsSpec On(std::string node, std::string app, PodAffinityRow affinity = {}) {
  PodsSpec spec;
  spec.node = std::move(node);
  spec.labels = {{"app", std::move(app)}};
  spec.affinity = std::move(affinity);
  return spec;
}

const PodClass& ClassOf(const Cluster& cluster, std::string_view pod) {
  return cluster.ClassOf(PodNamed(cluster, pod));
}

TEST(AffinityIndexTest, IsEmptyWithoutTerms) {
  const auto cluster = Zones().Running("ns/g", On("e1", "web")).Build();
  EXPECT_TRUE(cluster->affinity().empty());
  EXPECT_TRUE(ClassOf(*cluster, "ns/g-0").affinity.empty());
}

TEST(AffinityIndexTest, CountsThePodsThatATermSelectsPerDomain) {
  const auto cluster = Zones()
                           .Running("ns/a", On("e1", "web"))
                           .Running("ns/b", On("e2", "web"))
                           .Running("ns/c", On("w1", "web"))
                           .Running("ns/d", On("w1", "db"))
                           .Running("ns/e", On("nowhere", "web"))
                           .Pending("ns/new", On("", "new", Requires(About("web"))))
                           .Build();
  const AffinityIndex& index = cluster->affinity();
  const AffinityTermId term = ClassOf(*cluster, "ns/new-0").affinity.required[0];
  const auto count = [&](std::string_view node) {
    return index.Matching(term, index.DomainOf(term, NodeNamed(*cluster, node)));
  };
  EXPECT_EQ(count("e1"), 2);
  EXPECT_EQ(count("e2"), 2);
  EXPECT_EQ(count("w1"), 1);
  EXPECT_FALSE(index.DomainOf(term, NodeNamed(*cluster, "nowhere")).valid());
  EXPECT_EQ(index.TotalMatching(term), 3) << "pods outside every domain do not count";
}

TEST(AffinityIndexTest, CountsOnlyPodsThatOccupyANode) {
  const auto cluster = Zones()
                           .Pending("ns/a", On("", "web"))
                           .Succeeded("ns/b", On("e1", "web"))
                           .Releasing("ns/c", On("e1", "web"))
                           .Foreign("kube-system/d", On("e1", "web"))
                           .Pending("ns/new", On("", "new", Requires(About("web"))))
                           .Build();
  const AffinityTermId term = ClassOf(*cluster, "ns/new-0").affinity.required[0];
  EXPECT_EQ(cluster->affinity().TotalMatching(term), 1) << "a leaving pod still counts";
}

TEST(AffinityIndexTest, ATermSelectsPodsOfItsNamespaces) {
  const auto matching = [](PodAffinityTerm term) {
    const auto cluster = Zones()
                             .Running("ns/a", On("e1", "web"))
                             .Running("other/b", On("e1", "web"))
                             .Running("third/c", On("e1", "web"))
                             .Pending("ns/new", On("", "new", Requires(std::move(term))))
                             .Build();
    return cluster->affinity().TotalMatching(ClassOf(*cluster, "ns/new-0").affinity.required[0]);
  };
  EXPECT_EQ(matching(About("web")), 1) << "no namespace given: the owner's";
  EXPECT_EQ(matching(About("web", "zone", {"other", "third"})), 2);
  PodAffinityTerm everywhere = About("web");
  everywhere.all_namespaces = true;
  EXPECT_EQ(matching(everywhere), 3);
}

TEST(AffinityIndexTest, ATermWithoutASelectorSelectsNoPodAndAnEmptyOneAll) {
  const auto matching = [](std::optional<LabelSelector> selector) {
    PodAffinityTerm term = About("web");
    term.selector = std::move(selector);
    const auto cluster = Zones()
                             .Running("ns/a", On("e1", "web"))
                             .Running("ns/b", On("e1", "db"))
                             .Pending("ns/new", On("", "new", Requires(term)))
                             .Build();
    return cluster->affinity().TotalMatching(ClassOf(*cluster, "ns/new-0").affinity.required[0]);
  };
  EXPECT_EQ(matching(std::nullopt), 0);
  EXPECT_EQ(matching(LabelSelector()), 2);
}

// kube-scheduler counts, for required affinity, only pods that match all terms.
TEST(AffinityIndexTest, SeveralRequiredTermsCountTheSamePods) {
  PodsSpec picky = On("", "new");
  PodAffinityTerm second = About("web", "kubernetes.io/hostname");
  second.selector->push_back({"tier", SelectorOp::kExists, {}});
  picky.affinity.required = {About("web"), second};
  PodsSpec tiered = On("e2", "web");
  tiered.labels.emplace_back("tier", "1");
  const auto cluster = Zones()
                           .Running("ns/a", On("e1", "web"))
                           .Running("ns/b", tiered)
                           .Pending("ns/new", picky)
                           .Build();
  for (const AffinityTermId term : ClassOf(*cluster, "ns/new-0").affinity.required) {
    EXPECT_LE(cluster->affinity().TotalMatching(term), 1);
  }
  const AffinityTermId zone = ClassOf(*cluster, "ns/new-0").affinity.required[0];
  EXPECT_EQ(cluster->affinity().TotalMatching(zone), 1);
}

TEST(AffinityIndexTest, CountsPodsWithRequiredAntiAffinity) {
  const auto cluster = Zones()
                           .Running("ns/a", On("e1", "web", Avoids(About("db"))))
                           .Running("ns/b", On("e2", "web", Avoids(About("db"))))
                           .Pending("ns/new", On("", "db"))
                           .Build();
  const AffinityIndex& index = cluster->affinity();
  const AffinityTermId term = ClassOf(*cluster, "ns/a-0").affinity.required_anti[0];
  EXPECT_THAT(ClassOf(*cluster, "ns/new-0").matched_terms, testing::ElementsAre(term));
  EXPECT_EQ(index.AntiOwners(term, index.DomainOf(term, NodeNamed(*cluster, "e1"))), 2);
  EXPECT_EQ(index.AntiOwners(term, index.DomainOf(term, NodeNamed(*cluster, "w1"))), 0);
  EXPECT_EQ(index.TotalAntiOwners(term), 2);
}

TEST(AffinityIndexTest, SumsThePreferencesOfPlacedPods) {  // spec 3 W7
  const auto cluster = Zones()
                           .Running("ns/a", On("e1", "web", Prefers(About("db"), 10)))
                           .Running("ns/b", On("e2", "web", PrefersToAvoid(About("db"), 4)))
                           .Running("ns/c", On("w1", "web", Requires(About("db"))))
                           .Pending("ns/new", On("", "db"))
                           .Build();
  const AffinityIndex& index = cluster->affinity();
  int64_t east = 0, west = 0, owners = 0;
  for (const AffinityTermId term : ClassOf(*cluster, "ns/new-0").matched_terms) {
    east += index.OwnerWeight(term, index.DomainOf(term, NodeNamed(*cluster, "e1")));
    west += index.OwnerWeight(term, index.DomainOf(term, NodeNamed(*cluster, "w1")));
    owners += index.TotalScoringOwners(term);
  }
  EXPECT_EQ(east, 10 - 4);
  EXPECT_EQ(west, 1) << "required affinity counts as a preference of weight 1";
  EXPECT_EQ(owners, 3);
}

TEST(AffinityIndexTest, RequiredAntiAffinityIsNoPreference) {
  const auto cluster = Zones()
                           .Running("ns/a", On("e1", "web", Avoids(About("db"))))
                           .Pending("ns/new", On("", "db"))
                           .Build();
  EXPECT_TRUE(ClassOf(*cluster, "ns/a-0").affinity.as_owner.empty());
}

TEST(AffinityIndexTest, FindsPodsThatMayBeTheFirstOfTheirKind) {
  const auto cluster = Zones()
                           .Pending("ns/a", On("", "web", Requires(About("web"))))
                           .Pending("ns/b", On("", "web", Requires(About("db"))))
                           .Build();
  EXPECT_TRUE(ClassOf(*cluster, "ns/a-0").matches_own_required);
  EXPECT_FALSE(ClassOf(*cluster, "ns/b-0").matches_own_required);
}

TEST(AffinityIndexTest, FollowsAStatement) {
  const auto cluster = Zones()
                           .Running("ns/a", On("e1", "web"))
                           .Pending("ns/b", On("", "web"))
                           .Pending("ns/new", On("", "new", Requires(About("web"))))
                           .Build();
  const AffinityTermId term = ClassOf(*cluster, "ns/new-0").affinity.required[0];
  const auto west = cluster->affinity().DomainOf(term, NodeNamed(*cluster, "w1"));
  const auto statement = Statement::Open(cluster.get(), {});
  statement->Place(PodNamed(*cluster, "ns/b-0"), NodeNamed(*cluster, "w1"));
  EXPECT_EQ(cluster->affinity().Matching(term, west), 1);
  statement->Evict(PodNamed(*cluster, "ns/a-0"));
  EXPECT_EQ(cluster->affinity().TotalMatching(term), 2)
      << "a leaving pod still counts (spec 2 W11)";
  statement->Pipeline(PodNamed(*cluster, "ns/a-0"), NodeNamed(*cluster, "w1"));
  EXPECT_EQ(cluster->affinity().Matching(term, west), 2);
  EXPECT_EQ(cluster->affinity().TotalMatching(term), 3) << "counts in both places";
  statement->RollBackTo(0);
  EXPECT_EQ(cluster->affinity().Matching(term, west), 0);
  EXPECT_EQ(cluster->affinity().TotalMatching(term), 1);
}

// ---- namespaces by their labels

PodAffinityTerm AboutNamespaces(SelectorRequirement requirement) {
  PodAffinityTerm term = About("web");
  term.namespace_selector = {std::move(requirement)};
  return term;
}

ClusterMaker TwoTeams() {
  return Zones()
      .Running("east/a", On("e1", "web"))
      .Running("west/b", On("e1", "web"))
      .Running("ns/own", On("e1", "web"));
}

// How many pods the term of ns/p-0 selects.
int64_t Found(const Cluster& cluster) {
  return cluster.affinity().TotalMatching(ClassOf(cluster, "ns/p-0").affinity.required.at(0));
}

TEST(NamespaceSelectorTest, FindsNamespacesByTheirLabels) {
  ClusterMaker maker = TwoTeams().Pending(
      "ns/p", On("", "new", Requires(AboutNamespaces({"team", SelectorOp::kIn, {"red"}}))));
  maker.rows().namespaces = {{.name = "east", .labels = {{"team", "red"}}},
                             {.name = "west", .labels = {{"team", "blue"}}}};
  EXPECT_EQ(Found(*maker.Build()), 1);
  maker.rows().pods.back().affinity.required[0].namespaces = {"west"};
  EXPECT_EQ(Found(*maker.Build()), 2) << "the namespaces in the list count as well";
}

TEST(NamespaceSelectorTest, EveryNamespaceHasItsNameAsALabel) {
  const auto cluster =
      TwoTeams()
          .Pending("ns/p", On("", "new",
                              Requires(AboutNamespaces(
                                  {"kubernetes.io/metadata.name", SelectorOp::kNotIn, {"east"}}))))
          .Build();
  EXPECT_EQ(Found(*cluster), 2);
  EXPECT_FALSE(ClassOf(*cluster, "ns/p-0").needs_namespaces);
}

TEST(NamespaceSelectorTest, WithoutNamespacesInTheInputOtherLabelsAreUnknown) {
  const auto cluster =
      TwoTeams()
          .Pending("ns/p",
                   On("", "new", Requires(AboutNamespaces({"team", SelectorOp::kIn, {"red"}}))))
          .Build();
  EXPECT_TRUE(ClassOf(*cluster, "ns/p-0").needs_namespaces);
}

}  // namespace
}  // namespace kai::affinity_test

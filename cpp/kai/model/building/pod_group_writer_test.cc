// Pod groups in a cluster: queue, priority, and the tree of sub-groups (spec 2 G1-G16).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/base/text.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai::pod_group_writer_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

PodGroupRow Group(std::string name, std::string queue = "q") {
  PodGroupRow row;
  row.namespace_name = "ns";
  row.name = std::move(name);
  row.queue = std::move(queue);
  return row;
}

std::vector<std::string> GroupNames(const Cluster& cluster) {
  std::vector<std::string> names;
  for (const PodGroupId group : cluster.pod_groups().name.ids()) {
    names.push_back(cluster.PodGroupName(group));
  }
  return names;
}

SubGroupRow SubGroup(std::string name, std::optional<std::string> parent = {},
                     std::optional<int64_t> min_member = {},
                     std::optional<int64_t> min_sub_group = {}) {
  return {.name = std::move(name),
          .parent = std::move(parent),
          .min_member = min_member,
          .min_sub_group = min_sub_group,
          .topology = {}};
}

// "[a:2 [b:1/ c:0 d:3]]": pod sets with their minimum, sets with their minimum before the slash.
std::string TreeText(const Cluster& cluster, SubGroupId set) {
  const SubGroupColumns& sets = cluster.sub_groups();
  const std::string name(cluster.Text(sets.name[set]));
  if (sets.is_pod_set[set] != 0) return StrCat(name, ":", sets.minimum[set]);
  std::string text = StrCat("[", name, ":", sets.minimum[set], "/");
  for (int32_t i = sets.children[set].begin; i < sets.children[set].end; ++i) {
    StrAppend(&text, " ", TreeText(cluster, sets.child_list[static_cast<size_t>(i)]));
  }
  return text + "]";
}
std::string TreeOf(const PodGroupRow& row, std::vector<Rejection>* rejections = nullptr) {
  const auto cluster = MakeCluster().Queue("q").Add(row).Build();
  if (rejections != nullptr) *rejections = cluster->rejections();
  return TreeText(*cluster, cluster->pod_groups().root[PodGroupId(0)]);
}

TEST(PodGroupsTest, AreNumberedByNamespaceAndName) {
  PodGroupRow other = Group("a");
  other.namespace_name = "ns-2";
  const auto cluster = MakeCluster().Queue("q").Add(Group("b")).Add(other).Add(Group("a")).Build();
  EXPECT_THAT(GroupNames(*cluster), ElementsAre("ns/a", "ns/b", "ns-2/a"));
}

TEST(PodGroupsTest, WithEqualNamesInOneNamespaceAreAllRejected) {
  PodGroupRow other = Group("a");
  other.namespace_name = "ns-2";
  const auto cluster = MakeCluster().Queue("q").Add(Group("a")).Add(Group("a")).Add(other).Build();
  EXPECT_THAT(GroupNames(*cluster), ElementsAre("ns-2/a"));
  EXPECT_THAT(
      cluster->rejections(),
      ElementsAre(Rejection{"PodGroup", "ns/a", "metadata.name",
                            "occurs 2 times, and it is unknown which one is valid: all are left "
                            "out"}));
}

TEST(PodGroupsTest, RankByAgeThenNameThenNamespace) {  // spec 1 F73, spec 2 O3
  PodGroupRow young = Group("a");
  young.created_ns = 5;
  PodGroupRow old = Group("z");
  old.created_ns = 1;
  PodGroupRow same = Group("b");
  same.created_ns = 5;
  PodGroupRow elsewhere = Group("a");
  elsewhere.namespace_name = "a-namespace";
  elsewhere.created_ns = 5;
  PodGroupRow unknown = Group("y");
  const auto cluster =
      MakeCluster().Queue("q").Add(young).Add(old).Add(same).Add(elsewhere).Add(unknown).Build();
  std::vector<std::string> order;
  for (const PodGroupId group : InOrderOfCreation(cluster->pod_groups()))
    order.push_back(cluster->PodGroupName(group));
  EXPECT_THAT(order, ElementsAre("ns/y", "ns/z", "a-namespace/a", "ns/a", "ns/b"));
}

// ---- priority and preemptibility

struct Standing {
  int32_t priority;
  bool preemptible;
  friend bool operator==(const Standing&, const Standing&) = default;
};
void PrintTo(const Standing& s, std::ostream* out) { *out << s.priority << " " << s.preemptible; }

Standing StandingOf(const PodGroupRow& row, std::vector<PriorityClassRow> classes) {
  ClusterMaker maker = MakeCluster().Queue("q").Add(row);
  for (PriorityClassRow& each : classes) maker.Add(std::move(each));
  const auto cluster = maker.Build();
  return {cluster->pod_groups().priority[PodGroupId(0)],
          cluster->pod_groups().preemptible[PodGroupId(0)] != 0};
}

TEST(PodGroupsTest, HaveThePriorityOfTheirClass) {  // spec 2 G4
  PodGroupRow row = Group("g");
  row.priority_class = "build";
  EXPECT_EQ(StandingOf(row, {{.name = "build", .value = 100}}), (Standing{100, false}));
  EXPECT_EQ(StandingOf(row, {{.name = "build", .value = 99}}), (Standing{99, true}));
  EXPECT_EQ(StandingOf(row, {{.name = "build", .value = -100}}), (Standing{-100, true}));
}

TEST(PodGroupsTest, WithoutTheirClassHaveTheGlobalDefaultOrFifty) {  // spec 2 G4
  PodGroupRow row = Group("g");
  row.priority_class = "missing";
  EXPECT_EQ(StandingOf(row, {}), (Standing{50, true}));
  EXPECT_EQ(StandingOf(row, {{.name = "other", .value = 125}}), (Standing{50, true}));
  const PriorityClassRow usual = {.name = "usual", .value = 125, .global_default = true};
  EXPECT_EQ(StandingOf(row, {usual}), (Standing{125, false}));
  EXPECT_EQ(StandingOf(Group("g"), {usual}), (Standing{125, false}));
  row.priority_class = "usual";
  EXPECT_EQ(StandingOf(row, {usual, {.name = "x", .value = 200, .global_default = true}}),
            (Standing{125, false}));
}

TEST(PodGroupsTest, UseTheDefaultClassWithTheLargerValue) {
  const PriorityClassRow small = {.name = "small", .value = 60, .global_default = true};
  const PriorityClassRow large = {.name = "large", .value = 125, .global_default = true};
  EXPECT_EQ(StandingOf(Group("g"), {small, large}), (Standing{125, false}));
  EXPECT_EQ(StandingOf(Group("g"), {large, small}), (Standing{125, false}));
}

TEST(PodGroupsTest, MaySetTheirPreemptibility) {  // spec 1 F96
  PodGroupRow row = Group("g");
  row.priority_class = "class";
  row.preemptibility = "preemptible";
  EXPECT_EQ(StandingOf(row, {{.name = "class", .value = 1000}}), (Standing{1000, true}));
  row.preemptibility = "non-preemptible";
  EXPECT_EQ(StandingOf(row, {{.name = "class", .value = 50}}), (Standing{50, false}));
}

TEST(PodGroupsTest, GroupsInAMissingQueueAreNotVictims) {  // spec 2 G3, spec 1 F10
  PodGroupRow row = Group("g", "nowhere");
  row.priority_class = "class";
  row.preemptibility = "preemptible";
  EXPECT_EQ(StandingOf(row, {{.name = "class", .value = 75}}), (Standing{0, false}));
  const auto cluster =
      MakeCluster().Queue("orphan", {.parent = "missing"}).Add(Group("g", "orphan")).Build();
  EXPECT_FALSE(cluster->pod_groups().queue[PodGroupId(0)].valid());
  EXPECT_EQ(cluster->Text(cluster->pod_groups().queue_name[PodGroupId(0)]), "orphan");
}

// ---- node pools

TEST(PodGroupsTest, OfAnotherNodePoolAreIgnored) {  // spec 2 G2
  PodGroupRow gold = Group("gold");
  gold.labels = {{"kai.scheduler/node-pool", "gold"}};
  ClusterMaker maker = MakeCluster().Add(Group("ours")).Add(gold);
  EXPECT_THAT(GroupNames(*maker.Build()), ElementsAre("ns/ours"));
  maker.params().node_pool_label_value = "gold";
  const auto cluster = maker.Build();
  EXPECT_THAT(GroupNames(*cluster), ElementsAre("ns/gold"));
  EXPECT_EQ(cluster->Text(cluster->pod_groups().node_pool[PodGroupId(0)]), "gold");
}

TEST(PodGroupsTest, WithABackoffAreIgnoredAfterOneTryInThisPool) {  // spec 2 G2, spec 1 F32
  const auto is_seen = [](std::optional<int64_t> backoff, std::string latest_pool) {
    PodGroupRow row = Group("g");
    row.scheduling_backoff = backoff;
    row.latest_condition_node_pool = std::move(latest_pool);
    return MakeCluster().Add(row).Build()->pod_groups().size() == 1;
  };
  EXPECT_FALSE(is_seen(1, "default"));
  EXPECT_FALSE(is_seen(0, "default"));
  EXPECT_TRUE(is_seen(1, "gold")) << "another pool tried it last";
  EXPECT_TRUE(is_seen(1, "")) << "never tried";
  EXPECT_TRUE(is_seen(-1, "default"));
  EXPECT_TRUE(is_seen({}, "default"));
}

TEST(PodGroupsTest, WithABackoffNameTheirPoolInMessages) {  // spec 2 M2
  PodGroupRow once = Group("once");
  once.scheduling_backoff = 1;
  const auto cluster = MakeCluster().Add(once).Add(Group("usual")).Build();
  const PodGroupColumns& groups = cluster->pod_groups();
  EXPECT_TRUE(groups.backoff_prefix[PodGroupNamed(*cluster, "ns/once")]);
  EXPECT_FALSE(groups.backoff_prefix[PodGroupNamed(*cluster, "ns/usual")]);
  EXPECT_EQ(cluster->Text(groups.node_pool[PodGroupNamed(*cluster, "ns/once")]), "default");
}

TEST(PodGroupsTest, HaveTheGracePeriodOfTheShardUnlessTheySetOne) {
  PodGroupRow own = Group("own");
  own.staleness_grace_ns = -1;
  own.preemption_delay_ns = 5;
  ClusterMaker maker = MakeCluster().Add(own).Add(Group("usual"));
  maker.params().default_staleness_grace_ns = 7;
  const auto cluster = maker.Build();
  EXPECT_EQ(cluster->pod_groups().staleness_grace_ns[PodGroupNamed(*cluster, "ns/own")], -1);
  EXPECT_EQ(cluster->pod_groups().staleness_grace_ns[PodGroupNamed(*cluster, "ns/usual")], 7);
  EXPECT_EQ(cluster->pod_groups().preemption_delay_ns[PodGroupNamed(*cluster, "ns/own")], 5);
  EXPECT_EQ(cluster->pod_groups().preemption_delay_ns[PodGroupNamed(*cluster, "ns/usual")], 0);
}

// ---- sub-groups

TEST(SubGroupsTest, AGroupWithoutSubGroupsHasOnePodSetNamedDefault) {  // spec 2 G5
  PodGroupRow row = Group("g");
  EXPECT_EQ(TreeOf(row), "[:1/ default:1]");
  row.min_member = 4;
  EXPECT_EQ(TreeOf(row), "[:1/ default:4]");
  row.min_member = 0;
  EXPECT_EQ(TreeOf(row), "[:1/ default:0]") << "no gang";
  row.min_member = -3;
  EXPECT_EQ(TreeOf(row), "[:1/ default:0]");
}

TEST(SubGroupsTest, TheRootsThresholdHoldsForTheDefaultPodSetToo) {  // spec 2 G5
  PodGroupRow row = Group("g");
  row.min_sub_group = 0;
  EXPECT_EQ(TreeOf(row), "[:0/ default:1]");
  row.min_sub_group = 2;
  EXPECT_EQ(TreeOf(row), "[:2/ default:1]");
}

TEST(SubGroupsTest, LeavesArePodSetsSortedByName) {  // spec 2 G5, E3
  PodGroupRow row = Group("g");
  row.min_member = 9;  // ignored
  row.sub_groups = {SubGroup("worker", {}, 3), SubGroup("master", {}, 1), SubGroup("spare")};
  EXPECT_EQ(TreeOf(row), "[:3/ master:1 spare:0 worker:3]");
  row.min_sub_group = 2;
  EXPECT_EQ(TreeOf(row), "[:2/ master:1 spare:0 worker:3]");
}

TEST(SubGroupsTest, ASubGroupNamedAsAParentIsASet) {
  PodGroupRow row = Group("g");
  row.sub_groups = {SubGroup("decode", {}, 7), SubGroup("d2", "decode", 2),
                    SubGroup("d1", "decode", 1), SubGroup("prefill", {}, 4)};
  EXPECT_EQ(TreeOf(row), "[:2/ [decode:2/ d1:1 d2:2] prefill:4]");
  row.sub_groups[0].min_sub_group = 1;
  row.sub_groups[3].min_sub_group = 5;  // on a leaf: ignored
  EXPECT_EQ(TreeOf(row), "[:2/ [decode:1/ d1:1 d2:2] prefill:4]");
}

TEST(SubGroupsTest, ParentsAreLookedUpInLowerCase) {
  PodGroupRow row = Group("g");
  row.sub_groups = {SubGroup("decode"), SubGroup("d1", "DeCode", 1)};
  EXPECT_EQ(TreeOf(row), "[:1/ [decode:1/ d1:1]]");
}

TEST(SubGroupsTest, AnInvalidTreeBecomesOnePodSet) {  // spec 2 G5, E3
  std::vector<Rejection> rejections;
  PodGroupRow row = Group("g");
  row.min_member = 5;
  row.min_sub_group = 3;

  row.sub_groups = {SubGroup("a", {}, 2), SubGroup("a", {}, 1)};
  EXPECT_EQ(TreeOf(row, &rejections), "[:1/ default:1]");
  EXPECT_THAT(rejections, ElementsAre(Rejection{"PodGroup", "ns/g", "spec.subGroups",
                                                "subgroup a already exists"}));

  row.sub_groups = {SubGroup("a", "Missing", 2)};
  EXPECT_EQ(TreeOf(row, &rejections), "[:1/ default:1]");
  EXPECT_THAT(rejections, ElementsAre(Rejection{"PodGroup", "ns/g", "spec.subGroups",
                                                "parent subgroup missing of a not found"}));

  row.sub_groups = {SubGroup("a", "b"), SubGroup("b", "a"), SubGroup("c")};
  EXPECT_EQ(TreeOf(row, &rejections), "[:1/ default:1]");
  EXPECT_THAT(rejections, ElementsAre(Rejection{"PodGroup", "ns/g", "spec.subGroups",
                                                "cycle detected in subgroups"}));
}

TEST(SubGroupsTest, EachGroupHasItsOwnTree) {
  PodGroupRow with = Group("a");
  with.sub_groups = {SubGroup("x", {}, 2)};
  const auto cluster = MakeCluster().Queue("q").Add(with).Add(Group("b")).Build();
  const PodGroupColumns& groups = cluster->pod_groups();
  const SubGroupColumns& sets = cluster->sub_groups();
  for (const PodGroupId group : groups.name.ids()) {
    ASSERT_EQ(groups.pod_sets[group].size(), 1);
    const SubGroupId set = groups.pod_set_list[static_cast<size_t>(groups.pod_sets[group].begin)];
    EXPECT_EQ(sets.group[set], group);
    EXPECT_EQ(sets.parent[set], groups.root[group]);
  }
  EXPECT_EQ(TreeText(*cluster, groups.root[PodGroupNamed(*cluster, "ns/a")]), "[:1/ x:2]");
}

// ---- lists

std::vector<std::string> NamesOf(const Cluster& cluster, const std::vector<PodGroupId>& groups) {
  std::vector<std::string> names;
  for (const PodGroupId group : groups) names.push_back(cluster.PodGroupName(group));
  return names;
}

TEST(PodGroupListsTest, AreSortedByAgeThenName) {
  const ClusterMaker maker = [] {
    ClusterMaker made = MakeCluster().Pending("ns/z").Pending("ns/b").Pending("ns/a");
    for (PodGroupRow& row : made.rows().pod_groups) {
      if (row.name != "z") row.created_ns = 7;
    }
    return made;
  }();
  const auto cluster = maker.Build();
  const PodGroupLists& lists = cluster->pod_groups().lists;
  EXPECT_THAT(NamesOf(*cluster, lists.waiting), ElementsAre("ns/a", "ns/b", "ns/z"));
}

TEST(PodGroupListsTest, ListWaitingGroupsAndVictims) {
  const auto cluster = MakeCluster()
                           .Queue("inner")
                           .Queue("q", {.parent = "inner"})
                           .Queue("other")
                           .Node("n")
                           .Pending("q/waits")
                           .Running("q/runs", {.node = "n"})
                           .Running("q/both", {.node = "n", .min_member = 1})
                           .Pending("q/both")
                           .Running("q/keeps", {.node = "n", .preemptibility = "non-preemptible"})
                           .Releasing("q/leaves", {.node = "n"})
                           .Gated("q/gated")
                           .Running("inner/lost", {.node = "n"})
                           .Running("nowhere/lost", {.node = "n"})
                           .Running("other/runs", {.node = "n"})
                           .Build();
  const PodGroupLists& lists = cluster->pod_groups().lists;
  EXPECT_THAT(NamesOf(*cluster, lists.waiting), ElementsAre("q/waits", "q/both"));
  EXPECT_THAT(NamesOf(*cluster, lists.may_lose), ElementsAre("q/runs", "q/both", "other/runs"));
  const auto in = [&](std::string_view queue) {
    return NamesOf(*cluster, lists.may_lose_in[QueueNamed(*cluster, queue)]);
  };
  EXPECT_THAT(in("q"), ElementsAre("q/runs", "q/both"));
  EXPECT_THAT(in("other"), ElementsAre("other/runs"));
  EXPECT_THAT(in("inner"), IsEmpty());
}

TEST(PodGroupListsTest, NotableGroupsExcludeGroupsThatJustRun) {
  const auto cluster = MakeCluster()
                           .Queue("q")
                           .Node("n")
                           .Running("q/runs", {.node = "n"})
                           .Pending("q/waits")
                           .Running("q/broken", {.node = "n", .min_member = 2})
                           .Running("nowhere/lost", {.node = "n"})
                           .Gated("q/gated")
                           .Build();
  const std::vector<std::string> notable = NamesOf(*cluster, cluster->pod_groups().lists.notable);
  EXPECT_THAT(notable, ElementsAre("q/waits", "q/broken", "nowhere/lost", "q/gated"));
}

TEST(PodGroupListsTest, APodOfUnknownNamespacesIsNotAVictim) {
  const auto cluster = MakeCluster()
                           .Node("n")
                           .Running("ns/plain", {.node = "n"})
                           .Running("ns/odd", {.node = "n", .affinity = NeedsNamespaces()})
                           .Build();
  EXPECT_THAT(NamesOf(*cluster, cluster->pod_groups().lists.may_lose), ElementsAre("ns/plain"));
}

TEST(PodGroupListsTest, OnlyAWaitingPodOfUnknownNamespacesBlocksItsGroup) {
  const auto may_run = [](size_t odd) {
    ClusterMaker maker =
        MakeCluster().Node("n").Running("ns/g", {.node = "n"}).Pending("ns/g").Pending("ns/other");
    maker.rows().pods[odd].affinity = NeedsNamespaces();
    const auto cluster = maker.Build();
    return cluster->pod_groups().may_run[PodGroupNamed(*cluster, "ns/g")] != 0;
  };
  EXPECT_TRUE(may_run(0)) << "already runs";
  EXPECT_FALSE(may_run(1));
}

}  // namespace
}  // namespace kai::pod_group_writer_test

#include "kai/placement/score_sheet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kai/placement/rooms_for_test.h"

namespace kai::score_sheet_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "node sum", best first; "later" for nodes where the pod has to wait.
std::vector<std::string> RowsOf(const Cluster& cluster, const ScoreSheet& sheet) {
  std::vector<std::string> rows;
  for (const ScoreSheet::Row& row : sheet.rows) {
    rows.push_back(std::string(cluster.Text(cluster.nodes().name[row.node])) + " " +
                   std::to_string(static_cast<int64_t>(row.sum)) + (row.now ? "" : " later"));
  }
  return rows;
}

ClusterMaker ThreeNodes() {
  return MakeCluster()
      .Node("n1", {.gpus = 8})
      .Node("n2", {.gpus = 8})
      .Node("n3", {.gpus = 2})
      .Node("off", {.gpus = 8, .cordoned = true})
      .Running("ns/a", {.gpus = 8, .node = "n1"})
      .Running("ns/b", {.gpus = 4, .node = "n2"})
      .Pending("ns/p", {.pods = 2, .gpus = 1});
}

TEST(ScoreSheetTest, HasARowForEachNodeThatFitsAndAColumnForEachPlugin) {  // spec 3 W1-W4
  Rooms rooms(ThreeNodes().Build());
  const ScoreSheet sheet = rooms.search().ScoresOf(rooms.Pod("ns/p-0"));
  EXPECT_THAT(sheet.plugins, ElementsAre("nodeavailability", "resourcetype", "podaffinity",
                                         "nominatednode", "nodeplacement", "topology"));
  EXPECT_THAT(RowsOf(rooms.cluster(), sheet), ElementsAre("n3 1006", "n2 1004"));
  EXPECT_THAT(sheet.rows[0].scores, ElementsAre(1000, 0, 0, 0, 6.75, 0));  // 9 * (1 - 2 / 8)
  EXPECT_THAT(sheet.rows[1].scores, ElementsAre(1000, 0, 0, 0, 4.5, 0));
  EXPECT_EQ(sheet.searched, 4);
  EXPECT_EQ(rooms.Find("ns/p-0"), "n3");
}

TEST(ScoreSheetTest, EqualNodesAreSortedByName) {  // spec 3 W1
  Rooms rooms(MakeCluster().Node("b").Node("c").Node("a").Pending("ns/p").Build());
  EXPECT_THAT(RowsOf(rooms.cluster(), rooms.search().ScoresOf(rooms.Pod("ns/p-0"))),
              ElementsAre("a 1019", "b 1019", "c 1019"));
}

TEST(ScoreSheetTest, APodThatNoNodeCanTakeHasNoRows) {
  Rooms rooms(MakeCluster().Node("n", {.gpus = 8}).Pending("ns/p", {.gpus = 9}).Build());
  const ScoreSheet sheet = rooms.search().ScoresOf(rooms.Pod("ns/p-0"));
  EXPECT_THAT(sheet.rows, IsEmpty());
  EXPECT_EQ(sheet.searched, 1);
}

TEST(ScoreSheetTest, InAnAreaWithBandsNodesOfAllBandsHaveARow) {  // spec 4 S1, S3
  Rooms rooms(MakeCluster()
                  .Add(TopologyRow{.name = "t", .levels = {{.node_label = "rack", .alias = ""}}})
                  .Node("n1", {.gpus = 4, .labels = {{"rack", "a"}}})
                  .Node("n2", {.gpus = 4, .labels = {{"rack", "b"}}})
                  .Node("other", {.gpus = 4})
                  .Pending("ns/p", {.gpus = 1})
                  .Build());
  const DomainTree& tree = rooms.cluster().topologies()[TopologyId(0)];
  DomainScores scores{
      .tree = &tree, .depth = 1, .steps = IndexVector<TopologyDomainId, int8_t>(tree.size())};
  scores.steps[tree.DomainOf(rooms.Node("n2"))] = DomainScores::kMostSteps;
  const NodeSubset all = NodeSubset::All();
  const NodeSearch::Area area{.nodes = &all, .scores = &scores};
  rooms.search().Confine(&area);
  const ScoreSheet sheet = rooms.search().ScoresOf(rooms.Pod("ns/p-0"));
  EXPECT_THAT(RowsOf(rooms.cluster(), sheet), ElementsAre("n2 1001009", "n1 1009"));
  EXPECT_EQ(sheet.searched, 2);
}

TEST(ScoreWatchTest, ThePlaceThatWasNotUndoneCounts) {
  const auto cluster = ThreeNodes().Build();
  const auto rooms = MakeSearch(*cluster, {});
  const PodId pod = PodNamed(*cluster, "ns/p-0");
  const PodId other = PodNamed(*cluster, "ns/p-1");
  ScoreWatch watch(pod);
  rooms->search.Watch(&watch);
  const auto statement = Statement::Open(cluster.get(), {&rooms->search, &watch});
  const auto find = [&](PodId each) {
    return rooms->search.Find(cluster->pods().pod_class[each], nullptr, each).node;
  };
  EXPECT_EQ(watch.placed(), nullptr);

  statement->Place(other, find(other));  // n3, which is fuller afterwards
  EXPECT_EQ(watch.placed(), nullptr);
  const Statement::Checkpoint start = statement->Mark();
  statement->Place(pod, find(pod));
  ASSERT_NE(watch.placed(), nullptr);
  EXPECT_THAT(RowsOf(*cluster, *watch.placed()), ElementsAre("n3 1007", "n2 1004"));
  EXPECT_EQ(watch.node(), NodeNamed(*cluster, "n3"));

  statement->RollBackTo(start);
  EXPECT_EQ(watch.placed(), nullptr);
  EXPECT_FALSE(watch.node().valid());
  statement->RollBackTo(0);
  find(pod);  // a search that leads to no place
  EXPECT_EQ(watch.placed(), nullptr);
  statement->Pipeline(pod, find(pod));
  EXPECT_THAT(RowsOf(*cluster, *watch.placed()), ElementsAre("n3 1006", "n2 1004"));
  statement->Evict(pod);
  EXPECT_EQ(watch.placed(), nullptr) << "it has no place any more";
  statement->RollBackTo(0);
}

}  // namespace
}  // namespace kai::score_sheet_test

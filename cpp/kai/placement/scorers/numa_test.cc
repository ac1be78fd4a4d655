#include <gtest/gtest.h>

#include "kai/placement/numa/zones_for_test.h"
#include "kai/placement/scorers/scorers.h"

namespace kai::numa_test {
namespace {

TEST(NumaScorerTest, ScoresSingleNodesForPodsWithAlignedResources) {
  const auto cluster = MakeCluster()
                           .Node("n")
                           .Add(ZonesOf("n", {{{"cpu", 4000}}}, NumaPolicy::kNone))
                           .Pending("ns/whole", {.millicpu = 3000, .guaranteed = true})
                           .Pending("ns/loose", {.millicpu = 3000})
                           .Build();
  const auto scorer = MakeNumaScorer(std::make_shared<ZoneLedger>(*cluster, ZoneLedger::Options{}));
  const auto class_of = [&](std::string_view pod) {
    return cluster->pods().pod_class[PodNamed(*cluster, pod)];
  };
  EXPECT_EQ(scorer->DependsOn(class_of("ns/whole-0")), Scorer::Dependence::kNode);
  EXPECT_EQ(scorer->DependsOn(class_of("ns/loose-0")), Scorer::Dependence::kNothing);
}

TEST(NumaScorerTest, OneZoneComesBeforeTwoOnAFullerNode) {  // spec 3 U11
  const std::vector<ResourceAmounts> two = {{{"cpu", 4000}}, {{"cpu", 4000}}};
  ZoneRooms rooms(
      MakeCluster()
          .Node("a")
          .Node("b")
          .Add(ZonesOf("a", {{{"cpu", 2000}}, {{"cpu", 2000}}}, NumaPolicy::kRestricted))
          .Add(ZonesOf("b", two, NumaPolicy::kRestricted))
          .Pending("ns/p", {.pods = 3, .millicpu = 4000, .guaranteed = true})
          .Build());
  EXPECT_EQ(rooms.ScoreOf("ns/p-0", "a"), 50);
  EXPECT_EQ(rooms.ScoreOf("ns/p-0", "b"), 100);
  for (const char* pod : {"ns/p-0", "ns/p-1"}) {
    EXPECT_EQ(rooms.Find(pod), "b");
    rooms.Place(pod, "b");
  }
  EXPECT_EQ(rooms.Find("ns/p-2"), "a") << "b has no zone left";
}

}  // namespace
}  // namespace kai::numa_test

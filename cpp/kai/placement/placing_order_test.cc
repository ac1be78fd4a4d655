#include "kai/placement/placing_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kai/placement/rooms_for_test.h"

namespace kai::placing_order_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<std::string> OrderOf(const ClusterMaker& maker,
                                 std::vector<PodComparator> comparators = {
                                     PodComparator::kKubeflow, PodComparator::kRay,
                                     PodComparator::kTaskPriority}) {
  const auto cluster = maker.Build();
  const PlacingOrder placing(*cluster, {.comparators = std::move(comparators)});
  return Names(*cluster, placing.PodsOf(PodSetNamed(*cluster, "ns/g", "default")));
}

// A pod of ns/g with that label.
void AddPod(ClusterMaker* maker, std::string key, std::string value) {
  maker->Pending("ns/g", {.labels = {{std::move(key), std::move(value)}}});
}

TEST(PlacingOrderTest, MastersAndLaunchersGoFirst) {
  ClusterMaker maker;
  AddPod(&maker, "training.kubeflow.org/job-role", "worker");
  AddPod(&maker, "training.kubeflow.org/job-role", "launcher");
  AddPod(&maker, "training.kubeflow.org/job-role", "master");
  EXPECT_THAT(OrderOf(maker), ElementsAre("g-1", "g-2", "g-0"));
  EXPECT_THAT(OrderOf(maker, {}), ElementsAre("g-0", "g-1", "g-2"));
}

TEST(PlacingOrderTest, RayHeadsGoFirst) {
  ClusterMaker maker;
  AddPod(&maker, "ray.io/node-type", "worker");
  AddPod(&maker, "ray.io/node-type", "head");
  EXPECT_THAT(OrderOf(maker), ElementsAre("g-1", "g-0"));
}

TEST(PlacingOrderTest, LargerTaskPrioritiesGoFirstThenOtherValuesThenUnlabelledPods) {
  ClusterMaker maker = MakeCluster().Pending("ns/g");     // g-0
  AddPod(&maker, "kai.scheduler/task-priority", "high");  // g-1
  AddPod(&maker, "kai.scheduler/task-priority", "-3");    // g-2
  AddPod(&maker, "kai.scheduler/task-priority", "20");    // g-3
  AddPod(&maker, "kai.scheduler/task-priority", "1000");  // g-4
  EXPECT_THAT(OrderOf(maker), ElementsAre("g-4", "g-3", "g-2", "g-1", "g-0"));
}

TEST(PlacingOrderTest, ComparatorsApplyInPluginOrder) {
  ClusterMaker maker;
  AddPod(&maker, "kai.scheduler/task-priority", "1");
  AddPod(&maker, "ray.io/node-type", "head");
  EXPECT_THAT(OrderOf(maker, {PodComparator::kRay, PodComparator::kTaskPriority}),
              ElementsAre("g-1", "g-0"));
  EXPECT_THAT(OrderOf(maker, {PodComparator::kTaskPriority, PodComparator::kRay}),
              ElementsAre("g-0", "g-1"));
}

TEST(PlacingOrderTest, OlderPodsGoFirstThenLowerUids) {
  ClusterMaker maker = MakeCluster().Pending("ns/g", {.pods = 4});
  std::vector<PodRow>& pods = maker.rows().pods;
  pods[0].created_ns = 30;
  pods[0].uid = "b";
  pods[1].created_ns = 30;
  pods[1].uid = "a";
  pods[2].created_ns = 20;
  pods[2].uid = "c";
  pods[3].created_ns = std::nullopt;  // older than everything
  EXPECT_THAT(OrderOf(maker), ElementsAre("g-3", "g-2", "g-1", "g-0"));
}

TEST(PlacingOrderTest, PodsThatSucceededLowerTheMinimum) {  // switch completed_pods
  const auto cluster = MakeCluster()
                           .Pending("ns/g", {.pods = 2, .min_member = 3})
                           .Succeeded("ns/g")
                           .Pending("ns/h", {.min_member = 1})
                           .Build();
  const SubGroupId pod_set = PodSetNamed(*cluster, "ns/g", "default");
  const PlacingOrder counting(*cluster, {});
  EXPECT_EQ(counting.minima()[pod_set], 2);
  EXPECT_THAT(counting.lowered(), UnorderedElementsAre(PodGroupNamed(*cluster, "ns/g")));
  const PlacingOrder as_kai(*cluster, {.comparators = {}, .count_completed = false});
  EXPECT_EQ(as_kai.minima()[pod_set], 3);
  EXPECT_THAT(as_kai.lowered(), IsEmpty());
}

}  // namespace
}  // namespace kai::placing_order_test

#include "kai/placement/gpu_picker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "kai/testing/makers/cluster_maker.h"

namespace kai::gpu_picker_test {
namespace {

using ::testing::ElementsAre;

// One node "n" with devices of 100 MiB, and pods that share them: added in this order, each on the
// given devices.
class OneNode {
 public:
  explicit OneNode(int64_t gpus, int64_t pods = 110)
      : maker_(MakeCluster().Node("n", {.gpus = gpus, .pods = pods})) {}

  OneNode& Running(double portion, std::vector<std::string> devices) {
    return Add(portion, std::move(devices), false);
  }
  OneNode& Leaving(double portion, std::vector<std::string> devices) {
    return Add(portion, std::move(devices), true);
  }
  OneNode& Whole(bool leaves = false) {
    const PodsSpec spec{.gpus = 1, .node = "n"};
    leaves ? maker_.Releasing(NextName(), spec) : maker_.Running(NextName(), spec);
    return *this;
  }
  std::unique_ptr<Cluster> With(const PodsSpec& waiting) {
    maker_.Pending("ns/waiting", waiting);
    return maker_.Build();
  }

 private:
  std::string NextName() { return "ns/p" + std::to_string(next_++); }
  OneNode& Add(double portion, std::vector<std::string> devices, bool leaves) {
    const PodsSpec spec{
        .gpu_fraction = portion, .gpu_devices = static_cast<int64_t>(devices.size()), .node = "n"};
    leaves ? maker_.Releasing(NextName(), spec) : maker_.Running(NextName(), spec);
    maker_.rows().pods.back().gpu_groups = std::move(devices);
    return *this;
  }

  ClusterMaker maker_;
  int next_ = 0;
};

PodClassId Waiting(const Cluster& cluster) {
  for (const PodId pod : cluster.pods().name.ids()) {
    if (cluster.pods().status[pod] == PodStatus::kPending) return cluster.pods().pod_class[pod];
  }
  return PodClassId();
}

constexpr GpuPicker::Options kPack{.pack = true};
constexpr GpuPicker::Options kSpread{.spread = true};

GpuPicker::Choice Pick(const Cluster& cluster, const GpuPicker::Options& options) {
  return GpuPicker(cluster, options).Pick(Waiting(cluster), NodeId(0), true);
}
bool HasEnough(const Cluster& cluster, Room room) {
  return GpuPicker(cluster, kPack).HasEnough(Waiting(cluster), NodeId(0), room);
}
bool Joins(const Cluster& cluster) {
  return GpuPicker(cluster, kPack).Joins(Waiting(cluster), NodeId(0));
}

TEST(GpuPickerTest, PackingChoosesTheFullestDeviceThatHoldsThePod) {  // spec 3 T17
  const auto cluster = OneNode(4)
                           .Running(0.25, {"a"})
                           .Running(0.5, {"b"})
                           .Running(0.75, {"c"})
                           .With({.gpu_fraction = 0.5});
  const GpuPicker::Choice choice = Pick(*cluster, kPack);
  EXPECT_THAT(choice.gpus, ElementsAre(1));
  EXPECT_FALSE(choice.waits);
}

TEST(GpuPickerTest, TwoPodsOfHalfADeviceFillIt) {
  const auto cluster = OneNode(1).Running(0.5, {"a"}).With({.gpu_fraction = 0.5});
  const GpuPicker picker(*cluster, {.pack = true});
  const PodClassId pod_class = Waiting(*cluster);
  const NodeId node(0);
  EXPECT_TRUE(picker.Joins(pod_class, node));
  EXPECT_TRUE(picker.HasEnough(pod_class, node, Room::kLater));
  const bool fits_now = picker.HasEnough(pod_class, node, Room::kNow);
  EXPECT_TRUE(fits_now);
  EXPECT_THAT(picker.Pick(pod_class, node, fits_now).gpus, ElementsAre(0));
}

TEST(GpuPickerTest, SpreadingChoosesAnIdleDeviceFirstThenTheEmptiestSharedOne) {  // spec 3 T17
  const auto with_idle =
      OneNode(3).Running(0.25, {"a"}).Running(0.5, {"b"}).With({.gpu_fraction = 0.25});
  EXPECT_THAT(Pick(*with_idle, kSpread).gpus, ElementsAre(2));  // behind the two shared ones
  const auto without =
      OneNode(2).Running(0.25, {"b"}).Running(0.5, {"a"}).With({.gpu_fraction = 0.25});
  EXPECT_THAT(Pick(*without, kSpread).gpus, ElementsAre(1));  // "b"
}

TEST(GpuPickerTest, TheFirstNameIsChosenAmongEqualDevices) {
  const auto cluster =
      OneNode(4).Running(0.5, {"z"}).Running(0.5, {"y"}).With({.gpu_fraction = 0.5});
  EXPECT_THAT(Pick(*cluster, kPack).gpus, ElementsAre(0));
  EXPECT_EQ(cluster->Text(cluster->nodes().shared_gpus[NodeId(0)][0].name), "y");
}

TEST(GpuPickerTest, SeveralDevicesCombineSharedAndIdleOnesWithoutRepeats) {  // spec 3 T18, S9
  const auto cluster = OneNode(4).Running(0.5, {"a"}).With({.gpu_fraction = 0.5, .gpu_devices = 3});
  EXPECT_TRUE(HasEnough(*cluster, Room::kNow));
  EXPECT_THAT(Pick(*cluster, kPack).gpus, ElementsAre(0, 1, 2));
  const auto too_few = OneNode(2).Running(0.5, {"a"}).With({.gpu_fraction = 0.5, .gpu_devices = 3});
  EXPECT_FALSE(HasEnough(*too_few, Room::kLater));
}

TEST(GpuPickerTest, APodWaitsForAFullerDeviceAlthoughAnotherIsIdle) {  // spec 3 S5, T19
  const auto cluster =
      OneNode(2).Running(0.5, {"a"}).Leaving(0.5, {"a"}).With({.gpu_fraction = 0.5});
  const GpuPicker::Choice as_kai = Pick(*cluster, kPack);
  EXPECT_THAT(as_kai.gpus, ElementsAre(0));
  EXPECT_TRUE(as_kai.waits);
  const GpuPicker::Choice at_once = Pick(*cluster, {.pack = true, .start_on_idle = true});
  EXPECT_THAT(at_once.gpus, ElementsAre(1));
  EXPECT_FALSE(at_once.waits);
}

TEST(GpuPickerTest, ADeviceWithOnlyTerminatingPodsCountsAsWhole) {  // spec 3 N11
  const auto cluster = OneNode(1).Leaving(0.5, {"a"}).With({.gpu_fraction = 0.25});
  EXPECT_FALSE(Joins(*cluster));
  EXPECT_FALSE(HasEnough(*cluster, Room::kNow));
  EXPECT_TRUE(HasEnough(*cluster, Room::kLater));
  const GpuPicker::Choice choice = Pick(*cluster, kPack);
  EXPECT_THAT(choice.gpus, ElementsAre(1));
  EXPECT_TRUE(choice.waits);
}

// spec 3 S4: if a pod would find room on one device now, KAI binds it to another device that is
// still held.
TEST(GpuPickerTest, APodOnAHeldDeviceWaitsEvenIfAnotherDeviceHasRoom) {
  const auto cluster =
      OneNode(2).Running(0.5, {"a"}).Whole(/*leaves=*/true).With({.gpu_fraction = 0.5});
  const GpuPicker::Choice choice = Pick(*cluster, kSpread);
  EXPECT_THAT(choice.gpus, ElementsAre(1));
  EXPECT_TRUE(choice.waits);
  EXPECT_FALSE(Pick(*cluster, {.spread = true, .bind_held = true}).waits);
}

TEST(GpuPickerTest, EachNewDeviceNeedsASlotForItsReservationPod) {
  const auto fresh = OneNode(1).With({.gpu_fraction = 0.5});
  EXPECT_EQ(Pick(*fresh, kPack).pod_slots, 1);
  const auto several = OneNode(2).With({.gpu_fraction = 0.5, .gpu_devices = 2});
  EXPECT_EQ(Pick(*several, kPack).pod_slots, 2);
  const auto by_name = OneNode(2).Running(0.5, {"a"}).With({.gpu_fraction = 0.5});
  EXPECT_EQ(Pick(*by_name, kPack).pod_slots, 0);
}

TEST(GpuPickerTest, InKaiKnownDevicesNeedASlotAsWellUnlessTheirNameIsANumber) {  // spec 3 P6
  constexpr GpuPicker::Options kAsKai{.pack = true, .slot_to_join = true};
  const auto several = OneNode(2).With({.gpu_fraction = 0.5, .gpu_devices = 2});
  EXPECT_EQ(Pick(*several, kAsKai).pod_slots, 1);
  const auto old_style = OneNode(2).Running(0.5, {"0"}).With({.gpu_fraction = 0.5});
  EXPECT_EQ(Pick(*old_style, kAsKai).pod_slots, 0);
  const auto by_name = OneNode(2).Running(0.5, {"a"}).With({.gpu_fraction = 0.5});
  EXPECT_EQ(Pick(*by_name, kAsKai).pod_slots, 1);
}

TEST(GpuPickerTest, PodsWithoutAGpuRequestFitOnAnySharedDevice) {  // spec 3 W8
  EXPECT_TRUE(Joins(*OneNode(1).Running(0.5, {"a"}).Running(0.5, {"a"}).With({})));
  EXPECT_FALSE(Joins(*OneNode(1).With({})));
  EXPECT_FALSE(Joins(*OneNode(2).Running(0.5, {"a"}).With({.gpus = 1})));
}

TEST(GpuPickerTest, MoreMemoryThanADeviceHasFitsNowhere) {  // spec 3 G5
  ClusterMaker maker =
      MakeCluster().Node("n", {.gpus = 8, .labels = {{"nvidia.com/gpu.memory", "1000"}}});
  for (const auto& [mib, fits] :
       {std::pair(1000, true), {1001, false}, {1500, false}, {1995, false}}) {
    ClusterMaker with = maker;
    const auto cluster = with.Pending("ns/waiting", {.gpu_memory_mib = mib}).Build();
    EXPECT_EQ(HasEnough(*cluster, Room::kLater), fits) << mib;
  }
}

}  // namespace
}  // namespace kai::gpu_picker_test

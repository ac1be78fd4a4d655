// GPUs that pods share: how they count in a node's ledger (spec 3 N5-N7, N11, N12, N17).
#include "kai/model/columns/shared_gpu.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace kai::shared_gpu_test {
namespace {

constexpr int64_t kMib = 100;  // of one device

// A node of devices with 100 MiB each.
class Node {
 public:
  explicit Node(double devices, size_t groups = 3) : count_(devices), idle(devices), gpus(groups) {}

  void Add(size_t group, int64_t mib, PodStatus status) {
    AddSharer(Ledger(), &gpus[group], mib, status);
  }
  void Remove(size_t group, int64_t mib, PodStatus status) {
    RemoveSharer(Ledger(), &gpus[group], mib, status);
  }
  void Change(size_t group, int64_t mib, PodStatus from, PodStatus to) {
    Remove(group, mib, from);
    Add(group, mib, to);
  }

 private:
  GpuLedger Ledger() {
    return {.idle = &idle, .releasing = &releasing, .used = used, .count = count_, .all = gpus};
  }
  double count_;

 public:
  double idle;
  double releasing = 0;
  double used = 0;
  std::vector<SharedGpu> gpus;
};

void ExpectGpu(const SharedGpu& gpu, int64_t used, int64_t allocated, int64_t releasing) {
  EXPECT_EQ(gpu.used, used);
  EXPECT_EQ(gpu.allocated, allocated);
  EXPECT_EQ(gpu.releasing, releasing);
}

TEST(SharedGpuTest, TheFirstSharerUsesAWholeDeviceAndTheNextOnesNone) {
  Node node(2);
  node.Add(0, 50, PodStatus::kRunning);
  EXPECT_EQ(node.idle, 1);
  node.Add(0, 50, PodStatus::kBound);
  EXPECT_EQ(node.idle, 1);
  node.Add(1, 30, PodStatus::kAllocated);
  EXPECT_EQ(node.idle, 0);
  node.Remove(1, 30, PodStatus::kAllocated);
  EXPECT_EQ(node.idle, 1);
}

// the worked ledger of spec 3 N7
TEST(SharedGpuTest, ADeviceIsBeingFreedOnceAllItsPodsAreTerminating) {
  Node node(2);
  node.Add(0, 50, PodStatus::kRunning);
  node.Add(0, 50, PodStatus::kRunning);
  node.Change(0, 50, PodStatus::kRunning, PodStatus::kReleasing);
  ExpectGpu(node.gpus[0], 100, 100, 50);
  EXPECT_EQ(node.releasing, 0);
  node.Change(0, 50, PodStatus::kRunning, PodStatus::kReleasing);
  ExpectGpu(node.gpus[0], 100, 100, 100);
  EXPECT_EQ(std::pair(node.idle, node.releasing), std::pair(1.0, 1.0));
  EXPECT_TRUE(node.gpus[0].counts_as_releasing);

  // Promises get a group of their own; this device is offered as a whole one.
  EXPECT_FALSE(node.gpus[0].Holds(kMib, 50));
  node.Add(1, 50, PodStatus::kPipelined);
  ExpectGpu(node.gpus[1], 50, 0, -50);
  EXPECT_EQ(std::pair(node.idle, node.releasing), std::pair(1.0, 0.0));
  EXPECT_FALSE(node.gpus[1].had_holder);
  EXPECT_TRUE(node.gpus[1].Holds(kMib, 50)) << "another promise has room beside the first";
  EXPECT_FALSE(node.gpus[1].HoldsNow(kMib, 50));
  node.Add(1, 50, PodStatus::kPipelined);
  ExpectGpu(node.gpus[1], 100, 0, -100);
  EXPECT_EQ(node.releasing, 0);
  EXPECT_FALSE(node.gpus[1].Holds(kMib, 1));
}

TEST(SharedGpuTest, APodBesideTerminatingPodsMayHaveToWaitForThem) {  // spec 3 S5
  Node node(2);
  node.Add(0, 50, PodStatus::kRunning);
  node.Add(0, 50, PodStatus::kRunning);
  node.Change(0, 50, PodStatus::kRunning, PodStatus::kReleasing);
  EXPECT_TRUE(node.gpus[0].Holds(kMib, 50));
  EXPECT_FALSE(node.gpus[0].Holds(kMib, 51));
  EXPECT_FALSE(node.gpus[0].HoldsNow(kMib, 50));
}

TEST(SharedGpuTest, APipelinedPodUsesThePartThatATerminatingPodFrees) {  // spec 3 T8
  Node node(2);
  node.Add(0, 20, PodStatus::kRunning);
  node.Add(0, 50, PodStatus::kReleasing);
  node.Add(0, 50, PodStatus::kPipelined);
  ExpectGpu(node.gpus[0], 120, 70, 0);
  EXPECT_EQ(std::pair(node.idle, node.releasing), std::pair(1.0, 0.0));
}

TEST(SharedGpuTest, ANewPodKeepsADeviceWithOnlyTerminatingPods) {
  Node node(1);
  node.Add(0, 50, PodStatus::kReleasing);
  EXPECT_EQ(std::pair(node.idle, node.releasing), std::pair(0.0, 1.0));
  node.Add(0, 50, PodStatus::kRunning);
  EXPECT_EQ(std::pair(node.idle, node.releasing), std::pair(0.0, 0.0));
  node.Remove(0, 50, PodStatus::kRunning);
  EXPECT_EQ(std::pair(node.idle, node.releasing), std::pair(0.0, 1.0));
}

TEST(SharedGpuTest, ADeviceThatIsLabelledButNotAllocatableHidesASharer) {  // spec 3 N17, as in KAI
  Node node(7);
  GpuLedger ledger{
      .idle = &node.idle, .releasing = &node.releasing, .used = 0, .count = 8, .all = node.gpus};
  AddSharer(ledger, &node.gpus[0], 50, PodStatus::kRunning);
  EXPECT_EQ(node.idle, 7);
}

TEST(SharedGpuTest, RemovingSharersInReverseRestoresTheStart) {  // spec 3 T7
  // This excludes promises: KAI counts the device of a promise twice, so code that undoes changes
  // must keep the old values.
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const auto draw = [&](uint32_t below) { return random() % below; };
    Node node(1 + draw(4), 4);
    struct Sharer {
      size_t group;
      int64_t mib;
      PodStatus status;
      double idle;
      double releasing;
      SharedGpu gpu;
    };
    std::vector<Sharer> sharers;
    for (uint32_t i = 0, many = 1 + draw(10); i < many; ++i) {
      const size_t group = draw(4);
      const auto mib = static_cast<int64_t>(10 * (1 + draw(5)));
      const SharedGpu& its = node.gpus[group];
      if (its.used == 0 ? node.idle < 1 : its.allocated + mib > kMib) continue;
      sharers.push_back({.group = group,
                         .mib = mib,
                         .status = draw(2) == 0 ? PodStatus::kRunning : PodStatus::kReleasing,
                         .idle = node.idle,
                         .releasing = node.releasing,
                         .gpu = its});
      node.Add(group, mib, sharers.back().status);
    }
    for (; !sharers.empty(); sharers.pop_back()) {
      const Sharer& last = sharers.back();
      node.Remove(last.group, last.mib, last.status);
      ExpectGpu(node.gpus[last.group], last.gpu.used, last.gpu.allocated, last.gpu.releasing);
      EXPECT_EQ(node.idle, last.idle);
      EXPECT_EQ(node.releasing, last.releasing);
    }
  }
}

}  // namespace
}  // namespace kai::shared_gpu_test

#include "kai/model/columns/resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace kai::resources_test {
namespace {

using ::testing::ElementsAre;

TEST(ResourceSlotsTest, StartWithCpuMemoryGpuAndPods) {  // spec 3 R25
  const ResourceSlots slots;
  EXPECT_EQ(slots.size(), size_t{4});
  EXPECT_EQ(slots.Find("cpu"), kCpuSlot);
  EXPECT_EQ(slots.Find("memory"), kMemorySlot);
  EXPECT_EQ(slots.Find("gpu"), kGpuSlot);
  EXPECT_EQ(slots.Find("pods"), kPodsSlot);
}

TEST(ResourceSlotsTest, WholeGpusOfBothVendorsShareASlot) {  // spec 3 R5, R28
  ResourceSlots slots;
  EXPECT_EQ(slots.Find("nvidia.com/gpu"), kGpuSlot);
  EXPECT_EQ(slots.Add("amd.com/gpu"), kGpuSlot);
  EXPECT_EQ(slots.size(), size_t{4});
}

// In KAI every name that ends in "gpu" overwrites real GPUs (spec 3 R27).
TEST(ResourceSlotsTest, DevicesOfOtherVendorsHaveTheirOwnSlot) {
  ResourceSlots slots;
  const ResourceSlot other = slots.Add("example.com/gpu");
  EXPECT_NE(other, kGpuSlot);
  EXPECT_EQ(slots.GpuEquivalents(other), 0);
}

TEST(ResourceSlotsTest, AddEachNameOnce) {
  ResourceSlots slots;
  EXPECT_FALSE(slots.Find("example.com/licence").valid());
  const ResourceSlot licence = slots.Add("example.com/licence");
  EXPECT_EQ(slots.Add("example.com/licence"), licence);
  EXPECT_EQ(slots.Find("example.com/licence"), licence);
  EXPECT_EQ(slots.Name(licence), "example.com/licence");
  EXPECT_FALSE(slots.IsMig(licence));
}

TEST(MigTest, CountsTheGOfTheName) {  // spec 1 F21, spec 3 M2
  EXPECT_EQ(MigGpuEquivalents("nvidia.com/mig-1g.5gb"), 1);
  EXPECT_EQ(MigGpuEquivalents("nvidia.com/mig-3g.20gb"), 3);
  EXPECT_EQ(MigGpuEquivalents("nvidia.com/mig-7g.141gb"), 7);
  EXPECT_EQ(MigGpuEquivalents("nvidia.com/mig-12g.5gb"), 12);
}

TEST(MigTest, CountsNothingForAnyOtherName) {  // spec 3 M3, T6
  for (const char* name :
       {"nvidia.com/mig-1g.5gb.me", "nvidia.com/mig-1g.10gb+me", "nvidia.com/mig-1c.3g.20gb",
        "nvidia.com/mig-1g.5gb111", "nvidia.com/mig-g.5gb", "nvidia.com/mig-1g.gb",
        "nvidia.com/mig-1g5gb", "nvidia.com/mig-", "nvidia.com/mig--1g.5gb",
        "nvidia.com/mig-1.5g.5gb", "nvidia.com/mig- 1g.5gb", "amd.com/mig-1g.5gb", "mig-1g.5gb",
        "nvidia.com/gpu", "cpu", ""}) {
    EXPECT_EQ(MigGpuEquivalents(name), 0) << name;
  }
}

TEST(MigTest, CountsAPartOfItsGpuIfMigCountIsParts) {
  const auto part = [](std::string_view name) { return MigGpuEquivalents(name, MigCount::kParts); };
  EXPECT_EQ(part("nvidia.com/mig-1g.5gb"), 1.0 / 7);
  EXPECT_EQ(part("nvidia.com/mig-3g.20gb"), 3.0 / 7);
  EXPECT_EQ(part("nvidia.com/mig-7g.80gb"), 1);
  EXPECT_EQ(part("nvidia.com/mig-1g.6gb"), 1.0 / 4) << "an A30 is cut into four";
  EXPECT_EQ(part("nvidia.com/mig-4g.24gb"), 1);
  EXPECT_EQ(part("nvidia.com/mig-1c.2g.12gb"), 1.0 / 4)
      << "a compute instance counts its own slices";
  EXPECT_EQ(part("nvidia.com/mig-1g.10gb.me"), 1.0 / 7) << "no profile counts 0 (spec 3 M3)";
  EXPECT_EQ(part("nvidia.com/mig-2g.20gb+me"), 2.0 / 7);
  for (const char* other : {"nvidia.com/mig-", "nvidia.com/mig-g.5gb", "nvidia.com/mig-1x.5gb",
                            "nvidia.com/gpu", "cpu"})
    EXPECT_EQ(part(other), 0) << other;
}

TEST(MigTest, CountsInTheTotalOfAVector) {  // spec 3 M5: seven slices of an A100 are seven GPUs
  ResourceSlots slots;
  const ResourceSlot small = slots.Add("nvidia.com/mig-1g.5gb");
  const ResourceSlot large = slots.Add("nvidia.com/mig-3g.20gb");
  slots.Add("nvidia.com/mig-1g.5gb.me");
  EXPECT_TRUE(slots.IsMig(small));
  EXPECT_EQ(slots.GpuEquivalents(large), 3);
  const std::vector<double> amounts = {64'000, 1e9, 2, 110, 7, 2, 100};
  EXPECT_EQ(slots.TotalGpus(amounts), 2 + 7 + 6);
}

TEST(ResourceTableTest, KeepsRowsApart) {
  ResourceTable<NodeId> table(2, 3);
  table[NodeId(0)][2] = 8;
  table[NodeId(1)][0] = 1;
  EXPECT_THAT(table[NodeId(0)], ElementsAre(0, 0, 8));
  EXPECT_THAT(table[NodeId(1)], ElementsAre(1, 0, 0));
  EXPECT_EQ(table.Add(), NodeId(2));
  EXPECT_EQ(table.size(), size_t{3});
  EXPECT_THAT(table[NodeId(2)], ElementsAre(0, 0, 0));
}

TEST(FitsTest, AnEqualRequestFitsAndOneUnitMoreDoesNot) {  // spec 3 T9
  const std::array<double, 2> room = {1000, 4096};
  EXPECT_TRUE(Fits(std::array<double, 2>{1000, 4096}, room));
  EXPECT_FALSE(Fits(std::array<double, 2>{1001, 4096}, room));
  EXPECT_FALSE(Fits(std::array<double, 2>{0, 5120}, room));
}

TEST(FitsTest, ANegativeElementRefusesEveryPod) {  // spec 3 R26
  const std::array<double, 3> room = {1000, -1, 8};
  EXPECT_FALSE(Fits(std::array<double, 3>{1, 0, 1}, room));
  EXPECT_FALSE(FitsSum(std::array<double, 3>{1, 0, 1}, room, std::array<double, 3>{0, 0, 0}));
  EXPECT_TRUE(FitsSum(std::array<double, 3>{1, 0, 1}, room, std::array<double, 3>{0, 1, 0}));
}

TEST(FitsTest, ReleasingResourcesCountForLater) {  // spec 3 N9
  const std::array<double, 1> idle = {1};
  EXPECT_TRUE(FitsSum(std::array<double, 1>{3}, idle, std::array<double, 1>{2}));
  EXPECT_FALSE(FitsSum(std::array<double, 1>{4}, idle, std::array<double, 1>{2}));
  EXPECT_FALSE(FitsSum(std::array<double, 1>{1}, idle, std::array<double, 1>{-1}))
      << "idle resources may already be promised";
}

}  // namespace
}  // namespace kai::resources_test

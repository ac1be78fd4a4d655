#include "kai/dra/pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kai/base/text.h"

namespace kai::pools_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A slice of pool d/p. Its name begins with the name of its node, or with * for all nodes.
ResourceSlice Slice(std::string_view name, int64_t generation, int64_t slices,
                    const std::vector<std::string>& devices) {
  ResourceSlice slice{.name = std::string(name), .driver = "d", .pool = "p"};
  slice.generation = generation;
  slice.slices_in_pool = slices;
  for (const std::string& device : devices) {
    slice.devices.push_back({.driver = "d", .pool = "p", .name = device});
  }
  return slice;
}

// The pools of node n1.
std::vector<Pool> Gather(const std::vector<ResourceSlice>& slices, bool partitionable = false) {
  return GatherPools(slices, {.partitionable_devices = partitionable},
                     [](const ResourceSlice& slice, const Device* device) {
                       const std::string& name = device == nullptr ? slice.name : device->name;
                       return name.starts_with("*") || name.starts_with("n1");
                     });
}

// "d/p: x y", or the pool's state instead of its devices.
std::vector<std::string> Shown(const std::vector<Pool>& pools) {
  std::vector<std::string> shown;
  for (const Pool& pool : pools) {
    std::string& text = shown.emplace_back(StrCat(pool.driver, "/", pool.name, ":"));
    if (pool.state == Pool::State::kIncomplete) text += " incomplete";
    if (pool.state == Pool::State::kInvalid) StrAppend(&text, " invalid, ", pool.problem);
    for (const Device* device : pool.devices) StrAppend(&text, " ", device->name);
  }
  return shown;
}

TEST(PoolsTest, ContainTheDevicesThatTheNodeReachesInTheOrderOfNames) {
  std::vector<ResourceSlice> slices = {Slice("n1-b", 1, 3, {"2"}), Slice("n1-a", 1, 3, {"3", "1"}),
                                       Slice("n2", 1, 3, {"4"}), Slice("*", 1, 1, {"x"}),
                                       Slice("*", 1, 1, {"y"})};
  slices[3].pool = "a";
  slices[4].driver = "c";
  EXPECT_THAT(Shown(Gather(slices)), ElementsAre("c/p: y", "d/a: x", "d/p: 3 1 2"));
}

TEST(PoolsTest, AreAbsentIfTheNodeReachesNoneOfTheirDevices) {
  EXPECT_THAT(Shown(Gather({Slice("n2", 1, 1, {"0"})})), IsEmpty());
}

TEST(PoolsTest, IgnoreSlicesOfOlderGenerations) {
  EXPECT_THAT(Shown(Gather({Slice("n1-a", 1, 1, {"old"}), Slice("n1-b", 2, 1, {"new"})})),
              ElementsAre("d/p: new"));
  EXPECT_THAT(Shown(Gather({Slice("n1-b", 2, 1, {"new"}), Slice("n1-a", 1, 1, {"old"})})),
              ElementsAre("d/p: new"));
}

TEST(PoolsTest, AreIncompleteWhileSlicesAreMissing) {
  EXPECT_THAT(Shown(Gather({Slice("n1", 1, 2, {"0"})})), ElementsAre("d/p: incomplete"));
  EXPECT_THAT(Shown(Gather({Slice("n1", 1, 2, {"0"}), Slice("n2", 1, 2, {"1"})})),
              ElementsAre("d/p: 0"))
      << "the other slice exists, but for another node";
  EXPECT_THAT(Shown(Gather({Slice("n1", 2, 2, {"0"}), Slice("n2", 1, 2, {"1"})})),
              ElementsAre("d/p: incomplete"));
}

TEST(PoolsTest, AreAbsentIfNewerSlicesExcludeTheNode) {
  EXPECT_THAT(Shown(Gather({Slice("n1", 1, 2, {"0"}), Slice("n2", 2, 1, {"0"})})), IsEmpty());
  EXPECT_THAT(Shown(Gather({Slice("n1", 1, 1, {"0"}), Slice("n2", 2, 1, {"0"})})),
              ElementsAre("d/p: 0"))
      << "a pool that looks complete is used; Kubernetes does the same";
}

TEST(PoolsTest, AreInvalidWhenTwoDevicesHaveOneName) {
  EXPECT_THAT(Shown(Gather({Slice("n1-a", 1, 2, {"0"}), Slice("n1-b", 1, 2, {"0"})})),
              ElementsAre("d/p: invalid, there are two devices \"0\""));
  EXPECT_THAT(Shown(Gather({Slice("n1-a", 1, 3, {"0"}), Slice("n1-b", 1, 3, {"0"})})),
              ElementsAre("d/p: invalid, there are two devices \"0\""))
      << "the missing slice cannot correct this";
}

TEST(PoolsTest, SelectNodesPerDeviceOnlyIfTheFeatureIsOn) {
  std::vector<ResourceSlice> slices = {Slice("s", 1, 1, {"n1-x", "n2-y", "*"})};
  slices[0].nodes_per_device = true;
  EXPECT_THAT(Shown(Gather(slices)), IsEmpty());
  EXPECT_THAT(Shown(Gather(slices, true)), ElementsAre("d/p: n1-x *"));
}

TEST(PoolsTest, HaveTheirCountersAndTheDevicesOfOtherNodesThatConsumeThem) {
  std::vector<ResourceSlice> slices = {Slice("n1", 1, 3, {"0"}), Slice("n2", 1, 3, {"1", "2"}),
                                       Slice("counters", 1, 3, {})};
  slices[2].counter_sets = {{.name = "c", .counters = {{"x", Quantity::Of(4)}}}};
  for (const size_t slice : {0, 1}) {
    slices[slice].devices[0].consumes = {
        {.counter_set = "c", .counters = {{"x", Quantity::Of(1)}}}};
  }
  std::vector<Pool> pools = Gather(slices, true);
  ASSERT_EQ(pools.size(), 1u);
  EXPECT_THAT(Shown(pools), ElementsAre("d/p: 0"));
  EXPECT_THAT(pools[0].elsewhere, ElementsAre(&slices[1].devices[0]));
  EXPECT_THAT(pools[0].counter_sets, ElementsAre(&slices[2].counter_sets[0]));
  EXPECT_THAT(Gather(slices)[0].counter_sets, IsEmpty()) << "the feature is off";

  slices[1].devices[0].consumes[0].counters = {{"y", Quantity::Of(1)}};
  EXPECT_THAT(Shown(Gather(slices, true)),
              ElementsAre("d/p: invalid, counter set \"c\" has no counter \"y\""));
  slices[1].devices[0].consumes[0].counter_set = "d";
  EXPECT_THAT(Shown(Gather(slices, true)),
              ElementsAre("d/p: invalid, there is no counter set \"d\""));
  slices[1].devices[0].consumes.clear();
  slices[2].counter_sets.push_back(slices[2].counter_sets[0]);
  EXPECT_THAT(Shown(Gather(slices, true)),
              ElementsAre("d/p: invalid, there are two counter sets \"c\""));
}

}  // namespace
}  // namespace kai::pools_test

#include "kai/model/building/node_facts.h"

#include <gtest/gtest.h>

#include "kai/testing/makers/cluster_maker.h"

namespace kai::node_facts_test {
namespace {

NodeFacts Labelled(StringPairs labels) {
  return NodeFactsOf(MakeNodeRow("n", {.labels = std::move(labels)}));
}

TEST(NodeFactsTest, ContainTheCordon) {
  const NodeRow row = MakeNodeRow("n", {.cordoned = true});
  const NodeFacts facts = NodeFactsOf(row);
  EXPECT_TRUE(facts.state & kCordoned);
}

TEST(NodeFactsTest, MemoryOfAGpuIsFlooredToHundredsOfMib) {  // spec 3 G1
  EXPECT_EQ(Labelled({{"nvidia.com/gpu.memory", "15360"}}).gpu_memory_mib, 15300);
  EXPECT_EQ(Labelled({{"nvidia.com/gpu.memory", "16106127360"}}).gpu_memory_mib, 15300) << "bytes";
  EXPECT_EQ(Labelled({{"nvidia.com/gpu.memory", "much"}}).gpu_memory_mib, std::nullopt);
  EXPECT_EQ(Labelled({{"nvidia.com/gpu.memory", "0"}}).gpu_memory_mib, std::nullopt);
  EXPECT_EQ(Labelled({}).gpu_memory_mib, std::nullopt);
}

TEST(NodeFactsTest, MemoryOfADeviceIsReadFromTheLabel) {
  const auto mib = [](const char* label) {
    NodeRow row = MakeNodeRow("n", {});
    row.labels = {{"nvidia.com/gpu.memory", label}};
    return DeviceMemoryMib(row);
  };
  EXPECT_EQ(mib("23028"), 23028);
  EXPECT_EQ(mib("16106127360"), 15360) << "bytes";
  EXPECT_EQ(mib("-1"), std::nullopt);
  EXPECT_EQ(mib("much"), std::nullopt);
}

TEST(NodeFactsTest, TheGpuCountIsReadFromTheLabelOnly) {
  EXPECT_EQ(Labelled({{"nvidia.com/gpu.count", "7"}}).gpu_count, 7);
  EXPECT_EQ(Labelled({{"nvidia.com/gpu.count", "seven"}}).gpu_count, std::nullopt);
  EXPECT_EQ(NodeFactsOf(MakeNodeRow("n", {.gpus = 8})).gpu_count, std::nullopt);
}

}  // namespace
}  // namespace kai::node_facts_test

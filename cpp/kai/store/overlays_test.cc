#include "kai/store/overlays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kai::overlays_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kSecondNs = 1'000'000'000;

PodRow Pod(std::string node = "") {
  PodRow pod;
  pod.namespace_name = "q";
  pod.pod_group = "g";
  pod.node_name = std::move(node);
  return pod;
}

TEST(OverlaysTest, PodsWithoutANodeAvoidTheNodesOfTheirGroup) {
  Overlays overlays;
  overlays.Avoid("q/g", {"n2", "n1"});
  PodRow waits = Pod(), stands = Pod("n1");
  overlays.PutOn(&waits);
  overlays.PutOn(&stands);
  EXPECT_THAT(waits.avoided_nodes, ElementsAre("n1", "n2"));
  EXPECT_THAT(stands.avoided_nodes, IsEmpty());
  overlays.Avoid("q/g", {});
  overlays.PutOn(&waits);
  EXPECT_THAT(waits.avoided_nodes, IsEmpty());
}

// When a group may evict again by the delay in its row, counted from the last eviction.
int64_t EndOf(const PodGroupRow& group) {
  return std::max(group.created_ns.value_or(0), group.last_eviction_ns.value_or(0)) +
         group.preemption_delay_ns.value_or(0);
}

TEST(OverlaysTest, HoldOffSetsThePreemptionDelayOfTheGroup) {
  constexpr int64_t then_ns = 100 * kSecondNs;
  Overlays overlays;
  overlays.HoldOff("q/g", then_ns, 10 * kSecondNs);
  for (const int64_t created_ns : {int64_t{0}, 50 * kSecondNs, 105 * kSecondNs}) {
    PodGroupRow group;
    group.created_ns = created_ns;
    overlays.PutOn("q/g", &group);
    EXPECT_EQ(EndOf(group), 110 * kSecondNs);
  }
  PodGroupRow patient;
  patient.created_ns = 90 * kSecondNs;
  patient.preemption_delay_ns = 60 * kSecondNs;
  overlays.PutOn("q/g", &patient);
  EXPECT_EQ(EndOf(patient), 150 * kSecondNs) << "its own delay is longer";
  PodGroupRow other;
  overlays.PutOn("q/other", &other);
  overlays.HoldOff("q/g", then_ns, 0);
  overlays.PutOn("q/g", &other);
  EXPECT_EQ(other, PodGroupRow());
}

TEST(OverlaysTest, APlannedGroupKeepsItsAge) {
  Overlays overlays;
  overlays.KeepAge("q/g", 3, 5);
  overlays.KeepAge("q/older", 5, 3);
  const auto age = [&](std::string_view name, int64_t created_ns) {
    PodGroupRow group;
    group.created_ns = created_ns;
    overlays.PutOn(name, &group);
    return *group.created_ns;
  };
  EXPECT_EQ(age("q/g", 5), 3);
  EXPECT_EQ(age("q/g", 6), 6) << "another group of this name";
  EXPECT_EQ(age("q/older", 3), 3);
  EXPECT_THAT(overlays.Ages(), testing::ElementsAre(testing::Key("q/g")));
  overlays.Forget("q/g");
  EXPECT_EQ(age("q/g", 5), 5);
}

TEST(OverlaysTest, MemoryCountsItsEntries) {
  Overlays overlays;
  overlays.Avoid("q/g", {"n1"});
  MemoryReport report;
  overlays.Memory(&report);
  ASSERT_EQ(report.columns.size(), 1u) << "empty parts are left out";
  EXPECT_EQ(report.columns[0].count, 1);
  EXPECT_GT(report.columns[0].bytes, 0);
}

}  // namespace
}  // namespace kai::overlays_test

#include <gtest/gtest.h>

#include "kai/placement/filters/filter_for_test.h"
#include "kai/placement/filters/filters.h"
#include "kai/placement/numa/zones_for_test.h"

namespace kai::numa_test {
namespace {

constexpr char kNotAligned[] =
    "node cannot NUMA-align the pod's resources under its Topology Manager policy";

// A node with two zones of four CPUs, and pods that request three and five CPUs.
std::unique_ptr<Cluster> ThreeAndFive(NumaPolicy policy) {
  return MakeCluster()
      .Node("n")
      .Node("bare")
      .Add(ZonesOf("n", {{{"cpu", 4000}}, {{"cpu", 4000}}}, policy))
      .Pending("ns/three", {.millicpu = 3000, .guaranteed = true})
      .Pending("ns/five", {.millicpu = 5000, .guaranteed = true})
      .Pending("ns/loose", {.millicpu = 5000})
      .Build();
}

std::unique_ptr<Filter> FilterOf(const Cluster& cluster) {
  return MakeNumaFilter(std::make_shared<ZoneLedger>(cluster, ZoneLedger::Options{}));
}

TEST(NumaFilterTest, RefusesPodsThatTheNodeCannotAlign) {  // spec 3 U15
  const auto cluster = ThreeAndFive(NumaPolicy::kSingleZone);
  const auto filter = FilterOf(*cluster);
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/three-0", "n"), "");
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/five-0", "n"), kNotAligned);
  EXPECT_EQ(AnswerOf(*filter, *cluster, "ns/five-0", "bare"), "") << "its zones are not known";
}

TEST(NumaFilterTest, IsSkippedIfNoNodeRefuses) {
  const auto refusing = ThreeAndFive(NumaPolicy::kRestricted);
  EXPECT_EQ(ScopeOf(*FilterOf(*refusing), *refusing, "ns/five-0"), Filter::Scope::kNode);
  EXPECT_EQ(ScopeOf(*FilterOf(*refusing), *refusing, "ns/loose-0"), Filter::Scope::kNothing);
  const auto noting = ThreeAndFive(NumaPolicy::kBestEffort);
  EXPECT_EQ(ScopeOf(*FilterOf(*noting), *noting, "ns/five-0"), Filter::Scope::kNothing);
}

TEST(NumaFilterTest, DependsOnOneNodeOnly) {
  const auto cluster = ThreeAndFive(NumaPolicy::kSingleZone);
  EXPECT_FALSE(FilterOf(*cluster)->LooksBeyondNode(
      cluster->pods().pod_class[PodNamed(*cluster, "ns/five-0")]));
}

}  // namespace
}  // namespace kai::numa_test

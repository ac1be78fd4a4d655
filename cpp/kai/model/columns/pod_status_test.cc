// The table of spec 2 S4.
#include "kai/model/columns/pod_status.h"

#include <gtest/gtest.h>

#include "kai/model/columns/pod_group.h"

namespace kai::pod_status_test {
namespace {

struct Row {
  PodStatus status;
  bool active_used;
  bool active_allocated;
  bool alive;
  bool allocated;
};

constexpr Row kTable[] = {
    {PodStatus::kPending, false, false, true, false},
    {PodStatus::kGated, false, false, true, false},
    {PodStatus::kAllocated, true, true, true, true},
    {PodStatus::kPipelined, true, true, true, false},
    {PodStatus::kBinding, true, true, true, true},
    {PodStatus::kBound, true, true, true, true},
    {PodStatus::kRunning, true, true, true, true},
    {PodStatus::kReleasing, true, false, false, false},
    {PodStatus::kStuckInReleasing, true, false, false, false},
    {PodStatus::kSucceeded, false, false, false, false},
    {PodStatus::kFailed, false, false, false, false},
    {PodStatus::kUnknown, false, false, false, false},
};

TEST(PodStatusTest, BelongsToTheGroupsOfTheTable) {
  static_assert(std::size(kTable) == kPodStatuses);
  for (const Row& row : kTable) {
    const int status = static_cast<int>(row.status);
    EXPECT_EQ(IsActiveUsed(row.status), row.active_used) << status;
    EXPECT_EQ(IsActiveAllocated(row.status), row.active_allocated) << status;
    EXPECT_EQ(IsAllocated(row.status), row.allocated) << status;
  }
}

TEST(StatusCountsTest, SumTheSameGroups) {
  StatusCounts counts;
  int32_t active_used = 0, active_allocated = 0, alive = 0, allocated = 0, step = 1;
  for (const Row& row : kTable) {
    counts[row.status] = step;
    active_used += row.active_used ? step : 0;
    active_allocated += row.active_allocated ? step : 0;
    alive += row.alive ? step : 0;
    allocated += row.allocated ? step : 0;
    step *= 2;  // every subset has a sum of its own
  }
  EXPECT_EQ(counts.active_used(), active_used);
  EXPECT_EQ(counts.active_allocated(), active_allocated);
  EXPECT_EQ(counts.alive(), alive);
  EXPECT_EQ(counts.allocated(), allocated);
}

}  // namespace
}  // namespace kai::pod_status_test

#include "kai/sim/accounts_for_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace kai {

void ExpectTimeIsAccountedFor(const SimWorkload& workload, const Timeline& timeline) {
  std::vector<int64_t> held(workload.jobs.size());
  for (size_t i = 0; i < timeline.stays.job.size(); ++i) {
    held[static_cast<size_t>(timeline.stays.job[i])] +=
        timeline.stays.to_ns[i] - timeline.stays.from_ns[i];
  }
  const Timeline::Jobs& jobs = timeline.jobs;
  for (size_t i = 0; i < held.size(); ++i) {
    const SimJob& job = workload.jobs[static_cast<size_t>(jobs.input[i])];
    EXPECT_EQ(held[i], jobs.kept_ns[i] + jobs.lost_ns[i] + jobs.idle_ns[i]) << job.name;
    EXPECT_GE(jobs.idle_ns[i], 0) << job.name;
    if (jobs.end_ns[i] == Timeline::kNever) continue;
    EXPECT_GE(jobs.kept_ns[i], job.duration_ns * job.pods) << job.name;
    // The last nanosecond may do more work than was left.
    int32_t most = job.pods;
    for (const SimResize& resize : job.resizes) most = std::max(most, resize.pods);
    EXPECT_LT(jobs.kept_ns[i], job.duration_ns * job.pods + most) << job.name;
  }
}

}  // namespace kai

// AttainedService: the service that pod groups have received up to now: run time, GPU time,
// evictions. It is the recorded service of a group (ServiceRow), plus what the group has held since
// that record or since its last start, the later of the two
// (docs/decisions/0028-one-plugin-orders-jobs.md).
//
//   service.emplace(*cluster, PodOrder(*placing, {}), kTestNowNs);   // of an AttainedService
//   EXPECT_EQ(rig.service->Of(runs).service.gpu_ns, 240 * kSecondNs);
//
// Orders of pod groups use the same numbers as the records that a cycle writes.
//
// Invariants: all numbers are for the time when the object was made; decisions of the cycle do not
// change them. It contains the groups that wait, may lose pods or are notable. Cost: made in
// O(groups + pods of running groups). Threads: any number, after it is made.
#ifndef KAI_PLACEMENT_ATTAINED_SERVICE_H_
#define KAI_PLACEMENT_ATTAINED_SERVICE_H_

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "kai/model/columns/cluster.h"
#include "kai/placement/pod_order.h"

namespace kai {

// The GPUs, as their queue counts them, in millionths, of the group's pods with a status that
// `counts` accepts.
template <typename Counts>
int64_t MicroGpusOf(const Cluster& cluster, const PodOrder& order, PodGroupId group,
                    const Counts& counts) {
  int64_t sum = 0;
  for (const SubGroupId pod_set : cluster.pod_groups().PodSetsOf(group)) {
    for (const PodId pod : order.PodsOf(pod_set)) {
      if (counts(cluster.pods().status[pod]))
        sum += std::llround(cluster.ClassOf(pod).requested[kQuotaGpu] * 1e6);
    }
  }
  return sum;
}

struct GroupService {
  bool is_active = false;  // some of its pods hold nodes
  ServiceRow service;      // up to now
  // For an active group: the time from which its held resources are counted (INT64_MIN: unknown),
  // and the GPUs that it holds.
  int64_t since_ns = 0;
  int64_t micro_gpus = 0;
};

class AttainedService {
 public:
  // `order` must be in the state before any change of the cycle.
  AttainedService(const Cluster& cluster, const PodOrder& order, int64_t now_ns);

  int64_t now_ns() const { return now_ns_; }
  // The group must be one of its groups.
  const GroupService& Of(PodGroupId group) const {
    return services_[static_cast<size_t>(at_[group])];
  }
  // The record for a group that changes its size; nothing: none of its pods held a node.
  std::optional<ServiceRow> ToWrite(PodGroupId group) const {
    if (at_[group] < 0 || !Of(group).is_active) return std::nullopt;
    return Of(group).service;
  }

 private:
  int64_t now_ns_;
  std::vector<GroupService> services_;
  IndexVector<PodGroupId, int32_t> at_;  // index in services_; -1: not in it
};

}  // namespace kai

#endif  // KAI_PLACEMENT_ATTAINED_SERVICE_H_

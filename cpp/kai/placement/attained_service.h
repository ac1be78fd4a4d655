// AttainedService: what pod groups have received up to now: time run, GPU time, evictions. It is
// what was written of a group up to a moment (ServiceRow), and what the group holds since then or
// since its last start, whichever is later (docs/decisions/0028-one-plugin-orders-jobs.md).
//
//   service.emplace(*cluster, PodOrder(*placing, {}), kTestNowNs);   // of an AttainedService
//   EXPECT_EQ(rig.service->Of(runs).service.gpu_ns, 240 * kSecondNs);
//
// Orders of pod groups, and what a cycle writes of them, use the same numbers.
//
// Invariants: all numbers are of the moment when the object was made, whatever the cycle decides.
// It has the groups that wait, may lose pods or are notable. Cost: made in O(groups + pods of those
// that run). Threads: any number, once it is made.
#ifndef KAI_PLACEMENT_ATTAINED_SERVICE_H_
#define KAI_PLACEMENT_ATTAINED_SERVICE_H_

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "kai/model/columns/cluster.h"
#include "kai/placement/pod_order.h"

namespace kai {

// GPUs as their queue counts them, in millionths; of the group's pods whose status counts.
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
  // Of an active one: from when on what it holds is counted (INT64_MIN: unknown), and what it
  // holds.
  int64_t since_ns = 0;
  int64_t micro_gpus = 0;
};

class AttainedService {
 public:
  // `order` as it is before anything has changed.
  AttainedService(const Cluster& cluster, const PodOrder& order, int64_t now_ns);

  int64_t now_ns() const { return now_ns_; }
  // Of a group that it has.
  const GroupService& Of(PodGroupId group) const {
    return services_[static_cast<size_t>(at_[group])];
  }
  // What is written of a group that changes its size; nothing: none of its pods held a node.
  std::optional<ServiceRow> ToWrite(PodGroupId group) const {
    if (at_[group] < 0 || !Of(group).is_active) return std::nullopt;
    return Of(group).service;
  }

 private:
  int64_t now_ns_;
  std::vector<GroupService> services_;
  IndexVector<PodGroupId, int32_t> at_;  // of services_; -1: not listed
};

}  // namespace kai

#endif  // KAI_PLACEMENT_ATTAINED_SERVICE_H_

#include "kai/placement/attained_service.h"

#include <algorithm>
#include <limits>

#include "kai/base/saturating.h"

namespace kai {
namespace {

__extension__ using Int128 = __int128;

constexpr int64_t kUnknownSince = std::numeric_limits<int64_t>::min();

GroupService Measure(const Cluster& cluster, const PodOrder& order, PodGroupId group,
                     int64_t now_ns) {
  const PodGroupColumns& groups = cluster.pod_groups();
  GroupService its{.is_active = order.ActiveAllocated(group) > 0, .service = groups.service[group]};
  if (!its.is_active) return its;
  its.micro_gpus = MicroGpusOf(cluster, order, group, IsActiveAllocated);
  // A group without a stamp did not start before it was created.
  const int64_t start_ns = groups.last_start_ns[group];
  its.since_ns = std::max(
      {start_ns == kUnknownSince ? groups.created_ns[group] : start_ns, its.service.until_ns});
  const int64_t elapsed_ns =
      its.since_ns == kUnknownSince || now_ns <= its.since_ns ? 0 : now_ns - its.since_ns;
  its.service.run_ns = AddSaturating(its.service.run_ns, elapsed_ns);
  const Int128 gpu_ns = its.service.gpu_ns + Int128{elapsed_ns} * its.micro_gpus / 1'000'000;
  its.service.gpu_ns =
      static_cast<int64_t>(std::min<Int128>(gpu_ns, std::numeric_limits<int64_t>::max()));
  its.service.until_ns = now_ns;
  return its;
}

}  // namespace

AttainedService::AttainedService(const Cluster& cluster, const PodOrder& order, int64_t now_ns)
    : now_ns_(now_ns), at_(cluster.pod_groups().size(), -1) {
  const PodGroupLists& lists = cluster.pod_groups().lists;
  for (const auto* list : {&lists.waiting, &lists.may_lose, &lists.notable}) {
    for (const PodGroupId group : *list) {
      if (at_[group] >= 0) continue;
      at_[group] = static_cast<int32_t>(services_.size());
      services_.push_back(Measure(cluster, order, group, now_ns));
    }
  }
}

}  // namespace kai

#include "kai/fairshare/fair_shares.h"

#include "kai/fairshare/division.h"

namespace kai {

FairShares::FairShares(const Cluster& cluster, const QueueUsage& usage, const Options& options)
    : cluster_(cluster),
      usage_(usage),
      total_(cluster.total().values()),
      shares_(cluster.queues().size()) {
  if (!options.divide) return;
  const QueueColumns& queues = cluster.queues();
  for (const QueueId queue : queues.name.ids()) {
    for (size_t i = 0; i < kQuotaResources; ++i) {
      shares_[queue][i] = {.deserved = queues.deserved[queue][i],
                           .limit = queues.limit[queue][i],
                           .over_quota_weight = queues.over_quota_weight[queue][i],
                           .request = usage.sums()[queue].requested[i],
                           .usage = queues.past_usage[queue][i]};
    }
  }
  Divide(options.k_value);
}

void FairShares::Divide(double k_value) {
  const QueueColumns& queues = cluster_.queues();
  const auto divide = [&](const QuotaVector& total, std::span<const QueueId> siblings) {
    std::vector<Sibling> contenders(siblings.size());
    for (size_t r = 0; r < kQuotaResources; ++r) {
      for (size_t i = 0; i < siblings.size(); ++i) {
        contenders[i] = {.share = &shares_[siblings[i]][r],
                         .priority = queues.priority[siblings[i]],
                         .created_ns = queues.created_ns[siblings[i]],
                         .name = cluster_.Text(queues.name[siblings[i]])};
      }
      kai::Divide(total[r], k_value, contenders);
    }
  };
  divide(total_, queues.top_level);
  for (const QueueId queue : queues.parents_first) {  // spec 1 F40
    if (queues.IsLeaf(queue)) continue;
    const QueueShare& share = shares_[queue];
    divide({share[0].fair_share, share[1].fair_share, share[2].fair_share},
           queues.ChildrenOf(queue));
  }
}

}  // namespace kai

// FairShares: the fair shares of all queues in one cycle, from the requests of their pods (spec 1
// F40-F51).
//
//   const QueueUsage usage(*cluster);
//   const FairShares shares(*cluster, usage, {});
//   shares[queue][kQuotaGpu].fair_share          // what the queue may have
//   shares[queue].allocated()[kQuotaGpu]         // what it has: follows `usage`
//
// Invariants: shares and requests are fixed when the cycle starts (spec 1 F31). Cost: the
// constructor divides, in O(queues) plus sorts; all else only reads. Threads: many readers.
#ifndef KAI_FAIRSHARE_FAIR_SHARES_H_
#define KAI_FAIRSHARE_FAIR_SHARES_H_

#include "kai/fairshare/share.h"
#include "kai/fairshare/usage.h"

namespace kai {

class FairShares {
 public:
  struct Options {
    double k_value = 1;
    bool divide = true;  // false without the plugin: all numbers stay 0
  };

  FairShares(const Cluster& cluster, const QueueUsage& usage, const Options& options);
  // The same shares, with the amounts that queues hold from another `usage`.
  FairShares(const FairShares& shares, const QueueUsage& usage)
      : cluster_(shares.cluster_), usage_(usage), total_(shares.total_), shares_(shares.shares_) {}

  QueueView operator[](QueueId queue) const { return table()[queue]; }
  // Includes the amounts that queues hold now.
  QueueTable table() const { return {cluster_.queues(), shares_, usage_.sums()}; }
  const QueueUsage& usage() const { return usage_; }
  // The resources that are divided.
  const QuotaVector& total() const { return total_; }

 private:
  void Divide(double k_value);

  const Cluster& cluster_;
  const QueueUsage& usage_;
  const QuotaVector total_;
  IndexVector<QueueId, QueueShare> shares_;
};

}  // namespace kai

#endif  // KAI_FAIRSHARE_FAIR_SHARES_H_

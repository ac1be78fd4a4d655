// FairShares: what every queue deserves in one cycle, from what its pods ask for (spec 1 F40-F51).
//
//   const QueueUsage usage(*cluster);
//   const FairShares shares(*cluster, usage, {});
//   shares[queue][kQuotaGpu].fair_share          // what the queue may have
//   shares[queue].allocated()[kQuotaGpu]         // what it has: follows `usage`
//
// Invariants: shares and requests are fixed when the cycle starts (spec 1 F31). Cost: building is
// the division, O(queues) and its sorts; the rest is reading. Threads: many readers.
#ifndef KAI_FAIRSHARE_FAIR_SHARES_H_
#define KAI_FAIRSHARE_FAIR_SHARES_H_

#include "kai/fairshare/share.h"
#include "kai/fairshare/usage.h"

namespace kai {

class FairShares {
 public:
  struct Options {
    double k_value = 1;
    bool divide = true;  // off without the plugin that does it: then all numbers stay zero
  };

  FairShares(const Cluster& cluster, const QueueUsage& usage, const Options& options);
  // The same shares, beside what queues hold according to `usage`.
  FairShares(const FairShares& shares, const QueueUsage& usage)
      : cluster_(shares.cluster_), usage_(usage), total_(shares.total_), shares_(shares.shares_) {}

  QueueView operator[](QueueId queue) const { return table()[queue]; }
  // With what queues hold as it stands.
  QueueTable table() const { return {cluster_.queues(), shares_, usage_.sums()}; }
  const QueueUsage& usage() const { return usage_; }
  // What there is to divide.
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

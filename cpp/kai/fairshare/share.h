// Share: the numbers of one resource of one queue, and the values derived from them (spec 1
// F31-F34); QueueView and QueueTable: queues with their shares and with what their pods hold.
//
//   Allocatable({.deserved = 2, .limit = kUnlimited, .fair_share = 3})               // 3
//   Satisfied({.limit = 2, .request = 9, .fair_share = 2})                           // true
//
// Invariants: kUnlimited equals itself and is more than any number; amounts that are compared with
// a bound are added exactly before they become doubles (api/quota_count.h). Cost: O(1). Threads:
// plain values.
#ifndef KAI_FAIRSHARE_SHARE_H_
#define KAI_FAIRSHARE_SHARE_H_

#include <algorithm>
#include <array>

#include "kai/api/units.h"
#include "kai/base/index_vector.h"
#include "kai/model/columns/queue.h"

namespace kai {

struct Share {
  double deserved = 0;  // -1: unlimited
  double limit = 0;     // -1: none
  double over_quota_weight = 0;
  double request = 0;  // fixed when the cycle starts
  double usage = 0;    // past usage as a part of the cluster's capacity (spec 1 F119)
  double fair_share = 0;
};

using QueueShare = std::array<Share, kQuotaResources>;

// One queue: what it may have, and what its pods hold.
struct QueueView {
  const QueueShare* share = nullptr;
  const QueueSums* sums = nullptr;

  const Share& operator[](size_t resource) const { return (*share)[resource]; }
  const QuotaCount& allocated() const { return sums->allocated; }
  const QuotaCount& allocated_non_preemptible() const { return sums->allocated_non_preemptible; }
};

// All queues and their tree.
struct QueueTable {
  const QueueColumns& tree;
  const IndexVector<QueueId, QueueShare>& shares;
  const IndexVector<QueueId, QueueSums>& sums;

  QueueView operator[](QueueId queue) const { return {&shares[queue], &sums[queue]}; }
};

// Unlimited equals unlimited and is more than any number; no epsilon (spec 1 F26).
inline bool LessOrEqual(double a, double b) {
  return b == kUnlimited || (a != kUnlimited && a <= b);
}
inline bool Less(double a, double b) { return !LessOrEqual(b, a); }

// spec 1 F34
inline double Requestable(const Share& share) {
  return share.limit == kUnlimited ? share.request : std::min(share.limit, share.request);
}

inline double Allocatable(const Share& share) {
  if (share.deserved == kUnlimited) return share.limit;
  const double most = std::max(share.deserved, share.fair_share);
  return share.limit == kUnlimited ? most : std::min(most, share.limit);
}

inline bool Satisfied(const Share& share) {
  return share.request <= share.fair_share ||
         (share.limit != kUnlimited && share.limit <= share.fair_share);
}

}  // namespace kai

#endif  // KAI_FAIRSHARE_SHARE_H_

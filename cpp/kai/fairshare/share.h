// One resource of one queue: what it was promised, what it uses, what it deserves; and the few
// values derived from them (spec 1 §3).
//
//   Allocatable({.deserved = 2, .limit = kUnlimited, .fair_share = 3})               // 3
//   Satisfied({.limit = 2, .request = 9, .fair_share = 2})                           // true
//
// Invariants: kUnlimited equals itself and is more than any number. Cost: O(1). Threads: plain
// values.
#ifndef KAI_FAIRSHARE_SHARE_H_
#define KAI_FAIRSHARE_SHARE_H_

#include <algorithm>
#include <array>

#include "kai/api/units.h"

namespace kai {

struct Share {
  double deserved = 0;  // -1: unlimited
  double limit = 0;     // -1: none
  double over_quota_weight = 0;
  double allocated = 0;
  double allocated_non_preemptible = 0;
  double request = 0;
  double usage = 0;  // of the past, as a part of the cluster's capacity (spec 1 §12)
  double fair_share = 0;
};

using QueueShare = std::array<Share, kQuotaResources>;

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

// Divides resources among sibling queues (spec 1 F41-F51): first the deserved quotas, then by
// weight and priority, then the remainders.
//
//   std::vector<Sibling> siblings;
//   result.left = Divide(total, k_value, siblings);    // sets every fair_share
//
// Each resource is divided independently.
//
// Invariants: the grants of a round do not depend on the order of queues; sums are computed in the
// order of `siblings`, so that equal input gives equal bits. The rest is never negative. Cost: a
// sort, and O(siblings) a round; a round in which no queue gets its whole request is the last of
// its priority. Threads: pure functions; they write only through the `share` pointers of their own
// siblings.
#ifndef KAI_FAIRSHARE_DIVISION_H_
#define KAI_FAIRSHARE_DIVISION_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "kai/fairshare/share.h"

namespace kai {

struct Sibling {
  Share* share = nullptr;
  int64_t priority = 0;
  int64_t created_ns = 0;
  std::string_view name;
};

// Sets fair_share of every sibling and returns the rest. The rest is 0 if more is deserved than
// available (spec 1 F41).
double Divide(double total, double k_value, std::span<Sibling> siblings);

// Only the stage above the deserved quota: adds to the current fair_share (spec 1 F43-F51).
double DivideOverQuota(double left, double k_value, std::span<Sibling> siblings);

}  // namespace kai

#endif  // KAI_FAIRSHARE_DIVISION_H_

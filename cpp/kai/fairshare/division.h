// Division of what there is among sibling queues (spec 1 F41-F51): first what each deserves, then
// by weight and priority, then the remainders.
//
//   std::vector<Sibling> siblings;
//   result.left = Divide(total, k_value, siblings);    // sets every fair_share
//
// Each resource is divided by itself.
//
// Invariants: the grants of a round depend on no order; sums are taken in the order of `siblings`,
// so that equal input gives equal bits. What is left is never negative. Cost: a sort, and
// O(siblings) a round; a round in which no queue gets all it wants is the last of its priority.
// Threads: pure functions; writes through the `share` pointers of its own siblings alone.
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

// Sets fair_share of every sibling; returns what is left: nothing, too, when more is deserved than
// there is (spec 1 F41).
double Divide(double total, double k_value, std::span<Sibling> siblings);

// The stage above the deserved quota alone: adds to the fair_share that is there (spec 1 F43-F51).
double DivideOverQuota(double left, double k_value, std::span<Sibling> siblings);

}  // namespace kai

#endif  // KAI_FAIRSHARE_DIVISION_H_

// Division of what there is among sibling queues (spec 1 §4): first what each deserves, then by
// weight and priority, then the remainders.
//
//   std::vector<Sibling> siblings = {{.share = &vision, .priority = 100, ...}, ...};
//   const double left = Divide(total_gpus, k_value, siblings);    // sets every fair_share
//
// Each resource is divided by itself. The grants of a round depend on no order; sums are taken in
// the order of `siblings`.
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

// ClaimCosts: the claims whose selectors cost more than a claim may.
//
//   costs_(&cluster.claims())
//   costs_.AreTooHigh(needs)
//   costs_.WhyNot(pod)             // a ClaimRefusal with the claim
//
// Invariants: an answer follows from the claims and the devices of the cluster alone
// (selector_costs.h). Claims that hold devices cost nothing, as their selectors do not run. Cost:
// what selectors claim and devices take is counted once. Not thread-safe; several may read one
// book.
#ifndef KAI_MODEL_CLAIMS_CLAIM_COSTS_H_
#define KAI_MODEL_CLAIMS_CLAIM_COSTS_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "kai/model/claims/claim_book.h"

namespace kai {

class ClaimCosts {
 public:
  explicit ClaimCosts(const ClaimBook* book) : book_(*book) {}

  bool AreTooHigh(ClaimNeedsId needs);
  ClaimRefusal WhyNot(PodId pod);  // kNone: all its claims cost little

 private:
  bool IsTooHigh(int32_t spec);

  const ClaimBook& book_;
  absl::flat_hash_map<int32_t, bool> is_too_high_;  // by spec
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_CLAIM_COSTS_H_

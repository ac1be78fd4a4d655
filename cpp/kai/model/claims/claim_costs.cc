#include "kai/model/claims/claim_costs.h"

#include <algorithm>

#include "kai/dra/selector_costs.h"

namespace kai {

bool ClaimCosts::IsTooHigh(int32_t spec) {
  const auto [known, is_new] = is_too_high_.try_emplace(spec, false);
  if (is_new) known->second = book_.SelectorsCostTooMuch(spec);
  return known->second;
}

bool ClaimCosts::AreTooHigh(ClaimNeedsId needs) {
  return std::ranges::any_of(book_.UnallocatedSpecs(needs),
                             [&](int32_t spec) { return IsTooHigh(spec); });
}

ClaimRefusal ClaimCosts::WhyNot(PodId pod) {
  for (const auto& [use, spec] : book_.UnallocatedUses(pod)) {
    if (!IsTooHigh(spec)) continue;
    return {.kind = ClaimRefusalKind::kSelectorsCostTooMuch,
            .use = use.name,
            .claim = use.claim_name,
            .devices = book_.devices(),
            .budget = SelectorBudget(book_.devices())};
  }
  return {};
}

}  // namespace kai

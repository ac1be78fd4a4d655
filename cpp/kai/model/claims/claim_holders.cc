#include "kai/model/claims/claim_holders.h"

namespace kai {

int32_t& ClaimHolders::Holders::Of(PodStatus status) {
  if (status == PodStatus::kPipelined) return promised;
  return status == PodStatus::kReleasing ? leaving : staying;
}

LedgerWeight ClaimHolders::Holders::Weight() const {
  const auto one = [](bool yes) { return yes ? 1.0 : 0.0; };
  const bool stays = staying > 0;
  return {.idle = -one(stays || leaving > 0),
          .releasing = stays ? 0 : one(leaving > 0) - one(promised > 0),
          .used = one(any())};
}

LedgerWeight ClaimHolders::Count(ClaimId claim, NodeId node, std::optional<PodStatus> from,
                                 std::optional<PodStatus> to) {
  const auto entry = by_place_.try_emplace({claim, node}).first;
  Holders& holders = entry->second;
  const LedgerWeight before = holders.Weight();
  if (from) --holders.Of(*from);
  if (to) ++holders.Of(*to);
  const LedgerWeight change = holders.Weight() - before;
  if (!holders.any()) by_place_.erase(entry);
  return change;
}

bool ClaimHolders::OnlyWaitOn(ClaimId claim, NodeId node) const {
  const auto found = by_place_.find({claim, node});
  return found != by_place_.end() && found->second.staying + found->second.leaving == 0;
}

}  // namespace kai

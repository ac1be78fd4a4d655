// ClaimHolders: the pods on each node that hold one claim there together, and what they weigh on
// the node (spec 3 D6): as often as one pod alone would.
//
//   const LedgerWeight change = holders_.Count(use.claim, node, from, to) - charged;
//
// Devices come back when the last holder leaves, and are promised away by the first that is to have
// them then.
//
// Invariants: the same counted backwards restores it. Cost: O(log entries). Threads: many readers,
// or one that counts.
#ifndef KAI_MODEL_CLAIMS_CLAIM_HOLDERS_H_
#define KAI_MODEL_CLAIMS_CLAIM_HOLDERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "kai/model/columns/ids.h"
#include "kai/model/columns/ledger.h"

namespace kai {

class ClaimHolders {
 public:
  // A pod comes to stand on the node (`from` is nothing), changes its status there, or goes (`to`
  // is nothing). Returns by how much the weight of all holders changes.
  LedgerWeight Count(ClaimId claim, NodeId node, std::optional<PodStatus> from,
                     std::optional<PodStatus> to);

  bool AnyOn(ClaimId claim, NodeId node) const { return by_place_.contains({claim, node}); }
  // All of them wait there for others to leave.
  bool OnlyWaitOn(ClaimId claim, NodeId node) const;

 private:
  struct Holders {
    int32_t staying = 0;
    int32_t leaving = 0;
    int32_t promised = 0;

    int32_t& Of(PodStatus status);
    bool any() const { return staying + leaving + promised > 0; }
    LedgerWeight Weight() const;
  };
  std::map<std::pair<ClaimId, NodeId>, Holders> by_place_;  // where there are any
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_CLAIM_HOLDERS_H_

// ClaimHolders: counts the pods on each node that hold one claim together, and the weight of all of
// them in the node's ledger (spec 3 D6): the weight of one pod.
//
//   const LedgerWeight change = holders_.Count(use.claim, node, from, to) - charged;
//
// Devices become free when the last holder leaves. The first holder that waits for them promises
// them away.
//
// Invariants: counting backwards restores the old state. Cost: O(log entries). Threads: many
// readers, or one that counts.
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
  // Counts a pod that is added to the node (`from` is nothing), changes its status there, or is
  // removed (`to` is nothing). Returns the change of the weight of all holders.
  LedgerWeight Count(ClaimId claim, NodeId node, std::optional<PodStatus> from,
                     std::optional<PodStatus> to);

  bool AnyOn(ClaimId claim, NodeId node) const { return by_place_.contains({claim, node}); }
  // True: all holders there wait for other pods to leave.
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
  std::map<std::pair<ClaimId, NodeId>, Holders> by_place_;  // only places with holders
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_CLAIM_HOLDERS_H_

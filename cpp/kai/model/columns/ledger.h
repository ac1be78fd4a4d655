// How a pod counts in the ledger of its node: the only implementation of spec 2 S5 and spec 3 N3,
// N4.
//
//   const LedgerWeight weight = sign > 0 ? WeightOf(status) : LedgerWeight() - WeightOf(status);
//   ChargeLedger({allocatable, idle, releasing, used}, request, gpus, weight);
//
// Invariants: resources that the node does not offer are not tracked (spec 3 N3). Cost: O(slots).
// Threads: pure functions; one writer per ledger.
#ifndef KAI_MODEL_COLUMNS_LEDGER_H_
#define KAI_MODEL_COLUMNS_LEDGER_H_

#include <span>

#include "kai/model/columns/pod_status.h"
#include "kai/model/columns/resources.h"

namespace kai {

struct LedgerRow {
  std::span<const double> allocatable;
  std::span<double> idle;
  std::span<double> releasing;
  std::span<double> used;
};

// The factor of a pod's request in each column.
struct LedgerWeight {
  double idle = 0;
  double releasing = 0;
  double used = 0;

  LedgerWeight operator-(const LedgerWeight& other) const {
    return {.idle = idle - other.idle,
            .releasing = releasing - other.releasing,
            .used = used - other.used};
  }
};

// The weight of a pod on a node with that status.
constexpr LedgerWeight WeightOf(PodStatus status) {
  if (status == PodStatus::kPipelined) return {.idle = 0, .releasing = -1, .used = 1};
  if (status == PodStatus::kReleasing) return {.idle = -1, .releasing = 1, .used = 1};
  return {.idle = -1, .releasing = 0, .used = 1};
}

// Adds a pod to a node's ledger with that weight: the weight of its status, or the difference of
// two statuses. `gpus` replaces the GPU element of `request`, because a pod can take a different
// number than it requests.
inline void ChargeLedger(const LedgerRow& ledger, std::span<const double> request, double gpus,
                         const LedgerWeight& weight) {
  for (size_t i = 0; i < request.size(); ++i) {
    if (ledger.allocatable[i] == 0) continue;
    const double amount = i == kGpuSlot.index() ? gpus : request[i];
    ledger.idle[i] += weight.idle * amount;
    ledger.releasing[i] += weight.releasing * amount;
    ledger.used[i] += weight.used * amount;
  }
}

}  // namespace kai

#endif  // KAI_MODEL_COLUMNS_LEDGER_H_

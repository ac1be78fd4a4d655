// How a pod weighs on its node: the one home of spec 2 S5 and spec 3 N3, N4.
#ifndef KAI_MODEL_LEDGER_H_
#define KAI_MODEL_LEDGER_H_

#include <span>

#include "kai/model/pod_status.h"
#include "kai/model/resources.h"

namespace kai {

struct LedgerRow {
  std::span<const double> allocatable;
  std::span<double> idle;
  std::span<double> releasing;
  std::span<double> used;
};

// Adds (sign 1) a pod of that status to a node's ledger, or takes it out (sign -1). `gpus` stands
// in for the GPU element of `request`: what is taken can differ from what was asked. Resources the
// node does not offer are not tracked (spec 3 N3).
inline void ChargeLedger(const LedgerRow& ledger, std::span<const double> request, double gpus,
                         PodStatus status, double sign) {
  for (size_t i = 0; i < request.size(); ++i) {
    if (ledger.allocatable[i] == 0) continue;
    const double amount = sign * (i == kGpuSlot.index() ? gpus : request[i]);
    ledger.used[i] += amount;
    if (status == PodStatus::kPipelined) {
      ledger.releasing[i] -= amount;
      continue;
    }
    ledger.idle[i] -= amount;
    if (status == PodStatus::kReleasing) ledger.releasing[i] += amount;
  }
}

}  // namespace kai

#endif  // KAI_MODEL_LEDGER_H_

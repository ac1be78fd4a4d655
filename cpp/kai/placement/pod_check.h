// A PodCheck refuses pods before any node is checked: no node, and no eviction, could help (spec 3
// P15, P16).
//
//   checks.push_back(MakeConfigMapCheck(cluster));
//
// Invariants: Allows() never changes during a cycle, AllowsNow() may; Why() is for pods that one of
// them refuses. Cost: Allows() runs once per class of pods and cycle; AllowsNow() at every search
// for the classes with IsCheckedEachTime(). Threads: many readers, while the cluster does not
// change.
#ifndef KAI_PLACEMENT_POD_CHECK_H_
#define KAI_PLACEMENT_POD_CHECK_H_

#include <memory>

#include "kai/model/claims/claim_answers.h"
#include "kai/model/columns/cluster.h"
#include "kai/model/reasons/refusal.h"

namespace kai {

class PodCheck {
 public:
  virtual ~PodCheck() = default;
  virtual bool Allows(PodClassId pod_class) const = 0;
  // True: AllowsNow() must be called at each search for this class.
  virtual bool IsCheckedEachTime(PodClassId) const { return false; }
  virtual bool AllowsNow(PodClassId) const { return true; }
  virtual PodRefusal Why(PodId pod) const = 0;  // for a pod that it refuses
};

// In the order in which their reasons are listed.
std::unique_ptr<PodCheck> MakeVolumeClaimCheck(const Cluster& cluster);  // spec 3 P8
std::unique_ptr<PodCheck> MakeConfigMapCheck(const Cluster& cluster);    // spec 3 P13
std::unique_ptr<PodCheck> MakeLargestNodeCheck(const Cluster& cluster);  // spec 3 P14
// Belongs to the plugin dynamicresources; comes after those of predicates.
std::unique_ptr<PodCheck> MakeResourceClaimCheck(
    const Cluster& cluster,
    ClaimBudgets budgets = ClaimBudgets::kSmall);  // spec 3 D5

}  // namespace kai

#endif  // KAI_PLACEMENT_POD_CHECK_H_

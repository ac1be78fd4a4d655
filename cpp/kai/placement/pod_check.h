// A PodCheck refuses pods before any node is looked at: no node, and no eviction, could help (spec
// 3 P15, P16).
//
//   checks.push_back(MakeConfigMapCheck(cluster));
//
// Invariants: Allows() never changes in a cycle, AllowsNow() may; Why() is for pods that one of
// them refuses. Cost: Allows() runs once per class of pods and cycle; AllowsNow() at every search
// for those classes with AsksEachTime(). Threads: many readers, while the cluster does not change.
#ifndef KAI_PLACEMENT_POD_CHECK_H_
#define KAI_PLACEMENT_POD_CHECK_H_

#include <memory>

#include "kai/model/columns/cluster.h"
#include "kai/model/reasons/refusal.h"

namespace kai {

class PodCheck {
 public:
  virtual ~PodCheck() = default;
  virtual bool Allows(PodClassId pod_class) const = 0;
  // The pods' class has something to ask each time.
  virtual bool AsksEachTime(PodClassId) const { return false; }
  virtual bool AllowsNow(PodClassId) const { return true; }
  virtual PodRefusal Why(PodId pod) const = 0;  // of one that it does not allow
};

// In the order in which they are named.
std::unique_ptr<PodCheck> MakeVolumeClaimCheck(const Cluster& cluster);  // spec 3 P8
std::unique_ptr<PodCheck> MakeConfigMapCheck(const Cluster& cluster);    // spec 3 P13
std::unique_ptr<PodCheck> MakeLargestNodeCheck(const Cluster& cluster);  // spec 3 P14
// Of the plugin dynamicresources, behind those of predicates.
std::unique_ptr<PodCheck> MakeResourceClaimCheck(const Cluster& cluster);  // spec 3 D5

}  // namespace kai

#endif  // KAI_PLACEMENT_POD_CHECK_H_

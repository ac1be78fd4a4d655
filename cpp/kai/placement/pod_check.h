// A PodCheck refuses pods before any node is asked: no node, and nobody's leaving, could help (spec
// 3 P15, P16). Allows() is asked once per class of pods and cycle; Why() names the pod.
#ifndef KAI_PLACEMENT_POD_CHECK_H_
#define KAI_PLACEMENT_POD_CHECK_H_

#include <memory>
#include <string>
#include <string_view>

#include "kai/model/cluster.h"

namespace kai {

class PodCheck {
 public:
  virtual ~PodCheck() = default;
  virtual std::string_view name() const = 0;  // in messages (spec 3 P8)
  virtual bool Allows(PodClassId pod_class) const = 0;
  virtual std::string Why(PodId pod) const = 0;  // of one that it does not allow
};

// In the order in which they are named.
std::unique_ptr<PodCheck> MakeVolumeClaimCheck(const Cluster& cluster);  // spec 3 P8
std::unique_ptr<PodCheck> MakeConfigMapCheck(const Cluster& cluster);    // spec 3 P13
std::unique_ptr<PodCheck> MakeLargestNodeCheck(const Cluster& cluster);  // spec 3 P14

}  // namespace kai

#endif  // KAI_PLACEMENT_POD_CHECK_H_

// A claim that does not exist, that is being deleted, or that waits for another component to bind
// it excludes its pod from every node (kube-scheduler's VolumeBinding, before nodes are checked).
#include "kai/placement/pod_check.h"

namespace kai {
namespace {

class VolumeClaimCheck final : public PodCheck {
 public:
  explicit VolumeClaimCheck(const Cluster& cluster) : cluster_(cluster) {}

  bool Allows(PodClassId pod_class) const override { return !RefusalOf(pod_class).any(); }
  PodRefusal Why(PodId pod) const override { return RefusalOf(cluster_.pods().pod_class[pod]); }

 private:
  VolumeRefusal RefusalOf(PodClassId pod_class) const {
    const VolumeNeedsId needs = cluster_.ConstraintOf(pod_class).volumes;
    return needs.valid() ? cluster_.volume_needs()[needs].refusal : VolumeRefusal();
  }

  const Cluster& cluster_;
};

}  // namespace

std::unique_ptr<PodCheck> MakeVolumeClaimCheck(const Cluster& cluster) {
  return std::make_unique<VolumeClaimCheck>(cluster);
}

}  // namespace kai

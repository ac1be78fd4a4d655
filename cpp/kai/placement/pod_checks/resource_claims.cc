// A resource claim that does not exist, that belongs to another queue, or that has the maximum
// number of consumers excludes its pod from every node (spec 3 D5).
#include "kai/placement/pod_check.h"

namespace kai {
namespace {

class ResourceClaimCheck final : public PodCheck {
 public:
  explicit ResourceClaimCheck(const Cluster& cluster) : cluster_(cluster) {}

  bool Allows(PodClassId pod_class) const override {
    const ClaimNeedsId needs = NeedsOf(pod_class);
    return !needs.valid() || cluster_.claims().LastingRefusal(needs) == ClaimRefusalKind::kNone;
  }
  bool IsCheckedEachTime(PodClassId pod_class) const override { return NeedsOf(pod_class).valid(); }
  bool AllowsNow(PodClassId pod_class) const override {
    return !cluster_.claims().RefusesNow(NeedsOf(pod_class));
  }

  PodRefusal Why(PodId pod) const override { return cluster_.claims().WhyNot(pod); }

 private:
  ClaimNeedsId NeedsOf(PodClassId pod_class) const {
    return cluster_.pod_classes().info[pod_class].claims;
  }

  const Cluster& cluster_;
};

}  // namespace

std::unique_ptr<PodCheck> MakeResourceClaimCheck(const Cluster& cluster) {
  return std::make_unique<ResourceClaimCheck>(cluster);
}

}  // namespace kai

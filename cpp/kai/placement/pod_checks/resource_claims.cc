// A resource claim that does not exist, that belongs to another queue, that has the maximum number
// of consumers, or whose selectors cost too much excludes its pod from every node (spec 3 D5).
#include "kai/model/claims/claim_costs.h"
#include "kai/placement/pod_check.h"

namespace kai {
namespace {

class ResourceClaimCheck final : public PodCheck {
 public:
  ResourceClaimCheck(const Cluster& cluster, ClaimBudgets budgets)
      : cluster_(cluster),
        limits_costs_(budgets == ClaimBudgets::kSmall),
        costs_(&cluster.claims()) {}

  bool Allows(PodClassId pod_class) const override {
    const ClaimNeedsId needs = NeedsOf(pod_class);
    return !needs.valid() || cluster_.claims().LastingRefusal(needs) == ClaimRefusalKind::kNone;
  }
  bool IsCheckedEachTime(PodClassId pod_class) const override { return NeedsOf(pod_class).valid(); }
  bool AllowsNow(PodClassId pod_class) const override {
    const ClaimNeedsId needs = NeedsOf(pod_class);
    return !cluster_.claims().RefusesNow(needs) && !(limits_costs_ && costs_.AreTooHigh(needs));
  }

  PodRefusal Why(PodId pod) const override {
    ClaimRefusal refusal = cluster_.claims().WhyNot(pod);
    if (refusal.kind == ClaimRefusalKind::kNone && limits_costs_) refusal = costs_.WhyNot(pod);
    return refusal;
  }

 private:
  ClaimNeedsId NeedsOf(PodClassId pod_class) const {
    return cluster_.pod_classes().info[pod_class].claims;
  }

  const Cluster& cluster_;
  const bool limits_costs_;
  mutable ClaimCosts costs_;
};

}  // namespace

std::unique_ptr<PodCheck> MakeResourceClaimCheck(const Cluster& cluster, ClaimBudgets budgets) {
  return std::make_unique<ResourceClaimCheck>(cluster, budgets);
}

}  // namespace kai

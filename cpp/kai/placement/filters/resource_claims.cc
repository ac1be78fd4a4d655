// The devices that a pod's resource claims request must be free on the node, and the node must
// reach the devices that the claims already hold (spec 3 D7).
#include "kai/model/claims/claim_answers.h"
#include "kai/placement/filters/filters.h"

namespace kai {
namespace {

class ResourceClaimFilter final : public Filter {
 public:
  ResourceClaimFilter(const Cluster& cluster, ClaimBudgets budgets)
      : cluster_(cluster), answers_(std::make_unique<ClaimAnswers>(&cluster.claims(), budgets)) {}

  Scope ScopeFor(PodClassId pod_class) const override {
    return NeedsOf(pod_class).valid() ? Scope::kNode : Scope::kNothing;
  }
  bool LooksBeyondNode(PodClassId pod_class) const override {
    const ClaimNeedsId needs = NeedsOf(pod_class);
    return needs.valid() && cluster_.claims().LooksBeyondNode(needs);
  }

  bool Check(PodClassId pod_class, NodeId node, FitReport* report) const override {
    using Kind = ClaimAnswer::Kind;
    const ClaimAnswer answer = answers_->AnswerFor(NeedsOf(pod_class), node);
    if (answer.kind == Kind::kYes) return true;
    if (report == nullptr) return false;
    if (answer.kind == Kind::kElsewhere) {
      report->Count(ClaimIsElsewhere{.node = node, .claim = answer.claim});
    } else if (answer.kind == Kind::kError) {
      report->Count(ClaimsFail{.node = node, .error = answer.error});
    } else {
      report->Count(NoDevicesForClaims{.node = node});
    }
    return false;
  }

  bool MustWait(PodClassId pod_class, NodeId node) const override {
    const ClaimNeedsId needs = NeedsOf(pod_class);
    return needs.valid() && cluster_.claims().MustWait(needs, node);
  }

 private:
  ClaimNeedsId NeedsOf(PodClassId pod_class) const {
    return cluster_.pod_classes().info[pod_class].claims;
  }

  const Cluster& cluster_;
  const std::unique_ptr<ClaimAnswers> answers_;
};

}  // namespace

std::unique_ptr<Filter> MakeResourceClaimFilter(const Cluster& cluster, ClaimBudgets budgets) {
  return std::make_unique<ResourceClaimFilter>(cluster, budgets);
}

}  // namespace kai

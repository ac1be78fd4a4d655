// Whether the node's Topology Manager would admit the pod (spec 3 U15). The ledger does the work,
// and the scorer uses it as well.
#include "kai/placement/filters/filters.h"
#include "kai/placement/numa/zone_ledger.h"

namespace kai {
namespace {

class NumaFilter final : public Filter {
 public:
  explicit NumaFilter(std::shared_ptr<ZoneLedger> ledger) : ledger_(std::move(ledger)) {}

  Scope ScopeFor(PodClassId pod_class) const override {
    return ledger_->MayRefuse(pod_class) ? Scope::kNode : Scope::kNothing;
  }

  bool Check(PodClassId pod_class, NodeId node, FitReport* report) const override {
    const bool admits = ledger_->AnswerFor(pod_class, node).admits;
    if (!admits && report != nullptr) report->Count(Refusal::kNotNumaAligned);
    return admits;
  }

  bool MustWait(PodClassId pod_class, NodeId node) const override {
    return ledger_->MayRefuse(pod_class) && ledger_->AnswerFor(pod_class, node).must_wait;
  }

  Listener* listener() override { return ledger_.get(); }

 private:
  std::shared_ptr<ZoneLedger> ledger_;
};

}  // namespace

std::unique_ptr<Filter> MakeNumaFilter(std::shared_ptr<ZoneLedger> ledger) {
  return std::make_unique<NumaFilter>(std::move(ledger));
}

}  // namespace kai

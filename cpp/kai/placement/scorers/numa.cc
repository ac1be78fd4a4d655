// Prefers nodes where the pod uses fewer NUMA zones (spec 3 U11).
#include "kai/placement/numa/zone_ledger.h"
#include "kai/placement/scorers/scorers.h"

namespace kai {
namespace {

constexpr double kOneZone = 100;

class NumaScorer final : public Scorer {
 public:
  explicit NumaScorer(std::shared_ptr<const ZoneLedger> ledger) : ledger_(std::move(ledger)) {}

  Dependence DependsOn(PodClassId pod_class) const override {
    return ledger_->HasPreferences(pod_class) ? Dependence::kNode : Dependence::kNothing;
  }

  double Score(PodClassId pod_class, NodeId node, const ScoreView&) const override {
    const int32_t zones = ledger_->AnswerFor(pod_class, node).zones;
    return zones == 0 ? 0 : kOneZone / zones;
  }

 private:
  std::shared_ptr<const ZoneLedger> ledger_;
};

}  // namespace

std::unique_ptr<Scorer> MakeNumaScorer(std::shared_ptr<const ZoneLedger> ledger) {
  return std::make_unique<NumaScorer>(std::move(ledger));
}

}  // namespace kai

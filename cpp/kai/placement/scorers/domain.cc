// Prefers nodes in the preferred domains of a pod group: the emptiest domain scores highest (spec 4
// S1, S2).
#include "kai/placement/scorers/scorers.h"

namespace kai {
namespace {

class DomainScorer final : public Scorer {
 public:
  Dependence DependsOn(PodClassId) const override { return Dependence::kDomain; }
  double Score(PodClassId, NodeId, const ScoreView& view) const override { return view.domain; }
};

}  // namespace

std::unique_ptr<Scorer> MakeDomainScorer() { return std::make_unique<DomainScorer>(); }

}  // namespace kai

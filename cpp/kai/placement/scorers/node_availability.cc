// Prefers a node where the pod can start now over one where it must wait (spec 3 W2).
#include "kai/placement/scorers/scorers.h"

namespace kai {
namespace {

constexpr double kAvailable = 1000;

class NodeAvailabilityScorer final : public Scorer {
 public:
  Dependence DependsOn(PodClassId) const override { return Dependence::kFitsNow; }
  double Score(PodClassId, NodeId, const ScoreView& view) const override {
    return view.fits_now ? kAvailable : 0;
  }
};

}  // namespace

std::unique_ptr<Scorer> MakeNodeAvailabilityScorer() {
  return std::make_unique<NodeAvailabilityScorer>();
}

}  // namespace kai

// A node where others share a device with room for the pod comes before any that has an idle one
// (spec 3 W2), also for pods that want no GPU: they find room on any shared device (spec 3 W8).
#include "kai/placement/scorers/scorers.h"

namespace kai {
namespace {

constexpr double kJoins = 10'000;

class GpuSharingScorer final : public Scorer {
 public:
  Dependence DependsOn(PodClassId) const override { return Dependence::kJoins; }
  double Score(PodClassId, NodeId, const ScoreView& view) const override {
    return view.joins ? kJoins : 0;
  }
};

}  // namespace

std::unique_ptr<Scorer> MakeGpuSharingScorer() { return std::make_unique<GpuSharingScorer>(); }

}  // namespace kai

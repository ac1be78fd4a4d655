// Prefers a node with a shared device that has room for the pod over nodes with an idle device
// (spec 3 W2). This also applies to pods without GPUs: they find room on any shared device (spec 3
// W8).
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

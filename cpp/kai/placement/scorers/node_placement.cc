// Prefers fuller nodes, or emptier ones (spec 3 W3, W4).
#include "kai/placement/scorers/scorers.h"

namespace kai {
namespace {

constexpr double kMostDensity = 9;

class NodePlacementScorer final : public Scorer {
 public:
  NodePlacementScorer(const Cluster& cluster, Strategy gpu, Strategy cpu)
      : cluster_(cluster), gpu_(gpu), cpu_(cpu) {}

  Dependence DependsOn(PodClassId) const override { return Dependence::kRoom; }

  double Score(PodClassId pod_class, NodeId node, const ScoreView& view) const override {
    const bool cpu_only = cluster_.pod_classes().info[pod_class].cpu_only;
    const ResourceSlot slot = cpu_only ? kCpuSlot : kGpuSlot;
    const double room = RoomOf(cluster_, node, slot);
    if ((cpu_only ? cpu_ : gpu_) == Strategy::kSpread)
      return SpreadScore(room, SpreadCountOf(cluster_, node, slot));
    return BinpackScore(room, view.least_room, view.most_room,
                        cluster_.nodes().allocatable[node][slot.index()]);
  }

 private:
  const Cluster& cluster_;
  Strategy gpu_;
  Strategy cpu_;
};

}  // namespace

double BinpackScore(double room, double least_room, double most_room, double allocatable) {
  if (allocatable == 0 || most_room == 0) return 0;
  if (least_room == most_room) return kMostDensity;
  return kMostDensity * (1 - (room - least_room) / (most_room - least_room));
}

double SpreadScore(double room, double count) { return count == 0 ? 0 : room / count; }

std::unique_ptr<Scorer> MakeNodePlacementScorer(const Cluster& cluster, Strategy gpu,
                                                Strategy cpu) {
  return std::make_unique<NodePlacementScorer>(cluster, gpu, cpu);
}

}  // namespace kai

// Refuses a pod that requests more of a resource than any node offers (spec 3 P14).
#include "kai/placement/pod_check.h"

namespace kai {
namespace {

class LargestNodeCheck final : public PodCheck {
 public:
  explicit LargestNodeCheck(const Cluster& cluster) : cluster_(cluster) {}

  bool Allows(PodClassId pod_class) const override {
    return Fits(cluster_.pod_classes().request[pod_class],
                std::span<const double>(cluster_.largest_node()));
  }

  PodRefusal Why(PodId pod) const override {
    // GPUs before CPU and memory, then the others in the order of their slots.
    const std::span<const double> request = cluster_.RequestOf(pod);
    const std::span<const double> largest = cluster_.largest_node();
    ResourceSlot slot = kGpuSlot;
    for (size_t i = 0; i < request.size() && request[slot.index()] <= largest[slot.index()]; ++i)
      slot = ResourceSlot(i);
    return LargerThanAnyNode{.slot = slot, .largest = largest[slot.index()]};
  }

 private:
  const Cluster& cluster_;
};

}  // namespace

std::unique_ptr<PodCheck> MakeLargestNodeCheck(const Cluster& cluster) {
  return std::make_unique<LargestNodeCheck>(cluster);
}

}  // namespace kai

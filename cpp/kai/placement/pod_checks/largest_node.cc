// A pod that asks for more of something than any node has, even when empty (spec 3 P14).
#include "kai/model/messages.h"
#include "kai/placement/pod_check.h"

namespace kai {
namespace {

class LargestNodeCheck final : public PodCheck {
 public:
  explicit LargestNodeCheck(const Cluster& cluster) : cluster_(cluster) {}

  std::string_view name() const override { return "MaxNodePoolResources"; }
  bool Allows(PodClassId pod_class) const override {
    return Fits(cluster_.pod_classes().request[pod_class],
                std::span<const double>(cluster_.largest_node()));
  }

  std::string Why(PodId pod) const override {
    // GPU, CPU, memory, then the others in the order of their slots; the first that is too large is
    // named.
    const PodClass& info = cluster_.ClassOf(pod);
    const std::span<const double> request = cluster_.RequestOf(pod);
    const ResourceSlots& slots = cluster_.slots();
    messages::PoolLimit limit{.pod = cluster_.PodName(pod),
                              .gpus = request[kGpuSlot.index()],
                              .cpu_millicores = request[kCpuSlot.index()],
                              .memory_bytes = request[kMemorySlot.index()],
                              .others = {},
                              .mig = {},
                              .node_pool = cluster_.params().node_pool_label_value,
                              .resource = {},
                              .largest = 0};
    if (limit.node_pool.empty()) limit.node_pool = "default";
    for (const auto& [mig, amount] : info.gpu.mig) {
      limit.mig.emplace_back(mig, static_cast<double>(amount));
      limit.gpus += slots.GpuEquivalents(slots.Find(mig)) * static_cast<double>(amount);
    }
    std::vector<ResourceSlot> order = {kGpuSlot, kCpuSlot, kMemorySlot};
    for (size_t i = kPodsSlot.index(); i < slots.size(); ++i) {
      order.push_back(ResourceSlot(i));
      if (request[i] != 0 && !slots.IsMig(ResourceSlot(i)))
        limit.others.emplace_back(slots.Name(ResourceSlot(i)), request[i]);
    }
    for (const ResourceSlot slot : order) {
      if (request[slot.index()] <= cluster_.largest_node()[slot.index()]) continue;
      limit.resource = slot == kGpuSlot ? "GPU" : slot == kCpuSlot ? "CPU" : slots.Name(slot);
      // Of other resources than storage KAI does not say how much there is.
      const bool says = slot.index() < kPodsSlot.index() || messages::IsStorage(slots.Name(slot));
      limit.largest = says ? cluster_.largest_node()[slot.index()] : 0;
      break;
    }
    return messages::LargerThanAnyNode(limit);
  }

 private:
  const Cluster& cluster_;
};

}  // namespace

std::unique_ptr<PodCheck> MakeLargestNodeCheck(const Cluster& cluster) {
  return std::make_unique<LargestNodeCheck>(cluster);
}

}  // namespace kai

// A container with a missing ConfigMap would never start (spec 3 P13).
#include "kai/placement/pod_check.h"

namespace kai {
namespace {

class ConfigMapCheck final : public PodCheck {
 public:
  explicit ConfigMapCheck(const Cluster& cluster) : cluster_(cluster) {}

  bool Allows(PodClassId pod_class) const override {
    return cluster_.pod_classes().info[pod_class].missing_config_maps.empty();
  }
  PodRefusal Why(PodId pod) const override {
    return MissingConfigMaps{.names = cluster_.ClassOf(pod).missing_config_maps};
  }

 private:
  const Cluster& cluster_;
};

}  // namespace

std::unique_ptr<PodCheck> MakeConfigMapCheck(const Cluster& cluster) {
  return std::make_unique<ConfigMapCheck>(cluster);
}

}  // namespace kai

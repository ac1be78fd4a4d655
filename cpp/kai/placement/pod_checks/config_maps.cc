// A container that names a ConfigMap which does not exist would never start (spec 3 P13).
#include "kai/model/messages.h"
#include "kai/placement/pod_check.h"

namespace kai {
namespace {

class ConfigMapCheck final : public PodCheck {
 public:
  explicit ConfigMapCheck(const Cluster& cluster) : cluster_(cluster) {}

  std::string_view name() const override { return "ConfigMap"; }
  bool Allows(PodClassId pod_class) const override {
    return cluster_.pod_classes().info[pod_class].missing_config_maps.empty();
  }
  std::string Why(PodId pod) const override {
    std::vector<std::string_view> names;
    for (const NameId name : cluster_.ClassOf(pod).missing_config_maps)
      names.push_back(cluster_.Text(name));
    return messages::MissingConfigMaps(names);
  }

 private:
  const Cluster& cluster_;
};

}  // namespace

std::unique_ptr<PodCheck> MakeConfigMapCheck(const Cluster& cluster) {
  return std::make_unique<ConfigMapCheck>(cluster);
}

}  // namespace kai

#include "kai/dra/device_claim.h"

#include <algorithm>

namespace kai {

bool DeviceToleration::Tolerates(const DeviceTaint& taint) const {
  return (effect == DeviceTaint::Effect::kNone || effect == taint.effect) &&
         (key.empty() || key == taint.key) && (op == Operator::kExists || value == taint.value);
}

bool DeviceConstraint::Covers(std::string_view request) const {
  const auto named = [&](std::string_view name) {
    return std::find(requests.begin(), requests.end(), name) != requests.end();
  };
  return requests.empty() || named(request) || named(request.substr(0, request.find('/')));
}

bool TaintsRefuse(const Device& device, const DeviceRequest& request) {
  return std::any_of(device.taints.begin(), device.taints.end(), [&](const DeviceTaint& taint) {
    return taint.effect != DeviceTaint::Effect::kNone &&
           std::none_of(request.tolerations.begin(), request.tolerations.end(),
                        [&](const DeviceToleration& each) { return each.Tolerates(taint); });
  });
}

bool SameAttribute(const AttributeValue& a, const AttributeValue& b) {
  const auto* version = std::get_if<Semver>(&a);
  const auto* other = std::get_if<Semver>(&b);
  if (version != nullptr && other != nullptr) return version->text() == other->text();
  return a == b;
}

}  // namespace kai

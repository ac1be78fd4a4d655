#include "kai/dra/capacity_share.h"

#include <algorithm>
#include <vector>

#include "kai/base/saturating.h"

namespace kai {
namespace {

// The smallest amount of the range that is at least `wanted`, without the range's upper end.
Quantity RoundUpInRange(Quantity wanted, const CapacityPolicy::Range& range) {
  if (wanted <= range.least) return range.least;
  if (!range.step.has_value() || range.step->Value() <= 0) return wanted;
  const int64_t step = range.step->Value();
  const int64_t above = (wanted - range.least).Value();
  const int64_t steps = above / step + (above % step != 0 ? 1 : 0);
  int64_t rounded = 0;
  if (__builtin_mul_overflow(steps, step, &rounded)) return wanted;  // no device has so much
  return range.least + Quantity::Of(rounded);
}

Quantity Taken(const Quantity* wanted, const DeviceCapacity& capacity) {
  if (!capacity.policy.has_value()) return wanted != nullptr ? *wanted : capacity.value;
  const CapacityPolicy& policy = *capacity.policy;
  if (wanted == nullptr) return policy.fallback.value_or(capacity.value);
  if (policy.valid_range.has_value()) return RoundUpInRange(*wanted, *policy.valid_range);
  const auto valid = std::find_if(policy.valid_values.begin(), policy.valid_values.end(),
                                  [&](const Quantity& value) { return value >= *wanted; });
  return valid == policy.valid_values.end() ? *wanted : *valid;
}

bool Allowed(Quantity taken, const CapacityPolicy& policy) {
  if (policy.fallback == taken) return true;
  if (policy.valid_range.has_value()) {
    const CapacityPolicy::Range& range = *policy.valid_range;
    if (range.most.has_value() && taken > *range.most) return false;
    return !range.step.has_value() || range.step->Value() <= 0 ||
           (taken - range.least).Value() % range.step->Value() == 0;
  }
  return policy.valid_values.empty() ||
         std::find(policy.valid_values.begin(), policy.valid_values.end(), taken) !=
             policy.valid_values.end();
}

// Null if the share has none of it.
const Quantity* Find(const CapacityShare& share, std::string_view domain, std::string_view name) {
  const auto names = share.find(domain);
  if (names == share.end()) return nullptr;
  const auto amount = names->second.find(name);
  return amount == names->second.end() ? nullptr : &amount->second;
}

}  // namespace

std::optional<CapacityShare> ShareOf(const Device& device, const ByName<Quantity>& request) {
  CapacityShare wanted;
  for (const auto& [name, amount] : request) {
    if (device.FindCapacity(name) == nullptr) return std::nullopt;
    const size_t slash = name.find('/');
    const std::string domain = slash == name.npos ? device.driver : name.substr(0, slash);
    wanted[domain][name.substr(slash == name.npos ? 0 : slash + 1)] = amount;
  }
  CapacityShare share;
  for (const auto& [domain, capacities] : device.capacity) {
    for (const auto& [name, capacity] : capacities) {
      const Quantity taken = Taken(Find(wanted, domain, name), capacity);
      if (capacity.policy.has_value() && !Allowed(taken, *capacity.policy)) return std::nullopt;
      share[domain][name] = taken;
    }
  }
  return share;
}

bool HasRoom(const Device& device, const CapacityShare& share, const CapacityShare& taken) {
  for (const auto& [domain, amounts] : share) {
    for (const auto& [name, amount] : amounts) {
      const DeviceCapacity& capacity = device.capacity.find(domain)->second.find(name)->second;
      const Quantity* before = Find(taken, domain, name);
      if (amount + (before == nullptr ? Quantity() : *before) > capacity.value) return false;
    }
  }
  return true;
}

void AddShare(const CapacityShare& share, CapacityShare* sum) {
  for (const auto& [domain, amounts] : share) {
    for (const auto& [name, amount] : amounts) {
      Quantity& total = (*sum)[domain][name];
      total = total + amount;
    }
  }
}

}  // namespace kai

// The rules of allocation without a clever search: enumerates all ways to give devices to requests,
// in order, and returns the first that breaks no rule. It shares only selectors and attributes with
// the allocator.
#ifndef KAI_DRA_SLOW_ALLOCATOR_FOR_TEST_H_
#define KAI_DRA_SLOW_ALLOCATOR_FOR_TEST_H_

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kai/dra/allocator.h"

namespace kai {

class SlowAllocator {
 public:
  // The devices of one request.
  struct Given {
    size_t claim;
    const DeviceRequest* request;
    std::string name;
    std::vector<const Device*> devices;
  };

  SlowAllocator(const std::vector<Pool>& pools, const AllocatedDevices& allocated,
                const std::vector<DeviceClaim>& claims, const AllocatorOptions& options)
      : pools_(pools), allocated_(allocated), claims_(claims), options_(options) {
    for (const Pool& pool : pools) {
      if (pool.state != Pool::State::kReady) continue;
      devices_.insert(devices_.end(), pool.devices.begin(), pool.devices.end());
    }
  }

  // Empty if every way breaks a rule.
  std::optional<std::vector<Given>> Run() {
    given_.clear();
    return FromRequest(0, 0) ? std::optional(given_) : std::nullopt;
  }

 private:
  bool FromRequest(size_t claim, size_t request) {
    if (claim == claims_.size()) return ObeysAllRules();
    if (request == claims_[claim].requests.size()) return FromRequest(claim + 1, 0);
    const DeviceRequest& asked = claims_[claim].requests[request];
    if (asked.first_available.empty()) return WithOption(claim, request, asked, asked.name);
    return std::any_of(asked.first_available.begin(), asked.first_available.end(),
                       [&](const DeviceRequest& option) {
                         return WithOption(claim, request, option, asked.name + "/" + option.name);
                       });
  }

  bool WithOption(size_t claim, size_t request, const DeviceRequest& option,
                  const std::string& name) {
    given_.push_back({claim, &option, name, {}});
    const bool found = option.mode == AllocationMode::kAll
                           ? WithAll(option) && FromRequest(claim, request + 1)
                           : WithDevices(claim, request, option.count);
    if (!found) given_.pop_back();
    return found;
  }

  bool WithAll(const DeviceRequest& option) {
    for (const Device* device : devices_) {
      if (Matches(option, *device)) given_.back().devices.push_back(device);
    }
    return !given_.back().devices.empty();
  }

  // Tries all orders, to check that ascending orders suffice, as the allocator assumes.
  bool WithDevices(size_t claim, size_t request, int64_t count) {
    if (count == 0) return FromRequest(claim, request + 1);
    const size_t mine = given_.size() - 1;
    for (const Device* device : devices_) {
      std::vector<const Device*>& devices = given_[mine].devices;
      if (std::find(devices.begin(), devices.end(), device) != devices.end()) continue;
      devices.push_back(device);
      if (WithDevices(claim, request, count - 1)) return true;
      given_[mine].devices.pop_back();
    }
    return false;
  }

  static bool Matches(const DeviceRequest& request, const Device& device) {
    const auto is_true = [&](const DeviceSelector& selector) {
      return selector.Matches(device).value();
    };
    return std::all_of(request.device_class->selectors.begin(),
                       request.device_class->selectors.end(), is_true) &&
           std::all_of(request.selectors.begin(), request.selectors.end(), is_true);
  }

  bool ObeysAllRules() const {
    std::map<const Device*, std::vector<const Given*>> users;
    for (const Given& given : given_) {
      for (const Device* device : given.devices) {
        if (!Matches(*given.request, *device) || !Tolerated(*given.request, *device)) return false;
        if (!device->consumes.empty() && !options_.partitionable_devices) return false;
        users[device].push_back(&given);
      }
    }
    return std::all_of(users.begin(), users.end(),
                       [&](const auto& entry) { return MayUse(*entry.first, entry.second); }) &&
           CountersSuffice(users) && ConstraintsHold();
  }

  bool Tolerated(const DeviceRequest& request, const Device& device) const {
    for (const DeviceTaint& taint : device.taints) {
      bool tolerated = !options_.device_taints || taint.effect == DeviceTaint::Effect::kNone;
      for (const DeviceToleration& each : request.tolerations) tolerated |= each.Tolerates(taint);
      if (!tolerated) return false;
    }
    return true;
  }

  bool Shareable(const Device& device) const {
    return options_.consumable_capacity && device.allow_multiple_allocations;
  }

  bool MayUse(const Device& device, const std::vector<const Given*>& users) const {
    const bool in_use = allocated_.devices.contains(device.id());
    Quantity memory;  // the only capacity in these tests, without a policy
    for (size_t i = 0; i < users.size(); ++i) {
      const DeviceRequest& request = *users[i]->request;
      if (in_use && !request.admin_access) return false;
      for (size_t earlier = 0; earlier < i && !Shareable(device); ++earlier) {
        if (!request.admin_access || users[earlier]->claim == users[i]->claim) return false;
      }
      if (!options_.consumable_capacity) continue;
      const DeviceCapacity* capacity = device.FindCapacity("memory");
      const auto wanted = request.capacity.find("memory");
      if (capacity == nullptr && wanted != request.capacity.end()) return false;
      if (capacity == nullptr) continue;
      const Quantity taken = wanted == request.capacity.end() ? capacity->value : wanted->second;
      memory = Shareable(device) ? memory + taken : taken;
      Quantity before;
      const auto shared = allocated_.shared.find(device.id());
      if (shared != allocated_.shared.end()) before = shared->second.at(device.driver).at("memory");
      if (before + memory > capacity->value) return false;
    }
    return true;
  }

  bool CountersSuffice(const std::map<const Device*, std::vector<const Given*>>& users) const {
    for (const Pool& pool : pools_) {
      for (const CounterSet* set : pool.counter_sets) {
        for (const auto& [name, amount] : set->counters) {
          Quantity before, after;
          bool asked = false;
          for (const Device* device : pool.devices) {
            Quantity taken;
            bool names_it = false;
            for (const CounterUse& use : device->consumes) {
              const auto counter = use.counters.find(name);
              if (use.counter_set == set->name && counter != use.counters.end()) {
                taken = taken + counter->second;
                names_it = true;
              }
            }
            const bool was_used = allocated_.devices.contains(device->id()) ||
                                  allocated_.shared.contains(device->id());
            if (was_used) before = before + taken;
            const auto user = users.find(device);
            const bool newly_used =
                user != users.end() && !(was_used && Shareable(*device)) &&
                std::any_of(user->second.begin(), user->second.end(),
                            [](const Given* given) { return !given->request->admin_access; });
            if (newly_used) after = after + taken;
            asked |= newly_used && names_it;
          }
          // A counter that is overdrawn already excludes only the devices that name it.
          if (asked && before + after > amount) return false;
        }
      }
    }
    return true;
  }

  bool ConstraintsHold() const {
    for (size_t claim = 0; claim < claims_.size(); ++claim) {
      for (const DeviceConstraint& constraint : claims_[claim].constraints) {
        std::vector<const AttributeValue*> values;
        for (const Given& given : given_) {
          if (given.claim != claim || !constraint.Covers(given.name)) continue;
          for (const Device* device : given.devices) {
            values.push_back(device->FindAttribute(constraint.attribute));
          }
        }
        const bool same = constraint.kind == DeviceConstraint::Kind::kMatchAttribute;
        for (size_t i = 0; i < values.size(); ++i) {
          if (values[i] == nullptr) return false;
          for (size_t j = 0; j < i; ++j) {
            if (SameAttribute(*values[i], *values[j]) != same) return false;
          }
        }
      }
    }
    return true;
  }

  const std::vector<Pool>& pools_;
  const AllocatedDevices& allocated_;
  const std::vector<DeviceClaim>& claims_;
  const AllocatorOptions& options_;
  std::vector<const Device*> devices_;
  std::vector<Given> given_;
};

}  // namespace kai

#endif  // KAI_DRA_SLOW_ALLOCATOR_FOR_TEST_H_

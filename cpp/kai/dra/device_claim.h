// The content of a ResourceClaim: a number of devices of a class, with selectors, and with
// constraints between the devices.
//
//   request.name = name;
//   request.device_class = &gpu_;
//   request.count = count;
//   request.selectors.push_back(Selects(expression));
//   claim.requests = std::move(requests);
//
// Invariants: none; the allocator checks a claim. Cost: plain data; Tolerates() and Covers()
// compare texts. Threads: many readers.
#ifndef KAI_DRA_DEVICE_CLAIM_H_
#define KAI_DRA_DEVICE_CLAIM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kai/base/quantity.h"
#include "kai/dra/device.h"
#include "kai/dra/device_selector.h"

namespace kai {

struct DeviceClass {
  std::string name;
  std::vector<DeviceSelector> selectors;
};

struct DeviceToleration {
  enum class Operator : uint8_t { kEqual, kExists };

  std::string key = {};  // empty: every key
  Operator op = Operator::kEqual;
  std::string value = {};
  // kNone: every effect.
  DeviceTaint::Effect effect = DeviceTaint::Effect::kNone;

  bool Tolerates(const DeviceTaint& taint) const;
};

enum class AllocationMode : uint8_t {
  kExactCount,  // `count` devices
  kAll,         // all matching devices of the node, at least one; none may be in use
  kUnknown,     // from a newer Kubernetes version: an error
};

struct DeviceRequest {
  std::string name;
  std::string class_name = {};                // for the error about a class that does not exist
  const DeviceClass* device_class = nullptr;  // null: the class does not exist
  std::vector<DeviceSelector> selectors = {};
  AllocationMode mode = AllocationMode::kExactCount;
  int64_t count = 1;
  bool admin_access = false;  // for monitoring: the device may be in use by pods
  std::vector<DeviceToleration> tolerations = {};
  ByName<Quantity> capacity = {};  // amounts of each device, by "domain/name" or "name"
  // If not empty: the first of these that fits is used, and the members above except the name are
  // ignored.
  std::vector<DeviceRequest> first_available = {};
};

// Applies to the devices of these requests ("request", "request/alternative"); to all if the list
// is empty.
struct DeviceConstraint {
  enum class Kind : uint8_t {
    kMatchAttribute,     // all devices have the attribute, with the same value
    kDistinctAttribute,  // all have it, with different values
  };

  Kind kind = Kind::kMatchAttribute;
  std::string attribute = {};
  std::vector<std::string> requests = {};

  friend auto operator<=>(const DeviceConstraint&, const DeviceConstraint&) = default;

  // `request` as above; the name of a request covers its alternatives, too.
  bool Covers(std::string_view request) const;
};

struct DeviceClaim {
  std::string name;  // "namespace/name", for error messages
  std::vector<DeviceRequest> requests;
  std::vector<DeviceConstraint> constraints = {};
};

// True if the device has a taint (NoSchedule, NoExecute) that the request does not tolerate.
bool TaintsRefuse(const Device& device, const DeviceRequest& request);

// Equality as constraints define it: versions are compared as texts.
bool SameAttribute(const AttributeValue& a, const AttributeValue& b);

}  // namespace kai

#endif  // KAI_DRA_DEVICE_CLAIM_H_

// What a ResourceClaim asks for: so many devices of a class, with these properties, that go
// together like that.
//
//   request.name = name;
//   request.device_class = &gpu_;
//   request.count = count;
//   request.selectors.push_back(Selects(expression));
//   claim.requests = std::move(requests);
//
// Invariants: a selector that does not compile is kept as its error: as in Kubernetes it hurts only
// when a device is about to be compared with it. Cost: plain data; Tolerates() and Covers() compare
// texts. Threads: many readers.
#ifndef KAI_DRA_DEVICE_CLAIM_H_
#define KAI_DRA_DEVICE_CLAIM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kai/base/quantity.h"
#include "kai/dra/cel.h"
#include "kai/dra/device.h"

namespace kai {

using DeviceSelector = absl::StatusOr<CelSelector>;

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
  kAll,         // every device of the node that matches, one at least; none may be in use
  kUnknown,     // one that came after us: an error
};

struct DeviceRequest {
  std::string name;
  std::string class_name = {};                // for messages about a class that does not exist
  const DeviceClass* device_class = nullptr;  // null: it does not exist
  std::vector<DeviceSelector> selectors = {};
  AllocationMode mode = AllocationMode::kExactCount;
  int64_t count = 1;
  bool admin_access = false;  // to look after a device: beside the pods that use it
  std::vector<DeviceToleration> tolerations = {};
  ByName<Quantity> capacity = {};  // by "domain/name" or "name": what to take of each device
  // Not empty: the first of these that can be had; of the members above only the name counts.
  std::vector<DeviceRequest> first_available = {};
};

// About the devices of these requests ("request", "request/alternative"); of all when none is
// named.
struct DeviceConstraint {
  enum class Kind : uint8_t {
    kMatchAttribute,     // all have the attribute, and with the same value
    kDistinctAttribute,  // all have it, and no two the same value
  };

  Kind kind = Kind::kMatchAttribute;
  std::string attribute = {};
  std::vector<std::string> requests = {};

  friend auto operator<=>(const DeviceConstraint&, const DeviceConstraint&) = default;

  // `request` as above; an alternative is covered by the name of its request, too.
  bool Covers(std::string_view request) const;
};

struct DeviceClaim {
  std::string name;  // "namespace/name", for messages
  std::vector<DeviceRequest> requests;
  std::vector<DeviceConstraint> constraints = {};
};

// Does the device have a taint (NoSchedule, NoExecute) that the request does not tolerate?
bool TaintsKeepAway(const Device& device, const DeviceRequest& request);

// As constraints compare: versions by how they are written.
bool SameAttribute(const AttributeValue& a, const AttributeValue& b);

}  // namespace kai

#endif  // KAI_DRA_DEVICE_CLAIM_H_

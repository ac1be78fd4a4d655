// Devices as drivers publish them in ResourceSlices (resource.k8s.io), with the fields that
// selectors read.
//
//   Device gpu{.driver = "gpu.nvidia.com", .pool = "node-1", .name = "gpu-0"};
//   gpu.SetAttribute("type", std::string("gpu"));        // the driver's own domain
//   gpu.SetAttribute("dra.net/numaNode", int64_t{1});
//   gpu.SetCapacity("memory", {.value = Quantity::Parse("80Gi").value()});
//
// The reader of slices fills it. Which nodes can use a device is decided before (pools.h).
//
// Invariants: an attribute has one value; if a slice lists it both with and without its domain, the
// value with the domain counts, in either order. Cost: O(log names). Threads: plain data: many
// readers.
#ifndef KAI_DRA_DEVICE_H_
#define KAI_DRA_DEVICE_H_

#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kai/base/quantity.h"
#include "kai/dra/semver.h"

namespace kai {

using AttributeValue = std::variant<bool, int64_t, std::string, Semver>;

// Which amounts of a capacity claims may request, when several claims share a device.
struct CapacityPolicy {
  struct Range {
    Quantity least;
    std::optional<Quantity> most = std::nullopt;
    std::optional<Quantity> step = std::nullopt;  // counted from `least`

    friend bool operator==(const Range&, const Range&) = default;
  };

  std::optional<Quantity> fallback = std::nullopt;  // for requests that name no amount
  std::vector<Quantity> valid_values = {};          // ascending; empty: any
  std::optional<Range> valid_range = std::nullopt;

  friend bool operator==(const CapacityPolicy&, const CapacityPolicy&) = default;
};

struct DeviceCapacity {
  Quantity value;
  std::optional<CapacityPolicy> policy = std::nullopt;

  friend bool operator==(const DeviceCapacity&, const DeviceCapacity&) = default;
};

template <typename Value>
using ByName = std::map<std::string, Value, std::less<>>;
template <typename Value>
using ByDomain = ByName<ByName<Value>>;

// How much a device takes of the counters of its pool while it is allocated.
struct CounterUse {
  std::string counter_set;
  ByName<Quantity> counters;

  friend bool operator==(const CounterUse&, const CounterUse&) = default;
};

// Counters that the devices of a pool share: for example, the partitions of one GPU count its
// memory slices.
struct CounterSet {
  std::string name;
  ByName<Quantity> counters;

  friend bool operator==(const CounterSet&, const CounterSet&) = default;
};

struct DeviceTaint {
  enum class Effect : uint8_t { kNone, kNoSchedule, kNoExecute };

  std::string key;
  std::string value = {};
  Effect effect = Effect::kNoSchedule;  // kNone, also for unknown effects: excludes no claim

  friend bool operator==(const DeviceTaint&, const DeviceTaint&) = default;
};

struct DeviceId {
  std::string driver;
  std::string pool;
  std::string device;

  friend auto operator<=>(const DeviceId&, const DeviceId&) = default;
};

struct Device {
  std::string driver;
  std::string pool;
  std::string name;
  ByDomain<AttributeValue> attributes = {};
  ByDomain<DeviceCapacity> capacity = {};
  std::vector<CounterUse> consumes = {};
  std::vector<DeviceTaint> taints = {};
  bool allow_multiple_allocations = false;
  bool has_binding_conditions = false;

  friend bool operator==(const Device&, const Device&) = default;

  DeviceId id() const { return {driver, pool, name}; }

  // `name` is "domain/name", or just "name" in the driver's own domain. If a slice lists an
  // attribute both ways, the value with the domain counts, in either order.
  void SetAttribute(std::string_view name, AttributeValue value);
  void SetCapacity(std::string_view name, DeviceCapacity value);

  // Null if the device does not have it. `name` as above.
  const AttributeValue* FindAttribute(std::string_view name) const;
  const DeviceCapacity* FindCapacity(std::string_view name) const;
};

}  // namespace kai

#endif  // KAI_DRA_DEVICE_H_

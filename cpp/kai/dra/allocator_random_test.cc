// Compares the allocator with an exhaustive one on thousands of small random nodes.
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>
#include <vector>

#include "kai/base/text.h"
#include "kai/dra/allocator.h"
#include "kai/dra/slow_allocator_for_test.h"

namespace kai::allocator_random_test {
namespace {

// One or two pools with up to five devices, and up to two claims for up to four devices.
class RandomNode {
 public:
  explicit RandomNode(uint64_t seed) : random_(seed) {
    options = {.admin_access = true,
               .consumable_capacity = Chance(2),
               .device_taints = Chance(2),
               .partitionable_devices = Chance(2),
               .prioritized_list = true};
    class_.name = "any";
    if (Chance(3)) class_.selectors.push_back(CelSelector::Compile(kSelectors[Below(4)]));
    const int count = static_cast<int>(1 + Below(5));
    for (int pool = 0; pool < 2; ++pool)
      AddPool(pool, pool == 0 ? count : static_cast<int>(Below(2)));
    int budget = 4;  // devices; the slow allocator lists all their permutations
    for (int claim = static_cast<int>(1 + Below(2)); claim > 0; --claim) AddClaim(&budget);
  }

  std::vector<Pool> pools;
  AllocatedDevices allocated;
  std::vector<DeviceClaim> claims;
  AllocatorOptions options;

 private:
  static constexpr std::string_view kSelectors[] = {"true", "device.attributes['d'].color == 0",
                                                    "device.attributes['d'].color != 1",
                                                    "'numa' in device.attributes['d']"};

  size_t Below(size_t bound) { return static_cast<size_t>(random_() % bound); }
  bool Chance(size_t one_in) { return Below(one_in) == 0; }

  void AddPool(int number, int count) {
    Pool& pool = pools.emplace_back();
    pool.driver = "d";
    pool.name = StrCat("p", number);
    if (Chance(20)) pool.state = Pool::State::kIncomplete;
    CounterSet& set = counters_.emplace_back();
    set.name = "set";
    set.counters = {{"x", Quantity::Of(static_cast<int64_t>(1 + Below(4)))},
                    {"y", Quantity::Of(static_cast<int64_t>(1 + Below(4)))}};
    pool.counter_sets = {&set};
    for (int i = 0; i < count; ++i) {
      Device& device = devices_.emplace_back();
      device.driver = "d";
      device.pool = pool.name;
      device.name = StrCat(pool.name, "-", i);
      Furnish(&device);
      pool.devices.push_back(&device);
    }
  }

  void Furnish(Device* device) {
    device->SetAttribute("color", static_cast<int64_t>(Below(3)));
    if (!Chance(6)) device->SetAttribute("numa", static_cast<int64_t>(Below(2)));
    if (!Chance(3)) {
      device->SetCapacity("memory", {.value = Quantity::Of(static_cast<int64_t>(1 + Below(4)))});
    }
    device->allow_multiple_allocations = Chance(3);
    if (Chance(2)) {
      CounterUse& use = device->consumes.emplace_back();
      use.counter_set = "set";
      use.counters["x"] = Quantity::Of(static_cast<int64_t>(Below(3)));
      if (Chance(2)) use.counters["y"] = Quantity::Of(static_cast<int64_t>(Below(3)));
    }
    if (Chance(5)) device->taints.push_back({.key = "k", .value = "v"});
    if (!Chance(6)) return;
    if (options.consumable_capacity && device->allow_multiple_allocations) {
      if (device->FindCapacity("memory") == nullptr) return;
      allocated.shared[device->id()] = {{"d", {{"memory", Quantity::Of(1)}}}};
    } else {
      allocated.devices.insert(device->id());
    }
  }

  DeviceRequest MakeRequest(std::string name, int64_t most) {
    DeviceRequest request;
    request.name = std::move(name);
    request.device_class = &class_;
    request.count = static_cast<int64_t>(1 + Below(static_cast<size_t>(most)));
    if (Chance(2)) request.selectors.push_back(CelSelector::Compile(kSelectors[Below(4)]));
    if (Chance(3)) request.tolerations = {{.key = "k", .value = "v"}};
    if (Chance(8)) request.admin_access = true;
    if (options.consumable_capacity && Chance(3)) {
      request.capacity["memory"] = Quantity::Of(static_cast<int64_t>(1 + Below(3)));
    }
    return request;
  }

  void AddClaim(int* budget) {
    DeviceClaim& claim = claims.emplace_back();
    claim.name = StrCat("ns/c", claims.size());
    bool wants_all = false;
    for (size_t i = 0; i < 3 && *budget > 0 && !(i > 0 && Chance(2)); ++i) {
      const std::string name = StrCat("r", i);
      const int64_t most = std::min(*budget, 3);
      if (Chance(3)) {
        DeviceRequest& request = claim.requests.emplace_back();
        request.name = name;
        request.first_available = {MakeRequest("a", most), MakeRequest("b", most)};
        for (DeviceRequest& each : request.first_available) each.admin_access = false;
      } else {
        claim.requests.push_back(MakeRequest(name, most));
      }
      DeviceRequest& request = claim.requests.back();
      // With an incomplete pool such a request is an error; with scarce capacity, "all" changes.
      if (Chance(8) && request.first_available.empty() && !options.consumable_capacity &&
          pools[0].state == Pool::State::kReady && pools[1].state == Pool::State::kReady) {
        request.mode = AllocationMode::kAll;
        wants_all = true;
      }
      *budget -= static_cast<int>(most);
    }
    if (wants_all || Chance(2)) return;  // all devices and a constraint can also be an error
    DeviceConstraint& constraint = claim.constraints.emplace_back();
    constraint.attribute = Chance(2) ? "numa" : "d/color";
    if (options.consumable_capacity && Chance(2)) {
      constraint.kind = DeviceConstraint::Kind::kDistinctAttribute;
    }
    if (Chance(3)) constraint.requests = {Chance(2) ? "r0" : "r0/a", "r1"};
  }

  std::mt19937_64 random_;
  DeviceClass class_;
  std::deque<Device> devices_;
  std::deque<CounterSet> counters_;
};

std::string Shown(const std::optional<std::vector<SlowAllocator::Given>>& given) {
  if (!given.has_value()) return "nothing fits";
  std::string text;
  for (const auto& each : *given) {
    for (const Device* device : each.devices) {
      StrAppend(&text, each.claim, ":", each.name, "=", device->name, " ");
    }
  }
  return text;
}

std::string Shown(const absl::StatusOr<DeviceAllocation>& result) {
  if (!result.ok()) return std::string(result.status().message());
  if (!result->fits) return "nothing fits";
  std::string text;
  for (size_t claim = 0; claim < result->claims.size(); ++claim) {
    for (const GivenDevice& device : result->claims[claim].devices) {
      StrAppend(&text, claim, ":", device.request, "=", device.device->name, " ");
    }
  }
  return text;
}

TEST(AllocatorRandomTest, FindsAnAllocationExactlyIfExhaustiveSearchDoes) {
  int fits = 0, fits_not = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    RandomNode node(seed);
    SlowAllocator slow(node.pools, node.allocated, node.claims, node.options);
    const std::string expected = Shown(slow.Run());
    ASSERT_EQ(Shown(AllocateDevices(node.pools, node.allocated, node.claims, node.options)),
              expected)
        << "seed " << seed;
    ++(expected == "nothing fits" ? fits_not : fits);
  }
  // Both results are common; otherwise the comparison would prove little.
  EXPECT_GT(fits, 700);
  EXPECT_GT(fits_not, 700);
}

TEST(AllocatorRandomTest, GivesTheSameResultTwice) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    RandomNode node(seed), twin(seed);
    const auto first = AllocateDevices(node.pools, node.allocated, node.claims, node.options);
    const auto second = AllocateDevices(twin.pools, twin.allocated, twin.claims, twin.options);
    ASSERT_EQ(Shown(first), Shown(second)) << "seed " << seed;
    ASSERT_EQ(first->steps, second->steps) << "seed " << seed;
  }
}

}  // namespace
}  // namespace kai::allocator_random_test

#include "kai/dra/allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "kai/base/text.h"

namespace kai::allocator_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Strings = std::vector<std::string>;

AllocatorOptions AllFeatures() {
  return {.admin_access = true,
          .consumable_capacity = true,
          .device_taints = true,
          .partitionable_devices = true,
          .prioritized_list = true};
}

DeviceSelector Selects(std::string_view expression) { return CelSelector::Compile(expression); }

Quantity Amount(std::string_view text) { return Quantity::Parse(text).value(); }

// One node with pools of devices, and the claims to allocate.
class Node {
 public:
  explicit Node(AllocatorOptions options = AllFeatures()) : options_(options) {
    gpu_.name = "gpu";
    gpu_.selectors.push_back(Selects("device.driver == 'gpu'"));
  }

  // Adds devices gpu/<pool>/<name>.
  Pool& AddPool(std::string_view pool, const std::vector<std::string>& names) {
    Pool& added = pools_.emplace_back();
    added.driver = "gpu";
    added.name = pool;
    for (const std::string& name : names) {
      Device& device = devices_.emplace_back();
      device.driver = "gpu";
      device.pool = pool;
      device.name = name;
      added.devices.push_back(&device);
    }
    return added;
  }
  Device& At(std::string_view name) {
    for (Device& device : devices_) {
      if (device.name == name) return device;
    }
    ADD_FAILURE() << "no device " << name;
    return devices_.front();
  }
  CounterSet& AddCounters(Pool* pool, std::string_view name) {
    CounterSet& set = counters_.emplace_back();
    set.name = name;
    pool->counter_sets.push_back(&set);
    return set;
  }

  DeviceRequest Request(std::string_view name, int64_t count = 1) {
    DeviceRequest request;
    request.name = name;
    request.class_name = "gpu";
    request.device_class = &gpu_;
    request.count = count;
    return request;
  }
  DeviceRequest AllOf(std::string_view name) {
    DeviceRequest request = Request(name);
    request.mode = AllocationMode::kAll;
    return request;
  }
  DeviceRequest Matching(DeviceRequest request, std::string_view expression) {
    request.selectors.push_back(Selects(expression));
    return request;
  }
  DeviceRequest Admin(DeviceRequest request) {
    request.admin_access = true;
    return request;
  }
  DeviceRequest FirstOf(std::string_view name, std::vector<DeviceRequest> alternatives) {
    DeviceRequest request;
    request.name = name;
    request.first_available = std::move(alternatives);
    return request;
  }
  DeviceClaim& AddClaim(std::vector<DeviceRequest> requests) {
    DeviceClaim& claim = claims_.emplace_back();
    claim.name = StrCat("ns/c", claims_.size() - 1);
    claim.requests = std::move(requests);
    return claim;
  }
  void UseAlready(std::string_view name) { allocated_.devices.insert(At(name).id()); }

  absl::StatusOr<DeviceAllocation> Allocate() {
    return AllocateDevices(pools_, allocated_, claims_, options_);
  }

  // "request=device" in order, over all claims; or "nothing fits"; or the error.
  Strings Given() {
    const auto result = Allocate();
    if (!result.ok()) return {std::string(result.status().message())};
    if (!result->fits) return {"nothing fits"};
    Strings given;
    for (const ClaimDevices& claim : result->claims) {
      for (const GivenDevice& device : claim.devices) {
        given.push_back(StrCat(device.request, "=", device.device->name));
      }
    }
    return given;
  }
  std::string Error() { return std::string(Allocate().status().message()); }

  AllocatorOptions options_;
  AllocatedDevices allocated_;
  std::vector<Pool> pools_;

 private:
  DeviceClass gpu_;
  std::deque<Device> devices_;  // a deque, as pools point at the devices
  std::deque<CounterSet> counters_;
  std::vector<DeviceClaim> claims_;
};

TEST(AllocatorTest, NamesTheDevicesOfAClaim) {
  const Device used{.driver = "gpu", .pool = "p", .name = "gpu-0"};
  const Device free{.driver = "gpu", .pool = "p", .name = "gpu-1"};
  const std::vector<Pool> pools = {{.driver = "gpu", .name = "p", .devices = {&used, &free}}};
  const AllocatedDevices allocated{.devices = {used.id()}, .shared = {}};
  const DeviceClass gpu{.name = "gpu", .selectors = {}};
  DeviceRequest request;
  request.name = "gpus";
  request.device_class = &gpu;
  const std::vector<DeviceClaim> claims = {{.name = "team/train", .requests = {request}}};
  const AllocatorOptions options;
  const auto found = AllocateDevices(pools, allocated, claims, options);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(found->fits);
  EXPECT_EQ(found->claims[0].devices[0].device->name, "gpu-1");
  EXPECT_EQ(found->claims[0].devices[0].request, "gpus");
}

TEST(AllocatorTest, AllocatesTheFirstFreeDevices) {
  Node node;
  node.AddPool("a", {"0", "1", "2"});
  node.AddPool("b", {"3", "4"});
  node.UseAlready("1");
  node.AddClaim({node.Request("r", 3)});
  EXPECT_THAT(node.Given(), ElementsAre("r=0", "r=2", "r=3"));
}

TEST(AllocatorTest, FailsWhenTooFewDevicesAreFree) {
  Node node;
  node.AddPool("a", {"0", "1"});
  node.UseAlready("0");
  node.AddClaim({node.Request("r", 2)});
  EXPECT_THAT(node.Given(), ElementsAre("nothing fits"));
}

TEST(AllocatorTest, SucceedsWithoutRequests) {
  Node node;
  EXPECT_THAT(node.Given(), IsEmpty());
  node.AddClaim({});
  EXPECT_THAT(node.Given(), IsEmpty());
}

TEST(AllocatorTest, AllocatesADeviceToOneClaimOnly) {
  Node node;
  node.AddPool("a", {"0", "1"});
  node.AddClaim({node.Request("r")});
  node.AddClaim({node.Request("s")});
  EXPECT_THAT(node.Given(), ElementsAre("r=0", "s=1"));
  node.AddClaim({node.Request("t")});
  EXPECT_THAT(node.Given(), ElementsAre("nothing fits"));
}

TEST(AllocatorTest, SelectsDevicesByTheClassAndTheRequest) {
  Node node;
  node.AddPool("a", {"0", "1", "2"});
  node.At("0").SetAttribute("memory", int64_t{40});
  node.At("1").SetAttribute("memory", int64_t{80});
  node.At("2").SetAttribute("memory", int64_t{80});
  node.AddClaim({node.Matching(node.Request("r"), "device.attributes['gpu'].memory > 40")});
  EXPECT_THAT(node.Given(), ElementsAre("r=1"));
  node.At("1").driver = "other";
  EXPECT_THAT(node.Given(), ElementsAre("r=2")) << "device 1 is not in the class any more";
}

TEST(AllocatorTest, BacktracksWhenAnEarlierChoiceLeavesNoDeviceForALaterRequest) {
  Node node;
  node.AddPool("a", {"0", "1"});
  node.At("0").SetAttribute("big", true);
  node.At("1").SetAttribute("big", false);
  node.AddClaim({node.Request("any")});
  node.AddClaim({node.Matching(node.Request("big"), "device.attributes['gpu'].big")});
  EXPECT_THAT(node.Given(), ElementsAre("any=1", "big=0"));
}

TEST(AllocatorTest, MatchConstraintsKeepDevicesTogether) {
  Node node;
  node.AddPool("a", {"0", "1", "2", "3"});
  for (const auto& [name, numa] : {std::pair("0", 0), {"1", 1}, {"3", 1}}) {
    node.At(name).SetAttribute("dra.net/numa", int64_t{numa});
  }
  node.AddClaim({node.Request("r", 2)}).constraints = {{.attribute = "dra.net/numa"}};
  EXPECT_THAT(node.Given(), ElementsAre("r=1", "r=3")) << "2 has no such attribute";
}

TEST(AllocatorTest, AppliesAConstraintOnlyToTheRequestsThatItNames) {
  Node node;
  node.AddPool("a", {"0", "1", "2"});
  node.At("1").SetAttribute("numa", int64_t{1});
  node.At("2").SetAttribute("numa", int64_t{1});
  node.AddClaim({node.Request("r"), node.Request("s"), node.Request("t")}).constraints = {
      {.attribute = "gpu/numa", .requests = {"s", "t"}}};
  EXPECT_THAT(node.Given(), ElementsAre("r=0", "s=1", "t=2"));
  node.AddClaim({node.Request("u")});
  EXPECT_THAT(node.Given(), ElementsAre("nothing fits"));
}

TEST(AllocatorTest, DistinctConstraintsKeepDevicesApart) {
  Node node;
  node.AddPool("a", {"0", "1", "2", "3"});
  for (const auto& [name, numa] : {std::pair("0", 0), {"1", 0}, {"2", 1}, {"3", 0}}) {
    node.At(name).SetAttribute("numa", int64_t{numa});
  }
  DeviceClaim& claim = node.AddClaim({node.Request("r", 2)});
  claim.constraints = {{.kind = DeviceConstraint::Kind::kDistinctAttribute, .attribute = "numa"}};
  EXPECT_THAT(node.Given(), ElementsAre("r=0", "r=2"));
  claim.requests[0].count = 3;
  EXPECT_THAT(node.Given(), ElementsAre("nothing fits"));
}

TEST(AllocatorTest, AllocatesAllMatchingDevicesOrNone) {
  Node node;
  node.AddPool("a", {"0", "1", "2"});
  node.At("0").SetAttribute("big", true);
  node.At("1").SetAttribute("big", false);
  node.At("2").SetAttribute("big", true);
  node.AddClaim({node.Matching(node.AllOf("r"), "device.attributes['gpu'].big")});
  EXPECT_THAT(node.Given(), ElementsAre("r=0", "r=2"));
  node.UseAlready("1");
  EXPECT_THAT(node.Given(), ElementsAre("r=0", "r=2"));
  node.UseAlready("2");
  EXPECT_THAT(node.Given(), ElementsAre("nothing fits")) << "all devices, also those in use";
}

TEST(AllocatorTest, ARequestForAllDevicesNeedsAtLeastOne) {
  Node node;
  node.AddPool("a", {"0"});
  node.AddClaim({node.Matching(node.AllOf("r"), "false")});
  EXPECT_THAT(node.Given(), ElementsAre("nothing fits"));
}

TEST(AllocatorTest, ARequestForAllDevicesFailsIfAConstraintExcludesOne) {
  Node node;
  node.AddPool("a", {"0", "1"});
  node.At("0").SetAttribute("numa", int64_t{0});
  node.At("1").SetAttribute("numa", int64_t{1});
  node.AddClaim({node.AllOf("r")}).constraints = {{.attribute = "numa"}};
  EXPECT_EQ(node.Allocate().status(),
            absl::InvalidArgumentError(
                "claim ns/c0, request r: requests all devices, but a constraint excludes 1"));
}

TEST(AllocatorTest, AllocatesNothingFromIncompletePools) {
  Node node;
  node.AddPool("a", {"0"}).state = Pool::State::kIncomplete;
  node.AddPool("b", {"1"});
  node.AddClaim({node.Request("r")});
  EXPECT_THAT(node.Given(), ElementsAre("r=1"));
  node.UseAlready("1");
  EXPECT_THAT(node.Given(), ElementsAre("nothing fits"));
  node.pools_[0].state = Pool::State::kInvalid;
  node.pools_[0].problem = "there are two devices \"0\"";
  EXPECT_EQ(node.Allocate().status(),
            absl::FailedPreconditionError("pool gpu/a is invalid: there are two devices \"0\""));
}

TEST(AllocatorTest, ARequestForAllDevicesFailsWhileAPoolIsIncomplete) {
  Node node;
  node.AddPool("a", {"0"});
  node.AddPool("b", {"1"}).state = Pool::State::kIncomplete;
  node.AddClaim({node.AllOf("r")});
  EXPECT_EQ(node.Allocate().status(),
            absl::FailedPreconditionError("claim ns/c0, request r: requests all devices, but pool "
                                          "gpu/b is being updated"));
  node.pools_[1].state = Pool::State::kInvalid;
  EXPECT_THAT(node.Error(), HasSubstr("pool gpu/b is invalid"));
}

TEST(AllocatorTest, TriesAlternativesInTheirOrder) {
  Node node;
  node.AddPool("a", {"0", "1", "2"});
  const auto alternatives = [&] {
    return node.FirstOf("r",
                        {node.Request("four", 4), node.Request("two", 2), node.Request("one")});
  };
  node.AddClaim({alternatives()});
  EXPECT_THAT(node.Given(), ElementsAre("r/two=0", "r/two=1"));
  node.UseAlready("1");
  node.UseAlready("2");
  EXPECT_THAT(node.Given(), ElementsAre("r/one=0"));
}

TEST(AllocatorTest, FallsBackToALaterAlternativeToLeaveRoomForOthers) {
  Node node;
  node.AddPool("a", {"0", "1", "2"});
  node.AddClaim({node.FirstOf("r", {node.Request("three", 3), node.Request("one")})});
  node.AddClaim({node.Request("s", 2)});
  EXPECT_THAT(node.Given(), ElementsAre("r/one=0", "s=1", "s=2"));
}

TEST(AllocatorTest, AppliesConstraintsToTheAlternativesThatTheyName) {
  Node node;
  node.AddPool("a", {"0", "1", "2"});
  node.At("1").SetAttribute("numa", int64_t{1});
  node.At("2").SetAttribute("numa", int64_t{1});
  DeviceClaim& claim =
      node.AddClaim({node.FirstOf("r", {node.Request("x", 2), node.Request("y", 2)})});
  claim.constraints = {{.attribute = "numa", .requests = {"r/x"}}};
  EXPECT_THAT(node.Given(), ElementsAre("r/x=1", "r/x=2"));
  claim.constraints[0].requests = {"r/y"};
  EXPECT_THAT(node.Given(), ElementsAre("r/x=0", "r/x=1"));
  claim.constraints[0].requests = {"r"};
  EXPECT_THAT(node.Given(), ElementsAre("r/x=1", "r/x=2"));
}

TEST(AllocatorTest, AllocatesAtMost32DevicesToAClaim) {
  Node node;
  Strings names;
  for (int i = 0; i < 40; ++i) names.push_back(StrCat("d", i));
  node.AddPool("a", names);
  DeviceClaim& claim = node.AddClaim({node.Request("r", 32)});
  EXPECT_EQ(node.Given().size(), 32u);
  claim.requests[0].count = 33;
  EXPECT_EQ(
      node.Allocate().status(),
      absl::InvalidArgumentError("claim ns/c0: asks for 33 devices, and a claim holds at most 32"));
  claim.requests = {node.AllOf("r")};
  EXPECT_THAT(node.Error(), HasSubstr("asks for 40 devices"));
  claim.requests = {node.FirstOf("r", {node.Request("many", 30), node.Request("few", 1)}),
                    node.FirstOf("s", {node.Request("many", 20), node.Request("some", 5)})};
  EXPECT_THAT(
      node.Given(),
      ElementsAre("r/few=d0", "s/many=d1", "s/many=d2", "s/many=d3", "s/many=d4", "s/many=d5",
                  "s/many=d6", "s/many=d7", "s/many=d8", "s/many=d9", "s/many=d10", "s/many=d11",
                  "s/many=d12", "s/many=d13", "s/many=d14", "s/many=d15", "s/many=d16",
                  "s/many=d17", "s/many=d18", "s/many=d19", "s/many=d20"))
      << "30 and 5 would be more than 32";
  EXPECT_LT(node.Allocate()->steps, 100);
}

TEST(AllocatorTest, AdminAccessMayUseDevicesThatAreInUse) {
  Node node;
  node.AddPool("a", {"0", "1"});
  node.UseAlready("0");
  node.AddClaim({node.Admin(node.Request("r")), node.Admin(node.Request("s"))});
  EXPECT_THAT(node.Given(), ElementsAre("r=0", "s=1")) << "a claim holds a device only once";
  node.AddClaim({node.Admin(node.AllOf("t"))});
  EXPECT_THAT(node.Given(), ElementsAre("r=0", "s=1", "t=0", "t=1"));
  const auto result = node.Allocate();
  EXPECT_TRUE(result->claims[0].devices[0].admin_access);
}

TEST(AllocatorTest, NeedsATolerationForATaint) {
  using Effect = DeviceTaint::Effect;
  Node node;
  node.AddPool("a", {"0", "1"});
  node.At("0").taints = {{.key = "broken", .value = "fan", .effect = Effect::kNoSchedule}};
  DeviceClaim& claim = node.AddClaim({node.Request("r")});
  EXPECT_THAT(node.Given(), ElementsAre("r=1"));
  claim.requests[0].tolerations = {{.key = "broken", .value = "fan"}};
  EXPECT_THAT(node.Given(), ElementsAre("r=0"));
  claim.requests[0].tolerations[0].value = "fuse";
  EXPECT_THAT(node.Given(), ElementsAre("r=1"));
  node.At("0").taints[0].effect = Effect::kNone;
  EXPECT_THAT(node.Given(), ElementsAre("r=0")) << "this effect excludes no claim";
  node.At("0").taints[0].effect = Effect::kNoExecute;
  EXPECT_THAT(node.Given(), ElementsAre("r=1"));
  claim.requests = {node.AllOf("r")};
  EXPECT_THAT(node.Given(), ElementsAre("nothing fits"));
}

// A GPU with 4 slices that can be allocated as a whole, in halves or in quarters.
void AddPartitions(Node* node) {
  Pool& pool = node->AddPool("a", {"whole", "half0", "half1", "quarter0"});
  node->AddCounters(&pool, "gpu0").counters = {{"slices", Amount("4")}};
  for (const auto& [name, slices] :
       {std::pair("whole", 4), {"half0", 2}, {"half1", 2}, {"quarter0", 1}}) {
    node->At(name).consumes = {
        {.counter_set = "gpu0", .counters = {{"slices", Quantity::Of(slices)}}}};
  }
}

TEST(AllocatorTest, AllocatesNoMoreThanTheCountersAllow) {
  Node node;
  AddPartitions(&node);
  node.AddClaim({node.Request("r")});
  EXPECT_THAT(node.Given(), ElementsAre("r=whole"));
  node.AddClaim({node.Request("s")});
  EXPECT_THAT(node.Given(), ElementsAre("r=half0", "s=half1")) << "the whole GPU leaves nothing";
  node.AddClaim({node.Request("t")});
  EXPECT_THAT(node.Given(), ElementsAre("nothing fits")) << "5 slices needed, of 4";
}

TEST(AllocatorTest, DevicesInUseConsumeCounters) {
  Node node;
  AddPartitions(&node);
  node.UseAlready("half1");
  node.AddClaim({node.Request("r", 2)});
  EXPECT_THAT(node.Given(), ElementsAre("nothing fits")) << "2 of 4 slices are left";
}

TEST(AllocatorTest, DevicesOfOtherNodesConsumeCounters) {
  Node node;
  AddPartitions(&node);
  Device elsewhere = node.At("quarter0");
  elsewhere.name = "quarter1";
  node.pools_[0].elsewhere = {&elsewhere};
  node.AddClaim({node.Request("r")});
  EXPECT_THAT(node.Given(), ElementsAre("r=whole"));
  node.allocated_.devices.insert(elsewhere.id());
  EXPECT_THAT(node.Given(), ElementsAre("r=half0"));
}

TEST(AllocatorTest, ClaimsShareADeviceWithinItsCapacity) {
  Node node;
  node.AddPool("a", {"0", "1"});
  for (const char* name : {"0", "1"}) {
    node.At(name).allow_multiple_allocations = true;
    node.At(name).SetCapacity("memory", {.value = Amount("80Gi")});
  }
  const auto some = [&](std::string_view name, std::string_view amount) {
    DeviceRequest request = node.Request(name);
    request.capacity["memory"] = Amount(amount);
    return request;
  };
  node.AddClaim({some("r", "50Gi")});
  node.AddClaim({some("s", "30Gi"), some("t", "40Gi")});
  EXPECT_THAT(node.Given(), ElementsAre("r=0", "s=0", "t=1"));
  const auto result = node.Allocate();
  EXPECT_TRUE(result->claims[1].devices[0].shared);
  EXPECT_EQ(result->claims[1].devices[0].taken.at("gpu").at("memory"), Amount("30Gi"));
  node.allocated_.shared[node.At("0").id()] = {{"gpu", {{"memory", Amount("1Gi")}}}};
  EXPECT_THAT(node.Given(), ElementsAre("r=0", "s=1", "t=1"));
  node.AddClaim({node.Request("whole")});
  EXPECT_THAT(node.Given(), ElementsAre("nothing fits"))
      << "a claim that names no amount takes the whole capacity";
}

TEST(AllocatorTest, AllocatesASharedDeviceOnlyOnceToARequest) {
  Node node;
  node.AddPool("a", {"0", "1"});
  node.At("0").allow_multiple_allocations = true;
  node.AddClaim({node.Request("r", 2), node.Request("s")});
  EXPECT_THAT(node.Given(), ElementsAre("r=0", "r=1", "s=0"));
}

TEST(AllocatorTest, ChecksTheCapacityOfAnUnsharedDeviceToo) {
  Node node;
  node.AddPool("a", {"0", "1", "2"});
  node.At("1").SetCapacity("memory", {.value = Amount("40Gi")});
  node.At("2").SetCapacity("memory", {.value = Amount("80Gi")});
  DeviceRequest request = node.Request("r");
  request.capacity["gpu/memory"] = Amount("41Gi");
  node.AddClaim({request});
  EXPECT_THAT(node.Given(), ElementsAre("r=2"));
}

TEST(AllocatorTest, ASharedDeviceConsumesItsCountersOnce) {
  Node node;
  AddPartitions(&node);
  node.At("half0").allow_multiple_allocations = true;
  const auto half = [&](std::string_view name) {
    return node.Matching(node.Request(name), "device.allowMultipleAllocations");
  };
  node.AddClaim({half("r"), half("s"), half("t")});
  node.AddClaim({node.Request("u")});
  EXPECT_THAT(node.Given(), ElementsAre("r=half0", "s=half0", "t=half0", "u=half0"));
}

TEST(AllocatorTest, ASharedDeviceWithItsCountersUsedUpMayBeSharedAgain) {
  Node node;
  AddPartitions(&node);
  node.At("half0").allow_multiple_allocations = true;
  node.allocated_.shared[node.At("half0").id()] = {};
  node.UseAlready("half1");
  node.AddClaim({node.Request("r")});
  EXPECT_THAT(node.Given(), ElementsAre("r=half0")) << "it holds two of the four slices itself";
}

TEST(AllocatorTest, RejectsRequestsThatNeedADisabledFeature) {
  const auto error = [](auto change) {
    Node node(AllocatorOptions{});
    node.AddPool("a", {"0", "1"});
    DeviceClaim& claim = node.AddClaim({node.Request("r")});
    change(&node, &claim);
    const auto result = node.Allocate();
    EXPECT_EQ(result.status().code(), absl::StatusCode::kUnimplemented);
    return std::string(result.status().message());
  };
  EXPECT_EQ(error([](Node*, DeviceClaim* claim) { claim->requests[0].admin_access = true; }),
            "claim ns/c0, request r: admin access is disabled");
  EXPECT_EQ(error([](Node*, DeviceClaim* claim) {
              claim->requests[0].capacity["memory"] = Quantity::Of(1);
            }),
            "claim ns/c0, request r: requests for capacity are disabled");
  EXPECT_EQ(error([](Node* node, DeviceClaim* claim) {
              claim->requests[0].first_available = {node->Request("x")};
            }),
            "claim ns/c0, request r: lists of alternatives are disabled");
  EXPECT_EQ(error([](Node*, DeviceClaim* claim) {
              claim->constraints = {
                  {.kind = DeviceConstraint::Kind::kDistinctAttribute, .attribute = "numa"}};
            }),
            "claim ns/c0: constraints for distinct attributes are disabled");
}

TEST(AllocatorTest, IgnoresDisabledFeaturesOfDevices) {
  Node node(AllocatorOptions{});
  AddPartitions(&node);
  node.At("half0").consumes.clear();
  node.At("half0").taints = {{.key = "k", .value = ""}};
  node.At("half0").allow_multiple_allocations = true;
  DeviceClaim& claim = node.AddClaim({node.Request("r")});
  EXPECT_THAT(node.Given(), ElementsAre("r=half0")) << "no counters, and taints are ignored";
  claim.requests[0].count = 2;
  EXPECT_THAT(node.Given(), ElementsAre("nothing fits"));
  claim.requests = {node.AllOf("r")};
  EXPECT_THAT(node.Given(), ElementsAre("nothing fits"));
}

TEST(AllocatorTest, SkipsDevicesWithBindingConditions) {
  Node node;
  node.AddPool("a", {"0", "1"});
  node.At("0").has_binding_conditions = true;
  DeviceClaim& claim = node.AddClaim({node.Request("r")});
  EXPECT_THAT(node.Given(), ElementsAre("r=1"));
  claim.requests = {node.AllOf("r")};
  EXPECT_THAT(node.Given(), ElementsAre("r=1"));
}

TEST(AllocatorTest, ReportsWhyAClaimIsInvalid) {
  Node node;
  node.AddPool("a", {"0"});
  DeviceClaim& claim = node.AddClaim({node.Request("r")});
  claim.requests[0].device_class = nullptr;
  claim.requests[0].class_name = "tpu";
  EXPECT_EQ(node.Allocate().status(),
            absl::InvalidArgumentError("claim ns/c0, request r: device class tpu does not exist"));
  claim.requests = {node.Request("r", 0)};
  EXPECT_EQ(node.Error(), "claim ns/c0, request r: asks for 0 devices");
  claim.requests = {node.Request("r", INT64_MAX), node.Request("s", INT64_MAX)};
  EXPECT_EQ(node.Error(),
            "claim ns/c0: asks for 9223372036854775807 devices, and a claim holds at most 32");
}

TEST(AllocatorTest, ReportsASelectorThatFailsOnATestedDevice) {
  Node node;
  node.AddPool("a", {"0", "1"});
  node.At("0").SetAttribute("memory", int64_t{80});
  DeviceClaim& claim =
      node.AddClaim({node.Matching(node.Request("r"), "device.attributes['gpu'].memory > 40")});
  EXPECT_THAT(node.Given(), ElementsAre("r=0")) << "the selector does not run on device 1";
  claim.requests[0].count = 2;
  EXPECT_EQ(node.Allocate().status(),
            absl::InvalidArgumentError("claim ns/c0, request r, device gpu/a/1: selector: byte 25: "
                                       "the device has no \"memory\" here"));
  claim.requests = {node.Matching(node.Request("r"), "1 +")};
  EXPECT_EQ(node.Error(),
            "claim ns/c0, request r, device gpu/a/0: selector: byte 3: the expression ends too "
            "early");
  node.UseAlready("0");
  node.UseAlready("1");
  EXPECT_THAT(node.Given(), ElementsAre("nothing fits")) << "no device to run the selector on";
}

TEST(AllocatorTest, StopsWhenItsBudgetEnds) {
  Node node;
  Strings names;
  for (int i = 0; i < 30; ++i) names.push_back(StrCat("d", i));
  node.AddPool("a", names);
  for (int i = 0; i < 30; ++i) node.At(StrCat("d", i)).SetAttribute("n", int64_t{i});
  // Two claims need the same device, after a large request that has very many solutions.
  node.AddClaim({node.Request("r", 15)});
  node.AddClaim({node.Matching(node.Request("s"), "device.attributes['gpu'].n == 29")});
  node.AddClaim({node.Matching(node.Request("t"), "device.attributes['gpu'].n == 29")});
  EXPECT_EQ(node.Allocate().status(),
            absl::ResourceExhaustedError("the search for devices took more than 1000000 steps"));
  node.options_.budget = 100;
  EXPECT_EQ(node.Error(), "the search for devices took more than 100 steps");
}

TEST(AllocatorTest, ARequestWithTooFewDevicesEndsALongSearch) {
  Node node;
  Strings names;
  for (int i = 0; i < 30; ++i) names.push_back(StrCat("d", i));
  node.AddPool("a", names);
  for (int i = 0; i < 30; ++i) node.At(StrCat("d", i)).SetAttribute("n", int64_t{i});
  node.AddClaim({node.Request("r", 15)});  // 155 million ways
  node.AddClaim({node.Matching(node.Request("s", 2), "device.attributes['gpu'].n == 29")});
  const auto result = node.Allocate();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->fits);
  EXPECT_LT(result->steps, 2000);
}

TEST(AllocatorTest, FillsAPlainNodeWithoutBacktracking) {
  Node node(AllocatorOptions{});
  node.AddPool("a", {"0", "1", "2", "3", "4", "5", "6", "7"});
  node.AddClaim({node.Request("r", 4)});
  node.AddClaim({node.Request("s", 4)});
  const auto result = node.Allocate();
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->fits);
  EXPECT_EQ(result->steps, 4 + 5 + 1 + 1 + 1) << "claim 2 skips the 4 devices of claim 1";
}

}  // namespace
}  // namespace kai::allocator_test

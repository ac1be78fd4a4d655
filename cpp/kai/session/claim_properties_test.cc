// Properties of every plan when GPUs are allocated through resource claims: crowded random clusters
// (the seed is printed) that publish their GPUs in slices, and whose pods claim them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kai/base/text.h"
#include "kai/session/config.h"
#include "kai/session/plans_for_test.h"
#include "kai/session/session.h"
#include "kai/testing/makers/claim_rows.h"
#include "kai/testing/makers/crowded_cluster.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/matchers/matchers.h"

namespace kai::claim_properties_test {
namespace {

// Publishes the GPUs of nodes as devices in slices, and turns GPU requests of pods into claims: one
// claim per pod, and sometimes one for two pods that run, or wait, together. Some pods still
// request GPUs by number (spec 3 D10).
void HandOutByClaims(uint64_t seed, ClusterRows* rows) {
  Random random(seed + 77);
  std::map<std::string, std::vector<std::string>> free;  // devices by node
  rows->device_classes.push_back(GpuClass("nvidia.com/gpu"));
  for (NodeRow& node : rows->nodes) {
    std::erase_if(node.allocatable, [&](const auto& amount) {
      if (amount.first != "nvidia.com/gpu") return false;
      rows->slices.push_back(GpusOn(node.name, static_cast<int>(amount.second)));
      for (int64_t i = amount.second; i > 0; --i) free[node.name].push_back(std::to_string(i - 1));
      return true;
    });
  }
  std::map<std::string, std::string> queue_of;
  for (const PodGroupRow& group : rows->pod_groups)
    queue_of[StrCat(group.namespace_name, "/", group.name)] = group.queue;
  const auto allocate = [&](const std::string& node, int64_t count, ResourceClaimRow* claim) {
    claim->allocation.emplace();
    claim->allocation->has_node_selector = true;
    claim->allocation->node_selector = {
        {.expressions = {},
         .fields = {{.key = "metadata.name", .op = SelectorOp::kIn, .values = {node}}}}};
    std::vector<std::string>& devices = free[node];
    for (int64_t i = 0; i < count && !devices.empty(); ++i) {
      claim->allocation->devices.push_back(
          {.request = "gpu", .device = {std::string(kGpuDriver), node, devices.back()}});
      devices.pop_back();
    }
  };
  std::map<std::string, ResourceClaimRow*> last;  // by what pods that share a claim have in common
  rows->claims.reserve(rows->pods.size());
  for (PodRow& pod : rows->pods) {
    if (pod.gpu.kind != GpuRequestKind::kRegular || pod.gpu.count == 0) continue;
    const int64_t count = pod.gpu.count;
    const bool is_running = !pod.node_name.empty() && pod.phase == Phase::kRunning;
    if (random.OneIn(3)) {
      pod.extended_requests = {
          {.container_name = "c", .resource = "nvidia.com/gpu", .count = count}};
      if (!is_running) continue;
      ResourceClaimRow& made =
          rows->claims.emplace_back(GpuClaim(StrCat(pod.namespace_name, "/for-", pod.name), count));
      made.gpus = 0;
      made.for_extended_resource = true;
      made.owner_pod = pod.name;
      made.owner_uid = pod.uid;
      made.consumers.push_back({.pod = pod.name, .uid = pod.uid});
      allocate(pod.node_name, count, &made);
      continue;
    }
    pod.gpu = {};
    const std::string group = StrCat(pod.namespace_name, "/", pod.pod_group);
    ResourceClaimRow*& kept = last[StrCat(group, " ", pod.node_name, " ", count)];
    if (kept == nullptr || !random.OneIn(4)) {
      kept =
          &rows->claims.emplace_back(GpuClaim(StrCat(pod.namespace_name, "/of-", pod.name), count));
      kept->labels = {{"kai.scheduler/queue", queue_of[group]}};
      if (is_running) allocate(pod.node_name, count, kept);
    }
    if (kept->allocation) kept->consumers.push_back({.pod = pod.name, .uid = pod.uid});
    pod.claims = {{.name = "gpus", .resource_claim = kept->name, .from_template = false}};
  }
}

struct Sample {
  explicit Sample(uint64_t which) : seed(which), crowded(MakeCrowdedCluster(which)) {
    HandOutByClaims(seed, &crowded.rows);
    constexpr std::string_view kPredicates = R"({"name": "predicates"})";
    crowded.config_json.insert(crowded.config_json.find(kPredicates) + kPredicates.size(),
                               R"(, {"name": "dynamicresources"})");
    cluster = crowded.rows.Build();
  }

  uint64_t seed;
  CrowdedCluster crowded;
  std::shared_ptr<Cluster> cluster;
};

// Everything about claims that statements change.
std::string StateOf(const Cluster& cluster) {
  const ClaimBook& claims = cluster.claims();
  std::string state;
  for (const ClaimId claim : claims.ids()) {
    StrAppend(&state, cluster.Text(claims.NameOf(claim)), " ", claims.ConsumersOf(claim), ":");
    if (const ClaimAllocationPtr& allocation = claims.AllocationOf(claim); allocation != nullptr) {
      for (const auto& given : allocation->devices)
        StrAppend(&state, " ", given.device.pool, "/", given.device.device);
    }
    StrAppend(&state, "\n");
  }
  for (const DeviceId& device : claims.devices_in_use().devices)
    StrAppend(&state, device.pool, "/", device.device, " ");
  return state;
}

class ClaimPropertyTest : public testing::TestWithParam<bool> {
 protected:
  template <typename Check>
  void ForSamples(uint64_t usual, const Check& check) const {
    ForSeeds(usual, [&](uint64_t seed) {
      const Sample sample(seed);
      check(sample, ParseConfig(sample.crowded.config_json, GetParam()));
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Mode, ClaimPropertyTest, testing::Bool(), [](const auto& mode) {
  return std::string(mode.param ? "AsKai" : "Fixed");
});

TEST_P(ClaimPropertyTest, NoDecisionDependsOnAnId) {
  ForSamples(100, [](const Sample& sample, const Config& config) {
    const Session session(config);
    ClusterRows rows = sample.crowded.rows;
    rows.numbering_seed = sample.seed + 1;
    EXPECT_EQ(TextOf(RunPlan(session, rows.Build())), TextOf(RunPlan(session, sample.cluster)));
  });
}

TEST_P(ClaimPropertyTest, TheShortcutsChangeNothing) {
  ForSamples(150, [](const Sample& sample, const Config& config) {
    const Session plain(config, {.always_scan = true, .plain_search = true});
    EXPECT_EQ(TextOf(RunPlan(Session(config), sample.cluster)),
              TextOf(RunPlan(plain, sample.cluster)));
  });
}

TEST_P(ClaimPropertyTest, ACycleDoesNotChangeTheClaims) {
  ForSamples(100, [](const Sample& sample, const Config& config) {
    const std::string before = StateOf(*sample.cluster);
    const std::string plan = TextOf(RunPlan(Session(config), sample.cluster));
    EXPECT_EQ(StateOf(*sample.cluster), before);
    EXPECT_EQ(TextOf(RunPlan(Session(config), sample.cluster)), plan);
  });
}

TEST_P(ClaimPropertyTest, NoDeviceIsAllocatedTwiceAndPlacedPodsHaveTheirDevices) {
  int64_t placed = 0;
  ForSamples(150, [&](const Sample& sample, const Config& config) {
    const Session session(
        config, {.inspect = [&](const CycleView& cycle) {
          const Cluster& cluster = *cycle.cluster;
          std::map<DeviceId, std::string> holder;  // claims of pods that hold or get a node
          for (const PodId pod : cluster.pods().name.ids()) {
            const PodStatus status = cluster.pods().status[pod];
            if (!IsActiveUsed(status) || status == PodStatus::kReleasing) continue;
            int64_t devices = 0;
            for (const GivenClaim& claim : cluster.claims().GivenTo(pod)) {
              for (const auto& given : claim.allocation->devices) {
                ++devices;
                EXPECT_EQ(given.device.pool,
                          cluster.Text(cluster.nodes().name[cluster.pods().node[pod]]))
                    << cluster.PodName(pod);
                if (status == PodStatus::kPipelined) continue;  // a pod that returned still has it
                const std::string name = claim.extended.empty()
                                             ? std::string(cluster.Text(claim.claim))
                                             : cluster.PodName(pod);  // the claim has no name yet
                EXPECT_EQ(holder.emplace(given.device, name).first->second, name)
                    << cluster.PodName(pod);
              }
            }
            if (status != PodStatus::kAllocated && status != PodStatus::kPipelined) continue;
            const GpuRequest& gpu = cluster.ClassOf(pod).gpu;
            EXPECT_EQ(devices,
                      gpu.dra > 0 || gpu.kind != GpuRequestKind::kRegular ? gpu.dra : gpu.count)
                << cluster.PodName(pod);
            placed += devices;
          }
        }});
    RunPlan(session, sample.cluster);
  });
  if (std::getenv("KAI_SEEDS") == nullptr) {
    EXPECT_GT(placed, 100) << "otherwise the test proves nothing";
  }
}

}  // namespace
}  // namespace kai::claim_properties_test

// Properties of every plan with shared GPUs: random clusters (the seed is printed).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kai/base/text.h"
#include "kai/model/changes/statement.h"
#include "kai/model/columns/cluster.h"
#include "kai/placement/gpu_picker.h"
#include "kai/session/config.h"
#include "kai/session/plans_for_test.h"
#include "kai/session/session.h"
#include "kai/testing/makers/crowded_cluster.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/makers/statement_columns.h"
#include "kai/testing/matchers/matchers.h"
#include "kai/testing/oracle/slow_evictions.h"

namespace kai::sharing_properties_test {
namespace {

using Kind = CycleLog::Decision::Kind;

// ---- the state of devices -----------------------------------------------------------------------

using Devices = std::map<std::string, std::multiset<oracle::World::SharedDevice>>;  // by node

Devices DevicesOf(const Cluster& cluster) {
  const NodeColumns& nodes = cluster.nodes();
  const PodColumns& pods = cluster.pods();
  Devices devices;
  for (const NodeId node : nodes.name.ids()) {
    std::vector<oracle::World::SharedDevice> listed;
    for (const SharedGpu& gpu : nodes.shared_gpus[node]) {
      listed.push_back(
          {.pods = {}, .used = gpu.used, .allocated = gpu.allocated, .releasing = gpu.releasing});
    }
    for (const PodId pod : pods.name.ids()) {
      if (pods.node[pod] != node || !IsActiveUsed(pods.status[pod])) continue;
      for (const int32_t gpu : pods.gpus[pod])
        listed[static_cast<size_t>(gpu)].pods.insert(cluster.PodName(pod));
    }
    auto& its = devices[std::string(cluster.Text(nodes.name[node]))];
    for (const oracle::World::SharedDevice& device : listed) {
      if (device != oracle::World::SharedDevice()) its.insert(device);
    }
  }
  return devices;
}

Devices DevicesOf(const oracle::World& world) {
  Devices devices;
  for (const std::string& node : world.Nodes()) devices[node] = world.SharedDevices(node);
  return devices;
}

std::string TextOf(const Devices& devices) {
  std::string text;
  for (const auto& [node, its] : devices) {
    for (const oracle::World::SharedDevice& device : its) {
      StrAppend(&text, node, ": used ", device.used, ", allocated ", device.allocated,
                ", releasing ", device.releasing, ", by");
      for (const std::string& pod : device.pods) StrAppend(&text, " ", pod);
      text += "\n";
    }
  }
  return text;
}

// GPUs of each node: idle, releasing, used.
std::string GpusOf(const Cluster& cluster) {
  const NodeColumns& nodes = cluster.nodes();
  std::string text;
  for (const NodeId node : nodes.name.ids()) {
    constexpr size_t kGpus = kGpuSlot.index();
    StrAppend(&text, cluster.Text(nodes.name[node]), " ", std::to_string(nodes.idle[node][kGpus]),
              " ", std::to_string(nodes.releasing[node][kGpus]), " ",
              std::to_string(nodes.used[node][kGpus]), "\n");
  }
  return text;
}
std::string GpusOf(const oracle::World& world) {
  std::string text;
  for (const std::string& node : world.Nodes()) {
    StrAppend(&text, node, " ", std::to_string(world.Idle(node).at("gpu")), " ",
              std::to_string(world.Releasing(node).at("gpu")), " ",
              std::to_string(world.Used(node).at("gpu")), "\n");
  }
  return text;
}

// A pod's devices are distinct. A pod that holds a device fits now, and a pod that is promised a
// device fits when the leaving pods are gone.
void ExpectSound(const Cluster& cluster) {
  const NodeColumns& nodes = cluster.nodes();
  const PodColumns& pods = cluster.pods();
  std::map<std::pair<NodeId, int32_t>, int64_t> stays;  // MiB, by device
  std::map<std::pair<NodeId, int32_t>, double> portions;
  for (const PodId pod : pods.name.ids()) {
    const std::set<int32_t> different(pods.gpus[pod].begin(), pods.gpus[pod].end());
    EXPECT_EQ(different.size(), pods.gpus[pod].size()) << cluster.PodName(pod);
    const PodStatus status = pods.status[pod];
    if (!pods.node[pod].valid() || !IsActiveUsed(status)) continue;
    const GpuRequest& gpu = cluster.ClassOf(pod).gpu;
    if (!pods.gpus[pod].empty()) {
      EXPECT_EQ(pods.gpus[pod].size(), static_cast<size_t>(gpu.count)) << cluster.PodName(pod);
    }
    if (status == PodStatus::kReleasing) continue;
    for (const int32_t each : pods.gpus[pod]) {
      ASSERT_LT(static_cast<size_t>(each), nodes.shared_gpus[pods.node[pod]].size());
      stays[{pods.node[pod], each}] += cluster.MibPerGpu(pods.pod_class[pod], pods.node[pod]);
      portions[{pods.node[pod], each}] +=
          gpu.kind == GpuRequestKind::kFraction
              ? gpu.portion
              : static_cast<double>(gpu.memory_mib) / nodes.gpu_memory_mib[pods.node[pod]];
    }
  }
  for (const auto& [device, mib] : stays) {
    EXPECT_LE(static_cast<double>(mib), nodes.gpu_memory_mib[device.first])
        << cluster.Text(nodes.name[device.first]) << " " << device.second;
    // A pod's memory is rounded down to whole MiB, and devices have at least 100: with ten pods,
    // the portions can exceed the device by ten percent.
    EXPECT_LE(portions[device], 1.1)
        << cluster.Text(nodes.name[device.first]) << " " << device.second;
  }
  IndexVector<NodeId, double> promised(nodes.size(), 0);  // devices that no pod holds yet
  for (const PodId pod : pods.name.ids()) {
    if (pods.status[pod] == PodStatus::kPipelined && !cluster.ClassOf(pod).gpu.IsShared())
      promised[pods.node[pod]] += cluster.RequestOf(pod)[kGpuSlot.index()];
  }
  for (const NodeId node : nodes.name.ids()) {
    const std::vector<SharedGpu>& listed = nodes.shared_gpus[node];
    std::set<NameId> here;
    double in_use = 0;
    for (const SharedGpu& gpu : listed) {
      EXPECT_LE(static_cast<double>(gpu.allocated), nodes.gpu_memory_mib[node]);
      EXPECT_LE(static_cast<double>(gpu.allocated - gpu.releasing), nodes.gpu_memory_mib[node]);
      in_use += gpu.allocated > 0 ? 1 : 0;
      promised[node] += gpu.allocated == 0 && gpu.used > 0 ? 1 : 0;
      if (gpu.name.valid()) {
        EXPECT_TRUE(here.insert(gpu.name).second) << "one GPU group on two devices";
      }
    }
    // The last pod that leaves a device makes one more device releasing. If that device is
    // promised, KAI subtracts it from the idle ones (spec 3 N5).
    EXPECT_GE(nodes.idle[node][kGpuSlot.index()] + promised[node], 0)
        << cluster.Text(nodes.name[node]);
    EXPECT_LE(in_use, nodes.allocatable[node][kGpuSlot.index()]);
  }
}

// ---- allocate -----------------------------------------------------------------------------------

struct Setup {
  const char* name;
  std::string config_json;

  friend void PrintTo(const Setup& setup, std::ostream* out) { *out << setup.name; }
};

std::string ConfigWith(const std::vector<std::string>& plugins, std::string_view strategy) {
  std::string list;
  for (const std::string& plugin : plugins) {
    StrAppend(&list, list.empty() ? "" : ", ", R"({"name": ")", plugin, R"(")");
    if (plugin == "nodeplacement") {
      StrAppend(&list, R"(, "arguments": {"gpu": ")", strategy, R"(", "cpu": ")", strategy,
                R"("})");
    }
    list += "}";
  }
  return StrCat(R"({"actions": "allocate", "tiers": [{"plugins": [)", list, "]}]}");
}

std::vector<Setup> AllSetups() {
  return {
      {"BuiltIn", R"({"actions": "allocate"})"},
      {"Pack",
       ConfigWith({"predicates", "proportion", "priority", "nodeavailability", "resourcetype",
                   "podaffinity", "elastic", "kubeflow", "ray", "subgrouporder", "taskorder",
                   "nominatednode", "gpupack", "nodeplacement", "gpusharingorder"},
                  "binpack")},
      {"Spread",
       ConfigWith({"predicates", "proportion", "priority", "nodeavailability", "resourcetype",
                   "podaffinity", "elastic", "kubeflow", "ray", "subgrouporder", "taskorder",
                   "nominatednode", "gpuspread", "nodeplacement"},
                  "spread")},
      {"PackWithoutOrder",
       ConfigWith({"predicates", "proportion", "gpupack", "nodeplacement"}, "binpack")},
      {"OrderOnSpreadNodes", ConfigWith({"proportion", "predicates", "priority", "gpupack",
                                         "nodeplacement", "nodeavailability", "gpusharingorder"},
                                        "spread")},
      {"Both",
       ConfigWith({"predicates", "gpupack", "gpuspread", "nodeplacement", "nodeavailability"},
                  "binpack")},
      {"Bare", ConfigWith({"nodeplacement"}, "binpack")},
  };
}

RandomClusterOptions ShapeFor(uint64_t seed) {
  Random random(seed + 1);
  return {.max_nodes = random.OneIn(4) ? 12 : 4,
          .max_groups = random.OneIn(4) ? 20 : 6,
          .limits = random.Coin(),
          .bad_nodes = random.OneIn(3),
          .taints = random.OneIn(3),
          .pod_affinity = random.OneIn(4),
          .shared_gpus = false,  // these may be on devices of unknown memory
          .bad_queues = random.OneIn(4),
          .terms = random.OneIn(4) ? std::optional(RandomTermsOptions()) : std::nullopt,
          .sharers = RandomSharersOptions{.quarters = !random.OneIn(3),
                                          .max_waiting_groups = random.OneIn(4) ? 12 : 5}};
}

ClusterRows RowsFor(uint64_t seed) {
  ClusterRows rows = MakeRandomCluster(seed, ShapeFor(seed));
  MakeLabelsUnique(&rows);
  return rows;
}

class SharingAllocateTest : public testing::TestWithParam<Setup> {
 protected:
  template <typename Check>
  void ForRows(uint64_t usual, const Check& check) const {
    ForSeeds(usual, [&](uint64_t seed) { check(RowsFor(seed)); });
  }
  Config config_ = ParseConfig(GetParam().config_json);
};

INSTANTIATE_TEST_SUITE_P(All, SharingAllocateTest, testing::ValuesIn(AllSetups()),
                         [](const auto& setup) { return std::string(setup.param.name); });

TEST_P(SharingAllocateTest, DecidesAndSharesLikeThePlainScheduler) {
  ForRows(150, [&](const ClusterRows& rows) {
    Devices devices;
    std::string gpus;
    const auto look = [&](const CycleView& cycle) {
      devices = DevicesOf(*cycle.cluster);
      gpus = GpusOf(*cycle.cluster);
    };
    const Plan plan = RunPlan(Session(config_, {.inspect = look}), rows.Build());
    oracle::World world(rows, oracle::SettingsOf(config_));
    EXPECT_EQ(DecisionsOf(plan), oracle::Allocate(&world));
    EXPECT_EQ(TextOf(devices), TextOf(DevicesOf(world)));
    EXPECT_EQ(gpus, GpusOf(world));
  });
}

TEST_P(SharingAllocateTest, ScanningAllNodesGivesTheSamePlan) {
  ForRows(150, [&](const ClusterRows& rows) {
    std::string devices;
    const auto look = [&](const CycleView& cycle) { devices = TextOf(DevicesOf(*cycle.cluster)); };
    const std::string text = TextOf(RunPlan(Session(config_, {.inspect = look}), rows.Build()));
    const std::string by_index = std::exchange(devices, "");
    EXPECT_EQ(text, TextOf(RunPlan(Session(config_, {.always_scan = true, .inspect = look}),
                                   rows.Build())));
    EXPECT_EQ(by_index, devices);
  });
}

TEST_P(SharingAllocateTest, TheOrderOfTheInputDoesNotMatter) {
  uint64_t seed = 0;
  ForRows(100, [&](ClusterRows rows) {
    std::string devices;
    const auto look = [&](const CycleView& cycle) { devices = TextOf(DevicesOf(*cycle.cluster)); };
    const Session session(config_, {.inspect = look});
    const std::string text = TextOf(RunPlan(session, rows.Build()));
    const std::string shared = std::exchange(devices, "");
    Random random(++seed);
    random.Shuffle(&rows.nodes);
    random.Shuffle(&rows.queues);
    random.Shuffle(&rows.pod_groups);
    random.Shuffle(&rows.pods);
    random.Shuffle(&rows.bind_requests);
    for (PodRow& pod : rows.pods) random.Shuffle(&pod.gpu_groups);
    for (BindRequestRow& request : rows.bind_requests) random.Shuffle(&request.gpu_groups);
    EXPECT_EQ(text, TextOf(RunPlan(session, rows.Build())));
    EXPECT_EQ(shared, devices);
  });
}

TEST_P(SharingAllocateTest, NoDeviceIsOverCommitted) {
  ForRows(150, [&](const ClusterRows& rows) {
    const auto look = [&](const CycleView& cycle) { ExpectSound(*cycle.cluster); };
    RunPlan(Session(config_, {.inspect = look}), rows.Build());
  });
}

// Parses "3 node(s) didn't have enough resources: GPUs." into numbers by resource.
std::map<std::string, int> ShortagesIn(const std::string& text) {
  constexpr std::string_view kShortage = " node(s) didn't have enough resources: ";
  std::map<std::string, int> shortages;
  for (size_t at = text.find(kShortage); at != std::string::npos;
       at = text.find(kShortage, at + 1)) {
    size_t begin = at;
    while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
    const size_t name = at + kShortage.size();
    const size_t end = std::min(text.find(". \n", name), text.rfind('.'));
    shortages[text.substr(name, end - name)] = std::stoi(text.substr(begin, at - begin));
  }
  return shortages;
}

TEST_P(SharingAllocateTest, APodWithoutADeviceReportsWhatNodesLack) {
  int reported = 0;
  ForRows(400, [&](ClusterRows rows) {
    // Only one pod waits, so that the cluster is unchanged since that pod was refused.
    const PodRow* waits = nullptr;
    for (const PodRow& pod : rows.pods) {
      if (pod.phase == Phase::kPending && pod.gpu.IsShared() && pod.node_name.empty() &&
          pod.config_maps.empty() && pod.name.starts_with("sharers-"))
        waits = &pod;
    }
    if (waits == nullptr) return;
    const std::string group = waits->pod_group;
    const std::string name = waits->name;
    std::erase_if(rows.pods, [&](const PodRow& pod) {
      return pod.phase == Phase::kPending && pod.name != name;
    });
    for (PodGroupRow& each : rows.pod_groups) {
      if (each.name == group) each.min_member = 1;
    }
    const Plan plan = RunPlan(Session(config_), rows.Build());
    const oracle::World world(rows, oracle::SettingsOf(config_));
    for (const auto& [pod, text] : ConditionsOf(plan)) {
      if (text.find("no nodes with enough resources") == std::string::npos) continue;
      ++reported;
      EXPECT_EQ(ShortagesIn(text), oracle::ShortagesOf(world, plan.cluster->PodName(pod))) << text;
    }
  });
  if (std::getenv("KAI_SEEDS") == nullptr) {
    EXPECT_GT(reported, 10);
  }
}

// ---- whole cycles -------------------------------------------------------------------------------

CrowdedClusterOptions CrowdFor(uint64_t seed) {
  Random random(seed + 2);
  CrowdedClusterOptions options;
  options.pod_affinity = random.OneIn(6);
  if (!random.OneIn(4)) options.terms = std::nullopt;
  options.max_running_groups = random.OneIn(3) ? 2 : 5;
  options.max_nodes = random.OneIn(3) ? 2 : 4;
  options.sharers = RandomSharersOptions{.quarters = !random.OneIn(5),
                                         .max_running_groups = random.Coin() ? 4 : 9,
                                         .max_waiting_groups = random.OneIn(3) ? 6 : 3};
  return options;
}

// With all switches on, or as KAI.
class SharingCycleTest : public testing::TestWithParam<bool> {
 protected:
  template <typename Check>
  void ForSamples(uint64_t usual, const Check& check) const {
    ForSeeds(usual, [&](uint64_t seed) {
      const CrowdedCluster crowded = MakeCrowdedCluster(seed, CrowdFor(seed));
      Config config = ParseConfig(crowded.config_json, GetParam());
      // The oracle undoes exactly, unlike KAI's nodes (decision 0010).
      config.switches.Set(Switch::kExactRollback, true);
      check(crowded.rows, config);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Mode, SharingCycleTest, testing::Bool(), [](const auto& mode) {
  return std::string(mode.param ? "AsKai" : "Fixed");
});

TEST_P(SharingCycleTest, DecidesAndSharesLikeThePlainScheduler) {
  std::map<std::string, int> seen;  // decisions about pods that share
  ForSamples(60, [&](const ClusterRows& rows, const Config& config) {
    std::string devices;
    std::string gpus;
    const auto look = [&](const CycleView& cycle) {
      devices = TextOf(DevicesOf(*cycle.cluster));
      gpus = GpusOf(*cycle.cluster);
    };
    const Plan plan = RunPlan(Session(config, {.inspect = look}), rows.Build());
    oracle::World world(rows, oracle::SettingsOf(config));
    EXPECT_EQ(DecisionsOf(plan), oracle::RunCycle(&world, config.actions));
    EXPECT_EQ(devices, TextOf(DevicesOf(world)));
    EXPECT_EQ(gpus, GpusOf(world));
    for (const CycleLog::Decision& each : plan.decisions) {
      if (!plan.cluster->ClassOf(each.pod).gpu.IsShared()) continue;
      ++seen[each.kind == Kind::kEvict ? std::string(each.action)
                                       : StrCat("", static_cast<int>(each.kind))];
    }
  });
  if (std::getenv("KAI_SEEDS_COUNT") == nullptr) return;
  for (const auto& [kind, count] : seen) std::cout << kind << ": " << count << "\n";
}

TEST_P(SharingCycleTest, TheShortcutsChangeNothing) {
  ForSamples(200, [&](const ClusterRows& rows, const Config& config) {
    std::string devices;
    const auto look = [&](const CycleView& cycle) { devices = TextOf(DevicesOf(*cycle.cluster)); };
    const std::string text = TextOf(RunPlan(Session(config, {.inspect = look}), rows.Build()));
    const std::string fast = std::exchange(devices, "");
    const Session plain(config, {.always_scan = true, .plain_search = true, .inspect = look});
    EXPECT_EQ(text, TextOf(RunPlan(plain, rows.Build())));
    EXPECT_EQ(fast, devices);
  });
}

TEST_P(SharingCycleTest, ACycleRestoresEveryBitOfTheCluster) {
  ForSamples(150, [&](const ClusterRows& rows, const Config& config) {
    const std::shared_ptr<Cluster> cluster = rows.Build();
    const StatementColumns before(*cluster);
    RunPlan(Session(config), cluster);
    EXPECT_TRUE(before == StatementColumns(*cluster));
  });
}

TEST_P(SharingCycleTest, NoDeviceIsOverCommitted) {
  if (GetParam()) return;  // KAI evicts pods that it promised room, and counts that twice
  ForSamples(150, [&](const ClusterRows& rows, const Config& config) {
    const auto look = [&](const CycleView& cycle) { ExpectSound(*cycle.cluster); };
    RunPlan(Session(config, {.inspect = look}), rows.Build());
  });
}

// ---- changes in random order --------------------------------------------------------------------

// Places, promises, evicts and rolls back at random on shared devices.
class Tumult {
 public:
  Tumult(uint64_t seed, Cluster* cluster)
      : random_(seed),
        cluster_(*cluster),
        statement_(Statement::Open(cluster, {})),
        picker_(*cluster, {.pack = random_.Coin()}) {}

  void Step() {
    const PodId pod(
        static_cast<size_t>(random_.Below(static_cast<int64_t>(cluster_.pods().size()))));
    const PodStatus status = cluster_.pods().status[pod];
    if (random_.OneIn(8)) {
      if (marks_.empty() || random_.Coin()) {
        Note("mark ", marks_.size());
        marks_.emplace_back(statement_->Mark(), StatementColumns(cluster_));
        return;
      }
      const auto at = static_cast<size_t>(random_.Below(static_cast<int64_t>(marks_.size())));
      statement_->RollBackTo(marks_[at].first);
      Note("back to ", at);
      EXPECT_TRUE(marks_[at].second == StatementColumns(cluster_));
      marks_.resize(at + 1, marks_[at]);
      return;
    }
    if (status == PodStatus::kPending || status == PodStatus::kReleasing) {
      if (status == PodStatus::kPending || cluster_.pods().is_virtual[pod] != 0) Place(pod);
    } else if (IsActiveAllocated(status) && cluster_.pods().node[pod].valid() &&
               status != PodStatus::kPipelined) {
      // Not for promised pods: they hold nothing, but an eviction would count them as if they did.
      statement_->Evict(pod);
      Note("evict ", cluster_.PodName(pod));
    }
  }
  const std::string& story() const { return story_; }

 private:
  template <typename... Parts>
  void Note(const Parts&... parts) {
    StrAppend(&story_, parts..., "\n", GpusOf(cluster_), TextOf(DevicesOf(cluster_)));
  }

  void Place(PodId pod) {
    const NodeId node(
        static_cast<size_t>(random_.Below(static_cast<int64_t>(cluster_.nodes().size()))));
    const PodClassId pod_class = cluster_.pods().pod_class[pod];
    const GpuRequest& gpu = cluster_.pod_classes().info[pod_class].gpu;
    const bool is_new = cluster_.pods().status[pod] == PodStatus::kPending;
    GpuList gpus;
    bool now = false;
    if (gpu.IsShared()) {
      if (!picker_.HasEnough(pod_class, node, Room::kLater)) return;
      now = picker_.HasEnough(pod_class, node, Room::kNow);
      const GpuPicker::Choice choice = picker_.Pick(pod_class, node, now);
      now = now && !choice.waits;
      gpus = choice.gpus;
    } else {
      constexpr size_t kGpus = kGpuSlot.index();
      const double wanted = cluster_.RequestOf(pod)[kGpus];
      const double idle = cluster_.nodes().idle[node][kGpus];
      if (wanted > idle + cluster_.nodes().releasing[node][kGpus]) return;
      now = wanted <= idle;
    }
    if (now && is_new) {
      statement_->Place(pod, node, gpus);
    } else {
      statement_->Pipeline(pod, node, gpus);
    }
    Note(now && is_new ? "place " : "pipeline ", cluster_.PodName(pod), " on ",
         cluster_.Text(cluster_.nodes().name[node]));
  }

  Random random_;
  Cluster& cluster_;
  std::unique_ptr<Statement> statement_;
  GpuPicker picker_;
  std::vector<std::pair<Statement::Checkpoint, StatementColumns>> marks_;
  std::string story_;
};

TEST(SharingStatementTest, DevicesAreConsistentAfterAnyOrderOfChanges) {
  const auto [first, end] = Seeds(150);
  for (uint64_t seed = first; seed < end; ++seed) {
    SCOPED_TRACE(SeedTrace(seed));
    const std::unique_ptr<Cluster> cluster =
        MakeRandomCluster(seed, {.max_nodes = 3,
                                 .max_groups = 6,
                                 .bad_nodes = false,
                                 .pod_affinity = false,
                                 .foreign = false,
                                 .shared_gpus = false,
                                 .mig = false,
                                 .terms = std::nullopt,
                                 .sharers = RandomSharersOptions{.quarters = seed % 2 == 0}})
            .Build();
    const StatementColumns before(*cluster);
    {
      Tumult tumult(seed, cluster.get());
      for (int step = 0; step < 120; ++step) {
        tumult.Step();
        ExpectSound(*cluster);
        if (!testing::Test::HasFailure()) continue;
        std::cout << tumult.story();
        return;
      }
    }
    EXPECT_TRUE(before == StatementColumns(*cluster));
    if (testing::Test::HasFailure()) return;
  }
}

// ---- bursts -------------------------------------------------------------------------------------

// How many pods share each device, by node, sorted.
std::map<std::string, std::vector<size_t>> SharersAfter(const ClusterMaker& maker,
                                                        const std::string& config_json) {
  std::map<std::string, std::vector<size_t>> counts;
  const auto look = [&](const CycleView& cycle) {
    for (const auto& [node, devices] : DevicesOf(*cycle.cluster)) {
      for (const oracle::World::SharedDevice& each : devices) {
        counts[node].push_back(each.pods.size());
      }
      std::sort(counts[node].begin(), counts[node].end());
    }
  };
  RunPlan(Session(ParseConfig(config_json), {.inspect = look}), maker.Build());
  return counts;
}

class SharingBurstTest : public testing::TestWithParam<Setup> {};
INSTANTIATE_TEST_SUITE_P(All, SharingBurstTest, testing::ValuesIn(AllSetups()),
                         [](const auto& setup) { return std::string(setup.param.name); });

TEST_P(SharingBurstTest, SixteenHalvesFillEightDevicesOfOneNode) {
  for (const int pods_of_group : {1, 4, 16}) {
    ClusterMaker maker =
        MakeCluster().Node("n1", {.gpus = 8, .labels = {{"nvidia.com/gpu.memory", "46068"}}});
    for (int i = 0; i < 16 / pods_of_group; ++i) {
      maker.Pending(StrCat("ns/half-", i),
                    {.pods = pods_of_group, .gpu_fraction = 0.5, .min_member = pods_of_group});
    }
    maker.Pending("ns/one-too-many", {.gpu_fraction = 0.5});
    EXPECT_THAT(SharersAfter(maker, GetParam().config_json)["n1"],
                testing::ElementsAre(2, 2, 2, 2, 2, 2, 2, 2))
        << pods_of_group;
  }
}

TEST_P(SharingBurstTest, SixteenHalvesFillEightDevicesOfTwoNodes) {
  ClusterMaker maker = MakeCluster().Node("n1", {.gpus = 4}).Node("n2", {.gpus = 4});
  maker.Pending("ns/half", {.pods = 17, .gpu_fraction = 0.5, .min_member = 1});
  auto sharers = SharersAfter(maker, GetParam().config_json);
  EXPECT_THAT(sharers["n1"], testing::ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(sharers["n2"], testing::ElementsAre(2, 2, 2, 2));
}

TEST_P(SharingBurstTest, MemoryFitsUntilTheDeviceIsFull) {
  ClusterMaker maker =
      MakeCluster().Node("n1", {.gpus = 1, .labels = {{"nvidia.com/gpu.memory", "46068"}}});
  maker.Pending("ns/small", {.pods = 24, .gpu_memory_mib = 2000, .min_member = 1});
  EXPECT_THAT(SharersAfter(maker, GetParam().config_json)["n1"],
              testing::ElementsAre(23));  // of 46,000 / 2,000
}

}  // namespace
}  // namespace kai::sharing_properties_test

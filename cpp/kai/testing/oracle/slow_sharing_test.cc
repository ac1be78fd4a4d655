// Tests the oracle's shared GPUs on worked examples of the specifications.
#include "kai/testing/oracle/slow_sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "kai/testing/makers/cluster_maker.h"
#include "kai/testing/oracle/slow_evictions.h"
#include "kai/testing/oracle/slow_oracle.h"

namespace kai::oracle::slow_sharing_test {
namespace {

using parts::AddToGpus;
using parts::GpuLedger;
using parts::GpuPart;
using parts::Groups;
using parts::RemoveFromGpus;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// By pod: its shared devices.
using Devices = std::map<std::string, Groups>;

World Of(const ClusterMaker& maker, const Devices& devices, Settings settings = {}) {
  ClusterRows rows = maker.Rows();
  for (PodRow& pod : rows.pods) {
    const auto found = devices.find(pod.namespace_name + "/" + pod.name);
    if (found != devices.end()) pod.gpu_groups = found->second;
  }
  return World(std::move(rows), std::move(settings));
}

Settings Packing(std::vector<std::string> more = {}) {
  Settings settings;
  for (const char* plugin : {"gpupack", "gpusharingorder"}) settings.plugins.emplace_back(plugin);
  for (std::string& plugin : more) settings.plugins.push_back(std::move(plugin));
  return settings;
}
Settings Spreading() {
  Settings settings;
  settings.plugins.emplace_back("gpuspread");
  settings.gpu_spread = true;
  return settings;
}

StringPairs Memory(const std::string& mib) { return {{"nvidia.com/gpu.memory", mib}}; }

// ---- amounts ------------------------------------------------------------------------------------

GpuRequest Mib(int64_t mib, int64_t devices = 1) {
  return {.kind = GpuRequestKind::kMemory, .count = devices, .memory_mib = mib, .mig = {}};
}
GpuRequest Part(double portion, int64_t devices = 1) {
  return {.kind = GpuRequestKind::kFraction, .count = devices, .portion = portion, .mig = {}};
}

TEST(OracleSharingTest, MemoryOfADevice) {  // spec 3 G1
  const auto memory = [](const std::string& label) {
    return parts::MemoryOfGpu(MakeNodeRow("n", {.labels = Memory(label)}));
  };
  EXPECT_EQ(memory("15360"), 15300);
  EXPECT_EQ(memory("81559"), 81500);
  EXPECT_EQ(memory("4096"), 4000);
  EXPECT_EQ(memory("4295000001"), 4000);
  EXPECT_EQ(memory("much"), 100);
  EXPECT_FALSE(parts::HasMemoryOfGpu(MakeNodeRow("n")));
}

TEST(OracleSharingTest, PortionsOfMemory) {  // spec 3 G2, with what doubles make of it
  EXPECT_EQ(parts::PortionOn(Mib(4096), 15300), 0.27);
  EXPECT_EQ(parts::PortionOn(Mib(5000), 15300), 0.33);
  EXPECT_EQ(parts::PortionOn(Mib(40960), 81500), 0.51);
  EXPECT_EQ(parts::PortionOn(Mib(700), 10000), 0.08);
  EXPECT_EQ(parts::PortionOn(Mib(5500), 10000), 0.56);
}

TEST(OracleSharingTest, MemoryOfPortions) {  // spec 3 G4
  EXPECT_EQ(parts::MibPerDevice(Part(0.333), 15300), 5094);
  EXPECT_EQ(parts::MibPerDevice(Part(0.29), 100), 28);
  EXPECT_EQ(parts::MibPerDevice(Part(0.57), 100), 56);
}

TEST(OracleSharingTest, MoreMemoryThanADeviceHasFitsNone) {  // spec 3 G5
  const World world = Of(MakeCluster()
                             .Node("n1", {.gpus = 2, .labels = Memory("1000")})
                             .Pending("ns/a", {.gpu_memory_mib = 1995}),
                         {}, Packing());
  EXPECT_EQ(FindNode(world, "ns/a-0").node, "");
}

// ---- the ledger ---------------------------------------------------------------------------------

GpuPart Of(const std::string& group, int64_t mib) {
  return {.whole = 0, .groups = {group}, .mib = mib};
}

struct Row {  // of the table of spec 3 N7
  int64_t u, a, r;
  double idle, releasing;

  friend bool operator==(const Row&, const Row&) = default;
};
std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.u << "/" << row.a << "/" << row.r << " " << row.idle << " " << row.releasing;
}
Row RowOf(const GpuLedger& ledger, const std::string& group) {
  const auto at = [&](const std::map<std::string, int64_t>& amounts) {
    const auto found = amounts.find(group);
    return found == amounts.end() ? 0 : found->second;
  };
  return {at(ledger.u), at(ledger.a), at(ledger.r), ledger.idle, ledger.releasing};
}

TEST(OracleSharingTest, TheLedgerOfSpec3N7) {
  GpuLedger node;
  node.idle = node.count = 2;
  AddToGpus(Of("g1", 50), PodStatus::kRunning, &node);
  EXPECT_EQ(RowOf(node, "g1"), (Row{50, 50, 0, 1, 0}));
  AddToGpus(Of("g1", 50), PodStatus::kRunning, &node);
  EXPECT_EQ(RowOf(node, "g1"), (Row{100, 100, 0, 1, 0}));
  RemoveFromGpus(Of("g1", 50), PodStatus::kRunning, &node);
  AddToGpus(Of("g1", 50), PodStatus::kReleasing, &node);
  EXPECT_EQ(RowOf(node, "g1"), (Row{100, 100, 50, 1, 0}));
  RemoveFromGpus(Of("g1", 50), PodStatus::kRunning, &node);
  AddToGpus(Of("g1", 50), PodStatus::kReleasing, &node);
  EXPECT_EQ(RowOf(node, "g1"), (Row{100, 100, 100, 1, 1}));
  EXPECT_TRUE(node.marked.contains("g1"));
  EXPECT_FALSE(parts::Matches(node, "g1", 100, 50));
  AddToGpus(Of("g2", 50), PodStatus::kPipelined, &node);
  EXPECT_EQ(RowOf(node, "g2"), (Row{50, 0, -50, 1, 0}));
  EXPECT_FALSE(node.a.contains("g2"));
  AddToGpus(Of("g2", 50), PodStatus::kPipelined, &node);
  EXPECT_EQ(RowOf(node, "g2"), (Row{100, 0, -100, 1, 0}));
}

TEST(OracleSharingTest, APodIsPipelinedBesideATerminatingPodOrElsewhere) {  // spec 3 T8
  GpuLedger node;
  node.idle = node.count = 2;
  AddToGpus(Of("g1", 50), PodStatus::kReleasing, &node);
  AddToGpus(Of("g1", 20), PodStatus::kRunning, &node);
  const GpuLedger before = node;
  AddToGpus(Of("g1", 50), PodStatus::kPipelined, &node);
  EXPECT_EQ(RowOf(node, "g1"), (Row{120, 70, 0, 1, 0}));
  node = before;
  AddToGpus(Of("g2", 50), PodStatus::kPipelined, &node);
  EXPECT_EQ(RowOf(node, "g1"), (Row{70, 70, 50, 1, -1}));
}

TEST(OracleSharingTest, ALabelThatCountsMoreDevicesThanThereAre) {  // spec 3 N17
  const World world = Of(MakeCluster()
                             .Node("n1", {.gpus = 7, .labels = {{"nvidia.com/gpu.count", "8"}}})
                             .Running("ns/a", {.gpu_fraction = 0.5, .node = "n1"}),
                         {{"ns/a-0", {"g1"}}});
  EXPECT_EQ(world.Idle("n1").at("gpu"), 6);
}

TEST(OracleSharingTest, APodOnADeviceThatIsBeingFreedWaits) {  // spec 3 S4
  const World world = Of(MakeCluster()
                             .Node("n1", {.gpus = 2})
                             .Running("ns/a", {.gpu_fraction = 0.5, .node = "n1"})
                             .Releasing("ns/b", {.gpus = 1, .node = "n1"})
                             .Pending("ns/c", {.gpu_fraction = 0.25}),
                         {{"ns/a-0", {"g1"}}}, Spreading());
  EXPECT_EQ(FindNode(world, "ns/c-0"), (Choice{.node = "n1", .now = false, .groups = {""}}));
}

TEST(OracleSharingTest, RemovalInReverseOrderRestoresTheStart) {  // spec 3 T7
  GpuLedger node;
  node.idle = node.count = 4;
  const std::vector<std::pair<GpuPart, PodStatus>> pods = {
      {{.whole = 1, .groups = {}, .mib = 0}, PodStatus::kRunning},
      {Of("g1", 50), PodStatus::kReleasing},
      {{.whole = 0, .groups = {"g1", "g2"}, .mib = 30}, PodStatus::kRunning},
      {Of("g2", 40), PodStatus::kReleasing}};
  for (const auto& [part, status] : pods) AddToGpus(part, status, &node);
  for (auto pod = pods.rbegin(); pod != pods.rend(); ++pod) {
    RemoveFromGpus(pod->first, pod->second, &node);
  }
  EXPECT_EQ(RowOf(node, "g1"), (Row{0, 0, 0, 4, 0}));
  EXPECT_EQ(RowOf(node, "g2"), (Row{0, 0, 0, 4, 0}));
  EXPECT_THAT(node.marked, IsEmpty());
}

// ---- which devices ------------------------------------------------------------------------------

TEST(OracleSharingTest, PackingChoosesTheFullestDeviceThatFits) {  // spec 3 T17, T18
  const ClusterMaker maker = MakeCluster()
                                 .Node("n1", {.gpus = 4})
                                 .Running("ns/a", {.gpu_fraction = 0.5, .node = "n1"})
                                 .Running("ns/b", {.gpu_fraction = 0.25, .node = "n1"})
                                 .Pending("ns/new", {.gpu_fraction = 0.5})
                                 .Pending("ns/big", {.gpu_fraction = 0.75});
  const Devices devices = {{"ns/a-0", {"g1"}}, {"ns/b-0", {"g2"}}};
  const World pack = Of(maker, devices, Packing());
  EXPECT_THAT(FindNode(pack, "ns/new-0").groups, ElementsAre("g1"));
  EXPECT_THAT(FindNode(pack, "ns/big-0").groups, ElementsAre("g2"));
  const World spread = Of(maker, devices, Spreading());
  EXPECT_THAT(FindNode(spread, "ns/new-0").groups, ElementsAre(""));
}

TEST(OracleSharingTest, SpreadingChoosesTheEmptiestDeviceIfAllAreShared) {  // spec 3 T17
  const World world = Of(MakeCluster()
                             .Node("n1", {.gpus = 2})
                             .Running("ns/a", {.gpu_fraction = 0.5, .node = "n1"})
                             .Running("ns/b", {.gpu_fraction = 0.25, .node = "n1"})
                             .Pending("ns/new", {.gpu_fraction = 0.25}),
                         {{"ns/a-0", {"g1"}}, {"ns/b-0", {"g2"}}}, Spreading());
  EXPECT_THAT(FindNode(world, "ns/new-0").groups, ElementsAre("g2"));
}

TEST(OracleSharingTest, SeveralDevicesOfAPodAreDistinct) {  // spec 3 T18, S9
  const ClusterMaker maker = MakeCluster()
                                 .Node("n1", {.gpus = 2})
                                 .Running("ns/a", {.gpu_fraction = 0.25, .node = "n1"})
                                 .Pending("ns/two", {.gpu_fraction = 0.25, .gpu_devices = 2})
                                 .Pending("ns/three", {.gpu_fraction = 0.25, .gpu_devices = 3});
  const World world = Of(maker, {{"ns/a-0", {"g1"}}}, Packing());
  EXPECT_THAT(FindNode(world, "ns/two-0"),
              (Choice{.node = "n1", .now = true, .groups = {"g1", ""}}));
  EXPECT_EQ(FindNode(world, "ns/three-0").node, "");
}

TEST(OracleSharingTest, APodWaitsAlthoughADeviceIsFree) {  // spec 3 S5, T19
  const World world = Of(MakeCluster()
                             .Node("n1", {.gpus = 2})
                             .Running("ns/a", {.gpu_fraction = 0.5, .node = "n1"})
                             .Releasing("ns/b", {.gpu_fraction = 0.5, .node = "n1"})
                             .Pending("ns/c", {.gpu_fraction = 0.5}),
                         {{"ns/a-0", {"g1"}}, {"ns/b-0", {"g1"}}}, Packing());
  EXPECT_EQ(world.Idle("n1").at("gpu"), 1);
  EXPECT_EQ(world.Releasing("n1").at("gpu"), 0);
  EXPECT_EQ(FindNode(world, "ns/c-0"), (Choice{.node = "n1", .now = false, .groups = {"g1"}}));
}

TEST(OracleSharingTest, AMemoryRequestNeedsANodeWithAMemoryLabel) {  // spec 3 P5
  const World world = Of(MakeCluster()
                             .Node("n1", {.gpus = 2})
                             .Node("n2", {.gpus = 1, .labels = Memory("16000")})
                             .Pending("ns/a", {.gpu_memory_mib = 4000})
                             .Pending("ns/b", {.gpu_memory_mib = 17000}),
                         {}, Packing());
  EXPECT_EQ(FindNode(world, "ns/a-0").node, "n2");
  EXPECT_EQ(FindNode(world, "ns/b-0").node, "");
}

TEST(OracleSharingTest, AMemoryRequestAtTheGateOfANode) {  // spec 3 T20, G7
  const ClusterMaker maker = MakeCluster()
                                 .Queue("ns", {.deserved_gpus = 1, .limit_gpus = 0.5})
                                 .Node("n400", {.gpus = 1, .labels = Memory("400")})
                                 .Node("n600", {.gpus = 1, .labels = Memory("600")})
                                 .Node("n2000", {.gpus = 1, .labels = Memory("2000")})
                                 .Pending("ns/a", {.gpu_memory_mib = 350})
                                 .Pending("ns/b", {.gpu_memory_mib = 350, .gpu_devices = 2});
  World world = Of(maker, {}, Packing());
  EXPECT_FALSE(PassesFilters(world, "ns/a-0", "n400"));
  EXPECT_FALSE(PassesFilters(world, "ns/a-0", "n600"));
  EXPECT_TRUE(PassesFilters(world, "ns/a-0", "n2000"));
  EXPECT_EQ(FindNode(world, "ns/b-0").node, "");
  EXPECT_THAT(Allocate(&world), ElementsAre(Decision{Decision::Kind::kBind, "ns/a-0", "n2000"}));
  EXPECT_EQ(NumbersOf(world).at("ns").allocated[2], 0.18);
}

TEST(OracleSharingTest, OpeningADeviceNeedsASecondPodSlot) {  // spec 3 P6, T13
  const ClusterMaker maker = MakeCluster()
                                 .Node("n1", {.gpus = 2, .pods = 2})
                                 .Running("ns/a", {.gpu_fraction = 0.25, .node = "n1"})
                                 .Pending("ns/new", {.gpu_fraction = 0.25});
  EXPECT_EQ(FindNode(Of(maker, {{"ns/a-0", {"g7"}}}, Packing()), "ns/new-0").node, "n1");
  EXPECT_EQ(FindNode(Of(maker, {}, Packing()), "ns/new-0").node, "") << "g7 is not known";
  Settings as_kai = Packing();
  as_kai.switches.Set(Switch::kReservationSlots, false);
  // A group with a number as name is an old one; any other counts as new.
  EXPECT_EQ(FindNode(Of(maker, {{"ns/a-0", {"7"}}}, as_kai), "ns/new-0").node, "n1");
  EXPECT_EQ(FindNode(Of(maker, {{"ns/a-0", {"g7"}}}, as_kai), "ns/new-0").node, "");
}

// ---- scores -------------------------------------------------------------------------------------

TEST(OracleSharingTest, SharedNodesComeFirst) {  // spec 3 W10
  const World world = Of(MakeCluster()
                             .Node("n1", {.gpus = 4})
                             .Node("n2", {.gpus = 4})
                             .Node("n3", {.gpus = 4})
                             .Running("ns/whole", {.gpus = 3, .node = "n1"})
                             .Running("ns/a", {.gpu_fraction = 0.5, .node = "n1"})
                             .Running("ns/b", {.gpus = 1, .node = "n2"})
                             .Pending("ns/new", {.gpu_fraction = 0.5}),
                         {{"ns/a-0", {"g1"}}}, Packing());
  EXPECT_EQ(ScoreOf(world, "ns/new-0", "n1"), 11'009);
  EXPECT_EQ(ScoreOf(world, "ns/new-0", "n2"), 1'002.25);
  EXPECT_EQ(ScoreOf(world, "ns/new-0", "n3"), 1'000);
}

TEST(OracleSharingTest, CpuPodsPreferNodesWithSharedDevices) {  // spec 3 W8, W11
  const ClusterMaker maker = MakeCluster()
                                 .Node("c1", {.millicpu = 16'000})
                                 .Node("g1", {.gpus = 4, .millicpu = 5000})
                                 .Running("ns/a", {.gpu_fraction = 0.5, .node = "g1"})
                                 .Pending("ns/new");
  const World world = Of(maker, {{"ns/a-0", {"d1"}}}, Packing());
  EXPECT_EQ(ScoreOf(world, "ns/new-0", "c1"), 1'010);
  EXPECT_EQ(ScoreOf(world, "ns/new-0", "g1"), 11'009);
}

TEST(OracleSharingTest, WholeGpusNeverMatchASharedOne) {  // spec 3 W8
  const World world = Of(MakeCluster()
                             .Node("n1", {.gpus = 2})
                             .Running("ns/a", {.gpu_fraction = 0.25, .node = "n1"})
                             .Pending("ns/new", {.gpus = 1}),
                         {{"ns/a-0", {"d1"}}}, {.plugins = {"gpusharingorder"}});
  EXPECT_EQ(ScoreOf(world, "ns/new-0", "n1"), 0);
}

// ---- whole actions ------------------------------------------------------------------------------

TEST(OracleSharingTest, SixteenHalvesTakeEightDevicesTwice) {
  World world = Of(MakeCluster()
                       .Node("n1", {.gpus = 8, .labels = Memory("46068")})
                       .Pending("ns/half", {.pods = 17, .gpu_fraction = 0.5, .min_member = 1}),
                   {}, Packing());
  EXPECT_THAT(Allocate(&world), SizeIs(16));
  EXPECT_THAT(world.SharedDevices("n1"), SizeIs(8));
  for (const World::SharedDevice& device : world.SharedDevices("n1")) {
    EXPECT_THAT(device.pods, SizeIs(2));
  }
}

TEST(OracleSharingTest, MemoryFitsByTheRestOfADevice) {  // 46,000 / 2,000
  World world = Of(MakeCluster()
                       .Node("n1", {.gpus = 1, .labels = Memory("46068")})
                       .Pending("ns/small", {.pods = 24, .gpu_memory_mib = 2000, .min_member = 1}),
                   {}, Packing());
  EXPECT_THAT(Allocate(&world), SizeIs(23));
}

TEST(OracleSharingTest, AWaitingGangKeepsItsDevices) {  // spec 2 T6
  World world = Of(MakeCluster()
                       .Node("n1", {.gpus = 2})
                       .Releasing("ns/old", {.gpus = 1, .node = "n1"})
                       .Pending("ns/gang", {.pods = 3, .gpu_fraction = 0.5, .min_member = 3}),
                   {}, Packing());
  const std::vector<Decision> plan = Allocate(&world);
  ASSERT_THAT(plan, SizeIs(3));
  for (const Decision& each : plan) EXPECT_EQ(each.kind, Decision::Kind::kPipeline);
  EXPECT_EQ(world.GroupsOf("ns/gang-0"), world.GroupsOf("ns/gang-1"));
  EXPECT_NE(world.GroupsOf("ns/gang-0"), world.GroupsOf("ns/gang-2"));
  EXPECT_EQ(world.Idle("n1").at("gpu") + world.Releasing("n1").at("gpu"), 0);
}

TEST(OracleSharingTest, APodThatGetsAnotherDeviceHasMoved) {  // spec 3 S7
  World world =
      Of(MakeCluster().Node("n1", {.gpus = 2}).Running("ns/a", {.gpu_fraction = 0.5, .node = "n1"}),
         {{"ns/a-0", {"g1"}}}, Packing());
  world.Evict("ns/a-0");
  world.Pipeline("ns/a-0", "n1", {""});
  EXPECT_EQ(world.Idle("n1").at("gpu"), 1);
  EXPECT_EQ(world.Releasing("n1").at("gpu"), 0);  // one is released, one is promised
  EXPECT_EQ(world.Idle("n1").at("pods"), 109);
  EXPECT_THAT(world.SharedDevices("n1"), SizeIs(2));
}

TEST(OracleSharingTest, UnknownDevicesAreUsedWhole) {
  World world = Of(MakeCluster()
                       .Node("n1", {.gpus = 4})
                       .Running("ns/a", {.gpu_fraction = 0.5, .gpu_devices = 2, .node = "n1"}),
                   {}, Packing());
  EXPECT_EQ(world.Idle("n1").at("gpu"), 2);
  EXPECT_THAT(world.SharedDevices("n1"), IsEmpty());
  world.Evict("ns/a-0");
  EXPECT_EQ(world.Releasing("n1").at("gpu"), 2);
}

}  // namespace
}  // namespace kai::oracle::slow_sharing_test

#include "kai/placement/numa/zone_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "kai/base/text.h"
#include "kai/placement/numa/zones_for_test.h"

namespace kai::zone_ledger_test {
namespace {

using Source = ZoneRecordRow::Source;

const ResourceAmounts kFourCpus = {{"cpu", 4000}};
constexpr char kMisaligned[] =
    "no nodes with enough resources were found: 1 node cannot NUMA-align the pod's resources under "
    "its Topology Manager policy.";

// One node with two zones of four CPUs.
ClusterMaker TwoZones(NumaPolicy policy = NumaPolicy::kSingleZone) {
  return MakeCluster().Node("n").Add(ZonesOf("n", {kFourCpus, kFourCpus}, policy));
}

PodsSpec ThreeCpus(int pods = 1) { return {.pods = pods, .millicpu = 3000, .guaranteed = true}; }

PodsSpec RunningOnThreeCpus(std::vector<ZoneRecordRow> records) {
  PodsSpec spec = ThreeCpus();
  spec.node = "n";
  spec.zone_records = std::move(records);
  return spec;
}

TEST(ZoneLedgerTest, PodsUseTheirZonesOneAfterTheOther) {  // spec 3 T39
  ZoneRooms rooms(TwoZones().Pending("ns/p", ThreeCpus(3)).Build());
  rooms.Place("ns/p-0", rooms.Find("ns/p-0"));
  rooms.Place("ns/p-1", rooms.Find("ns/p-1"));
  EXPECT_EQ(rooms.Zones("ns/p-0"), "0: cpu 3000");
  EXPECT_EQ(rooms.Zones("ns/p-1"), "1: cpu 3000");
  EXPECT_EQ(rooms.Left("n"), "0: cpu 1000, 1: cpu 1000");
  EXPECT_EQ(rooms.Find("ns/p-2"), "nowhere") << "although the node has 58 free cores";
  EXPECT_EQ(rooms.Explain("ns/p-2"), kMisaligned);
  rooms.statement().RollBackTo(0);
  EXPECT_EQ(rooms.Left("n"), "0: cpu 4000, 1: cpu 4000");
  EXPECT_EQ(rooms.Zones("ns/p-0"), "");
  EXPECT_EQ(rooms.Find("ns/p-2"), "n");
}

TEST(ZoneLedgerTest, AnswersForPodsAndRecordsTheirZones) {
  const auto cluster = TwoZones().Pending("ns/p", ThreeCpus()).Build();
  ZoneLedger ledger(*cluster, {});
  const PodId pod = PodNamed(*cluster, "ns/p-0");
  const NodeId node = NodeNamed(*cluster, "n");
  const PodClassId pod_class = cluster->pods().pod_class[pod];
  EXPECT_TRUE(ledger.MayRefuse(pod_class));
  EXPECT_TRUE(ledger.AnswerFor(pod_class, node).admits);
  EXPECT_LT(ledger.RecordOf(pod), 0);
  const auto statement = Statement::Open(cluster.get(), {&ledger});
  statement->Place(pod, node);
  EXPECT_EQ(ledger.records()[static_cast<size_t>(ledger.RecordOf(pod))].node, node);
}

TEST(ZoneLedgerTest, OnlyRestrictivePoliciesRefusePods) {  // spec 3 U4
  const auto find = [](NumaPolicy policy, int64_t millicpu) {
    return ZoneRooms(
               TwoZones(policy).Pending("ns/p", {.millicpu = millicpu, .guaranteed = true}).Build())
        .Find("ns/p-0");
  };
  EXPECT_EQ(find(NumaPolicy::kSingleZone, 6000), "nowhere");
  EXPECT_EQ(find(NumaPolicy::kRestricted, 6000), "n");
  EXPECT_EQ(find(NumaPolicy::kRestricted, 9000), "nowhere");
  EXPECT_EQ(find(NumaPolicy::kBestEffort, 9000), "n");
  EXPECT_EQ(find(NumaPolicy::kNone, 9000), "n");
}

TEST(ZoneLedgerTest, PodsThatAreNotGuaranteedAreAlignedByTheirDevicesOnly) {  // spec 3 U4
  const ResourceAmounts zone = {{"cpu", 4000}, {"nvidia.com/gpu", 2}};
  ZoneRooms rooms(MakeCluster()
                      .Node("n", {.gpus = 4})
                      .Add(ZonesOf("n", {zone, zone}))
                      .Pending("ns/cpu", {.millicpu = 9000})
                      .Pending("ns/small", {.gpus = 2, .millicpu = 9000})
                      .Pending("ns/large", {.gpus = 3, .millicpu = 9000})
                      .Pending("ns/full", {.gpus = 2, .millicpu = 9000, .guaranteed = true})
                      .Build());
  EXPECT_EQ(rooms.Find("ns/cpu-0"), "n");
  EXPECT_EQ(rooms.Find("ns/small-0"), "n");
  EXPECT_EQ(rooms.Find("ns/large-0"), "nowhere");
  EXPECT_EQ(rooms.Find("ns/full-0"), "nowhere");
  rooms.Place("ns/small-0", "n");
  EXPECT_EQ(rooms.Zones("ns/small-0"), "0: nvidia.com/gpu 2");
}

TEST(ZoneLedgerTest, IgnoredResourcesAreNotAligned) {
  ZoneRooms rooms(TwoZones().Pending("ns/p", {.millicpu = 9000, .guaranteed = true}).Build(),
                  {.ignored = {"cpu"}});
  EXPECT_EQ(rooms.Find("ns/p-0"), "n");
  rooms.Place("ns/p-0", "n");
  EXPECT_EQ(rooms.Zones("ns/p-0"), "");
}

TEST(ZoneLedgerTest, RunningPodsUseTheZonesOfTheirRecords) {  // spec 3 U12, U13
  ZoneRooms rooms(TwoZones()
                      .Running("ns/a", RunningOnThreeCpus({RecordIn("zone-1", {{"cpu", 3000}})}))
                      .Running("ns/b", RunningOnThreeCpus({}))
                      .Pending("ns/p", ThreeCpus())
                      .Build());
  EXPECT_EQ(rooms.Left("n"), "0: cpu 4000, 1: cpu 1000") << "the zones of b are not known";
  rooms.Evict("ns/a-0");
  EXPECT_EQ(rooms.Left("n"), "0: cpu 4000, 1: cpu 4000");
  rooms.Evict("ns/b-0");
  EXPECT_EQ(rooms.Left("n"), "0: cpu 4000, 1: cpu 4000");
}

TEST(ZoneLedgerTest, WithoutReconstructionTheReportedAvailableAmountsCount) {
  NodeZonesRow zones = ZonesOf("n", {kFourCpus, kFourCpus});
  zones.zones[0].available = {{"cpu", 500}};
  const auto cluster = [&] {
    return MakeCluster()
        .Node("n")
        .Add(zones)
        .Running("ns/a", RunningOnThreeCpus({RecordIn("zone-0", {{"cpu", 3000}})}))
        .Build();
  };
  EXPECT_EQ(ZoneRooms(cluster(), {.reconstruct = false}).Left("n"), "0: cpu 500, 1: cpu 4000");
  EXPECT_EQ(ZoneRooms(cluster()).Left("n"), "0: cpu 1000, 1: cpu 4000");
}

TEST(ZoneLedgerTest, AVictimThatStaysKeepsItsZone) {  // spec 3 T39
  ZoneRooms rooms(TwoZones()
                      .Running("ns/a", RunningOnThreeCpus({RecordIn("zone-0", {{"cpu", 3000}})}))
                      .Build());
  rooms.Evict("ns/a-0");
  rooms.Pipeline("ns/a-0", "n");
  EXPECT_EQ(rooms.StatusOf("ns/a-0"), PodStatus::kRunning);
  EXPECT_EQ(rooms.Left("n"), "0: cpu 1000, 1: cpu 4000");
  rooms.statement().RollBackTo(0);
  EXPECT_EQ(rooms.Left("n"), "0: cpu 1000, 1: cpu 4000");
}

TEST(ZoneLedgerTest, AVictimMovesToAnotherZoneIfItsZoneIsUsed) {
  ZoneRooms rooms(TwoZones()
                      .Running("ns/a", RunningOnThreeCpus({RecordIn("zone-0", {{"cpu", 3000}})}))
                      .Running("ns/b", RunningOnThreeCpus({RecordIn("zone-1", {{"cpu", 3000}})}))
                      .Pending("ns/p", ThreeCpus())
                      .Build());
  rooms.Evict("ns/a-0");
  rooms.Pipeline("ns/p-0", "n");
  EXPECT_EQ(rooms.Zones("ns/p-0"), "0: cpu 3000");
  rooms.Evict("ns/b-0");
  rooms.Pipeline("ns/a-0", "n");
  EXPECT_EQ(rooms.StatusOf("ns/a-0"), PodStatus::kPipelined);
  EXPECT_EQ(rooms.Zones("ns/a-0"), "1: cpu 3000");
  EXPECT_EQ(rooms.Find("ns/b-0"), "nowhere");
}

TEST(ZoneLedgerTest, AVictimWithoutARecordStays) {
  const auto pods = [] { return TwoZones().Running("ns/a", RunningOnThreeCpus({})).Build(); };
  for (const bool wait : {true, false}) {
    ZoneRooms rooms(pods(), {.wait_for_leaving = wait});
    rooms.Evict("ns/a-0");
    rooms.Pipeline("ns/a-0", "n");
    EXPECT_EQ(rooms.StatusOf("ns/a-0"), wait ? PodStatus::kRunning : PodStatus::kPipelined);
    EXPECT_EQ(rooms.Zones("ns/a-0"), wait ? "" : "0: cpu 3000") << "in KAI it moves";
  }
}

TEST(ZoneLedgerTest, AVictimThatGetsAnotherZoneOfItsNodeMoves) {  // spec 2 T5
  ZoneRooms rooms(TwoZones()
                      .Running("ns/a", RunningOnThreeCpus({RecordIn("zone-1", {{"cpu", 3000}})}))
                      .Pending("ns/p", ThreeCpus())
                      .Build(),
                  {.wait_for_leaving = false});
  rooms.Evict("ns/a-0");
  rooms.Pipeline("ns/a-0", "n");
  EXPECT_EQ(rooms.StatusOf("ns/a-0"), PodStatus::kPipelined);
  EXPECT_EQ(rooms.Zones("ns/a-0"), "0: cpu 3000");
  EXPECT_EQ(rooms.Left("n"), "0: cpu 1000, 1: cpu 4000");
  rooms.statement().RollBackTo(0);
  EXPECT_EQ(rooms.StatusOf("ns/a-0"), PodStatus::kRunning);
  EXPECT_EQ(rooms.Zones("ns/a-0"), "1: cpu 3000");
  EXPECT_EQ(rooms.Left("n"), "0: cpu 4000, 1: cpu 1000");
}

TEST(ZoneLedgerTest, APodInTheZoneOfATerminatingPodWaitsForIt) {
  const auto cluster = [] {
    return MakeCluster()
        .Node("n")
        .Add(ZonesOf("n", {kFourCpus}))
        .Releasing("ns/a", RunningOnThreeCpus({RecordIn("zone-0", {{"cpu", 3000}})}))
        .Pending("ns/p", ThreeCpus())
        .Build();
  };
  ZoneRooms rooms(cluster());
  EXPECT_EQ(rooms.Find("ns/p-0"), "n later");
  rooms.Pipeline("ns/p-0", "n");
  EXPECT_EQ(rooms.Left("n"), "0: cpu 1000");
  EXPECT_EQ(ZoneRooms(cluster(), {.wait_for_leaving = false}).Find("ns/p-0"), "n")
      << "as KAI: spec 3 U13";
}

TEST(ZoneLedgerTest, AFreeZoneComesBeforeOneThatIsBeingFreed) {
  ZoneRooms rooms(TwoZones()
                      .Releasing("ns/a", RunningOnThreeCpus({RecordIn("zone-0", {{"cpu", 3000}})}))
                      .Pending("ns/p", ThreeCpus(2))
                      .Build());
  EXPECT_EQ(rooms.Find("ns/p-0"), "n");
  rooms.Place("ns/p-0", "n");
  EXPECT_EQ(rooms.Zones("ns/p-0"), "1: cpu 3000");
  EXPECT_EQ(rooms.Find("ns/p-1"), "n later");
}

TEST(ZoneLedgerTest, FewerZonesArePreferred) {  // spec 3 U11
  const std::vector<ResourceAmounts> four(4, {{"cpu", 4000}});
  ZoneRooms rooms(MakeCluster()
                      .Node("bare")
                      .Node("none")
                      .Node("restricted")
                      .Node("effort")
                      .Add(ZonesOf("none", four, NumaPolicy::kNone))
                      .Add(ZonesOf("restricted", four, NumaPolicy::kRestricted))
                      .Add(ZonesOf("effort", {four[0], four[1]}, NumaPolicy::kBestEffort))
                      .Pending("ns/one", {.millicpu = 4000, .guaranteed = true})
                      .Pending("ns/two", {.millicpu = 5000, .guaranteed = true})
                      .Pending("ns/five", {.millicpu = 17'000, .guaranteed = true})
                      .Pending("ns/part", {.millicpu = 2500, .guaranteed = true})
                      .Pending("ns/other", {.millicpu = 4000})
                      .Build());
  EXPECT_EQ(rooms.ScoreOf("ns/one-0", "bare"), 25) << "as many zones as any node has";
  EXPECT_EQ(rooms.ScoreOf("ns/one-0", "none"), 25);
  EXPECT_EQ(rooms.ScoreOf("ns/one-0", "restricted"), 100);
  EXPECT_EQ(rooms.ScoreOf("ns/two-0", "restricted"), 50);
  EXPECT_EQ(rooms.ScoreOf("ns/two-0", "effort"), 50);
  EXPECT_EQ(rooms.ScoreOf("ns/five-0", "restricted"), 0) << "cannot be aligned";
  EXPECT_EQ(rooms.ScoreOf("ns/five-0", "effort"), 0);
  EXPECT_EQ(rooms.ScoreOf("ns/part-0", "restricted"), 100) << "nothing to align";
  EXPECT_EQ(rooms.ScoreOf("ns/other-0", "restricted"), 0) << "not guaranteed, and no device";
}

TEST(ZoneLedgerTest, WithoutZonesPodClassesHaveNoNumaNeeds) {
  const auto cluster = MakeCluster().Node("n").Pending("ns/p", ThreeCpus()).Build();
  EXPECT_TRUE(cluster->numa().empty());
  EXPECT_FALSE(cluster->ClassOf(PodNamed(*cluster, "ns/p-0")).numa.valid());
}

// ---- random changes

TEST(ZoneLedgerTest, UndoRestoresAllAmountsAndFreeAmountsExcludeAllPods) {
  std::random_device device;
  const uint64_t seed = device();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 60; ++round) {
    ClusterMaker maker = MakeCluster();
    for (int node = 0; node < 3; ++node) {
      const std::string name = StrCat("n", node);
      maker.Node(name).Add(ZonesOf(name, {kFourCpus, kFourCpus, kFourCpus},
                                   node == 0   ? NumaPolicy::kSingleZone
                                   : node == 1 ? NumaPolicy::kRestricted
                                               : NumaPolicy::kBestEffort));
    }
    for (int i = 0; i < 8; ++i) {
      const int64_t millicpu = 1000 * static_cast<int64_t>(1 + random() % 6);
      PodsSpec spec{.millicpu = millicpu, .guaranteed = true};
      if (i % 2 == 0) {
        maker.Pending(StrCat("ns/p", i), spec);
        continue;
      }
      spec.node = StrCat("n", random() % 3);
      const int64_t here = std::min<int64_t>(millicpu, 4000);
      spec.zone_records = {RecordIn(StrCat("zone-", random() % 3), {{"cpu", here}})};
      maker.Running(StrCat("ns/p", i), spec);
    }
    ZoneRooms rooms(maker.Build(), {.wait_for_leaving = random() % 2 == 0});
    const Cluster& cluster = rooms.cluster();
    const auto left = [&] {
      std::string text;
      for (int node = 0; node < 3; ++node) StrAppend(&text, rooms.Left(StrCat("n", node)), "; ");
      return text;
    };
    std::vector<std::pair<Statement::Checkpoint, std::string>> marks = {{0, left()}};
    for (int step = 0; step < 40; ++step) {
      const PodId pod(random() % cluster.pods().size());
      const std::string name = cluster.PodName(pod);
      const std::string node = StrCat("n", random() % 3);
      const PodStatus status = cluster.pods().status[pod];
      if (random() % 5 == 0) {
        const auto [mark, before] = marks[random() % marks.size()];
        rooms.statement().RollBackTo(mark);
        ASSERT_EQ(left(), before) << "seed " << seed << ", round " << round;
        std::erase_if(marks, [&](const auto& each) { return each.first > mark; });
      } else if (IsActiveAllocated(status)) {
        rooms.Evict(name);
      } else if (status == PodStatus::kPending && random() % 2 == 0) {
        rooms.Place(name, node);
      } else {
        rooms.Pipeline(name, node);
      }
      marks.emplace_back(rooms.statement().Mark(), left());

      // The sum of what all pods with a node hold, computed again.
      std::vector<std::vector<double>> rest(3, std::vector<double>(3, 4000));
      for (const PodId each : cluster.pods().name.ids()) {
        const int32_t at = rooms.ledger().RecordOf(each);
        if (at < 0 || !IsActiveAllocated(cluster.pods().status[each])) continue;
        const ZoneLedger::Record& record = rooms.ledger().records()[static_cast<size_t>(at)];
        ASSERT_EQ(record.node, cluster.pods().node[each]);
        for (const ZoneAmount& amount : record.placement)
          rest[record.node.index()][static_cast<size_t>(amount.zone)] -= amount.amount;
      }
      for (int i = 0; i < 3; ++i) {
        const auto now = rooms.ledger().AvailableOf(NodeNamed(cluster, StrCat("n", i)));
        ASSERT_EQ(std::vector<double>(now.begin(), now.end()), rest[static_cast<size_t>(i)])
            << "seed " << seed << ", round " << round << ", step " << step;
      }
    }
    rooms.statement().RollBackTo(0);
    ASSERT_EQ(left(), marks[0].second) << "seed " << seed << ", round " << round;
  }
}

}  // namespace
}  // namespace kai::zone_ledger_test

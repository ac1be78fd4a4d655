// Nodes with NUMA zones, and a cycle that checks nothing else: for tests.
//
//   ZoneRooms rooms(MakeCluster().Node("n").Add(ZonesOf("n", {{{"cpu", 4000}}, {{"cpu", 4000}}}))
//                       .Pending("ns/p", {.millicpu = 3000, .guaranteed = true}).Build());
//   rooms.Place("ns/p-0", "n");
//   EXPECT_EQ(rooms.Zones("ns/p-0"), "0: cpu 3000");
//   EXPECT_EQ(rooms.Left("n"), "0: cpu 1000, 1: cpu 4000");
#ifndef KAI_PLACEMENT_NUMA_ZONES_FOR_TEST_H_
#define KAI_PLACEMENT_NUMA_ZONES_FOR_TEST_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kai/model/changes/statement.h"
#include "kai/placement/numa/zone_ledger.h"
#include "kai/placement/rooms_for_test.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai {

// Zones "zone-0", "zone-1", ... with all their resources free.
NodeZonesRow ZonesOf(std::string node, const std::vector<ResourceAmounts>& zones,
                     NumaPolicy policy = NumaPolicy::kSingleZone,
                     NumaScope scope = NumaScope::kPod);

ZoneRecordRow RecordIn(std::string zone, ResourceAmounts amounts,
                       ZoneRecordRow::Source source = ZoneRecordRow::Source::kObserved);

// "0: cpu 3000, 1: cpu 1000 nvidia.com/gpu 2"
std::string ZonesText(const NumaNode& node, const ZonePlacement& placement);

class ZoneRooms {
 public:
  explicit ZoneRooms(std::unique_ptr<Cluster> cluster, const ZoneLedger::Options& options = {});
  ~ZoneRooms();

  const Cluster& cluster() const { return *cluster_; }
  const ZoneLedger& ledger() const { return *ledger_; }
  Statement& statement() { return *statement_; }

  PodId Pod(std::string_view name) const;
  NodeId Node(std::string_view name) const;

  std::string Find(std::string_view pod);
  std::string Explain(std::string_view pod);
  void Place(std::string_view pod, std::string_view node);
  void Pipeline(std::string_view pod, std::string_view node);
  void Evict(std::string_view pod);
  PodStatus StatusOf(std::string_view pod) const;

  double ScoreOf(std::string_view pod, std::string_view node) const;
  // The zones of the pod; empty: not known.
  std::string Zones(std::string_view pod) const;
  std::string Left(std::string_view node) const;

 private:
  std::unique_ptr<Cluster> cluster_;
  std::shared_ptr<ZoneLedger> ledger_;
  std::unique_ptr<SearchRooms> search_;
  std::unique_ptr<Statement> statement_;  // last: its destructor rolls back and calls the others
};

}  // namespace kai

#endif  // KAI_PLACEMENT_NUMA_ZONES_FOR_TEST_H_

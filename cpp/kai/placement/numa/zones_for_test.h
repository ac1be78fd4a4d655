// Nodes with NUMA zones, and a cycle that looks at nothing else: for tests.
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
#include <utility>
#include <vector>

#include "kai/base/text.h"
#include "kai/model/statement.h"
#include "kai/placement/filters/filters.h"
#include "kai/placement/node_search.h"
#include "kai/placement/numa/zone_ledger.h"
#include "kai/placement/rooms_for_test.h"
#include "kai/placement/scorers/scorers.h"
#include "kai/testing/cluster_maker.h"

namespace kai {

// Zones "zone-0", "zone-1", ... that have all they offer left.
inline NodeZonesRow ZonesOf(std::string node, const std::vector<ResourceAmounts>& zones,
                            NumaPolicy policy = NumaPolicy::kSingleZone,
                            NumaScope scope = NumaScope::kPod) {
  NodeZonesRow row{.name = std::move(node), .policy = policy, .scope = scope};
  for (const ResourceAmounts& amounts : zones) {
    row.zones.push_back(
        {.name = StrCat("zone-", row.zones.size()), .allocatable = amounts, .available = amounts});
  }
  return row;
}

inline ZoneRecordRow RecordIn(std::string zone, ResourceAmounts amounts,
                              ZoneRecordRow::Source source = ZoneRecordRow::Source::kObserved) {
  return {.source = source, .zones = {{.zone = std::move(zone), .amounts = std::move(amounts)}}};
}

// "0: cpu 3000, 1: cpu 1000 nvidia.com/gpu 2"
inline std::string ZonesText(const NumaNode& node, const ZonePlacement& placement) {
  std::string text;
  for (size_t i = 0; i < placement.size(); ++i) {
    const ZoneAmount& each = placement[i];
    if (i == 0 || placement[i - 1].zone != each.zone)
      StrAppend(&text, text.empty() ? "" : ", ", each.zone, ":");
    StrAppend(&text, " ", node.resources[static_cast<size_t>(each.resource)].name, " ",
              static_cast<int64_t>(each.amount));
  }
  return text;
}

class ZoneRooms {
 public:
  explicit ZoneRooms(std::unique_ptr<Cluster> cluster, const ZoneLedger::Options& options = {})
      : cluster_(std::move(cluster)), ledger_(std::make_shared<ZoneLedger>(*cluster_, options)) {
    NodeSearch::Rules rules;
    rules.filters.push_back(MakeNumaFilter(ledger_));
    rules.scorers.push_back(MakeNodeAvailabilityScorer());
    rules.scorers.push_back(MakeNumaScorer(ledger_));
    search_ = std::make_unique<NodeSearch>(*cluster_, std::move(rules), NodeSearch::Options{});
    statement_ = Statement::Open(cluster_.get(), {search_.get()});
  }

  const Cluster& cluster() const { return *cluster_; }
  const ZoneLedger& ledger() const { return *ledger_; }
  Statement& statement() { return *statement_; }

  PodId Pod(std::string_view name) const { return PodNamed(*cluster_, name); }
  NodeId Node(std::string_view name) const { return NodeNamed(*cluster_, name); }

  std::string Find(std::string_view pod) {
    return FoundText(*cluster_, search_->Find(cluster_->pods().pod_class[Pod(pod)]));
  }
  std::string Explain(std::string_view pod) { return search_->Explain(Pod(pod)); }
  void Place(std::string_view pod, std::string_view node) {
    statement_->Place(Pod(pod), Node(node));
  }
  void Pipeline(std::string_view pod, std::string_view node) {
    statement_->Pipeline(Pod(pod), Node(node));
  }
  void Evict(std::string_view pod) { statement_->Evict(Pod(pod)); }
  PodStatus StatusOf(std::string_view pod) const { return cluster_->pods().status[Pod(pod)]; }

  double ScoreOf(std::string_view pod, std::string_view node) const {
    const auto scorer = MakeNumaScorer(ledger_);
    const PodClassId pod_class = cluster_->pods().pod_class[Pod(pod)];
    return scorer->DependsOn(pod_class) == Scorer::Dependence::kNothing
               ? 0
               : scorer->Score(pod_class, Node(node), {});
  }
  // Where the pod has its place; empty: nobody knows.
  std::string Zones(std::string_view pod) const {
    const int32_t at = ledger_->RecordOf(Pod(pod));
    if (at < 0) return "";
    const ZoneLedger::Record& record = ledger_->records()[static_cast<size_t>(at)];
    const NumaNode* node = cluster_->numa().Find(record.node);
    return node == nullptr ? "" : ZonesText(*node, record.placement);
  }
  std::string Left(std::string_view node) const {
    const NumaNode& zones = *cluster_->numa().Find(Node(node));
    ZonePlacement left;
    for (const double amount : ledger_->AvailableOf(Node(node))) {
      left.push_back({.zone = static_cast<int32_t>(left.size() / zones.resources.size()),
                      .resource = static_cast<int32_t>(left.size() % zones.resources.size()),
                      .amount = amount});
    }
    return ZonesText(zones, left);
  }

 private:
  std::unique_ptr<Cluster> cluster_;
  std::shared_ptr<ZoneLedger> ledger_;
  std::unique_ptr<NodeSearch> search_;
  std::unique_ptr<Statement> statement_;  // last: tells the others of its rollback when it goes
};

}  // namespace kai

#endif  // KAI_PLACEMENT_NUMA_ZONES_FOR_TEST_H_

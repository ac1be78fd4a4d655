#include "kai/placement/numa/zones_for_test.h"

#include <utility>

#include "kai/base/text.h"
#include "kai/placement/filters/filters.h"
#include "kai/placement/rooms_for_test.h"
#include "kai/placement/scorers/scorers.h"
#include "kai/texts/reason_text.h"

namespace kai {

NodeZonesRow ZonesOf(std::string node, const std::vector<ResourceAmounts>& zones, NumaPolicy policy,
                     NumaScope scope) {
  NodeZonesRow row{.name = std::move(node), .policy = policy, .scope = scope};
  for (const ResourceAmounts& amounts : zones) {
    row.zones.push_back(
        {.name = StrCat("zone-", row.zones.size()), .allocatable = amounts, .available = amounts});
  }
  return row;
}

ZoneRecordRow RecordIn(std::string zone, ResourceAmounts amounts, ZoneRecordRow::Source source) {
  return {.source = source, .zones = {{.zone = std::move(zone), .amounts = std::move(amounts)}}};
}

std::string ZonesText(const NumaNode& node, const ZonePlacement& placement) {
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

ZoneRooms::ZoneRooms(std::unique_ptr<Cluster> cluster, const ZoneLedger::Options& options)
    : cluster_(std::move(cluster)), ledger_(std::make_shared<ZoneLedger>(*cluster_, options)) {
  PlacementRules rules;
  rules.filters.push_back(MakeNumaFilter(ledger_));
  rules.scorers.push_back({"nodeavailability", MakeNodeAvailabilityScorer()});
  rules.scorers.push_back({"numa", MakeNumaScorer(ledger_)});
  search_ = std::make_unique<SearchRooms>(*cluster_, std::move(rules), Strategies{},
                                          NodeSearch::Options{});
  statement_ = Statement::Open(cluster_.get(), {&search_->search});
}

ZoneRooms::~ZoneRooms() = default;

PodId ZoneRooms::Pod(std::string_view name) const { return PodNamed(*cluster_, name); }
NodeId ZoneRooms::Node(std::string_view name) const { return NodeNamed(*cluster_, name); }

std::string ZoneRooms::Find(std::string_view pod) {
  return FoundText(*cluster_, search_->search.Find(cluster_->pods().pod_class[Pod(pod)]));
}
std::string ZoneRooms::Explain(std::string_view pod) {
  return TextOf(*search_->search.Explain(Pod(pod)), Pod(pod), *cluster_);
}
void ZoneRooms::Place(std::string_view pod, std::string_view node) {
  statement_->Place(Pod(pod), Node(node));
}
void ZoneRooms::Pipeline(std::string_view pod, std::string_view node) {
  statement_->Pipeline(Pod(pod), Node(node));
}
void ZoneRooms::Evict(std::string_view pod) { statement_->Evict(Pod(pod)); }
PodStatus ZoneRooms::StatusOf(std::string_view pod) const {
  return cluster_->pods().status[Pod(pod)];
}

double ZoneRooms::ScoreOf(std::string_view pod, std::string_view node) const {
  const auto scorer = MakeNumaScorer(ledger_);
  const PodClassId pod_class = cluster_->pods().pod_class[Pod(pod)];
  return scorer->DependsOn(pod_class) == Scorer::Dependence::kNothing
             ? 0
             : scorer->Score(pod_class, Node(node), {});
}

std::string ZoneRooms::Zones(std::string_view pod) const {
  const int32_t at = ledger_->RecordOf(Pod(pod));
  if (at < 0) return "";
  const ZoneLedger::Record& record = ledger_->records()[static_cast<size_t>(at)];
  const NumaNode* node = cluster_->numa().Find(record.node);
  return node == nullptr ? "" : ZonesText(*node, record.placement);
}

std::string ZoneRooms::Left(std::string_view node) const {
  const NumaNode& zones = *cluster_->numa().Find(Node(node));
  ZonePlacement left;
  for (const double amount : ledger_->AvailableOf(Node(node))) {
    left.push_back({.zone = static_cast<int32_t>(left.size() / zones.resources.size()),
                    .resource = static_cast<int32_t>(left.size() % zones.resources.size()),
                    .amount = amount});
  }
  return ZonesText(zones, left);
}

}  // namespace kai

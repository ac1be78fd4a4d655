#include "kai/placement/numa/zone_ledger.h"

#include <algorithm>

namespace kai {
namespace {

bool Refuses(NumaPolicy policy) {  // spec 3 U4
  return policy == NumaPolicy::kSingleZone || policy == NumaPolicy::kRestricted;
}

// The effects of a change here.
enum Did : uint8_t { kNothing = 0, kRecorded = 1, kChargedLater = 2, kChargedNow = 4 };

}  // namespace

ZoneLedger::ZoneLedger(const Cluster& cluster, const Options& options)
    : cluster_(cluster), numa_(cluster.numa()), options_(options) {
  if (numa_.empty()) return;
  MakeTables();
  for (const NumaNeedsId id : numa_.needs.ids()) notes_.Add(NotesOf(numa_.needs[id]));
  cache_ = IndexVector<NumaNeedsId, std::vector<Cached>>(notes_.size());

  record_of_ = IndexVector<PodId, int32_t>(cluster.pods().size(), -1);
  for (const auto& [pod, placement] : numa_.placements) {
    const NodeId node = cluster.pods().node[pod];
    if (!IsAligned(numa_.needs[cluster.ClassOf(pod).numa], static_cast<size_t>(numa_.place[node])))
      continue;
    AddRecord(pod, node, placement);
  }
  // spec 3 U13; amounts that nodes report already exclude these pods.
  if (options_.reconstruct) {
    for (const Record& record : records_) {
      if (IsActiveAllocated(cluster.pods().status[record.pod]))
        Charge(record, &TableOf(record.node).later, -1);
    }
  }
  for (Table& table : tables_) table.now = table.later;
  if (!options_.reconstruct) return;
  for (const Record& record : records_) {
    const PodStatus status = cluster.pods().status[record.pod];
    if (IsActiveUsed(status) && !IsActiveAllocated(status))
      Charge(record, &TableOf(record.node).now, -1);
  }
}

void ZoneLedger::MakeTables() {
  tables_.resize(numa_.nodes.size());
  for (size_t place = 0; place < tables_.size(); ++place) {
    const NumaNode& node = numa_.nodes[place];
    Table& table = tables_[place];
    most_zones_ = std::max(most_zones_, static_cast<int32_t>(node.zones.size()));
    table.later = options_.reconstruct ? node.allocatable : node.available;
    for (const bool guaranteed : {false, true}) {
      for (const NumaNode::Resource& resource : node.resources) {
        const bool ignored = std::find(options_.ignored.begin(), options_.ignored.end(),
                                       resource.name) != options_.ignored.end();
        table.counts[guaranteed ? 1 : 0].push_back(
            !ignored && (guaranteed || resource.is_device) ? 1 : 0);
      }
    }
  }
  without_zones_.zones = most_zones_;
}

uint8_t ZoneLedger::NotesOf(const NumaNeeds& needs) const {
  uint8_t notes = needs.guaranteed ? kScored : 0;  // spec 3 U11
  for (size_t place = 0; place < tables_.size() && notes != (kScored | kRefused); ++place) {
    if (!IsAligned(needs, place)) continue;
    notes |= kScored;
    if (Refuses(numa_.nodes[place].policy)) notes |= kRefused;
  }
  return notes;
}

bool ZoneLedger::IsAligned(const NumaNeeds& needs, size_t place) const {
  const NumaNode& node = numa_.nodes[place];
  if (node.policy == NumaPolicy::kNone) return false;
  if (needs.guaranteed) return true;
  return std::any_of(needs.pod.begin(), needs.pod.end(), [&](const auto& request) {
    const int32_t resource = node.ResourceAt(request.first);
    return resource >= 0 && tables_[place].counts[0][static_cast<size_t>(resource)] != 0;
  });
}

Alignment ZoneLedger::AlignIn(const NumaNeeds& needs, size_t place,
                              std::span<const double> left) const {
  const NumaNode& node = numa_.nodes[place];
  const std::vector<uint8_t>& counts = tables_[place].counts[needs.guaranteed ? 1 : 0];
  const auto to_zones = [&](const NumaRequest& request) {
    ZoneRequest amounts(node.resources.size());
    for (const auto& [slot, amount] : request) {
      const int32_t resource = node.ResourceAt(slot);
      if (resource >= 0 && counts[static_cast<size_t>(resource)] != 0)
        amounts[static_cast<size_t>(resource)] = static_cast<double>(amount);
    }
    return amounts;
  };
  std::vector<ZoneRequest> concurrent, serial;
  if (node.scope == NumaScope::kPod) {
    concurrent.push_back(to_zones(needs.pod));
  } else {
    for (const NumaRequest& request : needs.concurrent) concurrent.push_back(to_zones(request));
    for (const NumaRequest& request : needs.serial) serial.push_back(to_zones(request));
  }
  return Align(node.policy,
               {.zones = node.zones.size(),
                .resources = node.resources.size(),
                .allocatable = node.allocatable,
                .available = left},
               concurrent, serial);
}

ZoneLedger::Answer ZoneLedger::Work(const NumaNeeds& needs, NodeId node) const {
  const auto place = static_cast<size_t>(numa_.place[node]);
  const NumaNode& zones = numa_.nodes[place];
  if (!IsAligned(needs, place)) return {.zones = static_cast<int32_t>(zones.zones.size())};
  const Table& table = tables_[place];
  Alignment found;
  if (options_.wait_for_leaving) found = AlignIn(needs, place, table.now);
  const bool now = found.fits;
  if (!now) found = AlignIn(needs, place, table.later);
  const bool refuses = Refuses(zones.policy);
  Answer answer{.admits = found.fits || !refuses,
                .must_wait = options_.wait_for_leaving && refuses && !now};
  if (found.fits) answer.zones = std::max(1, found.CountZones());
  return answer;
}

const ZoneLedger::Answer& ZoneLedger::AnswerFor(PodClassId pod_class, NodeId node) const {
  const int32_t place = numa_.place[node];
  if (place < 0) return without_zones_;
  const NumaNeedsId needs = cluster_.pod_classes().info[pod_class].numa;
  std::vector<Cached>& answers = cache_[needs];
  if (answers.empty()) answers.resize(tables_.size());
  Cached& cached = answers[static_cast<size_t>(place)];
  const int32_t version = tables_[static_cast<size_t>(place)].version;
  if (cached.version != version)
    cached = {.version = version, .answer = Work(numa_.needs[needs], node)};
  return cached.answer;
}

ZonePlacement ZoneLedger::Predict(PodClassId pod_class, NodeId node) const {
  const NumaNeedsId id = cluster_.pod_classes().info[pod_class].numa;
  if (!id.valid() || numa_.place[node] < 0) return {};
  const auto place = static_cast<size_t>(numa_.place[node]);
  const NumaNeeds& needs = numa_.needs[id];
  if (!IsAligned(needs, place)) return {};
  Alignment found;
  if (options_.wait_for_leaving) found = AlignIn(needs, place, tables_[place].now);
  if (!found.fits) found = AlignIn(needs, place, tables_[place].later);
  return std::move(found.placement);
}

const ZonePlacement& ZoneLedger::PlacementOn(PodId pod, NodeId node) const {
  static const ZonePlacement nowhere;
  for (int32_t at = record_of_[pod]; at >= 0; at = records_[static_cast<size_t>(at)].previous) {
    const Record& record = records_[static_cast<size_t>(at)];
    if (record.node == node) return record.placement;
  }
  return nowhere;
}

bool ZoneLedger::IsMoveWithin(PodId pod, NodeId node) const {
  const ZonePlacement& had = PlacementOn(pod, node);
  if (options_.wait_for_leaving) return !had.empty() && !IsFree(node, had);
  // spec 2 T5
  const ZonePlacement placement = Predict(cluster_.pods().pod_class[pod], node);
  return !placement.empty() && placement != had;
}

bool ZoneLedger::IsFree(NodeId node, const ZonePlacement& placement) const {
  const size_t resources = numa_.Find(node)->resources.size();
  const std::vector<double>& later = TableOf(node).later;
  return std::all_of(placement.begin(), placement.end(), [&](const ZoneAmount& each) {
    return each.amount <=
           later[static_cast<size_t>(each.zone) * resources + static_cast<size_t>(each.resource)];
  });
}

void ZoneLedger::AddRecord(PodId pod, NodeId node, ZonePlacement placement) {
  int32_t& record = record_of_[pod];
  records_.push_back(
      {.pod = pod, .node = node, .previous = record, .placement = std::move(placement)});
  record = static_cast<int32_t>(records_.size()) - 1;
}

void ZoneLedger::Charge(const Record& record, std::vector<double>* left, double sign) {
  const size_t resources = numa_.Find(record.node)->resources.size();
  for (const ZoneAmount& each : record.placement) {
    double& amount =
        (*left)[static_cast<size_t>(each.zone) * resources + static_cast<size_t>(each.resource)];
    before_.push_back(amount);
    amount += sign * each.amount;
  }
}

void ZoneLedger::Restore(const Record& record, std::vector<double>* left) {
  const size_t resources = numa_.Find(record.node)->resources.size();
  for (auto each = record.placement.rbegin(); each != record.placement.rend(); ++each) {
    (*left)[static_cast<size_t>(each->zone) * resources + static_cast<size_t>(each->resource)] =
        before_.back();
    before_.pop_back();
  }
}

void ZoneLedger::Applied(const Change& change) {
  uint8_t did = kNothing;
  const bool gets_place = change.to == PodStatus::kAllocated || change.to == PodStatus::kPipelined;
  // A pod that returns keeps its zones.
  const bool stays =
      gets_place && change.from_node == change.to_node && !IsMoveWithin(change.pod, change.to_node);
  if (gets_place && !stays) {
    ZonePlacement placement = Predict(cluster_.pods().pod_class[change.pod], change.to_node);
    if (!placement.empty() || record_of_[change.pod] >= 0) {
      AddRecord(change.pod, change.to_node, std::move(placement));
      did |= kRecorded;
    }
  }
  const int32_t at = record_of_[change.pod];
  if (at >= 0 && !records_[static_cast<size_t>(at)].placement.empty()) {
    const Record& record = records_[static_cast<size_t>(at)];
    Table& table = TableOf(record.node);
    const double sign =
        (IsActiveAllocated(change.from) ? 1 : 0) - (IsActiveAllocated(change.to) ? 1 : 0);
    if (sign != 0) {
      Charge(record, &table.later, sign);
      did |= kChargedLater;
    }
    // A leaving pod holds its zones until it is gone; a returning pod already holds them.
    if ((did & kRecorded) != 0) {
      Charge(record, &table.now, -1);
      did |= kChargedNow;
    }
    if (did != kNothing) ++table.version;
  }
  did_.push_back(did);
}

void ZoneLedger::Undone(const Change& change) {
  const uint8_t did = did_.back();
  did_.pop_back();
  if (did == kNothing) return;
  const Record& record = records_[static_cast<size_t>(record_of_[change.pod])];
  if ((did & (kChargedLater | kChargedNow)) != 0) ++TableOf(record.node).version;
  if ((did & kChargedNow) != 0) Restore(record, &TableOf(record.node).now);
  if ((did & kChargedLater) != 0) Restore(record, &TableOf(record.node).later);
  if ((did & kRecorded) == 0) return;
  record_of_[change.pod] = record.previous;
  records_.pop_back();
}

}  // namespace kai

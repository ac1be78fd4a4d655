#include "kai/model/claims/volume_desk.h"

#include <algorithm>
#include <tuple>

#include "kai/api/keys.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

// A class with this provisioner creates no volumes.
constexpr std::string_view kMakesNone = "kubernetes.io/no-provisioner";

// The zones of a volume's label; empty if the label contains an empty zone.
std::vector<std::string> ZonesIn(std::string_view label) {
  constexpr std::string_view kBetween = "__";
  std::vector<std::string> zones;
  for (size_t begin = 0; begin <= label.size();) {
    const size_t end = std::min(label.find(kBetween, begin), label.size());
    if (end == begin) return {};
    zones.emplace_back(label.substr(begin, end - begin));
    begin = end + kBetween.size();
  }
  return zones;
}

// The current name of an old label for a zone or region.
std::string_view SuccessorOf(std::string_view key) {
  if (key == keys::kOldZone) return keys::kZone;
  return key == keys::kOldRegion ? keys::kRegion : key;
}

bool IsKeptFor(const PersistentVolumeRow& volume, const PersistentVolumeClaimRow& claim) {
  return volume.claim_name == claim.name && volume.claim_namespace == claim.namespace_name &&
         (volume.claim_uid.empty() || volume.claim_uid == claim.uid);
}

bool FitsInto(const PersistentVolumeClaimRow& claim, const PersistentVolumeRow& volume) {
  return volume.bytes >= claim.bytes && volume.is_block == claim.is_block && !volume.deletion_ns;
}

}  // namespace

NodeTerm InternNodeTerm(const NodeSelectorTerm& row, Interner* names) {
  NodeTerm term;
  for (const SelectorRequirement& each : row.expressions)
    term.expressions.push_back(InternRequirement(each, names));
  for (const SelectorRequirement& each : row.fields)
    term.fields.push_back(InternRequirement(each, names));
  std::sort(term.expressions.begin(), term.expressions.end());
  std::sort(term.fields.begin(), term.fields.end());
  return term;
}

VolumeDesk::VolumeDesk(const StorageRows& storage, bool ignores_space, Interner* names,
                       std::vector<Rejection>* rejections)
    : ignores_space_(ignores_space), names_(names) {
  for (const Claim* row : SortedAndUnique(storage.claims, "PersistentVolumeClaim", rejections)) {
    claims_.emplace(NamespacedKey(*row), row);
  }
  volumes_ = SortedAndUnique(storage.volumes, "PersistentVolume", rejections);
  for (size_t i = 0; i < volumes_.size(); ++i) {
    volume_numbers_.emplace(volumes_[i]->name, static_cast<int32_t>(i));
    volumes_of_class_[volumes_[i]->storage_class].push_back(static_cast<int32_t>(i));
  }
  for (auto& [name, numbers] : volumes_of_class_) {
    std::sort(numbers.begin(), numbers.end(), [&](int32_t a, int32_t b) {
      return std::tuple(volumes_[static_cast<size_t>(a)]->bytes, a) <
             std::tuple(volumes_[static_cast<size_t>(b)]->bytes, b);
    });
  }
  for (const StorageClassRow* row : SortedAndUnique(storage.classes, "StorageClass", rejections))
    classes_.emplace(row->name, row);
  for (const CsiDriverRow* row : SortedAndUnique(storage.drivers, "CSIDriver", rejections))
    drivers_.emplace(row->name, row);
  capacities_ = SortedAndUnique(storage.capacities, "CSIStorageCapacity", rejections);
  nodes_ = SortedAndUnique(storage.nodes, "CSINode", rejections);
}

const PersistentVolumeClaimRow* VolumeDesk::FindClaim(std::string_view namespace_name,
                                                      std::string_view name) const {
  const auto found = claims_.find({namespace_name, name});
  return found == claims_.end() ? nullptr : found->second;
}

const PersistentVolumeRow* VolumeDesk::FindVolume(std::string_view name) const {
  const auto found = volume_numbers_.find(name);
  return found == volume_numbers_.end() ? nullptr : volumes_[static_cast<size_t>(found->second)];
}

const StorageClassRow* VolumeDesk::FindClass(std::string_view name) const {
  const auto found = classes_.find(name);
  return found == classes_.end() ? nullptr : found->second;
}

NodeSet VolumeDesk::NodesOf(const PersistentVolumeRow& volume) const {
  NodeSet nodes{.all = !volume.has_node_affinity, .terms = {}};
  for (const NodeSelectorTerm& term : volume.node_affinity)
    nodes.terms.push_back(InternNodeTerm(term, names_));
  return nodes;
}

void VolumeDesk::AddZones(const PersistentVolumeRow& volume, std::vector<NodeSet>* zones) const {
  for (const std::string_view key : keys::kZoneLabels) {
    const std::string* text = FindLabelText(volume.labels, key);
    if (text == nullptr) continue;
    std::vector<std::string> values = ZonesIn(*text);
    if (values.empty()) continue;
    // A node without any zone label matches; a node that has only the new name of an old label is
    // checked by the new name.
    std::vector<NodeSelectorTerm> terms(2);
    for (const std::string_view each : keys::kZoneLabels) {
      terms[0].expressions.push_back(
          {.key = std::string(each), .op = SelectorOp::kDoesNotExist, .values = {}});
    }
    terms[1].expressions = {{.key = std::string(key), .op = SelectorOp::kIn, .values = values}};
    if (const std::string_view successor = SuccessorOf(key); successor != key) {
      terms.push_back(
          {.expressions = {{.key = std::string(key), .op = SelectorOp::kDoesNotExist, .values = {}},
                           {.key = std::string(successor),
                            .op = SelectorOp::kIn,
                            .values = values}},
           .fields = {}});
    }
    NodeSet& set = zones->emplace_back();
    set.all = false;
    for (const NodeSelectorTerm& term : terms) set.terms.push_back(InternNodeTerm(term, names_));
  }
}

bool VolumeDesk::IsSuitable(const PersistentVolumeRow& volume, const Claim& claim) const {
  if (!FitsInto(claim, volume) || !volume.claim_name.empty() || !volume.is_available) return false;
  if (!std::all_of(
          claim.access_modes.begin(), claim.access_modes.end(), [&](const std::string& mode) {
            return std::find(volume.access_modes.begin(), volume.access_modes.end(), mode) !=
                   volume.access_modes.end();
          })) {
    return false;
  }
  LabelSet labels;
  for (const auto& [key, value] : volume.labels)
    labels.push_back({names_->Intern(key), names_->Intern(value)});
  std::sort(labels.begin(), labels.end());
  std::vector<Requirement> selector;
  for (const SelectorRequirement& each : claim.selector)
    selector.push_back(InternRequirement(each, names_));
  return MatchesAll(selector, labels, *names_);
}

NodeSet VolumeDesk::CapacityOf(const Claim& claim, const StorageClassRow& storage_class) const {
  const auto driver = drivers_.find(storage_class.provisioner);
  if (claim.bytes == 0 || driver == drivers_.end() || !driver->second->reports_capacity)
    return NodeSet();
  NodeSet nodes{.all = false, .terms = {}};
  for (const CsiStorageCapacityRow* capacity : capacities_) {
    if (capacity->storage_class != storage_class.name || !capacity->nodes) continue;
    const std::optional<int64_t>& most =
        capacity->largest_volume_bytes ? capacity->largest_volume_bytes : capacity->bytes;
    if (!most || *most < claim.bytes) continue;
    if (capacity->nodes->empty()) return NodeSet();  // an empty selector matches every node
    nodes.terms.push_back(InternNodeTerm({.expressions = *capacity->nodes, .fields = {}}, names_));
  }
  return nodes;
}

VolumeNeeds::Delayed VolumeDesk::DelayedOf(const Claim& claim,
                                           const StorageClassRow& storage_class) const {
  VolumeNeeds::Delayed delayed;
  if (!claim.selected_node.empty()) delayed.selected_node = names_->Intern(claim.selected_node);
  const auto of_class = volumes_of_class_.find(claim.storage_class);
  if (of_class != volumes_of_class_.end() && !delayed.selected_node.valid()) {
    for (const int32_t number : of_class->second) {
      const PersistentVolumeRow& volume = *volumes_[static_cast<size_t>(number)];
      if (IsKeptFor(volume, claim) && FitsInto(claim, volume) && !delayed.has_own) {
        delayed.has_own = true;
        delayed.own = {.number = number, .nodes = NodesOf(volume)};
      } else if (IsSuitable(volume, claim)) {
        delayed.candidates.push_back({.number = number, .nodes = NodesOf(volume)});
      }
    }
    if (delayed.has_own) delayed.candidates.clear();
  }
  delayed.may_be_made =
      !storage_class.provisioner.empty() && storage_class.provisioner != kMakesNone;
  delayed.made_on.all = storage_class.allowed_topologies.empty();
  for (const NodeSelectorTerm& term : storage_class.allowed_topologies)
    delayed.made_on.terms.push_back(InternNodeTerm(term, names_));
  delayed.capacity_on = CapacityOf(claim, storage_class);
  return delayed;
}

VolumeRefusal VolumeDesk::RefusalOf(const CompactPod& pod, const VolumeClaimRow& volume,
                                    const Claim* claim) const {
  using Kind = VolumeRefusal::Kind;
  VolumeRefusal refusal{.kind = Kind::kNone, .claim = names_->Intern(volume.claim), .volume = {}};
  if (claim == nullptr) {
    refusal.kind = volume.ephemeral ? Kind::kNotMadeYet : Kind::kNotFound;
  } else if (claim->is_lost) {
    refusal.kind = Kind::kLost;
    refusal.volume = names_->Intern(claim->volume);
  } else if (claim->deletion_ns) {
    refusal.kind = Kind::kDeleted;
  } else if (volume.ephemeral && !claim->owner_pod_uid.empty() && !pod.uid.empty() &&
             claim->owner_pod_uid != pod.uid) {
    refusal.kind = Kind::kNotOwner;
  }
  return refusal;
}

void VolumeDesk::AddBound(const Claim& claim, VolumeNeeds* needs) const {
  const PersistentVolumeRow* volume = FindVolume(claim.volume);
  if (volume == nullptr) {
    needs->volume_is_gone = true;
    return;
  }
  NodeSet nodes = NodesOf(*volume);
  if (!nodes.all) needs->bound.push_back(std::move(nodes));
  AddZones(*volume, &needs->zones);
}

VolumeNeeds VolumeDesk::NeedsOf(const CompactPod& pod) const {
  VolumeNeeds needs;
  std::vector<std::pair<const Claim*, const StorageClassRow*>> waiting;
  bool has_unbound = false;
  for (const VolumeClaimRow& volume : pod.extras->volumes) {
    const Claim* claim = FindClaim(pod.namespace_name, volume.claim);
    if (const VolumeRefusal refusal = RefusalOf(pod, volume, claim); refusal.any()) {
      if (!needs.refusal.any()) needs.refusal = refusal;
    } else if (!claim->volume.empty() && claim->bind_completed) {
      AddBound(*claim, &needs);
    } else {
      const StorageClassRow* storage_class = FindClass(claim->storage_class);
      const bool waits =
          storage_class != nullptr && storage_class->waits_for_consumer && claim->volume.empty();
      if (waits) {
        waiting.emplace_back(claim, storage_class);
      } else {
        has_unbound = true;
      }
    }
  }
  if (has_unbound && !needs.refusal.any()) needs.refusal.kind = VolumeRefusal::Kind::kUnbound;
  if (needs.refusal.any()) {  // nothing else is checked
    VolumeNeeds refused;
    refused.refusal = needs.refusal;
    return refused;
  }
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](const auto& a, const auto& b) { return a.first->bytes < b.first->bytes; });
  for (const auto& [claim, storage_class] : waiting) {
    VolumeNeeds::Delayed delayed = DelayedOf(*claim, *storage_class);
    const bool anywhere = !delayed.selected_node.valid() && !delayed.has_own &&
                          delayed.candidates.empty() && delayed.may_be_made &&
                          delayed.made_on.all && delayed.capacity_on.all;
    if (!anywhere) needs.delayed.push_back(std::move(delayed));
  }
  needs.ignores_space = ignores_space_ && !needs.delayed.empty();
  for (std::vector<NodeSet>* sets : {&needs.bound, &needs.zones}) {
    std::sort(sets->begin(), sets->end());
    sets->erase(std::unique(sets->begin(), sets->end()), sets->end());
  }
  return needs;
}

}  // namespace kai

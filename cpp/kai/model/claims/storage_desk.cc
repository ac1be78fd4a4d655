#include "kai/model/claims/storage_desk.h"

#include <algorithm>

#include "kai/base/text.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

bool HasSoleOwner(const PersistentVolumeClaimRow& claim) {
  return !claim.owner_pod_uid.empty() && !claim.has_other_owners;
}

bool IsOwner(const CompactPod& pod, const PersistentVolumeClaimRow& claim) {
  return HasSoleOwner(claim) && claim.owner_pod_uid == pod.uid;
}

// Finds the nodes of a capacity without reading all nodes, if its selector lists values of a label:
// local storage has a capacity for every node.
class NodesByLabel {
 public:
  NodesByLabel(std::span<const NodeRow* const> nodes,
               std::span<const CsiStorageCapacityRow* const> capacities, Interner* names)
      : names_(names), labels_(nodes.size()) {
    std::set<std::string_view> keys;
    for (const CsiStorageCapacityRow* row : capacities) {
      if (!row->nodes) continue;
      for (const SelectorRequirement& each : *row->nodes) keys.insert(each.key);
    }
    for (size_t i = 0; i < nodes.size(); ++i) {
      all_.emplace_back(i);
      for (const auto& [key, value] : nodes[i]->labels) {
        if (!keys.contains(key)) continue;
        labels_[i].push_back({names->Intern(key), names->Intern(value)});
        nodes_with_[labels_[i].back()].emplace_back(i);
      }
      std::sort(labels_[i].begin(), labels_[i].end());
    }
  }

  std::vector<NodeId> Matching(const LabelSelector& selector) const {
    std::vector<Requirement> requirements;
    for (const SelectorRequirement& each : selector)
      requirements.push_back(InternRequirement(each, names_));
    std::vector<NodeId> found;
    for (const NodeId node : CandidatesOf(selector)) {
      if (MatchesAll(requirements, labels_[node.index()], *names_)) found.push_back(node);
    }
    return found;
  }

 private:
  std::vector<NodeId> CandidatesOf(const LabelSelector& selector) const {
    const auto named =
        std::find_if(selector.begin(), selector.end(), [](const SelectorRequirement& each) {
          return each.op == SelectorOp::kIn && each.values.size() == 1;
        });
    if (named == selector.end()) return all_;
    const auto found =
        nodes_with_.find({names_->Intern(named->key), names_->Intern(named->values.front())});
    return found == nodes_with_.end() ? std::vector<NodeId>() : found->second;
  }

  Interner* names_;
  std::vector<NodeId> all_;
  std::vector<LabelSet> labels_;
  std::map<Label, std::vector<NodeId>> nodes_with_;
};

}  // namespace

void StorageDesk::Describe(std::span<const NodeRow* const> nodes, StorageMap* map) {
  map->reached.Resize(nodes.size());
  map->limits.Resize(nodes.size());
  if (counts_capacity_) DescribeCapacities(nodes, map);
  std::map<std::string_view, const CsiNodeRow*> by_name;
  for (const CsiNodeRow* row : volumes_.nodes()) by_name.emplace(row->name, row);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto found = by_name.find(nodes[i]->name);
    if (found == by_name.end()) continue;
    for (const auto& [driver, most] : found->second->most_volumes) {
      map->limits[NodeId(i)].push_back({.driver = names_->Intern(driver), .most_volumes = most});
      limited_drivers_.insert(driver);
    }
  }
}

void StorageDesk::DescribeCapacities(std::span<const NodeRow* const> nodes, StorageMap* map) {
  const NodesByLabel by_label(nodes, volumes_.capacities(), names_);
  for (const CsiStorageCapacityRow* row : volumes_.capacities()) {
    const auto number = static_cast<int32_t>(map->capacities.size());
    StorageMap::Capacity& capacity = map->capacities.emplace_back();
    capacity.storage_class = names_->Intern(row->storage_class);
    capacity.bytes = static_cast<double>(row->bytes.value_or(0));
    for (const NodeId node : by_label.Matching(row->nodes.value_or(LabelSelector()))) {
      map->reached[node].push_back(number);
      ++capacity.nodes;
    }
  }
  // A node that reaches two capacities of one class has none of any class (spec 3 P12; as in KAI's
  // code).
  for (const NodeId node : map->reached.ids()) {
    std::vector<int32_t>& reached = map->reached[node];
    std::set<NameId> classes;
    for (const int32_t capacity : reached)
      classes.insert(map->capacities[static_cast<size_t>(capacity)].storage_class);
    if (classes.size() == reached.size()) continue;
    for (const int32_t capacity : reached) --map->capacities[static_cast<size_t>(capacity)].nodes;
    reached.clear();
  }
}

std::vector<const StorageDesk::Claim*> StorageDesk::ClaimsOf(const CompactPod& pod) const {
  std::vector<const Claim*> claims;
  for (const VolumeClaimRow& volume : pod.extras->volumes) {
    const Claim* claim = volumes_.FindClaim(pod.namespace_name, volume.claim);
    if (claim != nullptr && std::find(claims.begin(), claims.end(), claim) == claims.end())
      claims.push_back(claim);
  }
  return claims;
}

bool StorageDesk::Counts(const Claim& claim) const {
  if (!counts_capacity_) return false;
  const StorageClassRow* storage_class = volumes_.FindClass(claim.storage_class);
  return storage_class != nullptr && storage_class->waits_for_consumer &&
         volumes_.HasDriver(storage_class->provisioner);
}

StorageDesk::Attached StorageDesk::AttachedFor(const Claim& claim) const {
  // A volume that does not exist yet will belong to the claim.
  Attached attached;
  std::string handle = StrCat(claim.namespace_name, "/", claim.name);
  if (const PersistentVolumeRow* volume = volumes_.FindVolume(claim.volume); volume != nullptr) {
    attached.driver = volume->csi_driver;
    handle = StrCat("=", volume->csi_handle);
  } else if (const StorageClassRow* made_by = volumes_.FindClass(claim.storage_class)) {
    attached.driver = made_by->provisioner;
  }
  if (!limited_drivers_.contains(attached.driver)) return {};
  attached.name = StrCat(attached.driver, " ", handle);
  return attached;
}

void StorageDesk::CountUses(const CompactPod& pod) {
  std::set<std::string> attached;
  for (const Claim* claim : ClaimsOf(pod)) {
    ++users_[claim];
    if (IsOwner(pod, *claim) && !pod.deletion_ns) with_owner_.insert(claim);
    attached.insert(AttachedFor(*claim).name);
  }
  for (const std::string& name : attached) ++users_of_attached_[name];
}

void StorageDesk::AddNeed(const Claim& claim, bool is_owner, bool holds_node,
                          std::map<std::string_view, StorageNeed>* needs) const {
  const bool goes_with_it = is_owner && holds_node;
  if (claim.is_bound && !goes_with_it) return;
  StorageNeed& need = (*needs)[claim.storage_class];
  const auto bytes = static_cast<double>(claim.bytes);
  need.needs_room = true;
  if (!claim.is_bound) {
    need.request += bytes;
    if (users_.at(&claim) > 1) {
      need.shared.emplace_back(names_->Intern(NameOf(claim)), bytes);
    } else {
      need.own += bytes;
    }
  }
  if (is_owner) need.owned += bytes;
  if (goes_with_it) need.request += bytes;  // even if it counted before, as in KAI
}

void StorageDesk::AddNeeds(const CompactPod& pod, bool holds_node, VolumeNeeds* needs) const {
  std::map<std::string_view, StorageNeed> storage;
  std::set<std::string> deleted;
  std::map<std::string_view, AttachedVolumes> attached;
  std::set<std::string> counted;
  for (const Claim* claim : ClaimsOf(pod)) {
    if (Counts(*claim)) {
      AddNeed(*claim, IsOwner(pod, *claim), holds_node, &storage);
      if (HasSoleOwner(*claim) && !with_owner_.contains(claim)) deleted.insert(NameOf(*claim));
    }
    const Attached volume = AttachedFor(*claim);
    if (volume.driver.empty() || !counted.insert(volume.name).second) continue;
    AttachedVolumes& of_driver = attached[volume.driver];
    if (users_of_attached_.at(volume.name) > 1) {
      of_driver.shared.push_back(names_->Intern(volume.name));
    } else {
      ++of_driver.own;
    }
  }
  for (auto& [name, need] : storage) {
    need.storage_class = names_->Intern(name);
    std::sort(need.shared.begin(), need.shared.end());
    needs->storage.push_back(std::move(need));
  }
  for (const std::string& name : deleted) needs->deleted_claims.push_back(names_->Intern(name));
  for (auto& [name, volumes] : attached) {
    volumes.driver = names_->Intern(name);
    std::sort(volumes.shared.begin(), volumes.shared.end());
    needs->attached.push_back(std::move(volumes));
  }
}

}  // namespace kai

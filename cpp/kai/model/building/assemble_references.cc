// What pods refer to by name: ConfigMaps, namespaces, claims for storage; and the ports of nodes.
#include <algorithm>

#include "kai/model/building/cluster_assembler.h"
#include "kai/model/building/row_lookup.h"

namespace kai {

void ClusterAssembler::Know(const std::vector<ConfigMapRow>* config_maps,
                            const std::vector<NamespaceRow>& namespaces,
                            const StorageRows& storage) {
  knows_config_maps_ = config_maps != nullptr;
  if (knows_config_maps_) {
    for (const ConfigMapRow& row : *config_maps) config_maps_.emplace(row.namespace_name, row.name);
  }
  for (const NamespaceRow& row : namespaces) namespaces_.push_back(&row);
  const bool counts_capacity = c_.params_.schedule_csi_storage;
  volume_desk_ =
      std::make_unique<VolumeDesk>(storage, counts_capacity, &c_.names_, &c_.rejections_);
  if (!counts_capacity && volume_desk_->nodes().empty()) return;
  storage_desk_ = std::make_unique<StorageDesk>(*volume_desk_, counts_capacity, &c_.names_);
  storage_desk_->Describe(node_rows_, &c_.storage_);
}

HostPortId ClusterAssembler::PortId(const HostPort& row) {
  const bool everywhere = row.address.empty() || row.address == "0.0.0.0";
  const NodePort port{.port = row.port,
                      .protocol = Name(row.protocol.empty() ? "TCP" : row.protocol),
                      .address = everywhere ? NameId() : Name(row.address)};
  const auto [found, added] = port_ids_.try_emplace(port, HostPortId(port_ids_.size()));
  if (added) c_.host_ports_.Add(port);
  return found->second;
}

VolumeNeedsId ClusterAssembler::VolumesOf(const PodDraft& draft) {
  const PodRow& row = *draft.row;
  if (row.volumes.empty()) return VolumeNeedsId();
  VolumeNeeds needs = volume_desk_->NeedsOf(row);
  if (storage_desk_ != nullptr) storage_desk_->AddNeeds(row, draft.node.valid(), &needs);
  if (needs.empty()) return VolumeNeedsId();
  c_.storage_.any_need = c_.storage_.any_need || !needs.storage.empty();
  const auto [found, added] =
      volume_needs_ids_.try_emplace(needs, VolumeNeedsId(volume_needs_ids_.size()));
  if (added) c_.volume_needs_.Add(std::move(needs));
  return found->second;
}

std::vector<NameId> ClusterAssembler::MissingConfigMaps(const PodRow& row) {
  std::vector<NameId> missing;
  if (!knows_config_maps_) return missing;
  std::set<std::string_view> names(row.config_maps.begin(), row.config_maps.end());
  for (const std::string_view name : names) {
    if (!config_maps_.contains({row.namespace_name, name})) missing.push_back(Name(name));
  }
  return missing;
}

bool ClusterAssembler::KnowsNamespacesFor(const LabelSelector& selector) const {
  return !namespaces_.empty() ||
         std::all_of(selector.begin(), selector.end(), [](const SelectorRequirement& each) {
           return each.key == keys::kNamespaceName;
         });
}

std::vector<NameId> ClusterAssembler::NamespacesThat(const LabelSelector& selector) {
  std::vector<Requirement> requirements;
  for (const SelectorRequirement& each : selector)
    requirements.push_back(InternRequirement(each, &c_.names_));
  std::vector<NameId> names;
  for (const auto& [name, labels] : labels_of_namespace_) {
    if (MatchesAll(requirements, labels, c_.names_)) names.push_back(name);
  }
  return names;
}

void ClusterAssembler::ListNamespaces(const std::vector<PodDraft>& drafts) {
  const NameId name_key = Name(keys::kNamespaceName);
  for (const PodDraft& draft : drafts) labels_of_namespace_[Name(draft.row->namespace_name)];
  for (const NamespaceRow* row : namespaces_) {
    LabelSet& labels = labels_of_namespace_[Name(row->name)];
    for (const auto& [key, value] : row->labels) {
      if (key != keys::kNamespaceName) labels.push_back({Name(key), Name(value)});
    }
  }
  for (auto& [name, labels] : labels_of_namespace_) {
    labels.push_back({name_key, name});  // the API server sees to that
    std::sort(labels.begin(), labels.end());
  }
}

}  // namespace kai

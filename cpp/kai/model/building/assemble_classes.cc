// Classes: which nodes, and which pods, nobody can tell apart (design §4.2).
#include <algorithm>
#include <map>
#include <set>

#include "kai/api/accelerators.h"
#include "kai/api/keys.h"
#include "kai/api/rounding.h"
#include "kai/model/building/cluster_assembler.h"
#include "kai/model/building/row_lookup.h"

namespace kai {

void ClusterAssembler::InternConstraints(std::vector<PodDraft>* drafts) {
  if (storage_desk_ != nullptr) {
    for (const PodDraft& draft : *drafts) storage_desk_->CountUses(*draft.row);
  }
  for (PodDraft& draft : *drafts) {
    const PodRow& row = *draft.row;
    NodeConstraint constraint;
    for (const auto& [key, value] : row.node_selector) {
      constraint.selector.push_back(
          InternRequirement({.key = key, .op = SelectorOp::kIn, .values = {value}}, &c_.names_));
    }
    constraint.has_affinity = row.has_node_affinity;
    for (const NodeSelectorTerm& term : row.node_affinity)
      constraint.affinity.push_back(InternNodeTerm(term, &c_.names_));
    for (const WeightedNodeTerm& each : row.preferred_nodes) {
      constraint.preferred.push_back(
          {.term = InternNodeTerm(each.term, &c_.names_), .weight = each.weight});
    }
    for (const HostPort& port : row.host_ports) constraint.host_ports.push_back(PortId(port));
    std::sort(constraint.host_ports.begin(), constraint.host_ports.end());
    constraint.host_ports.erase(
        std::unique(constraint.host_ports.begin(), constraint.host_ports.end()),
        constraint.host_ports.end());
    constraint.volumes = VolumesOf(draft);
    constraint.spread = draft.spread;
    for (const Toleration& toleration : row.tolerations) {
      constraint.tolerations.push_back(
          {.key = toleration.key.empty() ? NameId() : Name(toleration.key),
           .exists = toleration.exists,
           .value = Name(toleration.value),
           .effect = toleration.effect});
    }
    std::sort(constraint.selector.begin(), constraint.selector.end());
    std::sort(constraint.affinity.begin(), constraint.affinity.end());
    std::sort(constraint.preferred.begin(), constraint.preferred.end());
    std::sort(constraint.tolerations.begin(), constraint.tolerations.end());
    const auto [found, added] =
        constraint_ids_.try_emplace(std::move(constraint), ConstraintId(constraint_ids_.size()));
    if (added) c_.constraints_.Add(found->first);
    draft.constraint = found->second;
  }
}

void ClusterAssembler::MakeNodeClasses() {
  // Which labels matter, and which of them nearly tell every node apart.
  std::set<NameId> mentioned;
  const auto mention = [&](const NodeTerm& term) {
    for (const Requirement& requirement : term.expressions) mentioned.insert(requirement.key);
  };
  for (const NodeConstraint& constraint : c_.constraints_.raw()) {
    for (const Requirement& requirement : constraint.selector) mentioned.insert(requirement.key);
    for (const NodeTerm& term : constraint.affinity) mention(term);
    for (const PreferredNodes& each : constraint.preferred) mention(each.term);
  }
  for (const VolumeNeeds& needs : c_.volume_needs_.raw()) ForEachTerm(needs, mention);
  c_.claims_.ForEachTerm(mention);
  NodeColumns& nodes = c_.nodes_;
  std::map<NameId, std::set<NameId>> values;
  for (const NodeRow* row : node_rows_) {
    LabelSet labels;
    for (const auto& [key, value] : row->labels) {
      const NameId name = c_.names_.Find(key);
      if (!name.valid() || !mentioned.contains(name)) continue;
      labels.push_back({name, Name(value)});
      values[name].insert(labels.back().value);
    }
    std::sort(labels.begin(), labels.end());
    nodes.labels.Add(std::move(labels));
  }
  std::set<NameId> telling;
  for (const auto& [key, distinct] : values) {
    if (distinct.size() > 16 && distinct.size() * 4 > node_rows_.size()) telling.insert(key);
  }
  const auto asks = [&](const std::vector<Requirement>& requirements) {
    return std::any_of(requirements.begin(), requirements.end(),
                       [&](const Requirement& each) { return telling.contains(each.key); });
  };
  for (const ConstraintId id : c_.constraints_.ids()) {
    const NodeConstraint& constraint = c_.constraints_[id];
    bool per_node = asks(constraint.selector);
    for (const NodeTerm& term : constraint.affinity)
      per_node = per_node || !term.fields.empty() || asks(term.expressions);
    c_.ask_per_node_.Add(per_node ? 1 : 0);
  }
  for (const VolumeNeeds& needs : c_.volume_needs_.raw()) {
    bool per_node = false;
    ForEachTerm(needs, [&](const NodeTerm& term) {
      per_node = per_node || !term.fields.empty() || asks(term.expressions);
    });
    for (const VolumeNeeds::Delayed& claim : needs.delayed)
      per_node = per_node || claim.selected_node.valid();
    c_.ask_volumes_per_node_.Add(per_node ? 1 : 0);
  }

  std::map<NodeClass, NodeClassId> class_ids;
  for (size_t i = 0; i < node_rows_.size(); ++i) {
    const NodeRow& row = *node_rows_[i];
    NodeClass node_class;
    for (const Label& label : nodes.labels[NodeId(i)]) {
      if (!telling.contains(label.key)) node_class.labels.push_back(label);
    }
    for (const Taint& taint : row.taints) {
      if (taint.effect == TaintEffect::kPreferNoSchedule || taint.effect == TaintEffect::kNone)
        continue;  // never refuses
      node_class.taints.push_back(
          {.key = Name(taint.key), .value = Name(taint.value), .effect = taint.effect});
    }
    std::sort(node_class.taints.begin(), node_class.taints.end());
    const auto pressed = [](ConditionStatus status) {
      return status == ConditionStatus::kTrue || status == ConditionStatus::kUnknown;
    };
    if (row.unschedulable) node_class.state |= kCordoned;
    if (row.ready != ConditionStatus::kTrue) node_class.state |= kNotReady;
    if (pressed(row.memory_pressure)) node_class.state |= kMemoryPressure;
    if (pressed(row.disk_pressure)) node_class.state |= kDiskPressure;
    if (pressed(row.pid_pressure)) node_class.state |= kPidPressure;
    if (pressed(row.network_unavailable)) node_class.state |= kNetworkUnavailable;

    bool mig_enabled = false;
    for (const auto& [name, amount] : row.allocatable)
      mig_enabled = mig_enabled || (IsMigResource(name) && amount > 0);
    if (const std::string* label = FindLabelText(row.labels, keys::kMigEnabled)) {
      mig_enabled = *label == "true" || *label == "True" || *label == "TRUE" || *label == "1" ||
                    *label == "t" || *label == "T";
    }
    const double gpus = nodes.allocatable[NodeId(i)][kGpuSlot.index()];
    if (mig_enabled) {
      const std::string* strategy = FindDeviceLabel(row.labels, &Accelerator::slicing_label);
      const std::string_view offered = strategy == nullptr ? std::string_view() : *strategy;
      node_class.mig = offered == "mixed"    ? MigMode::kMixed
                       : offered == "single" ? MigMode::kSingle
                                             : MigMode::kNone;
    }
    node_class.cpu_only = !mig_enabled && gpus <= 0;  // spec 3 N16; DRA GPUs are in `gpus`
    node_class.knows_gpu_memory = knows_gpu_memory_[i];
    node_class.has_dra_gpus = node_dra_gpus_[i] > 0;
    node_class.gpu_worker = FindLabelText(row.labels, keys::kGpuWorker) != nullptr;
    node_class.cpu_worker = FindLabelText(row.labels, keys::kCpuWorker) != nullptr;
    nodes.cpu_only.Add(node_class.cpu_only ? 1 : 0);
    const auto [found, added] =
        class_ids.try_emplace(std::move(node_class), NodeClassId(class_ids.size()));
    if (added) c_.node_classes_.Add(found->first);
    nodes.node_class.Add(found->second);
  }
}

PodClassId ClusterAssembler::ClassId(const PodDraft& draft) {
  const PodRow& row = *draft.row;
  PodClass info;
  info.gpu = row.gpu;
  std::sort(info.gpu.mig.begin(), info.gpu.mig.end());
  info.constraint = draft.constraint;
  info.affinity = draft.affinity;
  if (draft.matched_set >= 0)
    info.matched_terms = matched_sets_[static_cast<size_t>(draft.matched_set)];
  info.matches_own_required = draft.matches_own_required;
  if (const auto node = node_by_name_.find(row.nominated_node); node != node_by_name_.end())
    info.nominated_node = node->second;
  info.missing_config_maps = MissingConfigMaps(row);
  info.numa = NumaNeedsOf(row);
  info.claims = draft.claims;

  std::set<std::string> not_built(row.not_built.begin(), row.not_built.end());
  for (const std::string& feature : not_built) info.not_built.push_back(Name(feature));

  // spec 3 R18: GPUs of portions plus claims; a memory request has no GPU element.
  double gpus = static_cast<double>(row.gpu.dra);
  if (row.gpu.kind != GpuRequestKind::kMemory)
    gpus += GpusOfPortions(row.gpu.portion, static_cast<double>(row.gpu.count));
  double mig_gpus = 0;
  for (const auto& [name, amount] : row.gpu.mig)
    mig_gpus += c_.slots_.GpuEquivalents(c_.slots_.Find(name)) * static_cast<double>(amount);
  info.cpu_only = !(gpus > 0 || row.gpu.kind == GpuRequestKind::kMemory ||
                    row.gpu.kind == GpuRequestKind::kMig);  // spec 3 R19

  const auto cpu = static_cast<double>(AmountOf(row.requests, "cpu"));
  const auto memory = static_cast<double>(AmountOf(row.requests, "memory"));
  info.requested = {cpu, memory, gpus + mig_gpus};
  info.gate_requested = info.requested;
  if (row.gpu.kind == GpuRequestKind::kMemory) {  // spec 1 F24
    const double wanted =
        static_cast<double>(row.gpu.count) * static_cast<double>(row.gpu.memory_mib);
    if (smallest_gpu_mib_ > 0) info.requested += QuotaCount::OfGpuMemory(wanted, smallest_gpu_mib_);
    if (largest_gpu_mib_ > 0)
      info.gate_requested += QuotaCount::OfGpuMemory(wanted, largest_gpu_mib_);
  }

  ResourceAmounts requests = row.requests;
  std::sort(requests.begin(), requests.end());
  ResourceAmounts overhead = row.overhead;
  std::sort(overhead.begin(), overhead.end());
  std::string key;
  const auto append = [&key](const auto&... parts) { StrAppend(&key, parts..., "\x1f"); };
  for (const auto& [name, amount] : requests) append(name, "=", amount);
  append("|");
  for (const auto& [name, amount] : overhead) append(name, "=", amount);
  append("|", static_cast<int>(info.gpu.kind), ":", info.gpu.count, ":", info.gpu.memory_mib, ":",
         info.gpu.dra, ":", info.gpu.legacy_mig);
  key.append(reinterpret_cast<const char*>(&info.gpu.portion), sizeof(info.gpu.portion));
  for (const auto& [name, amount] : info.gpu.mig) append(name, "=", amount);
  append("|", info.constraint.value(), "|", draft.matched_set, "|", info.matches_own_required, "|",
         info.nominated_node.value(), "|", info.claims.value());
  const auto append_terms = [&append](const std::vector<AffinityTermId>& terms) {
    for (const AffinityTermId term : terms) append(term.value());
    append("|");
  };
  append_terms(info.affinity.required);
  append_terms(info.affinity.required_anti);
  const auto append_weights = [&append](const std::vector<ScoringTerm>& terms) {
    for (const ScoringTerm& each : terms) append(each.term.value(), "*", each.weight);
    append("|");
  };
  append_weights(info.affinity.preferred);
  append_weights(info.affinity.as_owner);
  for (const NameId feature : info.not_built) append(feature.value());
  append("|");
  for (const NameId name : info.missing_config_maps) append(name.value());
  if (info.numa.valid()) append("|", info.numa.value());

  const auto found = class_ids_.find(key);
  if (found != class_ids_.end()) return found->second;
  const PodClassId id = c_.pod_classes_.info.Add(std::move(info));
  c_.pod_classes_.request.Add();
  c_.pod_classes_.overhead.Add();
  class_ids_.emplace(std::move(key), id);
  const std::span<double> vector = c_.pod_classes_.request[id];
  for (const auto& [name, amount] : requests)
    vector[c_.slots_.Find(name).index()] = static_cast<double>(amount);
  for (const auto& [name, amount] : row.gpu.mig)
    vector[c_.slots_.Find(name).index()] = static_cast<double>(amount);
  vector[kGpuSlot.index()] = gpus;
  vector[kPodsSlot.index()] = 1;  // spec 3 R4
  const std::span<double> extra = c_.pod_classes_.overhead[id];
  for (const auto& [name, amount] : overhead)
    extra[c_.slots_.Find(name).index()] = static_cast<double>(amount);
  return id;
}

}  // namespace kai

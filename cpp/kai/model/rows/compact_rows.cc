#include "kai/model/rows/compact_rows.h"

#include <tuple>

#include "absl/hash/hash.h"
#include "kai/base/heap_bytes.h"
#include "kai/base/memory_report.h"

namespace kai {
namespace {

// Hashes only the fields that differ between most templates; the comparison does the rest.
size_t HashOfTerms(const std::vector<NodeSelectorTerm>& terms) {
  size_t hash = terms.size();
  for (const NodeSelectorTerm& term : terms) {
    for (const SelectorRequirement& each : term.expressions)
      hash = absl::HashOf(hash, each.key, each.values);
  }
  return hash;
}

size_t HashOfTerms(const std::vector<PodAffinityTerm>& terms) {
  size_t hash = terms.size();
  for (const PodAffinityTerm& term : terms) {
    hash = absl::HashOf(hash, term.topology_key, term.namespaces);
    if (!term.selector) continue;
    for (const SelectorRequirement& each : *term.selector)
      hash = absl::HashOf(hash, each.key, each.values);
  }
  return hash;
}

}  // namespace

size_t HashOfPart(const StringPairs& labels) { return absl::HashOf(labels); }

size_t HashOfPart(const PodSpecRow& spec) {
  size_t hash = absl::HashOf(spec.subgroup, spec.requests, spec.gpu.kind, spec.gpu.count,
                             spec.gpu.portion, spec.gpu.memory_mib, spec.node_selector,
                             spec.config_maps, spec.tolerations.size());
  if (!spec.node_affinity.empty()) hash = absl::HashOf(hash, HashOfTerms(spec.node_affinity));
  if (!spec.affinity.empty()) {
    hash = absl::HashOf(hash, HashOfTerms(spec.affinity.required),
                        HashOfTerms(spec.affinity.required_anti));
  }
  for (const Toleration& each : spec.tolerations) hash = absl::HashOf(hash, each.key, each.value);
  for (const HostPort& each : spec.host_ports) hash = absl::HashOf(hash, each.port);
  for (const std::string& each : spec.avoided_nodes) hash = absl::HashOf(hash, each);
  for (const SpreadConstraintRow& each : spec.spread)
    hash = absl::HashOf(hash, each.topology_key, each.max_skew);
  return hash;
}

size_t HashOfPart(const PodExtrasRow& extras) {
  size_t hash = absl::HashOf(extras.nominated_node, extras.received_type, extras.topology_rank,
                             extras.gpu_groups, extras.extended_claim);
  for (const VolumeClaimRow& each : extras.volumes) hash = absl::HashOf(hash, each.claim);
  for (const PodExtrasRow::Claim& each : extras.claims)
    hash = absl::HashOf(hash, each.name, each.resource_claim);
  for (const ZoneRecordRow& record : extras.zone_records) {
    for (const ZoneAmountsRow& each : record.zones)
      hash = absl::HashOf(hash, each.zone, each.amounts);
  }
  return hash;
}

size_t HashOfPart(const PodGroupSpecRow& spec) {
  size_t hash = absl::HashOf(spec.labels, spec.queue, spec.priority_class, spec.preemptibility,
                             spec.min_member, spec.topology.topology, spec.topology.required_level,
                             spec.latest_condition_node_pool);
  for (const SubGroupRow& each : spec.sub_groups)
    hash = absl::HashOf(hash, each.name, each.parent, each.min_member);
  return hash;
}

CompactPod RowParts::Compact(PodRow&& row) {
  CompactPod pod;
  static_cast<PodIdentityRow&>(pod) = std::move(row);
  pod.labels = labels_.Share(std::move(row.labels));
  pod.spec = specs_.Share(std::move(static_cast<PodSpecRow&>(row)));
  pod.extras = extras_.Share(std::move(static_cast<PodExtrasRow&>(row)));
  return pod;
}

CompactPodGroup RowParts::Compact(PodGroupRow&& row) {
  CompactPodGroup group;
  static_cast<PodGroupIdentityRow&>(group) = std::move(row);
  group.spec = group_specs_.Share(std::move(static_cast<PodGroupSpecRow&>(row)));
  return group;
}

void RowParts::Release(CompactPod&& pod) {
  if (pod.labels == nullptr) return;  // of an invalid object
  labels_.Release(std::move(pod.labels));
  specs_.Release(std::move(pod.spec));
  extras_.Release(std::move(pod.extras));
}

void RowParts::Release(CompactPodGroup&& group) {
  if (group.spec != nullptr) group_specs_.Release(std::move(group.spec));
}

template <typename T>
size_t SharedValues<T>::HeapBytes() const {
  size_t bytes = HashTableBytes(values_, sizeof(Entry));
  for (const Entry& entry : values_) bytes += SharedBlockBytes<T>() + kai::HeapBytes(*entry.value);
  return bytes;
}

void RowParts::Memory(MemoryReport* report) const {
  report->Add("Pod", "labels", labels_.size(), labels_.HeapBytes());
  report->Add("Pod", "specs", specs_.size(), specs_.HeapBytes());
  report->Add("Pod", "extras", extras_.size(), extras_.HeapBytes());
  report->Add("PodGroup", "specs", group_specs_.size(), group_specs_.HeapBytes());
}

PodGroupRow CompactPodGroup::Row() const {
  PodGroupRow row;
  static_cast<PodGroupIdentityRow&>(row) = *this;
  static_cast<PodGroupSpecRow&>(row) = *spec;
  return row;
}

PodRow CompactPod::Row() const {
  PodRow row;
  static_cast<PodIdentityRow&>(row) = *this;
  static_cast<PodSpecRow&>(row) = *spec;
  static_cast<PodExtrasRow&>(row) = *extras;
  row.labels = *labels;
  return row;
}

}  // namespace kai

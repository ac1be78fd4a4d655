#include "kai/testing/oracle/slow_filters.h"

#include <algorithm>
#include <map>
#include <set>

#include "kai/base/text.h"

namespace kai::oracle::parts {
namespace {

// ---- ports --------------------------------------------------------------------------------------

bool PortsClash(const HostPort& a, const HostPort& b) {
  const auto any = [](const HostPort& port) {
    return port.address.empty() || port.address == "0.0.0.0";
  };
  const auto protocol = [](const HostPort& port) {
    return port.protocol.empty() ? std::string("TCP") : port.protocol;
  };
  return a.port == b.port && protocol(a) == protocol(b) &&
         (any(a) || any(b) || a.address == b.address);
}

// ---- volumes ------------------------------------------------------------------------------------

bool TermHolds(const NodeSelectorTerm& term, const NodeRow& node) {
  if (term.expressions.empty() && term.fields.empty()) return false;
  bool holds = MeetsAll(term.expressions, node.labels);
  for (const SelectorRequirement& field : term.fields) holds = holds && Meets(field, &node.name);
  return holds;
}

bool AnyHolds(const std::vector<NodeSelectorTerm>& terms, const NodeRow& node) {
  return std::any_of(terms.begin(), terms.end(),
                     [&](const NodeSelectorTerm& term) { return TermHolds(term, node); });
}

// Null if several objects of the kind have the name.
template <typename Row>
const Row* FindByName(const std::vector<Row>& rows, const std::string& name) {
  const Row* found = nullptr;
  for (const Row& row : rows) {
    if (row.name != name) continue;
    if (found != nullptr) return nullptr;
    found = &row;
  }
  return found;
}

const PersistentVolumeClaimRow* FindClaim(const StorageRows& storage, const std::string& space,
                                          const std::string& name) {
  const PersistentVolumeClaimRow* found = nullptr;
  for (const PersistentVolumeClaimRow& row : storage.claims) {
    if (row.namespace_name != space || row.name != name) continue;
    if (found != nullptr) return nullptr;
    found = &row;
  }
  return found;
}

bool IsBound(const PersistentVolumeClaimRow& claim) {
  return !claim.volume.empty() && claim.bind_completed;
}

bool Reaches(const PersistentVolumeRow& volume, const NodeRow& node) {
  return !volume.has_node_affinity || AnyHolds(volume.node_affinity, node);
}

bool IsLargeEnough(const PersistentVolumeRow& volume, const PersistentVolumeClaimRow& claim) {
  return volume.bytes >= claim.bytes && volume.is_block == claim.is_block && !volume.deletion_ns;
}

bool IsFor(const PersistentVolumeRow& volume, const PersistentVolumeClaimRow& claim) {
  return volume.claim_name == claim.name && volume.claim_namespace == claim.namespace_name &&
         (volume.claim_uid.empty() || volume.claim_uid == claim.uid);
}

// The matching volumes of the claim's class; the one to use first is at the front.
std::vector<const PersistentVolumeRow*> VolumesFor(const StorageRows& storage,
                                                   const PersistentVolumeClaimRow& claim) {
  std::vector<const PersistentVolumeRow*> own, others;
  for (const PersistentVolumeRow& volume : storage.volumes) {
    if (FindByName(storage.volumes, volume.name) == nullptr) continue;
    if (volume.storage_class != claim.storage_class || !IsLargeEnough(volume, claim)) continue;
    if (IsFor(volume, claim)) {
      own.push_back(&volume);
      continue;
    }
    bool modes = true;
    for (const std::string& mode : claim.access_modes) {
      modes = modes && std::find(volume.access_modes.begin(), volume.access_modes.end(), mode) !=
                           volume.access_modes.end();
    }
    if (modes && volume.claim_name.empty() && volume.is_available &&
        MeetsAll(claim.selector, volume.labels)) {
      others.push_back(&volume);
    }
  }
  const auto first = [](const PersistentVolumeRow* a, const PersistentVolumeRow* b) {
    return std::pair(a->bytes, a->name) < std::pair(b->bytes, b->name);
  };
  std::sort(own.begin(), own.end(), first);
  std::sort(others.begin(), others.end(), first);
  if (!own.empty()) return {own.front()};
  return others;
}

bool CanBeMade(const StorageRows& storage, const PersistentVolumeClaimRow& claim,
               const NodeRow& node) {
  const StorageClassRow& made = *FindByName(storage.classes, claim.storage_class);
  if (made.provisioner.empty() || made.provisioner == "kubernetes.io/no-provisioner") return false;
  if (!made.allowed_topologies.empty() && !AnyHolds(made.allowed_topologies, node)) return false;
  const CsiDriverRow* driver = FindByName(storage.drivers, made.provisioner);
  if (claim.bytes == 0 || driver == nullptr || !driver->reports_capacity) return true;
  return std::any_of(storage.capacities.begin(), storage.capacities.end(),
                     [&](const CsiStorageCapacityRow& capacity) {
                       const std::optional<int64_t> most = capacity.largest_volume_bytes
                                                               ? capacity.largest_volume_bytes
                                                               : capacity.bytes;
                       return capacity.storage_class == made.name && capacity.nodes && most &&
                              *most >= claim.bytes && MeetsAll(*capacity.nodes, node.labels);
                     });
}

// Claims of the pod that wait until it has a node, the smallest first.
std::vector<const PersistentVolumeClaimRow*> WaitingClaims(const StorageRows& storage,
                                                           const PodRow& pod) {
  std::vector<const PersistentVolumeClaimRow*> waiting;
  for (const VolumeClaimRow& volume : pod.volumes) {
    const PersistentVolumeClaimRow* claim = FindClaim(storage, pod.namespace_name, volume.claim);
    if (claim != nullptr && !IsBound(*claim)) waiting.push_back(claim);
  }
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](const auto* a, const auto* b) { return a->bytes < b->bytes; });
  return waiting;
}

bool ClaimsRefuse(const StorageRows& storage, const PodRow& pod) {
  for (const VolumeClaimRow& volume : pod.volumes) {
    const PersistentVolumeClaimRow* claim = FindClaim(storage, pod.namespace_name, volume.claim);
    if (claim == nullptr || claim->is_lost || claim->deletion_ns) return true;
    if (volume.ephemeral && !claim->owner_pod_uid.empty() && !pod.uid.empty() &&
        claim->owner_pod_uid != pod.uid)
      return true;
    if (IsBound(*claim)) continue;
    const StorageClassRow* made = FindByName(storage.classes, claim->storage_class);
    if (made == nullptr || !made->waits_for_consumer || !claim->volume.empty()) return true;
  }
  return false;
}

std::string Text(const std::vector<SelectorRequirement>& requirements) {
  std::string text;
  for (const SelectorRequirement& each : requirements) {
    StrAppend(&text, each.key, " ", static_cast<int>(each.op), "(");
    for (const std::string& value : each.values) StrAppend(&text, value, ",");
    text += ")";
  }
  return text;
}

std::string Text(const std::vector<NodeSelectorTerm>& terms) {
  std::string text;
  for (const NodeSelectorTerm& term : terms)
    StrAppend(&text, "[", Text(term.expressions), Text(term.fields), "]");
  return text;
}

std::string TextOfWaiting(const StorageRows& storage, const PersistentVolumeClaimRow& claim) {
  const StorageClassRow& made = *FindByName(storage.classes, claim.storage_class);
  const bool makes =
      !made.provisioner.empty() && made.provisioner != "kubernetes.io/no-provisioner";
  std::string volumes;
  if (claim.selected_node.empty()) {
    for (const PersistentVolumeRow* volume : VolumesFor(storage, claim))
      StrAppend(&volumes, volume->name, IsFor(*volume, claim) ? "! " : " ");
  }
  std::string capacity = "any";
  const CsiDriverRow* driver = FindByName(storage.drivers, made.provisioner);
  if (claim.bytes != 0 && driver != nullptr && driver->reports_capacity) {
    std::map<std::string, std::string> with_space;
    bool everywhere = false;
    for (const CsiStorageCapacityRow& each : storage.capacities) {
      const std::optional<int64_t> most =
          each.largest_volume_bytes ? each.largest_volume_bytes : each.bytes;
      if (each.storage_class != made.name || !each.nodes || !most || *most < claim.bytes) continue;
      everywhere = everywhere || each.nodes->empty();
      with_space[each.namespace_name + "/" + each.name] = Text(*each.nodes);
    }
    if (!everywhere) {
      capacity = "";
      for (const auto& [name, nodes] : with_space) StrAppend(&capacity, nodes, ";");
    }
  }
  if (claim.selected_node.empty() && volumes.empty() && makes && made.allowed_topologies.empty() &&
      capacity == "any") {
    return "";  // no requirement
  }
  return StrCat(claim.selected_node, "|", volumes, "|", makes ? "makes" : "", "|",
                Text(made.allowed_topologies), "|", capacity);
}

// The requirements of the pod's volumes on nodes; volumes without requirements add nothing.
std::string VolumesText(const World& world, const PodRow& pod) {
  const StorageRows& storage = world.rows().storage;
  if (pod.volumes.empty()) return "";
  if (ClaimsRefuse(storage, pod)) {
    std::string text = "refused";
    for (const VolumeClaimRow& volume : pod.volumes)
      StrAppend(&text, " ", pod.namespace_name, "/", volume.claim);
    return text;
  }
  std::set<std::string> bound;
  for (const VolumeClaimRow& volume : pod.volumes) {
    const PersistentVolumeClaimRow& claim = *FindClaim(storage, pod.namespace_name, volume.claim);
    if (!IsBound(claim)) continue;
    const PersistentVolumeRow* its = FindByName(storage.volumes, claim.volume);
    if (its == nullptr) bound.insert("gone");
    if (its != nullptr && its->has_node_affinity)
      bound.insert(StrCat("in ", Text(its->node_affinity)));
  }
  std::string text;
  for (const std::string& each : bound) StrAppend(&text, each, " ");
  for (const PersistentVolumeClaimRow* claim : WaitingClaims(storage, pod)) {
    const std::string waiting = TextOfWaiting(storage, *claim);
    if (!waiting.empty()) StrAppend(&text, "{", waiting, "}");
  }
  return text;
}

}  // namespace

NeighbourAnswer PortsAnswer(const World& world, int pod, int node) {
  const PodRow& row = *At(world.kept().pods, pod).row;
  const bool leaving_go = world.settings().switches.on(Switch::kLeavingPods);
  NeighbourAnswer answer;
  ForEachPlacedPod(world, [&](const PodRow& other, const NodeRow& its_node, bool is_leaving) {
    if (its_node.name != At(world.kept().nodes, node)->name) return;
    for (const HostPort& mine : row.host_ports) {
      for (const HostPort& its : other.host_ports) {
        if (!PortsClash(mine, its)) continue;
        if (is_leaving && leaving_go) {
          answer.must_wait = true;
        } else {
          answer.may = false;
        }
      }
    }
  });
  return answer;
}

bool VolumesAllowOn(const World& world, const PodRow& pod, const NodeRow& node) {
  const StorageRows& storage = world.rows().storage;
  if (pod.volumes.empty() || ClaimsRefuse(storage, pod)) return true;
  for (const VolumeClaimRow& volume : pod.volumes) {
    const PersistentVolumeClaimRow& claim = *FindClaim(storage, pod.namespace_name, volume.claim);
    if (!IsBound(claim)) continue;
    const PersistentVolumeRow* bound = FindByName(storage.volumes, claim.volume);
    if (bound == nullptr || !Reaches(*bound, node)) return false;
  }
  std::set<std::string> taken;
  for (const PersistentVolumeClaimRow* claim : WaitingClaims(storage, pod)) {
    if (!claim->selected_node.empty()) {
      if (claim->selected_node != node.name || !CanBeMade(storage, *claim, node)) return false;
      continue;
    }
    bool found = false;
    for (const PersistentVolumeRow* volume : VolumesFor(storage, *claim)) {
      if (taken.contains(volume->name) || !Reaches(*volume, node)) continue;
      taken.insert(volume->name);
      found = true;
      break;
    }
    if (!found && !CanBeMade(storage, *claim, node)) return false;
  }
  return true;
}

bool VolumesAllow(const World& world, int pod, int node) {
  return VolumesAllowOn(world, *At(world.kept().pods, pod).row, *At(world.kept().nodes, node));
}

bool IsRefused(const World& world, int pod) {
  const PodRow& row = *At(world.kept().pods, pod).row;
  const ClusterRows& rows = world.rows();
  if (ClaimsRefuse(rows.storage, row)) return true;
  if (!rows.config_maps) return false;
  return !std::all_of(row.config_maps.begin(), row.config_maps.end(), [&](const std::string& name) {
    return std::any_of(rows.config_maps->begin(), rows.config_maps->end(),
                       [&](const ConfigMapRow& map) {
                         return map.namespace_name == row.namespace_name && map.name == name;
                       });
  });
}

// kube-scheduler's PodTopologySpread with DoNotSchedule.
bool IsSpreadEvenly(const World& world, int pod, int node) {
  const PodRow& row = *At(world.kept().pods, pod).row;
  const NodeRow& target = *At(world.kept().nodes, node);
  const auto finds = [&](const SpreadConstraintRow& spread, const PodRow& other) {
    return spread.selector && other.namespace_name == row.namespace_name &&
           MeetsAll(*spread.selector, other.labels);
  };
  for (const SpreadConstraintRow& spread : row.spread) {
    if (!spread.required) continue;
    const std::string* here = Label(target.labels, spread.topology_key);
    if (here == nullptr) return false;
    const auto counts = [&](const NodeRow& each) {
      for (const SpreadConstraintRow& other : row.spread) {
        if (other.required && Label(each.labels, other.topology_key) == nullptr) return false;
      }
      return (!spread.honor_node_affinity || MeetsNodeAffinity(row, each)) &&
             (!spread.honor_taints || ToleratesTaints(row, each));
    };
    std::map<std::string, int64_t> pods;
    for (const NodeRow* each : world.kept().nodes) {
      if (counts(*each)) pods[*Label(each->labels, spread.topology_key)] += 0;
    }
    ForEachPlacedPod(world, [&](const PodRow& other, const NodeRow& its_node, bool is_leaving) {
      if (!is_leaving && counts(its_node) && finds(spread, other))
        ++pods[*Label(its_node.labels, spread.topology_key)];
    });
    int64_t least = pods.empty() ? 0 : pods.begin()->second;
    for (const auto& [domain, count] : pods) least = std::min(least, count);
    if (static_cast<int64_t>(pods.size()) < spread.min_domains) least = 0;
    const int64_t with_it = (pods.contains(*here) ? pods[*here] : 0) + (finds(spread, row) ? 1 : 0);
    if (with_it - least > spread.max_skew) return false;
  }
  return true;
}

double PreferredPoints(const PodRow& pod, const NodeRow& node) {
  int64_t met = 0;
  int64_t all = 0;
  for (const WeightedNodeTerm& each : pod.preferred_nodes) {
    all += each.weight;
    if (TermHolds(each.term, node)) met += each.weight;
  }
  return all <= 0 ? 0 : 900.0 * static_cast<double>(met) / static_cast<double>(all);
}

std::string NodeRequirementsOf(const World& world, const PodRow& pod) {
  std::set<std::string> ports;
  for (const HostPort& port : pod.host_ports) {
    ports.insert(
        StrCat(port.port, port.protocol, "@", port.address == "0.0.0.0" ? "" : port.address));
  }
  std::string text;
  for (const std::string& port : ports) StrAppend(&text, port, " ");
  for (const SpreadConstraintRow& spread : pod.spread) {
    if (!spread.required) continue;
    StrAppend(&text, "|", pod.namespace_name, spread.topology_key, " ", spread.max_skew, " ",
              spread.min_domains, spread.honor_node_affinity, spread.honor_taints,
              spread.selector ? "" : "none");
    if (spread.selector) text += Text(*spread.selector);
  }
  for (const WeightedNodeTerm& each : pod.preferred_nodes) {
    StrAppend(&text, "*", each.weight, Text({each.term}));
  }
  return StrCat(text, "#", VolumesText(world, pod));
}

bool NeedsNamespaces(const ClusterRows& rows, const PodRow& pod) {
  if (!rows.namespaces.empty()) return false;
  bool needs = false;
  const auto look = [&](const PodAffinityTerm& term) {
    for (const SelectorRequirement& each : term.namespace_selector)
      needs = needs || each.key != "kubernetes.io/metadata.name";
  };
  for (const auto* terms : {&pod.affinity.required, &pod.affinity.required_anti}) {
    for (const PodAffinityTerm& term : *terms) look(term);
  }
  for (const auto* terms : {&pod.affinity.preferred, &pod.affinity.preferred_anti}) {
    for (const WeightedPodAffinityTerm& each : *terms) look(each.term);
  }
  return needs;
}

void ResolveNamespaces(ClusterRows* rows) {
  std::map<std::string, StringPairs> spaces;
  for (const PodRow& pod : rows->pods) spaces[pod.namespace_name];
  for (const NamespaceRow& row : rows->namespaces) spaces[row.name] = row.labels;
  for (auto& [name, labels] : spaces) {
    std::erase_if(labels,
                  [](const auto& label) { return label.first == "kubernetes.io/metadata.name"; });
    labels.emplace_back("kubernetes.io/metadata.name", name);
  }
  for (PodRow& pod : rows->pods) {
    const auto resolve = [&](PodAffinityTerm* term) {
      if (term->namespace_selector.empty()) return;
      for (const auto& [name, labels] : spaces) {
        if (MeetsAll(term->namespace_selector, labels)) term->namespaces.push_back(name);
      }
      if (term->namespaces.empty()) term->selector.reset();  // selects no pod
    };
    for (auto* terms : {&pod.affinity.required, &pod.affinity.required_anti}) {
      for (PodAffinityTerm& term : *terms) resolve(&term);
    }
    for (auto* terms : {&pod.affinity.preferred, &pod.affinity.preferred_anti}) {
      for (WeightedPodAffinityTerm& each : *terms) resolve(&each.term);
    }
  }
}

}  // namespace kai::oracle::parts

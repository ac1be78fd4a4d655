#include "kai/model/building/constraint_writer.h"

#include <algorithm>
#include <utility>

#include "kai/model/claims/volume_desk.h"

namespace kai {
namespace {

// Adds a requirement of the pod itself for other nodes. A term without requirements matches
// nothing.
void AvoidNodes(const std::vector<std::string>& nodes, Interner* names,
                NodeConstraint* constraint) {
  if (!constraint->has_affinity) constraint->affinity.emplace_back();
  for (NodeTerm& term : constraint->affinity) {
    if (constraint->has_affinity && term.expressions.empty() && term.fields.empty()) continue;
    term.fields.push_back(InternRequirement(
        {.key = "metadata.name", .op = SelectorOp::kNotIn, .values = nodes}, names));
  }
  constraint->has_affinity = true;
}

}  // namespace

HostPortId ConstraintWriter::PortOf(const HostPort& row) {
  const bool everywhere = row.address.empty() || row.address == "0.0.0.0";
  return ports_.Add({.port = row.port,
                     .protocol = names_.Intern(row.protocol.empty() ? "TCP" : row.protocol),
                     .address = everywhere ? NameId() : names_.Intern(row.address)});
}

ConstraintId ConstraintWriter::Add(const CompactPod& row, VolumeNeedsId volumes,
                                   std::vector<Spread> spread) {
  NodeConstraint constraint;
  constraint.has_affinity = row.spec->has_node_affinity;
  constraint.volumes = volumes;
  constraint.spread = std::move(spread);
  for (const auto& [key, value] : row.spec->node_selector) {
    constraint.selector.push_back(
        InternRequirement({.key = key, .op = SelectorOp::kIn, .values = {value}}, &names_));
  }
  for (const NodeSelectorTerm& term : row.spec->node_affinity)
    constraint.affinity.push_back(InternNodeTerm(term, &names_));
  if (!row.spec->avoided_nodes.empty()) AvoidNodes(row.spec->avoided_nodes, &names_, &constraint);
  for (const WeightedNodeTerm& each : row.spec->preferred_nodes) {
    constraint.preferred.push_back(
        {.term = InternNodeTerm(each.term, &names_), .weight = each.weight});
  }
  for (const Toleration& toleration : row.spec->tolerations) {
    constraint.tolerations.push_back(
        {.key = toleration.key.empty() ? NameId() : names_.Intern(toleration.key),
         .exists = toleration.exists,
         .value = names_.Intern(toleration.value),
         .effect = toleration.effect});
  }
  std::vector<HostPortId>& ports = constraint.host_ports;
  for (const HostPort& port : row.spec->host_ports) ports.push_back(PortOf(port));
  std::sort(ports.begin(), ports.end());
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  std::sort(constraint.selector.begin(), constraint.selector.end());
  std::sort(constraint.affinity.begin(), constraint.affinity.end());
  std::sort(constraint.preferred.begin(), constraint.preferred.end());
  std::sort(constraint.tolerations.begin(), constraint.tolerations.end());
  return constraints_.Add(std::move(constraint));
}

}  // namespace kai

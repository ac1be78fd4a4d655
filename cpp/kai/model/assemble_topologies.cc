// Topologies: their trees of domains, and what sets of sub-groups ask of them.
#include "kai/model/cluster_assembler.h"
#include "kai/model/row_lookup.h"

namespace kai {

void ClusterAssembler::Topologies(std::vector<TopologyRow> rows) {
  for (const TopologyRow* row :
       SortedAndUnique(&rows, "Topology", NameKey<TopologyRow>, &c_.rejections_)) {
    std::vector<NameId> levels;
    std::map<std::string, NameId>& aliases = aliases_[Name(row->name)];
    for (const TopologyRow::Level& level : row->levels) {
      levels.push_back(Name(level.node_label));
      if (!level.alias.empty()) aliases.emplace(level.alias, levels.back());
    }
    c_.topologies_.Add(DomainTree(Name(row->name), std::move(levels), c_.nodes_.labels, c_.names_));
  }
}

TopologyConstraintId ClusterAssembler::TopologyConstraintOf(const TopologyConstraintRow& row) {
  if (row.topology.empty()) return TopologyConstraintId();  // spec 4 C5, whatever levels it names
  TopologyConstraint constraint;
  constraint.topology = Name(row.topology);
  const auto aliases = aliases_.find(constraint.topology);
  for (const TopologyId tree : c_.topologies_.ids()) {
    if (c_.topologies_[tree].name() == constraint.topology) constraint.tree = tree;
  }
  const auto resolve = [&](const std::string& level, NameId* label, int32_t* depth) {
    if (level.empty()) return;
    *label = Name(level);
    if (aliases != aliases_.end()) {  // spec 4 T4
      const auto alias = aliases->second.find(level);
      if (alias != aliases->second.end()) *label = alias->second;
    }
    if (constraint.tree.valid()) *depth = c_.topologies_[constraint.tree].DepthOf(*label);
  };
  resolve(row.required_level, &constraint.required, &constraint.required_depth);
  resolve(row.preferred_level, &constraint.preferred, &constraint.preferred_depth);
  const auto [found, added] = topology_constraint_ids_.try_emplace(
      constraint, TopologyConstraintId(topology_constraint_ids_.size()));
  if (added) c_.topology_constraints_.Add(constraint);
  return found->second;
}

}  // namespace kai

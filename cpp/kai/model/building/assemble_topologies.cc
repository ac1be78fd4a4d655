// Topologies: their trees of domains, and what sets of sub-groups ask of them.
#include "kai/api/keys.h"
#include "kai/base/text.h"
#include "kai/model/building/cluster_assembler.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

constexpr size_t kMostShapes = 8;  // of one topology that are counted when it is loaded

}  // namespace

void ClusterAssembler::Topologies(std::vector<TopologyRow> rows) {
  for (const TopologyRow* row :
       SortedAndUnique(&rows, "Topology", NameKey<TopologyRow>, &c_.rejections_)) {
    std::vector<NameId> levels;
    std::map<std::string, NameId>& aliases = aliases_[Name(row->name)];
    for (const TopologyRow::Level& level : row->levels) {
      levels.push_back(Name(level.node_label));
      if (!level.alias.empty()) aliases.emplace(level.alias, levels.back());
    }
    IndexVector<NodeId, DomainTree::Path> paths(node_rows_.size());
    for (const NodeId node : paths.ids()) paths[node] = PathOf(*node_rows_[node.index()], *row);
    c_.topologies_.Add(DomainTree(Name(row->name), std::move(levels), paths, c_.names_));
  }
}

void ClusterAssembler::SumDomains() {
  for (const DomainTree& tree : c_.topologies_.raw()) c_.domain_totals_.Add(DomainTotals(c_, tree));
  // Shapes that pods which wait ask in: each is counted once, for all who have it.
  const SubGroupColumns& sets = c_.sub_groups_;
  for (const PodId pod : c_.pods_.name.ids()) {
    if (c_.pods_.status[pod] != PodStatus::kPending) continue;
    const std::span<const double> request = c_.pod_classes_.request[c_.pods_.pod_class[pod]];
    for (SubGroupId set = c_.pods_.pod_set[pod]; set.valid(); set = sets.parent[set]) {
      if (!sets.topology[set].valid()) continue;
      const TopologyId tree = c_.topology_constraints_[sets.topology[set]].tree;
      if (!tree.valid()) continue;
      DomainTotals& totals = c_.domain_totals_[tree];
      if (totals.shapes.size() < kMostShapes && totals.FindShape(request) == nullptr)
        totals.shapes.emplace_back(c_, c_.topologies_[tree], request);
    }
  }
}

DomainTree::Path ClusterAssembler::PathOf(const NodeRow& node, const TopologyRow& topology) {
  DomainTree::Path path;
  for (const TopologyRow::Level& level : topology.levels) {
    const std::string* value = FindLabelText(node.labels, level.node_label);
    if (value == nullptr) break;
    path.push_back(Name(*value));
  }
  return path;
}

const DomainWishRow* ClusterAssembler::WishOf(const PodGroupRow& row) {
  const DomainWishRow& wish = row.domain_wish;
  if (!wish.Any()) return nullptr;
  const auto refuse = [&](std::string_view key, std::string message) {
    Reject("PodGroup", QualifiedName(row.namespace_name, row.name),
           StrCat("metadata.annotations[", key, "]"), std::move(message));
    return nullptr;
  };
  const std::string_view key = wish.least > 1  ? keys::kLeastDomains
                               : wish.most > 0 ? keys::kMostDomains
                                               : keys::kBalancedDomains;
  if (row.topology.topology.empty() || row.topology.preferred_level.empty())
    return refuse(key,
                  "counts domains of spec.topologyConstraint.preferredTopologyLevel, which is not "
                  "given");
  if (wish.most > 0 && wish.most < wish.least)
    return refuse(keys::kMostDomains, StrCat("is ", wish.most, ", less than the ", wish.least,
                                             " that ", keys::kLeastDomains, " asks for"));
  return &wish;
}

TopologyConstraintId ClusterAssembler::TopologyConstraintOf(const TopologyConstraintRow& row,
                                                            const DomainWishRow* wish) {
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
  if (wish != nullptr && constraint.preferred_depth > 0) {
    constraint.least_domains = static_cast<int32_t>(wish->least);
    constraint.most_domains = static_cast<int32_t>(wish->most);
    constraint.balanced = wish->balanced;
  }
  const auto [found, added] = topology_constraint_ids_.try_emplace(
      constraint, TopologyConstraintId(topology_constraint_ids_.size()));
  if (added) c_.topology_constraints_.Add(constraint);
  return found->second;
}

}  // namespace kai

#include "kai/model/building/topology_writer.h"

#include <utility>

#include "kai/api/keys.h"
#include "kai/base/text.h"
#include "kai/model/building/row_lookup.h"

namespace kai {

void TopologyWriter::Add(const TopologyRow& row, const std::vector<const NodeRow*>& nodes) {
  std::map<std::string, NameId>& aliases = aliases_[names_.Intern(row.name)];
  for (const TopologyRow::Level& level : row.levels) {
    const NameId label = names_.Intern(level.node_label);
    if (!level.alias.empty()) aliases.emplace(level.alias, label);
  }
  trees_.Add(TreeOf(row, nodes));
  rows_.push_back(row);
}

void TopologyWriter::Regroup(const std::vector<const NodeRow*>& nodes) {
  for (const TopologyId tree : trees_.ids()) trees_[tree] = TreeOf(rows_[tree.index()], nodes);
}

DomainTree TopologyWriter::TreeOf(const TopologyRow& row,
                                  const std::vector<const NodeRow*>& nodes) {
  std::vector<NameId> levels;
  for (const TopologyRow::Level& level : row.levels)
    levels.push_back(names_.Intern(level.node_label));
  IndexVector<NodeId, DomainTree::Path> paths;
  for (const NodeRow* node : nodes) paths.Add(PathOf(*node, row));
  return DomainTree(names_.Intern(row.name), std::move(levels), paths, names_);
}

DomainTree::Path TopologyWriter::PathOf(const NodeRow& node, const TopologyRow& topology) {
  DomainTree::Path path;
  for (const TopologyRow::Level& level : topology.levels) {
    const std::string* value = FindLabelText(node.labels, level.node_label);
    if (value == nullptr) break;
    path.push_back(names_.Intern(*value));
  }
  return path;
}

TopologyConstraintId TopologyWriter::ConstraintOf(const TopologyConstraintRow& row,
                                                  const DomainCountRow* count) {
  if (row.topology.empty()) return TopologyConstraintId();  // its levels do not matter
  TopologyConstraint constraint;
  constraint.topology = names_.Intern(row.topology);
  const auto aliases = aliases_.find(constraint.topology);
  for (const TopologyId tree : trees_.ids()) {
    if (trees_[tree].name() == constraint.topology) constraint.tree = tree;
  }
  const auto resolve = [&](const std::string& level, NameId* label, int32_t* depth) {
    if (level.empty()) return;
    *label = names_.Intern(level);
    if (aliases != aliases_.end()) {  // spec 4 T4
      const auto alias = aliases->second.find(level);
      if (alias != aliases->second.end()) *label = alias->second;
    }
    if (constraint.tree.valid()) *depth = trees_[constraint.tree].DepthOf(*label);
  };
  resolve(row.required_level, &constraint.required, &constraint.required_depth);
  resolve(row.preferred_level, &constraint.preferred, &constraint.preferred_depth);
  if (count != nullptr && constraint.preferred_depth > 0) {
    constraint.least_domains = static_cast<int32_t>(count->least);
    constraint.most_domains = static_cast<int32_t>(count->most);
    constraint.balanced = count->balanced;
  }
  return constraints_.Add(constraint);
}

const DomainCountRow* DomainCountOf(const CompactPodGroup& row,
                                    std::vector<Rejection>* rejections) {
  const DomainCountRow& count = row.spec->domain_count;
  if (!count.Any()) return nullptr;
  const auto refuse = [&](std::string_view key, std::string message) {
    rejections->push_back({.kind = "PodGroup",
                           .name = NameOf(row),
                           .field = StrCat("metadata.annotations[", key, "]"),
                           .message = std::move(message)});
    return nullptr;
  };
  const std::string_view key = count.least > 1  ? keys::kLeastDomains
                               : count.most > 0 ? keys::kMostDomains
                                                : keys::kBalancedDomains;
  if (row.spec->topology.topology.empty() || row.spec->topology.preferred_level.empty())
    return refuse(key,
                  "needs spec.topologyConstraint.preferredTopologyLevel, whose domains it "
                  "counts");
  if (count.most > 0 && count.most < count.least)
    return refuse(keys::kMostDomains, StrCat("is ", count.most, ", less than the ", count.least,
                                             " that ", keys::kLeastDomains, " requires"));
  return &count;
}

}  // namespace kai

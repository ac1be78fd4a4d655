#include "kai/model/topology.h"

#include <algorithm>

#include "kai/base/text.h"

namespace kai {

DomainTree::DomainTree(NameId name, std::vector<NameId> levels,
                       const IndexVector<NodeId, LabelSet>& labels_of_nodes, const Interner& names,
                       bool whole_nodes)
    : name_(name), levels_(std::move(levels)), domain_of_(labels_of_nodes.size()) {
  struct Place {
    std::vector<NameId> values;
    NodeId node;
  };
  std::vector<Place> places;
  for (const NodeId node : labels_of_nodes.ids()) {
    Place place{.values = {}, .node = node};
    for (const NameId level : levels_) {
      const NameId value = FindLabel(labels_of_nodes[node], level);
      if (!value.valid()) break;
      place.values.push_back(value);
    }
    const size_t least = whole_nodes ? levels_.size() : 1;
    if (place.values.size() >= least) places.push_back(std::move(place));
  }
  const auto is_lower = [&](NameId a, NameId b) { return a != b && names.Text(a) < names.Text(b); };
  std::sort(places.begin(), places.end(), [&](const Place& a, const Place& b) {
    if (a.values == b.values) return a.node < b.node;
    return std::lexicographical_compare(a.values.begin(), a.values.end(), b.values.begin(),
                                        b.values.end(), is_lower);
  });

  std::vector<TopologyDomainId> path;  // from the root to where the last node was put
  const auto open = [&](NameId value) {
    const TopologyDomainId parent = path.empty() ? TopologyDomainId() : path.back();
    const auto at = static_cast<int32_t>(node_list_.size());
    value_.Add(value);
    depth_.Add(static_cast<int32_t>(path.size()));
    end_.Add(TopologyDomainId());
    nodes_.Add({at, at});
    path.push_back(parent_.Add(parent));
  };
  const auto close = [&] {
    end_[path.back()] = TopologyDomainId(parent_.size());
    nodes_[path.back()].end = static_cast<int32_t>(node_list_.size());
    path.pop_back();
  };
  open(NameId());
  for (const Place& place : places) {
    size_t shared = 0;
    while (shared < place.values.size() && shared + 1 < path.size() &&
           value_[path[shared + 1]] == place.values[shared])
      ++shared;
    while (path.size() > shared + 1) close();
    while (path.size() < place.values.size() + 1) open(place.values[path.size() - 1]);
    domain_of_[place.node] = path.back();
    node_list_.push_back(place.node);
  }
  while (!path.empty()) close();
}

int32_t DomainTree::DepthOf(NameId label) const {
  const auto found = std::ranges::find(levels_, label);
  return found == levels_.end() ? -1 : static_cast<int32_t>(found - levels_.begin()) + 1;
}

TopologyDomainId DomainTree::AncestorAt(TopologyDomainId domain, int32_t depth) const {
  while (depth_[domain] > depth) domain = parent_[domain];
  return domain;
}

TopologyDomainId DomainTree::CommonOf(TopologyDomainId a, TopologyDomainId b) const {
  while (!Holds(a, b)) a = parent_[a];
  return a;
}

std::string DomainTree::Text(TopologyDomainId domain, const Interner& names) const {
  if (domain == kRoot) return "root";
  const std::string_view own = names.Text(value_[domain]);
  return parent_[domain] == kRoot ? std::string(own)
                                  : StrCat(Text(parent_[domain], names), ".", own);
}

}  // namespace kai

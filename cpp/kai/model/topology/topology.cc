#include "kai/model/topology/topology.h"

#include <algorithm>

#include "kai/base/heap_bytes.h"
#include "kai/base/text.h"

namespace kai {

DomainTree::DomainTree(NameId name, std::vector<NameId> levels,
                       const IndexVector<NodeId, Path>& paths, const Interner& names)
    : name_(name), levels_(std::move(levels)), domain_of_(paths.size()) {
  std::vector<NodeId> nodes;
  for (const NodeId node : paths.ids()) {
    if (!paths[node].empty()) nodes.push_back(node);
  }
  const auto is_lower = [&](NameId a, NameId b) { return a != b && names.Text(a) < names.Text(b); };
  std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
    if (paths[a] == paths[b]) return a < b;
    return std::lexicographical_compare(paths[a].begin(), paths[a].end(), paths[b].begin(),
                                        paths[b].end(), is_lower);
  });

  std::vector<TopologyDomainId> path;  // from the root to the domain of the last node
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
  for (const NodeId node : nodes) {
    const Path& values = paths[node];
    size_t shared = 0;
    while (shared < values.size() && shared + 1 < path.size() &&
           value_[path[shared + 1]] == values[shared])
      ++shared;
    while (path.size() > shared + 1) close();
    while (path.size() < values.size() + 1) open(values[path.size() - 1]);
    domain_of_[node] = path.back();
    node_list_.push_back(node);
  }
  while (!path.empty()) close();
}

DomainTree DomainTree::OfWholeNodes(const Interner& names) const {
  IndexVector<NodeId, Path> paths(domain_of_.size());
  for (const NodeId node : node_list_) {
    if (!IsWhole(node)) continue;
    for (int32_t at = 1; at <= depth(); ++at) paths[node].push_back(ValueAt(node, at));
  }
  return DomainTree(name_, levels_, paths, names);
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

size_t DomainTree::HeapBytes() const {
  return HeapBytesOfAll(levels_, value_, depth_, parent_, end_, nodes_, node_list_, domain_of_);
}

}  // namespace kai

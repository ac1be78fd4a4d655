#include "kai/placement/node_states.h"

#include <algorithm>
#include <span>

#include "kai/base/heap_bytes.h"

namespace kai {
namespace {

template <typename Value>
void AddBytes(std::span<const Value> values, std::string* key) {
  key->append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

}  // namespace

void NodeStates::Refresh() {
  if (version_ == touched_.version()) return;
  const size_t nodes = cluster_.nodes().size();
  of_node_.Resize(nodes, -1);  // new nodes are touched
  const auto number = [&](NodeId node) {
    if (node.index() < nodes) Number(node);
  };
  const bool is_crowded = states_.size() > 2 * nodes + 1024;
  if (is_crowded || !touched_.VisitSince(version_, nodes, number)) NumberAll();
  version_ = touched_.version();
}

void NodeStates::NumberAll() {
  ++generation_;
  states_.clear();
  of_node_ = IndexVector<NodeId, int32_t>(cluster_.nodes().size(), -1);
  for (const NodeId node : cluster_.nodes().name.ids()) Number(node);
}

void NodeStates::Number(NodeId node) {
  const NodeColumns& nodes = cluster_.nodes();
  const auto shared = static_cast<int32_t>(std::ranges::count_if(
      nodes.shared_gpus[node], [](const SharedGpu& each) { return each.used > 0; }));
  const int32_t numbers[] = {nodes.node_class[node].value(), shared};
  key_.clear();
  AddBytes<int32_t>(numbers, &key_);
  for (const auto* column : {&nodes.idle, &nodes.releasing, &nodes.used, &nodes.allocatable})
    AddBytes<double>((*column)[node], &key_);
  const auto known = states_.find(key_);
  of_node_[node] = known != states_.end()
                       ? known->second
                       : states_.emplace(key_, static_cast<int32_t>(states_.size())).first->second;
}

size_t NodeStates::HeapBytes() const { return HeapBytesOfAll(of_node_, states_, key_); }

}  // namespace kai

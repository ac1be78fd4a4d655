#include "kai/sim/node_fleet.h"

#include <utility>

namespace kai {

void NodeFleet::Fill(const std::vector<uint8_t>& absent) {
  states_.resize(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const auto node = static_cast<int32_t>(i);
    place_.emplace(nodes_[i].name, node);
    timeline_.node_names.push_back(nodes_[i].name);
    if (absent[i] != 0) {
      states_[i].supply = Supply::kAbsent;
      WritePresence(node, false, 0);
    } else {
      store_.Upsert(nodes_[i]);
      on_presence_(node, true);
    }
  }
}

void NodeFleet::Write(int32_t node) {
  NodeRow row = RowOf(node);
  row.unschedulable = row.unschedulable || Of(node).windows > 0;
  store_.Upsert(std::move(row));
}

void NodeFleet::RecordPresence(int32_t node, int64_t now_ns) {
  WritePresence(node, IsThere(node), now_ns);
  on_presence_(node, IsThere(node));
}

void NodeFleet::WritePresence(int32_t node, bool is_there, int64_t now_ns) {
  timeline_.nodes.at_ns.push_back(now_ns);
  timeline_.nodes.node.push_back(node);
  timeline_.nodes.is_there.push_back(is_there ? 1 : 0);
}

void NodeFleet::Record(int32_t node, NodeEvent event, int64_t now_ns) {
  timeline_.node_events.at_ns.push_back(now_ns);
  timeline_.node_events.node.push_back(node);
  timeline_.node_events.event.push_back(static_cast<uint8_t>(event));
}

bool NodeFleet::Goes(int32_t node, int64_t now_ns) {
  const bool was_there = IsThere(node);
  if (Of(node).supply != Supply::kProvided) return false;
  ++Of(node).outages;
  if (!was_there) return false;
  RecordPresence(node, now_ns);
  store_.Delete(Kind::kNode, RowOf(node).name);
  return true;
}

void NodeFleet::Comes(int32_t node, int64_t now_ns) {
  if (Of(node).outages == 0) return;  // it was not provided when the outage began
  if (--Of(node).outages != 0) return;
  Write(node);
  RecordPresence(node, now_ns);
}

void NodeFleet::Close(int32_t node, int64_t now_ns) {
  if (++Of(node).windows != 1) return;
  Record(node, NodeEvent::kCordoned, now_ns);
  if (IsThere(node)) Write(node);
}

void NodeFleet::Open(int32_t node, int64_t now_ns) {
  if (--Of(node).windows != 0) return;
  Record(node, NodeEvent::kUncordoned, now_ns);
  if (IsThere(node)) Write(node);
}

void NodeFleet::Order(int32_t node, int64_t now_ns) {
  Of(node).supply = Supply::kOrdered;
  Record(node, NodeEvent::kOrdered, now_ns);
}

void NodeFleet::MakeReady(int32_t node, int64_t now_ns) {
  Of(node).supply = Supply::kProvided;
  Write(node);
  Record(node, NodeEvent::kReady, now_ns);
  RecordPresence(node, now_ns);
}

void NodeFleet::Remove(int32_t node, int64_t now_ns) {
  Of(node).supply = Supply::kAbsent;
  store_.Delete(Kind::kNode, RowOf(node).name);
  Record(node, NodeEvent::kRemoved, now_ns);
  RecordPresence(node, now_ns);
}

}  // namespace kai

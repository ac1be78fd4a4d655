#include "kai/actions/search_bounds.h"

#include <algorithm>

#include "kai/model/columns/gpu_sums.h"
#include "kai/placement/room_count.h"

namespace kai {
namespace {

// Nothing is proved for a group with more classes: counting would cost more than it saves.
constexpr size_t kMostClasses = 16;

double GpusGivenBack(const Cluster& cluster, const Victim& victim) {
  return cluster.pods().gpus[victim.pod].empty()
             ? cluster.pods().LedgerGpus(victim.pod)
             : GpusHeldOn(cluster, cluster.pods().pod_class[victim.pod], victim.node);
}

}  // namespace

SearchBounds::SearchBounds(const CycleView& cycle, std::span<const PodId> pods)
    : cycle_(cycle),
      pods_(pods.begin(), pods.end()),
      slots_(cycle.cluster->nodes().idle.slots()),
      room_at_(cycle.cluster->nodes().size(), -1),
      is_changed_(cycle.cluster->nodes().size()) {
  const Cluster& cluster = *cycle.cluster;
  for (const PodId pod : pods_) {
    const PodClassId pod_class = cluster.pods().pod_class[pod];
    size_t at = 0;
    while (at < classes_.size() && classes_[at].pod_class != pod_class) ++at;
    if (at == classes_.size()) classes_.push_back({.pod_class = pod_class});
    if (classes_.size() > kMostClasses) {
      classes_.clear();
      break;
    }
  }
  const auto all = static_cast<double>(pods_.size());
  for (ClassCount& each : classes_) {
    std::vector<double> room(slots_);
    for (const NodeId node : cluster.nodes().name.ids()) {
      // As later rooms are counted, where a pod may have left a part of a device.
      double fit = 0;
      if (cluster.shares_gpus()) {
        FillRoom(cluster, node, room);
        fit = PodsThatFit(&cycle.search->plans(), cluster, each.pod_class, node, room);
      } else {
        fit = PodsThatFit(&cycle.search->plans(), cluster, each.pod_class, node);
      }
      each.free += std::min(fit, all);
    }
  }
}

double SearchBounds::HoldsOf(const ClassCount& count, NodeId node,
                             std::span<const double> room) const {
  return std::min(
      PodsThatFit(&cycle_.search->plans(), *cycle_.cluster, count.pod_class, node, room),
      static_cast<double>(pods_.size()));
}

void SearchBounds::AddRoom(NodeId node) {
  room_at_[node] = static_cast<int32_t>(touched_.size());
  touched_.push_back(node);
  rooms_.resize(touched_.size() * slots_);
  FillRoom(*cycle_.cluster, node, std::span(rooms_).last(slots_));
}

void SearchBounds::Free(const Victim& victim) {
  if (!victim.node.valid()) return;
  const Cluster& cluster = *cycle_.cluster;
  const std::span<double> room = RoomOf(victim.node);
  const std::span<const double> request = cluster.RequestOf(victim.pod);
  const std::span<const double> allocatable = cluster.nodes().allocatable[victim.node];
  for (size_t i = 0; i < slots_; ++i) {
    if (allocatable[i] == 0) continue;  // not tracked (spec 3 N3)
    room[i] += i == kGpuSlot.index() ? GpusGivenBack(cluster, victim) : request[i];
  }
}

void SearchBounds::ForgetRooms(size_t keep) {
  for (size_t i = keep; i < touched_.size(); ++i) room_at_[touched_[i]] = -1;
  touched_.resize(keep);
  rooms_.resize(keep * slots_);
}

bool SearchBounds::NeverFits(std::span<const PodGroupId> candidates) {
  const Cluster& cluster = *cycle_.cluster;
  ForgetRooms(0);
  each_on_one_node_ = true;
  for (const PodGroupId group : candidates) {
    NodeId its_node;
    for (const SubGroupId pod_set : cluster.pod_groups().PodSetsOf(group)) {
      for (const PodId victim : cycle_.order->PodsOf(pod_set)) {
        if (!IsActiveAllocated(cluster.pods().status[victim])) continue;
        const NodeId node = cluster.pods().node[victim];
        each_on_one_node_ = each_on_one_node_ && (!its_node.valid() || its_node == node);
        its_node = node;
        Free({.pod = victim, .node = node});
      }
    }
  }
  bool fits = classes_.empty();  // too many classes to prove anything
  for (const NodeId node : cluster.nodes().name.ids()) {
    for (ClassCount& each : classes_)
      each.most_on_one = std::max(each.most_on_one, HoldsOf(each, node, RoomOf(node)));
  }
  if (!classes_.empty()) fits = classes_.front().most_on_one >= 1;  // the class of the first pod
  ForgetRooms(0);
  return !fits;
}

bool SearchBounds::MayHoldWithOneNode() const {
  return !each_on_one_node_ ||
         std::all_of(classes_.begin(), classes_.end(), [](const ClassCount& each) {
           return each.held + each.most_on_one >= each.wanted;
         });
}

void SearchBounds::CountHeld(std::span<const NodeId> nodes, double sign,
                             std::vector<double>* held) {
  for (const NodeId node : nodes) {
    const std::span<const double> room = RoomOf(node);
    for (size_t i = 0; i < classes_.size(); ++i)
      (*held)[i] += sign * HoldsOf(classes_[i], node, room);
  }
}

void SearchBounds::StartPart(std::span<const PodId> pods, std::span<const Victim> recorded) {
  for (ClassCount& each : classes_) each.wanted = 0;
  size_t at = 0;
  for (const PodId pod : pods) {
    if (classes_.empty()) break;
    const PodClassId pod_class = cycle_.cluster->pods().pod_class[pod];
    while (classes_[at].pod_class != pod_class) at = (at + 1) % classes_.size();
    ++classes_[at].wanted;
  }
  ForgetRooms(0);
  std::vector<double> held(classes_.size());
  for (const Victim& victim : recorded) {
    if (victim.node.valid()) RoomOf(victim.node);
  }
  recorded_nodes_ = touched_.size();
  CountHeld(std::span(touched_).first(recorded_nodes_), -1, &held);
  for (const Victim& victim : recorded) Free(victim);
  CountHeld(std::span(touched_).first(recorded_nodes_), 1, &held);
  recorded_rooms_ = rooms_;
  for (size_t i = 0; i < classes_.size(); ++i) classes_[i].held = classes_[i].free + held[i];
}

bool SearchBounds::MayHold(std::span<const Victim> victims) {
  const auto enough = [](const ClassCount& each) { return each.held >= each.wanted; };
  if (std::all_of(classes_.begin(), classes_.end(), enough)) return true;
  // Replaces the old counts of the affected nodes with their new ones.
  changed_.clear();
  for (const Victim& victim : victims) {
    if (victim.node.valid() && !is_changed_[victim.node]) {
      is_changed_[victim.node] = 1;
      changed_.push_back(victim.node);
    }
  }
  std::vector<double> held(classes_.size());
  CountHeld(changed_, -1, &held);
  for (const Victim& victim : victims) Free(victim);
  CountHeld(changed_, 1, &held);
  for (const NodeId node : changed_) is_changed_[node] = 0;
  ForgetRooms(recorded_nodes_);
  std::copy(recorded_rooms_.begin(), recorded_rooms_.end(), rooms_.begin());
  for (size_t i = 0; i < classes_.size(); ++i) {
    if (classes_[i].held + held[i] < classes_[i].wanted) return false;
  }
  return true;
}

}  // namespace kai

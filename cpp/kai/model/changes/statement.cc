#include "kai/model/changes/statement.h"

#include <algorithm>

namespace kai {

std::unique_ptr<Statement> Statement::Open(Cluster* cluster, std::vector<Listener*> listeners) {
  if (cluster->statement_open_.exchange(true)) return nullptr;
  return std::unique_ptr<Statement>(new Statement(cluster, std::move(listeners)));
}

Statement::~Statement() {
  RollBackTo(0);
  undo_.reset();
  cluster_->statement_open_ = false;
}

void Statement::Place(PodId pod, NodeId node, const GpuList& gpus) {
  const PodStatus status = cluster_->pods_.status[pod];
  KAI_DCHECK(status == PodStatus::kPending)
      << cluster_->PodName(pod);  // an evicted pod can only be pipelined (spec 2 T3)
  Apply({.pod = pod,
         .from = status,
         .to = PodStatus::kAllocated,
         .from_node = NodeId(),
         .to_node = node},
        gpus);
}

void Statement::Pipeline(PodId pod, NodeId node, const GpuList& gpus) {
  const PodStatus status = cluster_->pods_.status[pod];
  KAI_DCHECK(status == PodStatus::kPending ||
             (status == PodStatus::kReleasing &&
              (cluster_->pods_.is_virtual[pod] != 0 ||
               (!WasEvicted(pod) && cluster_->pods_.node[pod] != node))))
      << cluster_->PodName(pod);
  const bool is_there = IsPlacedOn(pod, node, gpus);
  if (status == PodStatus::kReleasing && is_there && !IsMoveWithin(pod, node)) return Return(pod);
  Apply({.pod = pod,
         .from = status,
         .to = PodStatus::kPipelined,
         .from_node = cluster_->pods_.node[pod],
         .to_node = node,
         .to_other_gpus = cluster_->pods_.node[pod] == node && !is_there},
        gpus);
}

void Statement::Evict(PodId pod) {
  const PodStatus status = cluster_->pods_.status[pod];
  const bool is_second = status == PodStatus::kReleasing;
  const uint8_t is_virtual = cluster_->pods_.is_virtual[pod];
  KAI_DCHECK(is_second ? is_virtual != 0 : IsActiveAllocated(status)) << cluster_->PodName(pod);
  if (before_eviction_.size() < cluster_->pods_.size())
    before_eviction_.Resize(cluster_->pods_.size());
  saved_before_.push_back(before_eviction_[pod]);
  if (!is_second) before_eviction_[pod] = {.status = status, .is_virtual = is_virtual};
  ApplyInPlace(pod, PodStatus::kReleasing);
}

// An evicted pod held a node, so it was not pending before.
bool Statement::WasEvicted(PodId pod) const {
  return pod.index() < before_eviction_.size() &&
         before_eviction_[pod].status != PodStatus::kPending;
}

bool Statement::IsPlacedOn(PodId pod, NodeId node, const GpuList& gpus) const {
  const auto is_same = [&](const GpuList& own) {
    return own_devices_.in_any_order ? std::ranges::is_permutation(own, gpus) : own == gpus;
  };
  if (cluster_->pods_.node[pod] == node) {
    if (!undo_->IsUncounted(pod) && is_same(cluster_->pods_.gpus[pod])) return true;
    if (!own_devices_.all) return false;
  }
  for (auto left = left_.rbegin(); left != left_.rend(); ++left) {
    if (left->pod != pod || left->node != node) continue;
    if (is_same(left->gpus)) return true;
    if (!own_devices_.all) return false;
  }
  return false;
}

bool Statement::IsMoveWithin(PodId pod, NodeId node) const {
  return std::any_of(listeners_.begin(), listeners_.end(),
                     [&](const Listener* listener) { return listener->IsMoveWithin(pod, node); });
}

void Statement::Return(PodId pod) {
  const Before before = before_eviction_[pod];
  ApplyInPlace(pod, before.status);
  cluster_->pods_.is_virtual[pod] = before.is_virtual;
}

void Statement::Settle() {
  for (; settled_ < changes_.size(); ++settled_) {
    const Change& change = changes_[settled_];
    cluster_->pods_.is_virtual[change.pod] = 0;
    for (Listener* listener : listeners_) listener->Settled(change);
  }
}

void Statement::MarkStuck(PodId pod) {
  KAI_DCHECK(cluster_->pods_.status[pod] == PodStatus::kReleasing) << cluster_->PodName(pod);
  ApplyInPlace(pod, PodStatus::kStuckInReleasing);
}

void Statement::RollBackTo(Checkpoint checkpoint) {
  KAI_CHECK(checkpoint <= changes_.size());
  settled_ = std::min(settled_, checkpoint);
  while (changes_.size() > checkpoint) {
    const Change change = changes_.back();
    Undo(change);
    changes_.pop_back();
    was_virtual_.pop_back();
    for (auto listener = listeners_.rbegin(); listener != listeners_.rend(); ++listener) {
      (*listener)->Undone(change);
    }
  }
}

void Statement::Commit() {
  undo_->Clear();
  changes_.clear();
  was_virtual_.clear();
  left_.clear();
  saved_before_.clear();
}

void Statement::ApplyInPlace(PodId pod, PodStatus to) {
  const NodeId node = cluster_->pods_.node[pod];
  const GpuList gpus = cluster_->pods_.gpus[pod];  // a copy, because the change writes them
  Apply({.pod = pod,
         .from = cluster_->pods_.status[pod],
         .to = to,
         .from_node = node,
         .to_node = node},
        gpus);
}

void Statement::Apply(const Change& change, const GpuList& gpus) {
  PodColumns& pods = cluster_->pods_;
  // A moved pod keeps its old place releasing: only the columns of the new node change.
  if (change.from_node.valid() && !change.Stays())
    left_.push_back({.pod = change.pod, .node = change.from_node, .gpus = pods.gpus[change.pod]});
  if (change.to_node.valid()) {
    undo_->Save(change, gpus);
    if (change.Stays()) {
      occupancy_.ChangeStatus(change.pod, change.to_node, change.from, change.to);
    } else {
      occupancy_.Occupy(change.pod, change.to_node, change.to, gpus);
    }
  }
  if (!cluster_->claims_.empty() && !change.IsSecondEviction()) cluster_->claims_.Apply(change);
  was_virtual_.push_back(pods.is_virtual[change.pod]);
  pods.status[change.pod] = change.to;
  pods.node[change.pod] = change.to_node;
  pods.is_virtual[change.pod] = 1;
  if (const SubGroupId pod_set = pods.pod_set[change.pod]; pod_set.valid()) {
    StatusCounts& counts = cluster_->sub_groups_.counts[pod_set];
    --counts[change.from];
    ++counts[change.to];
    counts.evicted_again += change.IsSecondEviction() ? 1 : 0;
  }
  changes_.push_back(change);
  for (Listener* listener : listeners_) listener->Applied(change);
}

void Statement::Undo(const Change& change) {
  PodColumns& pods = cluster_->pods_;
  if (const SubGroupId pod_set = pods.pod_set[change.pod]; pod_set.valid()) {
    StatusCounts& counts = cluster_->sub_groups_.counts[pod_set];
    ++counts[change.from];
    --counts[change.to];
    counts.evicted_again -= change.IsSecondEviction() ? 1 : 0;
  }
  if (change.from_node.valid() && !change.Stays()) left_.pop_back();
  if (change.to == PodStatus::kReleasing) {
    before_eviction_[change.pod] = saved_before_.back();
    saved_before_.pop_back();
  }
  pods.status[change.pod] = change.from;
  pods.node[change.pod] = change.from_node;
  pods.is_virtual[change.pod] = was_virtual_.back();
  if (!cluster_->claims_.empty() && !change.IsSecondEviction()) cluster_->claims_.Undo(change);
  if (!change.to_node.valid()) return;
  if (change.Stays()) {
    occupancy_.UncountStatusChange(change.pod, change.to_node, change.from, change.to);
  } else {
    occupancy_.UncountOccupy(change.pod, change.to_node, change.to);
  }
  undo_->Restore(change);
}

}  // namespace kai

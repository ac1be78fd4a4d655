#include "kai/model/statement.h"

#include <algorithm>

namespace kai {

std::unique_ptr<Statement> Statement::Open(Cluster* cluster, std::vector<Listener*> listeners) {
  if (cluster->statement_open_.exchange(true)) return nullptr;
  return std::unique_ptr<Statement>(new Statement(cluster, std::move(listeners)));
}

Statement::~Statement() {
  RollBackTo(0);
  cluster_->statement_open_ = false;
}

void Statement::Place(PodId pod, NodeId node) {
  const PodStatus status = cluster_->pods_.status[pod];
  KAI_DCHECK(status == PodStatus::kPending)
      << cluster_->PodName(pod);  // an evicted pod can only be pipelined (spec 2 T3)
  Apply({.pod = pod,
         .from = status,
         .to = PodStatus::kAllocated,
         .from_node = NodeId(),
         .to_node = node});
}

void Statement::Pipeline(PodId pod, NodeId node) {
  const PodStatus status = cluster_->pods_.status[pod];
  KAI_DCHECK(status == PodStatus::kPending ||
             (status == PodStatus::kReleasing && cluster_->pods_.is_virtual[pod] != 0))
      << cluster_->PodName(pod);
  if (status == PodStatus::kReleasing && StandsOn(pod, node)) return Return(pod);
  Apply({.pod = pod,
         .from = status,
         .to = PodStatus::kPipelined,
         .from_node = cluster_->pods_.node[pod],
         .to_node = node});
}

void Statement::Evict(PodId pod) {
  const PodStatus status = cluster_->pods_.status[pod];
  const NodeId node = cluster_->pods_.node[pod];
  KAI_DCHECK(IsActiveAllocated(status)) << cluster_->PodName(pod);
  if (before_eviction_.size() < cluster_->pods_.size())
    before_eviction_.Resize(cluster_->pods_.size());
  saved_before_.push_back(before_eviction_[pod]);
  before_eviction_[pod] = {.status = status, .is_virtual = cluster_->pods_.is_virtual[pod]};
  Apply({.pod = pod,
         .from = status,
         .to = PodStatus::kReleasing,
         .from_node = node,
         .to_node = node});
}

bool Statement::StandsOn(PodId pod, NodeId node) const {
  return cluster_->pods_.node[pod] == node ||
         std::find(left_.begin(), left_.end(), std::pair(pod, node)) != left_.end();
}

void Statement::Return(PodId pod) {
  const NodeId node = cluster_->pods_.node[pod];
  const Before before = before_eviction_[pod];
  Apply({.pod = pod,
         .from = PodStatus::kReleasing,
         .to = before.status,
         .from_node = node,
         .to_node = node});
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
  const NodeId node = cluster_->pods_.node[pod];
  KAI_DCHECK(cluster_->pods_.status[pod] == PodStatus::kReleasing) << cluster_->PodName(pod);
  Apply({.pod = pod,
         .from = PodStatus::kReleasing,
         .to = PodStatus::kStuckInReleasing,
         .from_node = node,
         .to_node = node});
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
      (*listener)->Undone(change, &saved_by_listeners_);
    }
  }
}

void Statement::Commit() {
  changes_.clear();
  was_virtual_.clear();
  left_.clear();
  saved_before_.clear();
  saved_ledgers_.Clear();
  saved_by_listeners_.Clear();
}

void Statement::Apply(const Change& change) {
  PodColumns& pods = cluster_->pods_;
  const PodClass& pod_class = cluster_->ClassOf(change.pod);
  // A pod that moves leaves its old place releasing: only the new node's ledger changes.
  const bool moves = change.from_node.valid() && change.from_node != change.to_node;
  if (moves) left_.emplace_back(change.pod, change.from_node);
  if (change.to_node.valid()) {
    SaveLedger(change.to_node);
    const bool was_there = change.from_node.valid() && !moves;
    Charge(change.pod, change.to_node,
           WeightOf(change.to) - (was_there ? WeightOf(change.from) : LedgerWeight()));
    if (!was_there && !cluster_->affinity_.empty())
      cluster_->affinity_.Count(pod_class, change.to_node, 1);
  }
  if (!cluster_->claims_.empty()) cluster_->claims_.Apply(change, LedgerOf(change.to_node));
  was_virtual_.push_back(pods.is_virtual[change.pod]);
  pods.status[change.pod] = change.to;
  pods.node[change.pod] = change.to_node;
  pods.is_virtual[change.pod] = 1;
  if (const SubGroupId pod_set = pods.pod_set[change.pod]; pod_set.valid()) {
    StatusCounts& counts = cluster_->sub_groups_.counts[pod_set];
    --counts[change.from];
    ++counts[change.to];
  }
  changes_.push_back(change);
  for (Listener* listener : listeners_) listener->Applied(change, &saved_by_listeners_);
}

void Statement::Undo(const Change& change) {
  PodColumns& pods = cluster_->pods_;
  if (const SubGroupId pod_set = pods.pod_set[change.pod]; pod_set.valid()) {
    StatusCounts& counts = cluster_->sub_groups_.counts[pod_set];
    ++counts[change.from];
    --counts[change.to];
  }
  if (change.from_node.valid() && change.from_node != change.to_node) left_.pop_back();
  if (change.to == PodStatus::kReleasing) {
    before_eviction_[change.pod] = saved_before_.back();
    saved_before_.pop_back();
  }
  pods.status[change.pod] = change.from;
  pods.node[change.pod] = change.from_node;
  pods.is_virtual[change.pod] = was_virtual_.back();
  if (!cluster_->claims_.empty()) cluster_->claims_.Undo(change);
  if (change.to_node.valid()) {
    const bool was_there = change.from_node.valid() && change.from_node == change.to_node;
    if (!was_there && !cluster_->affinity_.empty())
      cluster_->affinity_.Count(cluster_->ClassOf(change.pod), change.to_node, -1);
    RestoreLedger(change.to_node);
  }
}

void Statement::SaveLedger(NodeId node) {
  const NodeColumns& nodes = cluster_->nodes_;
  const size_t slots = nodes.idle.slots();
  double* saved = saved_ledgers_.Push(3 * slots);
  for (const auto* table : {&nodes.idle, &nodes.releasing, &nodes.used})
    saved = std::copy_n((*table)[node].data(), slots, saved);
}

void Statement::RestoreLedger(NodeId node) {
  NodeColumns& nodes = cluster_->nodes_;
  const size_t slots = nodes.idle.slots();
  const double* saved = saved_ledgers_.Pop(3 * slots);
  for (auto* table : {&nodes.idle, &nodes.releasing, &nodes.used}) {
    std::copy_n(saved, slots, (*table)[node].data());
    saved += slots;
  }
}

void Statement::Charge(PodId pod, NodeId node, const LedgerWeight& weight) {
  ChargeLedger(LedgerOf(node), cluster_->RequestOf(pod), cluster_->pods_.ledger_gpus[pod], weight);
}

LedgerRow Statement::LedgerOf(NodeId node) {
  if (!node.valid()) return {};
  NodeColumns& nodes = cluster_->nodes_;
  return {.allocatable = nodes.allocatable[node],
          .idle = nodes.idle[node],
          .releasing = nodes.releasing[node],
          .used = nodes.used[node]};
}

}  // namespace kai

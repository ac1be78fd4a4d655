#include "kai/model/statement.h"

#include <algorithm>

namespace kai {

std::unique_ptr<Statement> Statement::Open(Cluster* cluster, std::vector<Listener*> listeners) {
  if (cluster->statement_open_.exchange(true)) return nullptr;
  return std::unique_ptr<Statement>(new Statement(cluster, std::move(listeners)));
}

Statement::~Statement() {
  RollBackTo(0);
  if (exact_) {
    cluster_->nodes_.idle = std::move(exact_->idle);
    cluster_->nodes_.releasing = std::move(exact_->releasing);
    cluster_->nodes_.used = std::move(exact_->used);
    cluster_->nodes_.shared_gpus = std::move(exact_->shared_gpus);
  }
  cluster_->statement_open_ = false;
}

void Statement::KeepTraces() {
  KAI_CHECK(changes_.empty()) << "what was changed before would be counted back as well";
  const NodeColumns& nodes = cluster_->nodes_;
  exact_ = Exact{.idle = nodes.idle,
                 .releasing = nodes.releasing,
                 .used = nodes.used,
                 .shared_gpus = nodes.shared_gpus};
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
             (status == PodStatus::kReleasing && cluster_->pods_.is_virtual[pod] != 0))
      << cluster_->PodName(pod);
  const bool is_there = StandsOn(pod, node, gpus);
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
  KAI_DCHECK(IsActiveAllocated(status)) << cluster_->PodName(pod);
  if (before_eviction_.size() < cluster_->pods_.size())
    before_eviction_.Resize(cluster_->pods_.size());
  saved_before_.push_back(before_eviction_[pod]);
  before_eviction_[pod] = {.status = status, .is_virtual = cluster_->pods_.is_virtual[pod]};
  ApplyInPlace(pod, PodStatus::kReleasing);
}

void Statement::EvictAgain(PodId pod) {
  KAI_DCHECK(cluster_->pods_.status[pod] == PodStatus::kReleasing &&
             cluster_->pods_.is_virtual[pod] != 0)
      << cluster_->PodName(pod);
  ApplyInPlace(pod, PodStatus::kReleasing);
}

bool Statement::StandsOn(PodId pod, NodeId node, const GpuList& gpus) const {
  const auto is_same = [&](const GpuList& own) {
    return own_devices_.in_any_order ? std::ranges::is_permutation(own, gpus) : own == gpus;
  };
  if (cluster_->pods_.node[pod] == node) {
    if (!IsForgotten(pod) && is_same(cluster_->pods_.gpus[pod])) return true;
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
      (*listener)->Undone(change, &saved_by_listeners_);
    }
  }
}

void Statement::Commit() {
  KAI_CHECK(!exact_) << "traces last until the statement ends";
  changes_.clear();
  was_virtual_.clear();
  left_.clear();
  saved_before_.clear();
  saved_ledgers_.Clear();
  saved_sharing_.clear();
  saved_gpus_.clear();
  saved_by_listeners_.Clear();
}

void Statement::ApplyInPlace(PodId pod, PodStatus to) {
  const NodeId node = cluster_->pods_.node[pod];
  const GpuList gpus = cluster_->pods_.gpus[pod];  // which the change is about to write
  Apply({.pod = pod,
         .from = cluster_->pods_.status[pod],
         .to = to,
         .from_node = node,
         .to_node = node},
        gpus);
}

void Statement::Apply(const Change& change, const GpuList& gpus) {
  PodColumns& pods = cluster_->pods_;
  const PodClass& pod_class = cluster_->ClassOf(change.pod);
  // A pod that moves leaves its old place releasing: only the new node's ledger changes.
  if (change.from_node.valid() && !change.Stays())
    left_.push_back({.pod = change.pod, .node = change.from_node, .gpus = pods.gpus[change.pod]});
  if (change.to_node.valid()) {
    const bool was_there = change.Stays();
    if (!exact_) SaveLedger(change.to_node);
    if (pod_class.gpu.IsShared()) ShareGpus(change, gpus);
    Charge(change.pod, change.to_node,
           WeightOf(change.to) - (was_there ? WeightOf(change.from) : LedgerWeight()));
    if (!was_there && !cluster_->affinity_.empty())
      cluster_->affinity_.Count(pod_class, change.to_node, 1);
  }
  if (!cluster_->claims_.empty() && !change.IsSecondEviction())
    cluster_->claims_.Apply(
        change, change.to_node.valid() ? cluster_->LedgerOf(change.to_node) : LedgerRow());
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
  if (change.from_node.valid() && !change.Stays()) left_.pop_back();
  if (change.to == PodStatus::kReleasing && !change.IsSecondEviction()) {
    before_eviction_[change.pod] = saved_before_.back();
    saved_before_.pop_back();
  }
  pods.status[change.pod] = change.from;
  pods.node[change.pod] = change.from_node;
  pods.is_virtual[change.pod] = was_virtual_.back();
  if (!cluster_->claims_.empty() && !change.IsSecondEviction()) cluster_->claims_.Undo(change);
  if (change.to_node.valid()) {
    const PodClass& pod_class = cluster_->ClassOf(change.pod);
    if (!change.Stays() && !cluster_->affinity_.empty())
      cluster_->affinity_.Count(pod_class, change.to_node, -1);
    if (exact_) CountBack(change);
    if (pod_class.gpu.IsShared()) UnshareGpus(change);
    if (!exact_) RestoreLedger(change.to_node);
  }
}

void Statement::CountBack(const Change& change) {
  PodColumns& pods = cluster_->pods_;
  const NodeId node = change.to_node;
  const bool is_shared = cluster_->ClassOf(change.pod).gpu.IsShared();
  const GpuList gpus = is_shared ? pods.gpus[change.pod] : GpuList();
  const int64_t mib = is_shared ? cluster_->MibPerGpu(pods.pod_class[change.pod], node) : 0;
  const GpuLedger ledger = cluster_->GpuLedgerOf(node);
  std::vector<SharedGpu>& listed = cluster_->nodes_.shared_gpus[node];
  const bool comes_anew = change.Stays() && std::erase(forgotten_, change.pod) > 0;
  if (!comes_anew) {
    Charge(change.pod, node, LedgerWeight() - WeightOf(change.to));
    for (const int32_t gpu : gpus)
      RemoveSharer(ledger, &listed[static_cast<size_t>(gpu)], mib, change.to);
  }
  if (change.Stays()) {
    Charge(change.pod, node, WeightOf(change.from));
    for (const int32_t gpu : gpus)
      AddSharer(ledger, &listed[static_cast<size_t>(gpu)], mib, change.from);
  }
  if (change.to_other_gpus && !IsForgotten(change.pod)) forgotten_.push_back(change.pod);
}

bool Statement::IsForgotten(PodId pod) const {
  return std::find(forgotten_.begin(), forgotten_.end(), pod) != forgotten_.end();
}

void Statement::ShareGpus(const Change& change, const GpuList& gpus) {
  NodeColumns& nodes = cluster_->nodes_;
  const NodeId node = change.to_node;
  std::vector<SharedGpu>& listed = nodes.shared_gpus[node];
  saved_sharing_.push_back({.gpus = cluster_->pods_.gpus[change.pod], .listed = listed.size()});
  for (const int32_t gpu : gpus) {
    if (static_cast<size_t>(gpu) >= listed.size()) listed.resize(static_cast<size_t>(gpu) + 1);
    saved_gpus_.push_back(listed[static_cast<size_t>(gpu)]);
  }
  const GpuLedger ledger = cluster_->GpuLedgerOf(node);
  const int64_t mib = cluster_->MibPerGpu(cluster_->pods_.pod_class[change.pod], node);
  if (change.Stays()) {
    for (const int32_t gpu : gpus)
      RemoveSharer(ledger, &listed[static_cast<size_t>(gpu)], mib, change.from);
  }
  for (const int32_t gpu : gpus)
    AddSharer(ledger, &listed[static_cast<size_t>(gpu)], mib, change.to);
  cluster_->pods_.gpus[change.pod] = gpus;
}

void Statement::UnshareGpus(const Change& change) {
  std::vector<SharedGpu>& listed = cluster_->nodes_.shared_gpus[change.to_node];
  GpuList& gpus = cluster_->pods_.gpus[change.pod];
  for (auto gpu = gpus.rbegin(); gpu != gpus.rend(); ++gpu) {
    if (!exact_) listed[static_cast<size_t>(*gpu)] = saved_gpus_.back();
    saved_gpus_.pop_back();
  }
  listed.resize(saved_sharing_.back().listed);
  gpus = std::move(saved_sharing_.back().gpus);
  saved_sharing_.pop_back();
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
  ChargeLedger(cluster_->LedgerOf(node), cluster_->RequestOf(pod), cluster_->pods_.LedgerGpus(pod),
               weight);
}

}  // namespace kai

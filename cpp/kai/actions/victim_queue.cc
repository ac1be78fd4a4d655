#include "kai/actions/victim_queue.h"

#include <algorithm>
#include <tuple>

#include "kai/actions/job_order.h"

namespace kai {

VictimPool::VictimPool(const CycleView& cycle, const Candidates& candidates)
    : cycle_(cycle), sorted_(cycle.cluster->queues().size()), heaps_(cycle.cluster->queues()) {
  const Cluster& cluster = *cycle.cluster;
  Groups created(cluster.queues().size());
  if (VictimLists* lists = candidates.lists()) {
    for (const QueueId leaf : candidates.queues()) {
      created[leaf] = lists->In(leaf);
      sorted_[leaf] = lists->SortedIn(leaf);
    }
    EnterLeaves(candidates.queues(), created);
    return;
  }
  own_ = IndexVector<QueueId, std::vector<PodGroupId>>(cluster.queues().size());
  std::vector<QueueId> leaves;
  for (const PodGroupId group : candidates.All()) {
    std::vector<PodGroupId>& groups = own_[cluster.pod_groups().queue[group]];
    if (groups.empty()) leaves.push_back(cluster.pod_groups().queue[group]);
    groups.push_back(group);
  }
  for (const QueueId leaf : leaves) created[leaf] = own_[leaf];
  EnterLeaves(leaves, created);
  for (const QueueId leaf : leaves) {
    SortVictims(cycle, &own_[leaf]);
    sorted_[leaf] = own_[leaf];
  }
}

void VictimPool::EnterLeaves(const std::vector<QueueId>& leaves, const Groups& created) {
  const CycleView& cycle = cycle_;
  const Cluster& cluster = *cycle.cluster;
  const auto goes_first = [&](PodGroupId a, PodGroupId b) {
    return IsVictimBefore(cycle, a, cycle.order->ElasticStateOf(a), b,
                          cycle.order->ElasticStateOf(b));
  };
  // The heaps of queues get the layout that results from adding groups one by one: a queue is added
  // with its first group, and compared with what the others have so far.
  IndexVector<QueueId, PodGroupId> first(cluster.queues().size());
  const auto queue_less = [&](QueueId a, QueueId b) {
    const auto contender = [&](QueueId queue) {
      return QueueContender{.queue = (*cycle.shares)[queue],
                            .priority = cluster.queues().priority[queue],
                            .created_ns = cluster.queues().created_ns[queue],
                            .candidate = {},
                            .victims = AllocatedOf(first[heaps_.LeafOf(queue)], nullptr)};
    };
    if (!cycle.worklist.by_fair_share) {
      return std::tuple(cluster.queues().created_ns[a], cluster.Text(cluster.queues().name[a])) >=
             std::tuple(cluster.queues().created_ns[b], cluster.Text(cluster.queues().name[b]));
    }
    return !GoesFirst(contender(a), contender(b), cycle.shares->total());
  };
  const IndexVector<PodGroupId, int64_t>& rank = cluster.pod_groups().creation_rank;
  std::vector<size_t> looked_at(leaves.size());  // number of checked groups of each leaf
  for (const QueueId entering : leaves) {
    for (size_t i = 0; i < leaves.size() && leaves.size() > 1; ++i) {
      const std::span<const PodGroupId> groups = created[leaves[i]];
      PodGroupId& its = first[leaves[i]];
      for (size_t& at = looked_at[i]; at < groups.size(); ++at) {
        if (rank[groups[at]] > rank[created[entering].front()]) break;
        if (!its.valid() || goes_first(groups[at], its)) its = groups[at];
      }
    }
    first[entering] = first[entering].valid() ? first[entering] : created[entering].front();
    heaps_.Enter(entering, queue_less);
  }
}

QuotaCount VictimPool::AllocatedOf(PodGroupId group,
                                   const IndexVector<PodId, uint8_t>* gone) const {
  const Cluster& cluster = *cycle_.cluster;
  QuotaCount allocated;
  for (const SubGroupId pod_set : cluster.pod_groups().PodSetsOf(group)) {
    for (const PodId pod : cycle_.order->PodsOf(pod_set)) {
      if (!IsAllocated(cluster.pods().status[pod]) || (gone != nullptr && (*gone)[pod] != 0))
        continue;
      // By its request; a request for GPU memory counts as no GPU (spec 1 W11).
      const PodClass& its = cluster.ClassOf(pod);
      allocated +=
          its.gpu.kind == GpuRequestKind::kMemory ? its.requested.WithGpus(0) : its.requested;
    }
  }
  return allocated;
}

VictimPool::~VictimPool() = default;

std::optional<VictimBatch> VictimPool::BatchAt(size_t index) {
  if (sequencer_ == nullptr) sequencer_ = std::make_unique<VictimQueue>(this);
  const PodMarks none(0);
  while (sequence_.size() <= index) {
    const std::optional<VictimBatch> batch = sequencer_->Next(none);
    if (!batch) return std::nullopt;
    const size_t begin = sequence_pods_.size();
    sequence_pods_.insert(sequence_pods_.end(), batch->pods.begin(), batch->pods.end());
    sequence_.push_back({.group = batch->group, .begin = begin, .end = sequence_pods_.size()});
  }
  const Found& found = sequence_[index];
  return VictimBatch{
      .group = found.group,
      .pods = std::span(sequence_pods_).subspan(found.begin, found.end - found.begin)};
}

bool VictimPool::GivesAllAtOnce(PodGroupId group) const {
  const Cluster& cluster = *cycle_.cluster;
  int32_t pods = 0;
  for (const SubGroupId pod_set : cluster.pod_groups().PodSetsOf(group)) {
    pods += cluster.sub_groups().pods[pod_set].size();
  }
  if (pods == 1) return true;
  std::vector<PodId> batch;
  cycle_.order->NextToEvict(group, nullptr, &batch);
  return batch.size() == static_cast<size_t>(pods);
}

VictimQueue::VictimQueue(const VictimPool* pool)
    : pool_(*pool),
      gone_(pool->cycle_.cluster->pods().size()),
      heaps_(pool->heaps_),
      leaves_(pool->sorted_.size()),
      taken_(pool->sorted_.size()),
      known_(pool->sorted_.size()) {}

bool VictimQueue::RestGoesFirst(const Rest& a, const Rest& b) const {
  return IsVictimBefore(pool_.cycle_, a.group, a.state, b.group, b.state);
}

bool VictimQueue::IsEmpty(QueueId leaf) const {
  return leaves_[leaf].next == pool_.sorted_[leaf].size() && leaves_[leaf].rests.empty();
}

VictimQueue::Rest VictimQueue::TopOf(QueueId leaf) const {
  const Leaf& entry = leaves_[leaf];
  if (entry.next == pool_.sorted_[leaf].size()) return entry.rests.Top();
  const PodGroupId group = pool_.sorted_[leaf][entry.next];
  const Rest fresh{.group = group, .state = pool_.cycle_.order->ElasticStateOf(group)};
  return !entry.rests.empty() && RestGoesFirst(entry.rests.Top(), fresh) ? entry.rests.Top()
                                                                         : fresh;
}

std::pair<PodGroupId, bool> VictimQueue::PopFrom(QueueId leaf) {
  Leaf& entry = leaves_[leaf];
  const PodGroupId group = TopOf(leaf).group;
  const bool comes_back = !entry.rests.empty() && entry.rests.Top().group == group;
  if (comes_back) {
    entry.rests.Pop([this](const Rest& a, const Rest& b) { return RestGoesFirst(a, b); });
  } else {
    ++entry.next;
  }
  return {group, comes_back};
}

void VictimQueue::Forget(QueueId leaf) {
  for (QueueId queue = leaf; queue.valid(); queue = pool_.cycle_.cluster->queues().parent[queue])
    known_[queue].reset();
}

const QueueStanding& VictimQueue::StandingOf(QueueId queue) {
  std::optional<QueueStanding>& known = known_[queue];
  if (known) return *known;
  const CycleView& cycle = pool_.cycle_;
  const QueueColumns& queues = cycle.cluster->queues();
  const QueueId leaf = heaps_.LeafOf(queue);
  // KAI counts a whole group each time it was in the heap, and in inner queues only the groups of
  // the leaf that represents it (spec 1 W13).
  QuotaCount victims =
      cycle.switches->on(Switch::kVictimShares) ? taken_[queue] : leaves_[leaf].popped;
  victims += pool_.AllocatedOf(TopOf(leaf).group, &gone_.all());
  return known.emplace(QueueContender{.queue = (*cycle.shares)[queue],
                                      .priority = queues.priority[queue],
                                      .created_ns = queues.created_ns[queue],
                                      .candidate = {},
                                      .victims = victims},
                       cycle.shares->total());
}

bool VictimQueue::QueueGoesFirst(QueueId a, QueueId b) {
  const CycleView& cycle = pool_.cycle_;
  const QueueColumns& queues = cycle.cluster->queues();
  if (!cycle.worklist.by_fair_share) {
    return std::tuple(queues.created_ns[a], cycle.cluster->Text(queues.name[a])) >=
           std::tuple(queues.created_ns[b], cycle.cluster->Text(queues.name[b]));
  }
  return !GoesFirst(StandingOf(a), StandingOf(b));
}

void VictimQueue::PushBack(PodGroupId group) {
  const QueueId leaf = pool_.cycle_.cluster->pod_groups().queue[group];
  leaves_[leaf].rests.Push(
      {.group = group, .state = pool_.cycle_.order->ElasticStateWithout(group, gone_.all())},
      [this](const Rest& a, const Rest& b) { return RestGoesFirst(a, b); });
  Forget(leaf);
  heaps_.Enter(leaf, [this](QueueId a, QueueId b) { return QueueGoesFirst(a, b); });
}

std::optional<VictimBatch> VictimQueue::Next(const PodMarks& recorded) {
  const CycleView& cycle = pool_.cycle_;
  const auto queue_less = [this](QueueId a, QueueId b) { return QueueGoesFirst(a, b); };
  while (!heaps_.empty()) {
    const QueueId leaf = heaps_.Best(queue_less);
    const auto [group, comes_back] = PopFrom(leaf);
    const IndexVector<PodId, uint8_t>* gone = comes_back ? &gone_.all() : nullptr;
    if (!cycle.switches->on(Switch::kVictimShares))
      leaves_[leaf].popped += pool_.AllocatedOf(group, gone);
    Forget(leaf);
    heaps_.Leave(leaf, IsEmpty(leaf), queue_less);
    Forget(leaf);  // another leaf may now represent the queues above

    batch_.clear();
    const bool more = cycle.order->NextToEvict(group, gone, &batch_);
    const bool is_recorded =
        !recorded.empty() &&
        std::any_of(batch_.begin(), batch_.end(), [&](PodId pod) { return recorded[pod] != 0; });
    if (is_recorded) {
      if (TakeRecorded(group, recorded)) PushBack(group);
      continue;
    }
    if (batch_.empty()) continue;
    for (const PodId pod : batch_) Take(pod, leaf);
    if (more) PushBack(group);
    return VictimBatch{.group = group, .pods = batch_};
  }
  return std::nullopt;
}

void VictimQueue::Take(PodId pod, QueueId leaf) {
  const Cluster& cluster = *pool_.cycle_.cluster;
  gone_.Set(pod);
  Forget(leaf);
  if (!IsAllocated(cluster.pods().status[pod])) return;
  for (QueueId queue = leaf; queue.valid(); queue = cluster.queues().parent[queue])
    taken_[queue] += cluster.ClassOf(pod).requested;
}

bool VictimQueue::TakeRecorded(PodGroupId group, const PodMarks& recorded) {
  const Cluster& cluster = *pool_.cycle_.cluster;
  bool any_left = false;  // with any status
  for (const SubGroupId pod_set : cluster.pod_groups().PodSetsOf(group)) {
    for (const PodId pod : pool_.cycle_.order->PodsOf(pod_set)) {
      if (gone_[pod] != 0) continue;
      if (recorded[pod] != 0) {
        Take(pod, cluster.pod_groups().queue[group]);
      } else {
        any_left = true;
      }
    }
  }
  return any_left;
}

}  // namespace kai

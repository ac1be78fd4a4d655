// VictimQueue: the order in which pods become victims (spec 2 O4, spec 1 F108, F109).
//
//   VictimPool pool(cycle->view, Candidates(candidates));   // once per search
//   VictimQueue queue(&pool);                      // a new one per probe
//   while (const std::optional<VictimBatch> batch = queue.Next(marks)) {
//
// The queue that is most above its deserved share comes first; in it the lowest priority, then
// groups above their minimum, then the youngest. A group gives up one batch at a time and returns
// with the rest (spec 2 G14, V8).
//
// Invariants: no pod is in two batches of one queue; a pool and its queues are valid as long as the
// cluster has the same state, so changes must be undone before the next use. Cost: the pool sorts
// and compares once; a queue made of it costs O(what is taken from it). Not thread-safe.
#ifndef KAI_ACTIONS_VICTIM_QUEUE_H_
#define KAI_ACTIONS_VICTIM_QUEUE_H_

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kai/actions/action.h"
#include "kai/actions/queue_heaps.h"
#include "kai/actions/victim_lists.h"

namespace kai {

// Marks on pods.
class PodMarks {
 public:
  explicit PodMarks(size_t pods) : marks_(pods) {}
  uint8_t operator[](PodId pod) const { return marks_[pod]; }
  const IndexVector<PodId, uint8_t>& all() const { return marks_; }
  bool empty() const { return empty_; }
  void Set(PodId pod) {
    marks_[pod] = 1;
    empty_ = false;
  }

 private:
  IndexVector<PodId, uint8_t> marks_;
  bool empty_ = true;
};

class VictimQueue;

// Pods that a group gives up together; valid until the next call.
struct VictimBatch {
  PodGroupId group;
  std::span<const PodId> pods;
};

class VictimPool {
 public:
  VictimPool(const CycleView& cycle, const Candidates& candidates);
  ~VictimPool();

  // The batch at this position for a queue without recorded victims; nothing: there are no more.
  // Each batch is computed once.
  std::optional<VictimBatch> BatchAt(size_t index);
  // True: all pods of the group are its only batch. If they are recorded, the other batches of a
  // queue are the same as without this group's batch.
  bool GivesAllAtOnce(PodGroupId group) const;

 private:
  friend class VictimQueue;

  using Groups = IndexVector<QueueId, std::span<const PodGroupId>>;

  // Adds the leaves to the heaps. `created`: their groups in order of creation (spec 1 F60).
  void EnterLeaves(const std::vector<QueueId>& leaves, const Groups& created);
  // The requests of its allocated pods (spec 1 F109).
  QuotaCount AllocatedOf(PodGroupId group, const IndexVector<PodId, uint8_t>* gone) const;

  const CycleView& cycle_;
  IndexVector<QueueId, std::vector<PodGroupId>> own_;  // of candidates without lists
  Groups sorted_;                                      // by leaf queue
  QueueHeaps heaps_;                                   // the heaps after all groups were added
  // The batches that BatchAt() has computed.
  struct Found {
    PodGroupId group;
    size_t begin = 0;  // index in sequence_pods_
    size_t end = 0;
  };
  std::unique_ptr<VictimQueue> sequencer_;
  std::vector<Found> sequence_;
  std::vector<PodId> sequence_pods_;
};

class VictimQueue {
 public:
  explicit VictimQueue(const VictimPool* pool);

  // The next batch. Pods in `recorded` are victims in any case: they are never in a batch, and
  // removing them costs their group nothing. Nothing: no pod is left.
  std::optional<VictimBatch> Next(const PodMarks& recorded);

 private:
  // A group that returned with its remaining pods.
  struct Rest {
    PodGroupId group;
    ElasticState state = ElasticState::kAt;
  };
  struct Leaf {
    size_t next = 0;  // index in the pool's sorted list
    LazyHeap<Rest> rests;
    QuotaCount popped{};  // sum of what left it
  };

  bool QueueGoesFirst(QueueId a, QueueId b);
  const QueueStanding& StandingOf(QueueId queue);
  // Drops cached data of a leaf and its ancestors.
  void Forget(QueueId leaf);
  bool IsEmpty(QueueId leaf) const;
  Rest TopOf(QueueId leaf) const;
  // The group, and whether it has already given up pods.
  std::pair<PodGroupId, bool> PopFrom(QueueId leaf);
  void PushBack(PodGroupId group);
  void Take(PodId pod, QueueId leaf);
  // Takes the group's recorded pods; true: it has other pods.
  bool TakeRecorded(PodGroupId group, const PodMarks& recorded);
  bool RestGoesFirst(const Rest& a, const Rest& b) const;

  const VictimPool& pool_;
  PodMarks gone_;
  std::vector<PodId> batch_;
  QueueHeaps heaps_;
  IndexVector<QueueId, Leaf> leaves_;
  IndexVector<QueueId, QuotaCount> taken_;  // switch victim_shares: of all leaves below
  // The last standing of a queue in a comparison; nothing: it may have changed.
  IndexVector<QueueId, std::optional<QueueStanding>> known_;
};

}  // namespace kai

#endif  // KAI_ACTIONS_VICTIM_QUEUE_H_

// Which pods would have to go next (spec 2 O4, spec 1 F108, F109).
//
//   VictimPool pool(cycle->view, candidates);      // once per search
//   VictimQueue queue(&pool);                      // afresh per probe
//   while (const std::optional<VictimBatch> batch = queue.Next(marks)) {
//
// The queue that has most over what it deserves comes first, in it the lowest priority, then what
// is above its minimum, then the youngest. A group gives up one batch at a time and comes back with
// the rest (spec 2 G14, V8).
//
// Invariants: no pod is in two batches of one queue; a pool and its queues hold as long as the
// cluster stays as it was, changes that were taken back apart. Cost: the pool sorts and compares
// once; a queue made of it costs what is taken from it. Not thread-safe.
#ifndef KAI_ACTIONS_VICTIM_QUEUE_H_
#define KAI_ACTIONS_VICTIM_QUEUE_H_

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kai/actions/action.h"
#include "kai/actions/queue_heaps.h"

namespace kai {

// Marks on pods, and whether there are any.
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

// What a group gives up in one piece; good until the next one is asked for.
struct VictimBatch {
  PodGroupId group;
  std::span<const PodId> pods;
};

class VictimPool {
 public:
  // `candidates` in order of creation (spec 1 F60).
  VictimPool(const CycleView& cycle, std::span<const PodGroupId> candidates);
  ~VictimPool();

  // The batches of a queue without recorded victims, in order; nothing: there are no more. They are
  // found once.
  std::optional<VictimBatch> BatchAt(size_t index);
  // All pods the group has are its only batch: then a queue in which they are recorded goes on as
  // if they had been taken.
  bool GivesAllAtOnce(PodGroupId group) const;

 private:
  friend class VictimQueue;

  bool GroupGoesFirst(PodGroupId a, ElasticState state_a, PodGroupId b, ElasticState state_b) const;
  // Groups of a queue, some of its list or others, that come in order of creation: into that order.
  void SortVictims(std::vector<PodGroupId>* groups) const;
  // What its allocated pods asked for (spec 1 F109).
  QuotaCount AllocatedOf(PodGroupId group, const IndexVector<PodId, uint8_t>* gone) const;

  const CycleView& cycle_;
  IndexVector<QueueId, std::vector<PodGroupId>> sorted_;  // of leaves
  QueueHeaps heaps_;                                      // as they stand when all are in
  // What BatchAt() has found so far.
  struct Found {
    PodGroupId group;
    size_t begin = 0;  // of sequence_pods_
    size_t end = 0;
  };
  std::unique_ptr<VictimQueue> sequencer_;
  std::vector<Found> sequence_;
  std::vector<PodId> sequence_pods_;
};

class VictimQueue {
 public:
  explicit VictimQueue(const VictimPool* pool);

  // The next batch; pods marked in `recorded` are victims anyway, are never in it, and a group
  // gives them up for nothing. Empty when no pod is left.
  std::optional<VictimBatch> Next(const PodMarks& recorded);

 private:
  // A group that comes back with what it has not given up.
  struct Rest {
    PodGroupId group;
    ElasticState state = ElasticState::kAt;
  };
  struct Leaf {
    size_t next = 0;  // of the pool's sorted list
    LazyHeap<Rest> rests;
    QuotaCount popped{};  // what went out of it
  };

  bool QueueGoesFirst(QueueId a, QueueId b);
  const QueueStanding& StandingOf(QueueId queue);
  // What is known of a leaf, and of queues above it, holds no longer.
  void Forget(QueueId leaf);
  bool IsEmpty(QueueId leaf) const;
  Rest TopOf(QueueId leaf) const;
  // The group, and whether it has given up pods already.
  std::pair<PodGroupId, bool> PopFrom(QueueId leaf);
  void PushBack(PodGroupId group);
  void Take(PodId pod, QueueId leaf);
  // Takes the group's recorded pods; true: it has others.
  bool TakeRecorded(PodGroupId group, const PodMarks& recorded);
  bool RestGoesFirst(const Rest& a, const Rest& b) const;

  const VictimPool& pool_;
  PodMarks gone_;
  std::vector<PodId> batch_;
  QueueHeaps heaps_;
  IndexVector<QueueId, Leaf> leaves_;
  IndexVector<QueueId, QuotaCount> taken_;  // mend victim_shares: of all leaves below
  // How a queue stood when it was compared last; nothing: it may stand otherwise by now.
  IndexVector<QueueId, std::optional<QueueStanding>> known_;
};

}  // namespace kai

#endif  // KAI_ACTIONS_VICTIM_QUEUE_H_

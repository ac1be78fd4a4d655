// Who would have to go next (spec 2 O4, spec 1 §11).
//
//   VictimPool pool(cycle, candidates);          // once per search
//   VictimQueue queue(&pool);                    // afresh per probe
//   while (std::optional<VictimQueue::Batch> batch = queue.Next(is_recorded)) ...
//
// The queue that has most over what it deserves comes first, in it the lowest priority, then what
// is above its minimum, then the youngest. A group gives up one batch at a time and comes back with
// the rest (spec 2 G14, V8).
//
// A pool sorts and compares once; a queue made of it costs what is taken from it. Both hold as long
// as the cluster stays as it is, what is rolled back apart.
#ifndef KAI_ACTIONS_VICTIM_QUEUE_H_
#define KAI_ACTIONS_VICTIM_QUEUE_H_

#include <optional>
#include <vector>

#include "kai/actions/action.h"
#include "kai/actions/queue_heaps.h"

namespace kai {

// Marks on pods that are cleared in no time.
class PodMarks {
 public:
  explicit PodMarks(size_t pods) : marks_(pods) {}
  uint8_t operator[](PodId pod) const { return marks_[pod]; }
  const IndexVector<PodId, uint8_t>& all() const { return marks_; }
  bool empty() const { return set_.empty(); }
  void Set(PodId pod) {
    if (marks_[pod] != 0) return;
    marks_[pod] = 1;
    set_.push_back(pod);
  }
  void Clear() {
    for (const PodId pod : set_) marks_[pod] = 0;
    set_.clear();
  }

 private:
  IndexVector<PodId, uint8_t> marks_;
  std::vector<PodId> set_;
};

class VictimPool {
 public:
  // `candidates` in order of creation (spec 1 F60).
  VictimPool(const CycleView& cycle, std::span<const PodGroupId> candidates);

 private:
  friend class VictimQueue;

  bool GroupGoesFirst(PodGroupId a, ElasticState state_a, PodGroupId b, ElasticState state_b) const;
  // What its allocated pods asked for (spec 1 F109).
  QuotaVector AllocatedOf(PodGroupId group, const IndexVector<PodId, uint8_t>* gone) const;

  const CycleView& cycle_;
  IndexVector<QueueId, std::vector<PodGroupId>> sorted_;  // of leaves
  QueueHeaps heaps_;                                      // as they stand when all are in
  PodMarks gone_;
};

class VictimQueue {
 public:
  struct Batch {
    PodGroupId group;
    std::vector<PodId> pods;
  };

  explicit VictimQueue(VictimPool* pool);

  // The next batch; pods marked in `recorded` are victims anyway, are never in it, and a group
  // gives them up for nothing. Empty when there is nobody left.
  std::optional<Batch> Next(const PodMarks& recorded);

 private:
  // A group that comes back with what it has not given up.
  struct Rest {
    PodGroupId group;
    ElasticState state = ElasticState::kAt;
  };
  struct Leaf {
    size_t next = 0;  // of the pool's sorted list
    LazyHeap<Rest> rests;
    QuotaVector popped{};  // what went out of it
  };

  bool QueueGoesFirst(QueueId a, QueueId b) const;
  bool IsEmpty(QueueId leaf) const;
  Rest TopOf(QueueId leaf) const;
  PodGroupId PopFrom(QueueId leaf);
  void PushBack(PodGroupId group);
  bool RestGoesFirst(const Rest& a, const Rest& b) const;

  VictimPool& pool_;
  QueueHeaps heaps_;
  IndexVector<QueueId, Leaf> leaves_;
  IndexVector<QueueId, QuotaVector> taken_;  // mend victim_shares: of all leaves below
};

}  // namespace kai

#endif  // KAI_ACTIONS_VICTIM_QUEUE_H_

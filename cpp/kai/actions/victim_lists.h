// VictimLists: the pod groups that may lose pods in this cycle, by queue; an action keeps them from
// one search to the next.
//
//   VictimLists lists(cycle.view);
//   lists.Update();                                 // before each search
//   const Candidates candidates(&lists, queues);    // or of a vector of groups
//
// Invariants: lists are those of the current state after Update(), and valid until the next one;
// Candidates that were made of them are valid as long. Cost: Update() O(changes since the last
// one); then O(groups) for each queue with a change, and O(1) for others. Not thread-safe.
#ifndef KAI_ACTIONS_VICTIM_LISTS_H_
#define KAI_ACTIONS_VICTIM_LISTS_H_

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kai/actions/action.h"
#include "kai/model/changes/statement.h"
#include "kai/placement/pod_order.h"

namespace kai {

// Preemptible groups of a leaf queue, or of all queues, with a pod that holds a node or a promised
// one; in order of creation.
std::vector<PodGroupId> MayLoseIn(const CycleView& cycle, QueueId queue);
std::vector<PodGroupId> MayLose(const CycleView& cycle);

// Whether `a` becomes a victim before `b`, with these states (spec 1 F108).
bool IsVictimBefore(const CycleView& cycle, PodGroupId a, ElasticState state_a, PodGroupId b,
                    ElasticState state_b);
// Sorts groups of a queue, some of its list or others, from the order of creation to the order of
// victims.
void SortVictims(const CycleView& cycle, std::vector<PodGroupId>* groups);

class VictimLists {
 public:
  explicit VictimLists(const CycleView& cycle)
      : cycle_(cycle), lists_(cycle.cluster->queues().size()) {}

  // Forgets the queues that have changed.
  void Update();
  // Of a leaf queue, in order of creation.
  const std::vector<PodGroupId>& In(QueueId queue);
  // The same in the order in which they become victims.
  const std::vector<PodGroupId>& SortedIn(QueueId queue);

  const CycleView& cycle() const { return cycle_; }

 private:
  struct List {
    std::optional<std::vector<PodGroupId>> created;  // empty: not made yet
    std::optional<std::vector<PodGroupId>> sorted;
  };

  const CycleView& cycle_;
  IndexVector<QueueId, List> lists_;
  Statement::Checkpoint seen_ = 0;
};

// The groups that may lose pods in a search.
class Candidates {
 public:
  Candidates() : all_(std::vector<PodGroupId>()) {}  // none
  // In order of creation.
  explicit Candidates(std::vector<PodGroupId> groups) : all_(std::move(groups)) {}
  // All of these leaf queues.
  Candidates(VictimLists* lists, std::vector<QueueId> queues);

  bool empty() const { return lists_ == nullptr ? all_->empty() : queues_.empty(); }
  // In order of creation; merged at the first call.
  const std::vector<PodGroupId>& All() const;
  // Null: they are not all groups of queues.
  VictimLists* lists() const { return lists_; }
  // Those with any, in the order of their first groups; only with lists.
  const std::vector<QueueId>& queues() const { return queues_; }

 private:
  VictimLists* lists_ = nullptr;
  std::vector<QueueId> queues_;
  mutable std::optional<std::vector<PodGroupId>> all_;
};

}  // namespace kai

#endif  // KAI_ACTIONS_VICTIM_LISTS_H_

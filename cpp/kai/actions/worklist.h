// Worklist: chooses the next pod group (spec 1 F60, spec 2 O2, O3).
//
//   Worklist worklist(cluster, cycle_.shares, cycle_.order, cycle_.worklist);
//   for (const std::span<const PodGroupId> run : runs) worklist.Push(run);
//   while (works && !worklist.empty()) {
//   const PodGroupId group = worklist.Pop();
//
// Pod groups are in a heap per leaf queue; queues are in a heap per parent (queue_heaps.h).
//
// When the order no longer matters, ForgetOrder() saves its cost.
//
// Invariants: Pop() uses the current shares; the depth limits the number of groups per leaf queue.
// Cost: O(log groups + depth * log siblings) comparisons per move, with keep_first O(depth) for
// each group beyond the depth. Not thread-safe.
#ifndef KAI_ACTIONS_WORKLIST_H_
#define KAI_ACTIONS_WORKLIST_H_

#include <span>
#include <vector>

#include "kai/actions/queue_heaps.h"
#include "kai/base/lazy_heap.h"
#include "kai/fairshare/fair_shares.h"
#include "kai/fairshare/queue_order.h"
#include "kai/placement/pod_order.h"

namespace kai {

class JobOrder;

enum class GroupComparator : uint8_t { kPriority, kElastic, kJobOrder };

class Worklist {
 public:
  struct Options {
    std::vector<GroupComparator> comparators = {GroupComparator::kPriority,
                                                GroupComparator::kElastic};
    // By group; the lowest goes first, before all comparators. Empty: only the comparators decide.
    std::span<const double> keys = {};
    const JobOrder* job_order = nullptr;  // if it is among the comparators
    bool by_fair_share = true;  // false without the plugin: queues only by creation time and name
    int64_t depth = -1;         // the most pod groups per leaf queue; -1: all (spec 2 C9)
    bool keep_first = true;     // switch queue_depth: the first ones are kept
  };

  Worklist(const Cluster& cluster, const FairShares* shares, PodOrder* order,
           const Options& options);

  // The queue of the group must be a leaf of a complete tree; the caller leaves out others.
  void Push(PodGroupId group) { Push(std::span(&group, 1)); }
  // Groups of one queue, in their order. Each is added when the one before it is popped. The list
  // must live that long.
  void Push(std::span<const PodGroupId> groups);
  bool empty() const { return ordered_ ? heaps_.empty() : unordered_.empty(); }
  PodGroupId Pop();
  // From now on Pop() returns the remaining groups, queue by queue, and no group may be added.
  void ForgetOrder();
  // After Pop(). True: another group of its list is in the worklist.
  bool has_more() const { return has_more_; }
  // After Pop(): skips the groups of its list that would come next, before any other group, as long
  // as no share changes: they have the same request.
  void PassOverAlike();

 private:
  // A group and the following ones of its list.
  struct Entry {
    PodGroupId group;
    std::span<const PodGroupId> rest;
  };

  bool GroupGoesFirst(PodGroupId a, PodGroupId b) const;
  bool QueueGoesFirst(QueueId a, QueueId b);
  const QueueStanding& StandingOf(QueueId queue);
  PodGroupId PopUnordered();
  void KeepTheFirst(QueueId leaf);

  const Cluster& cluster_;
  const FairShares* shares_;
  PodOrder* order_;
  Options options_;
  QueueHeaps heaps_;
  IndexVector<QueueId, LazyHeap<Entry>> groups_;  // of leaves
  // The last standing of a queue in a comparison, and the values that it depends on.
  struct Known {
    PodGroupId group;      // its next group; invalid: the queue was not compared yet
    int64_t version = -1;  // QueueUsage::version()
    QuotaCount allocated;
    QuotaCount candidate;
    QueueStanding standing;
  };
  IndexVector<QueueId, Known> known_;
  bool ordered_ = true;
  std::vector<Entry> unordered_;  // after ForgetOrder(): the remaining groups, the next one last
  bool has_more_ = false;
  QueueId last_leaf_;      // the leaf of the last Pop()
  PodGroupId next_alike_;  // the next one of the list, if there are more
};

}  // namespace kai

#endif  // KAI_ACTIONS_WORKLIST_H_

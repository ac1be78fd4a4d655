// Worklist: which pod group is next (spec 1 F60, spec 2 O2, O3).
//
//   Worklist worklist(cluster, cycle_.shares, cycle_.order, cycle_.worklist);
//   for (const std::span<const PodGroupId> run : runs) worklist.Push(run);
//   while (works && !worklist.empty()) {
//   const PodGroupId group = worklist.Pop();
//
// Pod groups sit in a heap per leaf queue; queues sit in a heap per parent (queue_heaps.h).
//
// Once the order no longer matters, ForgetOrder() saves its cost.
//
// Invariants: Pop() follows the shares as they stand; the depth bounds what a leaf queue keeps.
// Cost: O(log groups + depth * log siblings) comparisons a move, with keep_first O(depth) for each
// group beyond the depth. Not thread-safe.
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
    // By group; the lowest goes first, before all comparators. Empty: they alone decide.
    std::span<const double> keys = {};
    const JobOrder* job_order = nullptr;  // where it is among the comparators
    bool by_fair_share = true;  // off without the plugin: queues by creation time and name alone
    int64_t depth = -1;         // pod groups kept per leaf queue; -1: all (spec 2 C9)
    bool keep_first = true;     // mend queue_depth: the first ones are kept
  };

  Worklist(const Cluster& cluster, const FairShares* shares, PodOrder* order,
           const Options& options);

  // A group whose queue is a leaf of a whole tree; others are the caller's to leave out.
  void Push(PodGroupId group) { Push(std::span(&group, 1)); }
  // Groups of one queue, in the order in which they are to come; they are pushed once the one
  // before them is popped. The list has to last for as long.
  void Push(std::span<const PodGroupId> groups);
  bool empty() const { return ordered_ ? heaps_.empty() : unordered_.empty(); }
  PodGroupId Pop();
  // From now on Pop() gives what is in, queue by queue, and nothing comes in any more.
  void ForgetOrder();
  // After Pop(): another group of its list is in.
  bool has_more() const { return has_more_; }
  // Then takes those of its list out that would come next, before any other group, as long as no
  // share changes: they ask for the same.
  void PassOverAlike();

 private:
  // A group, and those that come after it.
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
  // How a queue stood when it was compared last, and what that followed from.
  struct Known {
    PodGroupId group;      // that is next in it; invalid: the queue was not compared yet
    int64_t version = -1;  // QueueUsage::version()
    QuotaCount allocated;
    QuotaCount candidate;
    QueueStanding standing;
  };
  IndexVector<QueueId, Known> known_;
  bool ordered_ = true;
  std::vector<Entry> unordered_;  // once ordered_ is false: what is left, the next one last
  bool has_more_ = false;
  QueueId last_leaf_;      // that Pop() took from
  PodGroupId next_alike_;  // the next one of the list, where there are more
};

}  // namespace kai

#endif  // KAI_ACTIONS_WORKLIST_H_

// QueueUsage: what every queue uses and deserves in this cycle, rolled up the tree and kept up to
// date by the statement.
//
//   QueueUsage usage(*cluster, {});
//   usage.share(queue)[kQuotaGpu].fair_share                       // what the queue may have
//   const auto statement = Statement::Open(cluster.get(), {&usage});
//   usage.share(queue)[kQuotaGpu].allocated                        // follows every change
//
// Invariants: a queue has the sums of its children; fair shares are fixed when the cycle starts
// (spec 1 F31); undoing a change restores every bit. Cost: building is O(queues * depth) and the
// division (the cluster has the sums of pods); a change is O(depth). Threads: many readers, while
// no statement changes the cluster.
#ifndef KAI_FAIRSHARE_USAGE_H_
#define KAI_FAIRSHARE_USAGE_H_

#include <vector>

#include "kai/fairshare/capacity.h"
#include "kai/fairshare/share.h"
#include "kai/model/changes/listener.h"
#include "kai/model/columns/cluster.h"

namespace kai {

class QueueUsage final : public Listener {
 public:
  struct Options {
    double k_value = 1;
    bool divide = true;  // off without the plugin that does it: then all numbers stay zero
  };

  QueueUsage(const Cluster& cluster, const Options& options);
  QueueUsage(const QueueUsage&) = delete;  // paths point into shares
  QueueUsage& operator=(const QueueUsage&) = delete;

  const QueueShare& share(QueueId queue) const { return shares_[queue]; }
  const IndexVector<QueueId, QueueShare>& shares() const { return shares_; }
  // The queue and its ancestors, lowest first.
  std::span<const QueueShare* const> path(QueueId queue) const {
    const Span32 range = path_range_[queue];
    return std::span<const QueueShare* const>(paths_).subspan(static_cast<size_t>(range.begin),
                                                              static_cast<size_t>(range.size()));
  }

  void Applied(const Change& change, UndoStack* undo) override;
  void Undone(const Change& change, UndoStack* undo) override;

 private:
  void SumTree();
  void DivideTree(double k_value);
  // Sign and amount of a change in the queue of the pod; 0 when it makes no difference there.
  double SignOf(const Change& change) const;

  // Of a queue, what a change puts aside: two sums of every resource.
  static constexpr size_t kSavedPerQueue = 2 * kQuotaResources;

  const Cluster& cluster_;
  IndexVector<QueueId, QueueShare> shares_;
  IndexVector<QueueId, Span32> path_range_;
  std::vector<QueueShare*> paths_;
};

}  // namespace kai

#endif  // KAI_FAIRSHARE_USAGE_H_

// QueueUsage: what the pods of every queue ask for and hold, kept up to date by the statement.
//
//   QueueUsage usage(*cluster);
//   const auto statement = Statement::Open(cluster.get(), {&usage});
//   usage.sums()[queue].allocated[kQuotaGpu]                       // follows every change
//
// Nothing of it belongs to one cycle; what queues deserve does (fair_shares.h).
//
// Invariants: a queue has the sums of its children; sums are exact, so that they are those of a
// fresh load whatever came and went. Cost: building is O(queues) (the cluster has the sums of
// pods); a change is O(depth). Threads: many readers, while no statement changes the cluster.
#ifndef KAI_FAIRSHARE_USAGE_H_
#define KAI_FAIRSHARE_USAGE_H_

#include "kai/model/changes/listener.h"
#include "kai/model/columns/cluster.h"

namespace kai {

class QueueUsage final : public Listener {
 public:
  explicit QueueUsage(const Cluster& cluster) : cluster_(cluster), sums_(cluster.queues().sums) {}

  const IndexVector<QueueId, QueueSums>& sums() const { return sums_; }

  // Another number after each change of the statement, and so wherever a sum may be another.
  int64_t version() const { return version_; }

  // As if pods of the group held so much more.
  void Add(PodGroupId group, const QuotaCount& amount);

  void Applied(const Change& change) override { Count(change, SignOf(change)); }
  void Undone(const Change& change) override { Count(change, -SignOf(change)); }

 private:
  // Whether the change adds what the pod counts to its queue (1), takes it away (-1) or neither.
  int SignOf(const Change& change) const;
  void Count(const Change& change, int sign);
  template <typename Apply>
  void ForSumsOf(PodGroupId group, const Apply& apply);

  const Cluster& cluster_;
  IndexVector<QueueId, QueueSums> sums_;
  int64_t version_ = 0;
};

}  // namespace kai

#endif  // KAI_FAIRSHARE_USAGE_H_

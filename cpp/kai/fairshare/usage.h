// QueueUsage: the requests and the held resources of the pods of every queue. The statement keeps
// it up to date.
//
//   QueueUsage usage(*cluster);
//   const auto statement = Statement::Open(cluster.get(), {&usage});
//   usage.sums()[queue].allocated[kQuotaGpu]                       // follows every change
//
// It is independent of cycles; fair shares (fair_shares.h) belong to one cycle.
//
// Invariants: a queue has the sums of its children; sums are exact, so that they equal those of a
// fresh load after any changes. Cost: the constructor is O(queues) (the cluster has the sums of
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

  // Differs after each change of the statement, so also whenever a sum may differ.
  int64_t version() const { return version_; }

  // Adds an amount as if pods of the group held it.
  void Add(PodGroupId group, const QuotaCount& amount);

  // Takes the requests of the group's waiting pods out of the sums.
  void LeaveOutWaiting(PodGroupId group);

  void Applied(const Change& change) override { Count(change, SignOf(change)); }
  void Undone(const Change& change) override { Count(change, -SignOf(change)); }

 private:
  // Whether the change adds the pod's amounts to its queue (1), removes them (-1) or neither (0).
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

#include "kai/model/building/queue_sums.h"

namespace kai {
namespace {

bool TakesPods(const Cluster& cluster, NodeId node) {
  return cluster.node_classes()[cluster.nodes().node_class[node]].state == 0;
}

}  // namespace

QuotaCount OfferedToQueues(const Cluster& cluster, NodeId node) {
  if (!TakesPods(cluster, node)) return QuotaCount();
  const std::span<const double> row = cluster.nodes().allocatable[node];
  const bool has_gpus = !cluster.params().restrict_node_scheduling ||
                        cluster.node_classes()[cluster.nodes().node_class[node]].gpu_worker;
  return {row[kCpuSlot.index()], row[kMemorySlot.index()],
          has_gpus ? cluster.slots().TotalGpus(row) : 0};
}

QuotaCount TakenFromQueues(const Cluster& cluster, PodId pod) {
  const NodeId node = cluster.pods().node[pod];
  const bool takes =
      IsActiveUsed(cluster.pods().status[pod]) && node.valid() && TakesPods(cluster, node);
  return takes ? cluster.ClassOf(pod).requested : QuotaCount();
}

void CountInQueue(const Cluster& cluster, PodId pod, IndexVector<QueueId, QueueSums>* sums) {
  const PodColumns& pods = cluster.pods();
  const PodGroupId group = pods.group[pod];
  // A pod of a sub-group that does not exist is not counted.
  if (!group.valid() || !pods.pod_set[pod].valid()) return;
  const QueueId queue = cluster.pod_groups().queue[group];
  if (!queue.valid()) return;
  QueueSums& own = (*sums)[queue];
  if (IsAllocated(pods.status[pod])) {
    const QuotaCount accepted = cluster.AcceptedOn(pods.pod_class[pod], pods.node[pod]);
    own.requested += accepted;
    own.allocated += accepted;
    if (cluster.pod_groups().preemptible[group] == 0) own.allocated_non_preemptible += accepted;
  } else if (pods.status[pod] == PodStatus::kPending) {
    own.requested += cluster.ClassOf(pod).requested;
  }
}

void SumQueueTree(const QueueColumns& queues, IndexVector<QueueId, QueueSums>* sums) {
  for (auto queue = queues.parents_first.rbegin(); queue != queues.parents_first.rend(); ++queue) {
    const QueueId parent = queues.parent[*queue];
    if (parent.valid()) (*sums)[parent] += (*sums)[*queue];
  }
}

}  // namespace kai

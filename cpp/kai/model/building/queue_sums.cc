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

QueueSums SumsOf(const Cluster& cluster, PodId pod, QueueId* queue) {
  const PodColumns& pods = cluster.pods();
  const PodGroupId group = pods.group[pod];
  // A pod of an unknown sub-group is not counted.
  *queue =
      group.valid() && pods.pod_set[pod].valid() ? cluster.pod_groups().queue[group] : QueueId();
  QueueSums sums;
  if (!queue->valid()) return sums;
  if (IsAllocated(pods.status[pod])) {
    sums.requested = cluster.AcceptedOn(pods.pod_class[pod], pods.node[pod]);
    sums.allocated = sums.requested;
    if (cluster.pod_groups().preemptible[group] == 0)
      sums.allocated_non_preemptible = sums.requested;
  } else if (pods.status[pod] == PodStatus::kPending) {
    sums.requested = cluster.ClassOf(pod).requested;
  }
  return sums;
}

void SumQueueTree(const QueueColumns& queues, IndexVector<QueueId, QueueSums>* sums) {
  for (auto queue = queues.parents_first.rbegin(); queue != queues.parents_first.rend(); ++queue) {
    const QueueId parent = queues.parent[*queue];
    if (parent.valid()) (*sums)[parent] += (*sums)[*queue];
  }
}

}  // namespace kai

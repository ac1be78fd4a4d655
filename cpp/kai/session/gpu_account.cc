#include "kai/session/gpu_account.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "kai/model/building/numbering.h"

namespace kai {
namespace {

using Kind = CycleLog::Decision::Kind;

int64_t NanoGpusOf(PodId pod, const Cluster& cluster) { return NanoGpus(GpusOf(pod, cluster)); }

class Accountant {
 public:
  Accountant(const Plan& plan, const DecisionTable& decisions)
      : plan_(plan),
        table_(decisions),
        cluster_(*plan.cluster),
        idle_(cluster_.nodes().name.size()),
        leaving_(cluster_.nodes().name.size()) {}

  GpuAccount Make() {
    for (const CycleLog::Decision& each : plan_.decisions) {
      if (each.kind == Kind::kEvict) evicted_.insert(each.pod);
    }
    CountCapacity();
    CountPods();
    for (size_t i = 0; i < plan_.decisions.size(); ++i) {
      const CycleLog::Decision& each = plan_.decisions[i];
      if (each.kind == Kind::kBind) idle_[each.node] -= NanoGpus(table_.gpus[i]);
      if (each.kind == Kind::kPipeline) leaving_[each.node] -= NanoGpus(table_.gpus[i]);
    }
    CountFree();
    CountQueues();
    return std::move(made_);
  }

 private:
  void CountCapacity() {
    const NodeColumns& nodes = cluster_.nodes();
    std::map<double, int64_t> capacity;
    for (const NodeId node : nodes.name.ids()) {
      if (!nodes.name[node].valid()) continue;
      const double gpus = nodes.allocatable[node][kGpuSlot.index()];
      idle_[node] = NanoGpus(gpus);
      ++capacity[gpus];
    }
    made_.capacity.assign(capacity.begin(), capacity.end());
  }

  void CountPods() {
    const PodColumns& pods = cluster_.pods();
    for (const PodId pod : pods.name.ids()) {
      const NodeId node = pods.node[pod];
      if (!pods.name[pod].valid() || !node.valid()) continue;
      const PodStatus status = pods.status[pod];
      const bool leaves = status == PodStatus::kReleasing || status == PodStatus::kStuckInReleasing;
      const bool waits = status == PodStatus::kPending || status == PodStatus::kGated;
      const int64_t gpus = NanoGpusOf(pod, cluster_);
      if (leaves || (!waits && IsActiveUsed(status))) idle_[node] -= gpus;
      if (leaves || evicted_.contains(pod)) leaving_[node] += gpus;
    }
  }

  void CountFree() {
    std::map<int64_t, int64_t> free;
    made_.free_on.Resize(cluster_.nodes().name.size());
    made_.leaving_on.Resize(cluster_.nodes().name.size());
    for (const NodeId node : cluster_.nodes().name.ids()) {
      if (!cluster_.nodes().name[node].valid()) continue;
      made_.free_on[node] =
          std::max<int64_t>(0, idle_[node] + std::min<int64_t>(0, leaving_[node]));
      made_.leaving_on[node] = std::max<int64_t>(0, leaving_[node]);
      ++free[made_.free_on[node]];
    }
    for (const auto& [nano, nodes] : free)
      made_.free.emplace_back(static_cast<double>(nano) / kNanoOfAGpu, nodes);
  }

  void CountQueues() {
    std::map<QueueId, int64_t> gained;
    const auto add = [&](PodId pod, int64_t gpus) {
      const PodGroupId group = cluster_.pods().group[pod];
      if (!group.valid()) return;
      const QueueId queue = cluster_.pod_groups().queue[group];
      if (queue.valid()) gained[queue] += gpus;
    };
    for (size_t i = 0; i < plan_.decisions.size(); ++i) {
      const CycleLog::Decision& each = plan_.decisions[i];
      // A pod that moves is promised what it holds already.
      const bool moves = each.kind == Kind::kPipeline && evicted_.contains(each.pod);
      if (each.kind != Kind::kEvict && !moves) add(each.pod, NanoGpus(table_.gpus[i]));
    }
    for (const Plan::Eviction& each : plan_.evictions)
      add(each.pod, -NanoGpusOf(each.pod, cluster_));
    made_.gained.assign(gained.begin(), gained.end());
    if (plan_.has_queue_numbers) CompareQueues(gained);
  }

  void CompareQueues(const std::map<QueueId, int64_t>& gained) {
    const QueueColumns& queues = cluster_.queues();
    for (const QueueId queue : InOrderOfNames(cluster_.names(), queues)) {
      if (!queues.IsLeaf(queue)) continue;
      const auto gain = gained.find(queue);
      const int64_t has = NanoGpus(queues.sums[queue].allocated[kQuotaGpu]) +
                          (gain == gained.end() ? 0 : gain->second);
      if (has > 0) ++made_.queues_in_use;
      const double share = plan_.queues[queue][kQuotaGpu].fair_share;
      if (share == kUnlimited || has <= NanoGpus(share)) continue;
      ++made_.queues_above;
      if (made_.first_above.size() < GpuAccount::kShown) made_.first_above.emplace_back(queue, has);
    }
  }

  const Plan& plan_;
  const DecisionTable& table_;
  const Cluster& cluster_;
  absl::flat_hash_set<PodId> evicted_;
  IndexVector<NodeId, int64_t> idle_;
  IndexVector<NodeId, int64_t> leaving_;  // minus what is promised
  GpuAccount made_;
};

}  // namespace

int64_t NanoGpus(double gpus) {
  constexpr double kDigitsOfADouble = 1e-3;  // 0.3 is a little less than 300,000,000 billionths
  return static_cast<int64_t>(
      std::floor(std::clamp(gpus, 0.0, kNanoOfAGpu) * kNanoOfAGpu + kDigitsOfADouble));
}

GpuAccount AccountOf(const Plan& plan, const DecisionTable& decisions) {
  return Accountant(plan, decisions).Make();
}

}  // namespace kai

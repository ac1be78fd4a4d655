#include "kai/session/gpu_account.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "kai/model/building/numbering.h"
#include "kai/session/overdue.h"

namespace kai {
namespace {

using Kind = CycleLog::Decision::Kind;

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
    CountDecisions();
    CountClaims();
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
      const bool is_deleted =
          status == PodStatus::kReleasing || status == PodStatus::kStuckInReleasing;
      const bool waits = status == PodStatus::kPending || status == PodStatus::kGated;
      const bool holds = is_deleted || (!waits && IsActiveUsed(status));
      // A pod that should be gone by now may hold what it has for ever.
      const bool leaves = is_deleted && !IsOverdue(cluster_, pod, plan_.now_ns);
      const bool gives = leaves || evicted_.contains(pod);
      const double shared = SharedGpusOf(pod, node, [&](Claimed* claim) {
        claim->is_held |= holds;
        claim->stays |= holds && !gives;
      });
      const int64_t gpus = NanoGpus(GpusOf(pod, cluster_) - shared);
      if (holds) idle_[node] -= gpus;
      if (gives) leaving_[node] += gpus;
    }
  }

  void CountDecisions() {
    for (size_t i = 0; i < plan_.decisions.size(); ++i) {
      const CycleLog::Decision& each = plan_.decisions[i];
      if (each.kind == Kind::kEvict) continue;
      const bool is_bound = each.kind == Kind::kBind;
      const double shared = SharedGpusOf(each.pod, each.node, [&](Claimed* claim) {
        claim->is_held |= is_bound;
        claim->stays |= is_bound;
        claim->is_promised |= !is_bound;
      });
      (is_bound ? idle_ : leaving_)[each.node] -= NanoGpus(table_.gpus[i] - shared);
    }
  }

  // Devices of claims: each once, however many pods use them.
  void CountClaims() {
    for (const auto& [place, claim] : claims_) {
      const NodeId node = place.second;
      const int64_t gpus = NanoGpus(claim.gpus);
      if (claim.is_held) idle_[node] -= gpus;
      if (claim.is_held && !claim.stays && !claim.is_promised) leaving_[node] += gpus;
      if (!claim.is_held && claim.is_promised) leaving_[node] -= gpus;
    }
  }

  // The GPUs of its claims that other pods may use, too; `note` is called for each of these.
  template <typename Note>
  double SharedGpusOf(PodId pod, NodeId node, const Note& note) {
    double gpus = 0;
    for (const auto& [id, devices] : SharedClaimsOf(pod, cluster_)) {
      Claimed& claim = claims_[{id, node}];
      claim.gpus = devices;
      note(&claim);
      gpus += devices;
    }
    return gpus;
  }

  void CountFree() {
    std::map<int64_t, int64_t> free;
    int64_t leaving = 0;
    made_.free_on.Resize(cluster_.nodes().name.size());
    made_.leaving_on.Resize(cluster_.nodes().name.size());
    for (const NodeId node : cluster_.nodes().name.ids()) {
      if (!cluster_.nodes().name[node].valid()) continue;
      made_.free_on[node] =
          std::max<int64_t>(0, idle_[node] + std::min<int64_t>(0, leaving_[node]));
      made_.leaving_on[node] = std::max<int64_t>(0, leaving_[node]);
      ++free[made_.free_on[node]];
      leaving += made_.leaving_on[node];
    }
    made_.leaving = static_cast<double>(leaving) / kNanoOfAGpu;
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
      if (each.kind == Kind::kEvict) continue;
      add(each.pod, NanoGpus(table_.gpus[i] + GpusOfSlices(each.pod, cluster_)));
      // A pod that moves leaves what it holds. Memory of a GPU is another part of a larger GPU.
      if (each.kind == Kind::kPipeline && evicted_.contains(each.pod))
        add(each.pod, -NanoGpusHeldBy(each.pod));
    }
    for (const Plan::Eviction& each : plan_.evictions) add(each.pod, -NanoGpusHeldBy(each.pod));
    made_.gained.assign(gained.begin(), gained.end());
    if (plan_.has_queue_numbers) CompareQueues(gained);
  }

  int64_t NanoGpusHeldBy(PodId pod) const {
    const PodColumns& pods = cluster_.pods();
    return NanoGpus(cluster_.AcceptedOn(pods.pod_class[pod], pods.node[pod])[kQuotaGpu]);
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

  struct Claimed {
    double gpus = 0;
    bool is_held = false;      // by a pod that runs, leaves or is bound
    bool stays = false;        // some holder stays
    bool is_promised = false;  // to a pod that waits for others to leave
  };

  const Plan& plan_;
  const DecisionTable& table_;
  const Cluster& cluster_;
  absl::flat_hash_set<PodId> evicted_;
  // Those that several pods may use.
  std::map<std::pair<ClaimId, NodeId>, Claimed> claims_;
  IndexVector<NodeId, int64_t> idle_;
  IndexVector<NodeId, int64_t> leaving_;  // minus what is promised
  GpuAccount made_;
};

}  // namespace

GpuAccount AccountOf(const Plan& plan, const DecisionTable& decisions) {
  return Accountant(plan, decisions).Make();
}

}  // namespace kai

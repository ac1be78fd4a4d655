#include "kai/actions/failed_groups.h"

#include <algorithm>

namespace kai {
namespace {

// Whether every element of `a` is at most that of `b`.
bool AllAtMost(std::span<const double> a, std::span<const double> b) { return Fits(a, b); }

}  // namespace

PodStatus FailedGroups::StatusAtStart(PodId pod) const {
  const auto changed = at_start_.find(pod);
  return changed == at_start_.end() ? cycle_.cluster->pods().status[pod] : changed->second;
}

FailedGroups::Key FailedGroups::SignatureOf(PodGroupId group) {
  // spec 2 H1-H3, with the data of pods in the cluster: constraints and affinity.
  for (const Change& change : cycle_.statement->ChangesSince(seen_))
    at_start_.emplace(change.pod, change.from);
  seen_ = cycle_.statement->Mark();
  const Cluster& cluster = *cycle_.cluster;
  std::vector<Key> pod_sets;
  for (const SubGroupId pod_set : cycle_.order->PodSetsOf(group)) {
    std::vector<std::pair<int64_t, int64_t>> pods;
    for (const PodId pod : cycle_.order->PodsOf(pod_set)) {
      if (IsActiveAllocated(StatusAtStart(pod))) continue;
      const PodClass& pod_class = cluster.ClassOf(pod);
      const auto affinity = affinities_.emplace(pod_class.affinity, affinities_.size()).first;
      pods.emplace_back(pod_class.constraint.value(), affinity->second);
    }
    std::sort(pods.begin(), pods.end());
    Key& key = pod_sets.emplace_back();
    // spec 4 F3: its topology constraint and those of its ancestors.
    for (SubGroupId set = pod_set; set.valid(); set = cluster.sub_groups().parent[set])
      key.push_back(cluster.sub_groups().topology[set].value());
    for (const auto& [constraint, affinity] : pods) key.insert(key.end(), {constraint, affinity});
  }
  std::sort(pod_sets.begin(), pod_sets.end());
  Key signature = {scope_ == Scope::kQueue ? cluster.pod_groups().queue[group].value() : 0};
  for (const Key& key : pod_sets) {
    signature.push_back(-1);
    signature.insert(signature.end(), key.begin(), key.end());
  }
  return signature;
}

std::vector<PodClassId> FailedGroups::PendingOf(PodGroupId group) const {
  const Cluster& cluster = *cycle_.cluster;
  std::vector<PodClassId> pending;
  for (const SubGroupId pod_set : cycle_.order->PodSetsOf(group)) {
    for (const PodId pod : cycle_.order->PodsOf(pod_set)) {
      if (cluster.pods().status[pod] == PodStatus::kPending)
        pending.push_back(cluster.pods().pod_class[pod]);
    }
  }
  // Insertion sort by request, a partial order; few requests differ.
  const auto& request = cluster.pod_classes().request;
  const auto less = [&](PodClassId a, PodClassId b) {
    return AllAtMost(request[a], request[b]) && !AllAtMost(request[b], request[a]);
  };
  for (size_t i = 1; i < pending.size(); ++i) {
    for (size_t j = i; j > 0 && less(pending[j], pending[j - 1]); --j)
      std::swap(pending[j], pending[j - 1]);
  }
  return pending;
}

bool FailedGroups::IsEasier(PodGroupId group, PodGroupId than) const {
  // spec 2 H4
  const std::vector<PodClassId> p = PendingOf(group);
  const std::vector<PodClassId> q = PendingOf(than);
  if (p.empty()) return false;
  if (q.size() > p.size()) return true;
  const auto& request = cycle_.cluster->pod_classes().request;
  for (size_t i = 0; i < p.size(); ++i) {
    if (i >= q.size()) return false;
    if (AllAtMost(request[p[i]], request[q[i]]) && !AllAtMost(request[q[i]], request[p[i]]))
      return true;
  }
  return false;
}

bool FailedGroups::IsSmaller(PodGroupId group, PodGroupId than) const {
  const std::vector<PodClassId> p = PendingOf(group);
  const std::vector<PodClassId> q = PendingOf(than);
  if (p.empty() || p.size() > q.size()) return false;
  const auto& request = cycle_.cluster->pod_classes().request;
  for (size_t i = 0; i < p.size(); ++i) {
    if (!AllAtMost(request[p[i]], request[q[i]])) return false;
  }
  return true;
}

bool FailedGroups::Includes(PodGroupId group) {
  if (!IsOn() || !cycle_.cluster->params().use_scheduling_signatures) return false;
  const auto found = groups_.find(SignatureOf(group));
  return found != groups_.end() && !IsEasier(group, found->second);
}

void FailedGroups::Add(PodGroupId group) {
  if (!IsOn()) return;
  const auto [found, is_new] = groups_.emplace(SignatureOf(group), group);
  if (!is_new && IsSmaller(group, found->second)) found->second = group;
}

}  // namespace kai

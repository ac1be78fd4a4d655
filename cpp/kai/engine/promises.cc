#include "kai/engine/promises.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kai/base/saturating.h"

namespace kai {
namespace {

// The group of a promise in the cluster, and its pods by name.
struct Found {
  PodGroupId group;  // invalid: there is none, or another of that name
  absl::flat_hash_map<std::pair<SubGroupId, NameId>, PodId> pods;
};

PodGroupId GroupNamed(const Promise& promise, const Cluster& cluster, const Directory* directory) {
  if (directory != nullptr)
    return directory->FindPodGroup(promise.namespace_name, promise.pod_group);
  const PodGroupColumns& groups = cluster.pod_groups();
  const NameId name = cluster.names().Find(promise.pod_group);
  const NameId namespace_name = cluster.names().Find(promise.namespace_name);
  for (const PodGroupId group : groups.name.ids()) {
    if (name.valid() && groups.name[group] == name &&
        groups.namespace_name[group] == namespace_name)
      return group;
  }
  return PodGroupId();
}

NodeId FindNode(const std::string& node, const Cluster& cluster, const Directory* directory) {
  if (directory != nullptr) return directory->FindNode(node);
  const IndexVector<NodeId, NameId>& names = cluster.nodes().name;
  const NameId name = cluster.names().Find(node);
  const auto found = std::ranges::find(names.raw(), name);
  return name.valid() && found != names.raw().end()
             ? NodeId(static_cast<int32_t>(found - names.raw().begin()))
             : NodeId();
}

Found FindGroup(const Promise& promise, const Cluster& cluster, const Directory* directory) {
  const PodGroupColumns& groups = cluster.pod_groups();
  Found found;
  found.group = GroupNamed(promise, cluster, directory);
  if (!found.group.valid()) return found;
  if (groups.created_ns[found.group] != promise.created_ns ||
      cluster.Text(groups.queue_name[found.group]) != promise.queue) {
    found.group = PodGroupId();
    return found;
  }
  for (const SubGroupId pod_set : groups.PodSetsOf(found.group)) {
    for (const PodId pod : cluster.sub_groups().PodsOf(pod_set))
      found.pods.emplace(std::pair(pod_set, cluster.pods().name[pod]), pod);
  }
  return found;
}

SubGroupId FindPodSet(const Promise& promise, PodGroupId group, const Cluster& cluster) {
  for (const SubGroupId pod_set : cluster.pod_groups().PodSetsOf(group)) {
    if (cluster.Text(cluster.sub_groups().name[pod_set]) == promise.pod_set) return pod_set;
  }
  return SubGroupId();
}

bool IsOfOneGroup(const Promise& a, const Promise& b) {
  return a.pod_group == b.pod_group && a.namespace_name == b.namespace_name && a.queue == b.queue &&
         a.created_ns == b.created_ns;
}

}  // namespace

Promises::Open Promises::In(const Cluster& cluster, const Directory* directory) const {
  Open open;
  Found found;
  for (size_t i = 0; i < all().size(); ++i) {
    const Promise& promise = all()[i];
    if (i == 0 || !IsOfOneGroup(promise, all()[i - 1]))
      found = FindGroup(promise, cluster, directory);
    if (!found.group.valid()) continue;
    const SubGroupId pod_set = FindPodSet(promise, found.group, cluster);
    const NodeId node = FindNode(promise.node, cluster, directory);
    if (!pod_set.valid() || !node.valid() || !cluster.nodes().name[node].valid()) continue;
    const NameId name = cluster.names().Find(promise.pod);
    const auto pod = found.pods.find(std::pair(pod_set, name));
    const int64_t rest_ns = cluster.params().stuck_in_releasing_threshold_ns;
    open.places.push_back({.group = found.group,
                           .pod_set = pod_set,
                           .pod = name.valid() && pod != found.pods.end() ? pod->second : PodId(),
                           .node = node,
                           .ends_ns = AddSaturating(promise.kept_ns, rest_ns)});
    open.numbers.push_back(i);
  }
  return open;
}

void Promises::TakeOver(const Plan& plan, const Open& open) {
  const Cluster& cluster = *plan.cluster;
  const PodColumns& pods = cluster.pods();
  const PodGroupColumns& groups = cluster.pod_groups();
  std::vector<std::pair<PodGroupId, Promise>> next;
  absl::flat_hash_set<PodId> known;
  for (const KeptPlace& kept : plan.kept_promises) {
    Promise promise = all()[open.numbers[kept.place]];
    if (kept.pod.valid()) {
      promise.pod = cluster.Text(pods.name[kept.pod]);
      promise.kept_ns = plan.now_ns;
      known.insert(kept.pod);
    }
    next.emplace_back(open.places[kept.place].group, std::move(promise));
  }
  // The last decision about a pipelined pod counts.
  absl::flat_hash_map<PodId, size_t> last;
  for (size_t i = 0; i < plan.decisions.size(); ++i) {
    const CycleLog::Decision& decision = plan.decisions[i];
    const bool is_promise = decision.kind == CycleLog::Decision::Kind::kPipeline;
    if (is_promise || (!last.empty() && last.contains(decision.pod))) last[decision.pod] = i;
  }
  for (size_t i = 0; i < plan.decisions.size() && !last.empty(); ++i) {
    const CycleLog::Decision& decision = plan.decisions[i];
    const PodId pod = decision.pod;
    if (decision.kind != CycleLog::Decision::Kind::kPipeline || last[pod] != i ||
        known.contains(pod) || !pods.pod_set[pod].valid())
      continue;
    const PodGroupId group = pods.group[pod];
    Promise promise{
        .namespace_name = std::string(cluster.Text(groups.namespace_name[group])),
        .pod_group = std::string(cluster.Text(groups.name[group])),
        .queue = std::string(cluster.Text(groups.queue_name[group])),
        .created_ns = groups.created_ns[group],
        .pod_set = std::string(cluster.Text(cluster.sub_groups().name[pods.pod_set[pod]])),
        .pod = std::string(cluster.Text(pods.name[pod])),
        .node = std::string(cluster.Text(cluster.nodes().name[decision.node])),
        .kept_ns = plan.now_ns};
    next.emplace_back(group, std::move(promise));
  }
  // Groups in the order of their first promise.
  absl::flat_hash_map<PodGroupId, size_t> turn;
  for (const auto& [group, promise] : next) turn.emplace(group, turn.size());
  std::ranges::stable_sort(next, {}, [&](const auto& each) { return turn[each.first]; });
  std::vector<Promise> all;
  all.reserve(next.size());
  for (auto& [group, promise] : next) all.push_back(std::move(promise));
  Set(std::move(all));
}

}  // namespace kai

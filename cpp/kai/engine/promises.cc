#include "kai/engine/promises.h"

#include <algorithm>
#include <tuple>
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

PodGroupId GroupNamed(std::string_view namespace_text, std::string_view text,
                      const Cluster& cluster, const Directory* directory) {
  if (directory != nullptr) return directory->FindPodGroup(namespace_text, text);
  const PodGroupColumns& groups = cluster.pod_groups();
  const NameId name = cluster.names().Find(text);
  const NameId namespace_name = cluster.names().Find(namespace_text);
  for (const PodGroupId group : groups.name.ids()) {
    if (name.valid() && groups.name[group] == name &&
        groups.namespace_name[group] == namespace_name)
      return group;
  }
  return PodGroupId();
}

// The group of a Promise or an Evictor; invalid: there is none, or another of that name.
template <typename Remembered>
PodGroupId GroupOf(const Remembered& each, const Cluster& cluster, const Directory* directory) {
  const PodGroupColumns& groups = cluster.pod_groups();
  const PodGroupId group = GroupNamed(each.namespace_name, each.pod_group, cluster, directory);
  const bool is_it = group.valid() && groups.created_ns[group] == each.created_ns &&
                     cluster.Text(groups.queue_name[group]) == each.queue;
  return is_it ? group : PodGroupId();
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
  found.group = GroupOf(promise, cluster, directory);
  if (!found.group.valid()) return found;
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

// Fills the fields by which a Promise or an Evictor finds its group.
template <typename Remembered>
void Identify(PodGroupId group, const Cluster& cluster, Remembered* each) {
  const PodGroupColumns& groups = cluster.pod_groups();
  each->namespace_name = cluster.Text(groups.namespace_name[group]);
  each->pod_group = cluster.Text(groups.name[group]);
  each->queue = cluster.Text(groups.queue_name[group]);
  each->created_ns = groups.created_ns[group];
}

// The last decision about each pod that shares devices.
absl::flat_hash_map<PodId, size_t> GpusByPod(const Plan& plan) {
  absl::flat_hash_map<PodId, size_t> decisions;
  for (size_t i = 0; i < plan.decisions.size(); ++i) {
    if (plan.decisions[i].gpus >= 0) decisions[plan.decisions[i].pod] = i;
  }
  return decisions;
}

EvictedPod EvictedBy(const CycleLog::Decision& decision, const Cluster& cluster) {
  const PodColumns& pods = cluster.pods();
  EvictedPod evicted{.namespace_name = std::string(cluster.Text(pods.namespace_name[decision.pod])),
                     .pod_group = {},
                     .pod = std::string(cluster.Text(pods.name[decision.pod])),
                     .node = std::string(cluster.Text(cluster.nodes().name[decision.node]))};
  if (const PodGroupId group = pods.group[decision.pod]; group.valid())
    evicted.pod_group = cluster.Text(cluster.pod_groups().name[group]);
  return evicted;
}

// What the cycle gets about the group.
UnkeptPromise CountOf(const Evictor& evictor, PodGroupId group) {
  return {.group = group,
          .times = evictor.unkept,
          .since_ns = evictor.since_ns,
          .evicted_ns = evictor.evicted_ns};
}

bool IsOver(const Evictor& evictor, int64_t now_ns) {
  return CountOf(evictor, PodGroupId()).IsOver(now_ns);
}

// True: the pod is not on its node any more, or it is leaving.
bool HasLeft(const EvictedPod& evicted, const Cluster& cluster, const Directory* directory) {
  const PodGroupId group =
      GroupNamed(evicted.namespace_name, evicted.pod_group, cluster, directory);
  if (!group.valid()) return true;
  const PodColumns& pods = cluster.pods();
  const NameId name = cluster.names().Find(evicted.pod);
  for (const SubGroupId pod_set : cluster.pod_groups().PodSetsOf(group)) {
    for (const PodId pod : cluster.sub_groups().PodsOf(pod_set)) {
      if (name.valid() && pods.name[pod] == name && IsActiveAllocated(pods.status[pod]) &&
          pods.node[pod].valid() &&
          cluster.Text(cluster.nodes().name[pods.node[pod]]) == evicted.node)
        return false;
    }
  }
  return true;
}

bool IsOfOneGroup(const Promise& a, const Promise& b) {
  return a.pod_group == b.pod_group && a.namespace_name == b.namespace_name && a.queue == b.queue &&
         a.created_ns == b.created_ns;
}

}  // namespace

namespace {

// Positions of devices in the list of their node; devices that are not listed get numbers below
// zero, the same for the same name.
class DeviceNumbers {
 public:
  explicit DeviceNumbers(const Cluster& cluster) : cluster_(cluster) {}
  GpuList Of(const Promise& promise, NodeId node) {
    GpuList gpus;
    const std::vector<SharedGpu>& listed = cluster_.nodes().shared_gpus[node];
    for (const std::string& name : promise.gpus) {
      const auto found = std::ranges::find_if(listed, [&](const SharedGpu& gpu) {
        return gpu.name.valid() && cluster_.Text(gpu.name) == name;
      });
      gpus.push_back(found != listed.end()
                         ? static_cast<int32_t>(found - listed.begin())
                         : unlisted_
                               .try_emplace(std::pair(node, std::string_view(name)),
                                            -1 - static_cast<int32_t>(unlisted_.size()))
                               .first->second);
    }
    return gpus;
  }

 private:
  const Cluster& cluster_;
  absl::flat_hash_map<std::pair<NodeId, std::string_view>, int32_t> unlisted_;
};

}  // namespace

Promises::Open Promises::In(const Cluster& cluster, const Directory* directory) const {
  Open open;
  Found found;
  DeviceNumbers devices(cluster);
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
                           .ends_ns = AddSaturating(promise.kept_ns, rest_ns),
                           .gpus = devices.Of(promise, node)});
    open.numbers.push_back(i);
  }
  const auto any_left = [&](const std::vector<EvictedPod>& pods) {
    return std::ranges::any_of(
        pods, [&](const EvictedPod& pod) { return HasLeft(pod, cluster, directory); });
  };
  for (const Evictor& each : evictors()) {
    const PodGroupId group = GroupOf(each, cluster, directory);
    if (!group.valid()) continue;
    UnkeptPromise unkept = CountOf(each, group);
    unkept.pods_left = any_left(each.victims);
    Evictor evictor = each;
    if (any_left(each.lost)) {
      unkept.Count(each.lost_ns);
      evictor.unkept = unkept.times;
      evictor.since_ns = unkept.since_ns;
      evictor.lost.clear();
    }
    open.unkept.push_back(unkept);
    open.evictors.push_back(std::move(evictor));
  }
  return open;
}

void Promises::TakeLosses(const Plan& plan, const Open& open) {
  absl::flat_hash_map<PodGroupId, const UnkeptPromise*> counted;
  for (const UnkeptPromise& each : plan.unkept_promises) {
    if (each.since_ns == plan.now_ns) counted.emplace(each.group, &each);
  }
  if (counted.empty()) return;
  std::vector<Evictor> all = open.evictors;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto found = counted.find(open.unkept[i].group);
    if (found == counted.end() || found->second->since_ns == open.unkept[i].since_ns) continue;
    all[i].unkept = found->second->times;
    all[i].since_ns = found->second->since_ns;
    all[i].victims.clear();
  }
  evictors_ = std::make_shared<const std::vector<Evictor>>(std::move(all));
}

void Promises::TakeOver(const Plan& plan, const Open& open, bool take_turns) {
  const Cluster& cluster = *plan.cluster;
  const PodColumns& pods = cluster.pods();
  std::vector<std::pair<PodGroupId, Promise>> next;
  absl::flat_hash_set<PodId> known;
  const auto gpus_of = GpusByPod(plan);
  for (const KeptPlace& kept : plan.kept_promises) {
    Promise promise = all()[open.numbers[kept.place]];
    if (kept.pod.valid()) {
      promise.pod = cluster.Text(pods.name[kept.pod]);
      promise.kept_ns = plan.now_ns;
      // The names of new devices differ from plan to plan.
      if (const auto gpus = gpus_of.find(kept.pod); gpus != gpus_of.end())
        promise.gpus = plan.GpuGroupsOf(plan.decisions[gpus->second]);
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
    Promise promise;
    Identify(group, cluster, &promise);
    promise.pod_set = cluster.Text(cluster.sub_groups().name[pods.pod_set[pod]]);
    promise.pod = cluster.Text(pods.name[pod]);
    promise.node = cluster.Text(cluster.nodes().name[decision.node]);
    promise.gpus = plan.GpuGroupsOf(decision);
    promise.kept_ns = plan.now_ns;
    next.emplace_back(group, std::move(promise));
  }
  // Groups in the order of their first promise.
  absl::flat_hash_map<PodGroupId, size_t> turn;
  for (const auto& [group, promise] : next) turn.emplace(group, turn.size());
  std::ranges::stable_sort(next, {}, [&](const auto& each) { return turn[each.first]; });
  std::vector<Promise> all;
  std::vector<PodGroupId> promised;
  all.reserve(next.size());
  for (auto& [group, promise] : next) {
    all.push_back(std::move(promise));
    if (promised.empty() || promised.back() != group) promised.push_back(group);
  }
  Set(std::move(all), EvictorsAfter(plan, open, promised, take_turns));
}

std::vector<Evictor> Promises::EvictorsAfter(const Plan& plan, const Open& open,
                                             std::span<const PodGroupId> promised,
                                             bool take_turns) const {
  const Cluster& cluster = *plan.cluster;
  const PodColumns& pods = cluster.pods();
  const absl::flat_hash_set<PodGroupId> with_promises(promised.begin(), promised.end());
  absl::flat_hash_set<PodGroupId> with_kept;
  for (const KeptPlace& kept : plan.kept_promises) with_kept.insert(open.places[kept.place].group);
  absl::flat_hash_map<PodGroupId, Evictor> next;
  for (size_t i = 0; i < open.unkept.size(); ++i) {
    Evictor& each = next[open.unkept[i].group];
    each = open.evictors[i];
    if (!with_kept.contains(open.unkept[i].group)) each.victims.clear();
  }
  for (const UnkeptPromise& unkept : plan.unkept_promises) {
    Evictor& each = next[unkept.group];
    each.unkept = unkept.times;
    each.since_ns = unkept.since_ns;
  }
  absl::flat_hash_set<PodId> moved;
  for (const CycleLog::Decision& decision : plan.decisions) {
    if (decision.kind == CycleLog::Decision::Kind::kPipeline) moved.insert(decision.pod);
  }
  for (const CycleLog::Decision& decision : plan.decisions) {
    if (decision.kind != CycleLog::Decision::Kind::kEvict) continue;
    const PodGroupId gains = decision.for_group;
    if (gains.valid()) next[gains].evicted_ns = plan.now_ns;
    if (!decision.node.valid()) continue;  // on a node that is gone: no group gains or loses room
    if (gains.valid() && with_promises.contains(gains))
      next[gains].victims.push_back(EvictedBy(decision, cluster));
    const PodGroupId own = pods.group[decision.pod];
    if (!own.valid() || own == gains) continue;
    if (moved.contains(decision.pod)) {
      // It is a victim of its own promise.
      if (with_promises.contains(own)) next[own].victims.push_back(EvictedBy(decision, cluster));
    } else if (const auto evictor = next.find(own);
               !take_turns && evictor != next.end() && !IsOver(evictor->second, plan.now_ns)) {
      Evictor& each = evictor->second;
      if (each.lost_ns != plan.now_ns) each.lost.clear();
      each.lost_ns = plan.now_ns;
      each.lost.push_back(EvictedBy(decision, cluster));
    }
  }
  std::vector<Evictor> all;
  all.reserve(next.size());
  for (auto& [group, each] : next) {
    if (IsOver(each, plan.now_ns) && each.victims.empty()) continue;
    Identify(group, cluster, &each);
    all.push_back(std::move(each));
  }
  std::ranges::sort(
      all, {}, [](const Evictor& each) { return std::tie(each.namespace_name, each.pod_group); });
  return all;
}

}  // namespace kai

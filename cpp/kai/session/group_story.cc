#include "kai/session/group_story.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace kai {
namespace {

using Decision = CycleLog::Decision;
using Kind = CycleLog::Decision::Kind;

bool WaitsAtFirst(PodStatus status) {
  return status == PodStatus::kPending || status == PodStatus::kGated;
}

// Pods that have to start together: for a set, the smallest number that satisfies enough of its
// children.
int64_t LeastPodsOf(SubGroupId set, const SubGroupColumns& sets) {
  const auto minimum = static_cast<size_t>(std::max(sets.minimum[set], 0));
  if (sets.is_pod_set[set] != 0) return static_cast<int64_t>(minimum);
  std::vector<int64_t> children;
  for (const SubGroupId child : sets.ChildrenOf(set)) children.push_back(LeastPodsOf(child, sets));
  std::ranges::sort(children);
  children.resize(std::min(children.size(), minimum));
  return std::accumulate(children.begin(), children.end(), int64_t{0});
}

// The pods and decisions of one group.
struct Parts {
  std::vector<PodId> pods;
  std::vector<const Decision*> decisions;
};

class StoryBuilder {
 public:
  StoryBuilder(const Plan& plan, PodGroupId group, const Parts& parts)
      : plan_(plan), cluster_(*plan.cluster), group_(group), parts_(parts) {}

  GroupStory Build() {
    story_.least = LeastPodsOf(cluster_.pod_groups().root[group_], cluster_.sub_groups());
    AddDecisions();
    AddPods();
    return std::move(story_);
  }

 private:
  void AddDecisions() {
    absl::flat_hash_map<PodId, const Decision*> last;  // evictions by pod
    std::vector<PodId> order;
    for (const Decision* each : parts_.decisions) {
      if (each->kind != Kind::kEvict) {
        Count(each->node, each->kind == Kind::kBind ? &story_.bound : &story_.promised);
        continue;
      }
      if (last.insert_or_assign(each->pod, each).second) order.push_back(each->pod);
    }
    for (const PodId pod : order) {
      evicted_.insert(pod);
      AddCause(*last[pod]);
    }
    story_.evicted = static_cast<int64_t>(order.size());
    story_.moves =
        !order.empty() && std::ranges::all_of(parts_.decisions, [&](const Decision* each) {
          return each->kind != Kind::kPipeline || evicted_.contains(each->pod);
        });
    for (const Plan::Eviction& each :
         std::ranges::equal_range(plan_.evictions, group_, {}, &Plan::Eviction::group)) {
      lost_.insert(each.pod);
    }
    story_.lost = static_cast<int64_t>(lost_.size());
  }

  void AddCause(const Decision& decision) {
    const auto is_same = [&](const GroupStory::Cause& cause) {
      return cause.action == decision.action && cause.for_group == decision.for_group;
    };
    auto found = std::ranges::find_if(story_.causes, is_same);
    if (found == story_.causes.end()) {
      story_.causes.push_back({.action = decision.action, .for_group = decision.for_group});
      found = std::prev(story_.causes.end());
    }
    ++found->pods;
  }

  // Decisions about one node are often adjacent.
  void Count(NodeId node, std::vector<GroupStory::OnNode>* nodes) {
    if (nodes->empty() || nodes->back().node != node) {
      auto& places = nodes == &story_.bound ? bound_at_ : promised_at_;
      const auto [found, is_new] = places.try_emplace(node, nodes->size());
      if (!is_new) {
        ++(*nodes)[found->second].pods;
        return;
      }
      nodes->push_back({.node = node});
    }
    ++nodes->back().pods;
  }

  void AddPods() {
    const PodColumns& pods = cluster_.pods();
    std::map<double, int64_t> all;
    std::map<double, int64_t> waiting;
    struct Running {
      PodId first;
      int64_t pods = 0;
    };
    absl::flat_hash_map<NodeId, Running> running;
    for (const PodId pod : parts_.pods) {
      const bool has_ended =
          pods.status[pod] == PodStatus::kSucceeded || pods.status[pod] == PodStatus::kFailed;
      const double gpus = has_ended ? 0 : GpusOf(pod, cluster_);
      ++all[gpus];
      if (WaitsAtFirst(pods.status[pod])) {
        ++waiting[gpus];
        classes_.insert(pods.pod_class[pod]);
        const GpuRequest& asked = cluster_.ClassOf(pod).gpu;
        if (asked.IsShared() && asked.count != 0) Earlier(pod, &story_.sharer);
      }
      if (!pods.node[pod].valid()) continue;
      if (!lost_.contains(pod)) ++story_.placed;
      if (evicted_.contains(pod)) continue;
      Running& here = running[pods.node[pod]];
      Earlier(pod, &here.first);
      ++here.pods;
    }
    story_.pods.assign(all.begin(), all.end());
    story_.waiting.assign(waiting.begin(), waiting.end());
    story_.classes.assign(classes_.begin(), classes_.end());
    std::vector<std::pair<PodId, GroupStory::OnNode>> nodes;
    for (const auto& [node, here] : running)
      nodes.push_back({here.first, {.node = node, .pods = here.pods}});
    std::ranges::sort(nodes, [&](const auto& a, const auto& b) {
      return cluster_.IsNamedBefore(a.first, b.first);
    });
    for (const auto& each : nodes) story_.running.push_back(each.second);
  }

  void Earlier(PodId pod, PodId* first) const {
    if (!first->valid() || cluster_.IsNamedBefore(pod, *first)) *first = pod;
  }

  const Plan& plan_;
  const Cluster& cluster_;
  const PodGroupId group_;
  const Parts& parts_;
  GroupStory story_;
  std::set<PodClassId> classes_;  // of waiting pods
  absl::flat_hash_set<PodId> evicted_;
  absl::flat_hash_set<PodId> lost_;
  absl::flat_hash_map<NodeId, size_t> bound_at_;
  absl::flat_hash_map<NodeId, size_t> promised_at_;
};

// Compares names of one kind of objects with a requested name.
class Called {
 public:
  Called(const Cluster& cluster, std::string_view name) : cluster_(cluster), name_(name) {}

  bool operator()(NameId namespace_name, NameId name) const {
    const std::string_view own = cluster_.Text(name);
    if (own == name_) return true;
    const std::string_view space = cluster_.Text(namespace_name);
    return name_.size() == space.size() + 1 + own.size() && name_.starts_with(space) &&
           name_[space.size()] == '/' && name_.ends_with(own);
  }

 private:
  const Cluster& cluster_;
  std::string_view name_;
};

}  // namespace

std::vector<GroupStory> StoriesOf(const Plan& plan, std::span<const PodGroupId> groups) {
  const Cluster& cluster = *plan.cluster;
  const PodColumns& pods = cluster.pods();
  std::vector<Parts> parts(groups.size());
  IndexVector<PodGroupId, int32_t> place(cluster.pod_groups().size(), -1);
  for (size_t i = 0; i < groups.size(); ++i) place[groups[i]] = static_cast<int32_t>(i);
  const auto parts_of = [&](PodId pod) -> Parts* {
    const PodGroupId group = pods.group[pod];
    if (!group.valid() || place[group] < 0) return nullptr;
    return &parts[static_cast<size_t>(place[group])];
  };
  for (const PodId pod : pods.name.ids()) {
    if (!pods.name[pod].valid()) continue;
    if (Parts* own = parts_of(pod)) own->pods.push_back(pod);
  }
  for (const Decision& each : plan.decisions) {
    if (Parts* own = parts_of(each.pod)) own->decisions.push_back(&each);
  }
  std::vector<GroupStory> stories;
  stories.reserve(groups.size());
  for (size_t i = 0; i < groups.size(); ++i)
    stories.push_back(StoryBuilder(plan, groups[i], parts[i]).Build());
  return stories;
}

std::vector<PodGroupId> GroupsCalled(const Cluster& cluster, std::string_view name) {
  const PodGroupColumns& groups = cluster.pod_groups();
  const PodColumns& pods = cluster.pods();
  const Called is_called(cluster, name);
  std::vector<PodGroupId> found;
  for (const PodGroupId group : groups.name.ids()) {
    if (groups.name[group].valid() && is_called(groups.namespace_name[group], groups.name[group]))
      found.push_back(group);
  }
  if (!found.empty()) return found;
  for (const PodId pod : pods.name.ids()) {
    const PodGroupId group = pods.group[pod];
    if (pods.name[pod].valid() && group.valid() &&
        is_called(pods.namespace_name[pod], pods.name[pod]) && !std::ranges::count(found, group))
      found.push_back(group);
  }
  if (!found.empty()) return found;
  for (const PodGroupId group : groups.name.ids()) {
    const NameId owner = groups.owner_name[group];
    if (groups.name[group].valid() && owner.valid() &&
        is_called(groups.namespace_name[group], owner))
      found.push_back(group);
  }
  return found;
}

std::vector<PodId> PodsCalled(const Cluster& cluster, std::string_view name) {
  const PodColumns& pods = cluster.pods();
  const Called is_called(cluster, name);
  std::vector<PodId> found;
  for (const PodId pod : pods.name.ids()) {
    if (pods.name[pod].valid() && is_called(pods.namespace_name[pod], pods.name[pod]))
      found.push_back(pod);
  }
  return found;
}

}  // namespace kai

// Queues: whole trees only.
#include <algorithm>
#include <map>
#include <set>

#include "kai/model/building/cluster_assembler.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

constexpr int64_t kDefaultQueuePriority = 100;          // spec 1 F1
constexpr std::string_view kFlatRootQueue = "default";  // spec 1 F12

}  // namespace

void ClusterAssembler::KeepWholeQueueTrees(std::vector<QueueRow>* rows) {
  std::map<std::string, const QueueRow*> by_name;
  std::map<std::string, std::vector<std::string>> children;  // "" are the top level
  for (const QueueRow& row : *rows) {
    by_name.emplace(row.name, &row);
    children[row.parent].push_back(row.name);
  }
  std::vector<std::string> reached = children[""];
  for (size_t i = 0; i < reached.size(); ++i) {
    const std::vector<std::string>& below = children[reached[i]];
    reached.insert(reached.end(), below.begin(), below.end());
  }
  const std::set<std::string> kept(reached.begin(), reached.end());

  // What no top-level queue reaches hangs below a parent that is missing, or in a cycle (spec 1
  // F10, F11).
  const auto is_its_own_ancestor = [&](const QueueRow& row) {
    std::set<std::string> seen;
    for (const QueueRow* at = by_name.at(row.parent); seen.insert(at->name).second;) {
      if (at->name == row.name) return true;
      const auto parent = by_name.find(at->parent);
      if (parent == by_name.end()) return false;
      at = parent->second;
    }
    return false;
  };
  for (const auto& [name, row] : by_name) {
    if (kept.contains(name)) continue;
    std::string why;
    if (!by_name.contains(row->parent)) {
      why = StrCat("parent queue \"", row->parent, "\" does not exist");
    } else if (is_its_own_ancestor(*row)) {
      why = StrCat("is its own ancestor, by way of parent queue \"", row->parent, "\"");
    } else {
      why = StrCat("parent queue \"", row->parent, "\" was left out");
    }
    Reject("Queue", name, "spec.parentQueue", why);
  }
  std::erase_if(*rows, [&](const QueueRow& row) { return !kept.contains(row.name); });
}

void ClusterAssembler::FlattenQueues(std::vector<QueueRow>* rows) {
  // spec 1 F12: everything with a parent hangs below one unlimited queue; the rest goes.
  std::erase_if(*rows, [](const QueueRow& row) { return row.parent.empty(); });
  std::erase_if(*rows, [&](const QueueRow& row) {
    if (row.name != kFlatRootQueue) return false;
    Reject("Queue", row.name, "metadata.name",
           "the name is taken by the one parent of all queues when fullHierarchyFairness is off");
    return true;
  });
  for (QueueRow& row : *rows) row.parent = std::string(kFlatRootQueue);
  QueueRow root;
  root.name = std::string(kFlatRootQueue);
  for (QuotaRow& quota : root.resources)
    quota = {.quota = kUnlimited, .over_quota_weight = 1, .limit = kUnlimited};
  rows->push_back(std::move(root));
}

void ClusterAssembler::Queues(std::vector<QueueRow> rows) {
  std::erase_if(rows, [&](const QueueRow& row) { return !InNodePool(row.labels); });
  std::vector<QueueRow> unique;
  for (QueueRow* row : SortedAndUnique(&rows, "Queue", NameKey<QueueRow>, &c_.rejections_)) {
    unique.push_back(std::move(*row));
  }
  rows = std::move(unique);
  if (!c_.params_.full_hierarchy_fairness) FlattenQueues(&rows);
  KeepWholeQueueTrees(&rows);
  std::sort(rows.begin(), rows.end(),
            [](const QueueRow& a, const QueueRow& b) { return a.name < b.name; });

  QueueColumns& queues = c_.queues_;
  for (const QueueRow& row : rows)
    queue_by_name_.emplace(Name(row.name), queues.name.Add(Name(row.name)));
  IndexVector<QueueId, std::vector<QueueId>> children(rows.size());
  for (const QueueRow& row : rows) {
    const QueueId queue = queue_by_name_.at(Name(row.name));
    queues.display_name.Add(Name(row.display_name.empty() ? row.name : row.display_name));
    const QueueId parent = row.parent.empty() ? QueueId() : queue_by_name_.at(Name(row.parent));
    queues.parent.Add(parent);
    if (parent.valid()) {
      children[parent].push_back(queue);
    } else {
      queues.top_level.push_back(queue);
    }
    queues.priority.Add(row.priority.value_or(kDefaultQueuePriority));
    queues.created_ns.Add(row.created_ns.value_or(kNoTime));
    QuotaVector deserved{};
    QuotaVector limit{};
    QuotaVector weight{};
    for (size_t i = 0; i < kQuotaResources; ++i) {
      const QuotaRow& quota = row.resources[i];
      const double scale = i == kQuotaMemory ? kBytesPerMegabyte : 1;  // spec 1 F2
      deserved[i] = quota.quota == kUnlimited ? kUnlimited : quota.quota * scale;
      limit[i] = quota.limit == kUnlimited ? kUnlimited : quota.limit * scale;
      if (i == kQuotaMemory) {  // spec 1 F6
        deserved[i] = std::max(deserved[i], kUnlimited);
        limit[i] = std::max(limit[i], kUnlimited);
      }
      weight[i] = quota.over_quota_weight;
    }
    queues.deserved.Add(deserved);
    queues.limit.Add(limit);
    queues.over_quota_weight.Add(weight);
    queues.preempt_min_runtime_ns.Add(row.preempt_min_runtime_ns);
    queues.reclaim_min_runtime_ns.Add(row.reclaim_min_runtime_ns);
  }
  for (const QueueId queue : queues.name.ids()) {
    const auto begin = static_cast<int32_t>(queues.child_list.size());
    queues.child_list.insert(queues.child_list.end(), children[queue].begin(),
                             children[queue].end());
    queues.children.Add({begin, static_cast<int32_t>(queues.child_list.size())});
  }
  queues.parents_first = queues.top_level;
  for (size_t i = 0; i < queues.parents_first.size(); ++i) {
    const std::vector<QueueId>& below = children[queues.parents_first[i]];
    queues.parents_first.insert(queues.parents_first.end(), below.begin(), below.end());
  }
}

void ClusterAssembler::SumQueues() {
  const PodColumns& pods = c_.pods_;
  const PodGroupColumns& groups = c_.pod_groups_;
  c_.queues_.sums.Resize(c_.queues_.size());
  for (const PodId pod : pods.name.ids()) {
    const PodGroupId group = pods.group[pod];
    // A pod of a sub-group that does not exist is not counted (spec 1 F32).
    if (!group.valid() || !pods.pod_set[pod].valid()) continue;
    const QueueId queue = groups.queue[group];
    if (!queue.valid()) continue;
    QueueSums& sums = c_.queues_.sums[queue];
    if (IsAllocated(pods.status[pod])) {
      const QuotaCount accepted = c_.AcceptedOn(pods.pod_class[pod], pods.node[pod]);
      sums.requested += accepted;
      sums.allocated += accepted;
      if (groups.preemptible[group] == 0) sums.allocated_non_preemptible += accepted;
    } else if (pods.status[pod] == PodStatus::kPending) {
      sums.requested += c_.ClassOf(pod).requested;
    }
  }
  // Children before parents: every amount counts in each ancestor (spec 1 F33).
  const std::vector<QueueId>& order = c_.queues_.parents_first;
  for (auto queue = order.rbegin(); queue != order.rend(); ++queue) {
    const QueueId parent = c_.queues_.parent[*queue];
    if (parent.valid()) c_.queues_.sums[parent] += c_.queues_.sums[*queue];
  }
}

}  // namespace kai

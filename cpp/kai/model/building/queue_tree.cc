#include "kai/model/building/queue_tree.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "kai/api/units.h"
#include "kai/base/text.h"
#include "kai/model/building/numbering.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

constexpr int64_t kDefaultQueuePriority = 100;          // spec 1 F1
constexpr std::string_view kFlatRootQueue = "default";  // spec 1 F12

using QueueByName = std::map<std::string_view, const QueueRow*>;

// From one queue to its parent, and so on.
bool IsItsOwnAncestor(const QueueRow& row, const QueueByName& by_name) {
  std::set<std::string_view> seen;
  for (const QueueRow* at = by_name.at(row.parent); seen.insert(at->name).second;) {
    if (at->name == row.name) return true;
    const auto parent = by_name.find(at->parent);
    if (parent == by_name.end()) return false;
    at = parent->second;
  }
  return false;
}

std::string WhyLeftOut(const QueueRow& row, const QueueByName& by_name) {
  if (!by_name.contains(row.parent))
    return StrCat("parent queue \"", row.parent, "\" does not exist");
  if (IsItsOwnAncestor(row, by_name))
    return StrCat("is its own ancestor, through the parent queue \"", row.parent, "\"");
  return StrCat("parent queue \"", row.parent, "\" was left out");
}

// Of one resource, in the units of the engine (spec 1 F2, F6).
double QuotaOf(double written, size_t resource) {
  if (written == kUnlimited || resource != kQuotaMemory) return written;
  return std::max(written * kBytesPerMegabyte, kUnlimited);
}

void AddQueue(const QueueRow& row, Interner* names, const Directory& directory,
              QueueColumns* queues) {
  queues->parent.Add(row.parent.empty() ? QueueId() : directory.FindQueue(row.parent));
  queues->display_name.Add({});
  queues->priority.Add({});
  queues->created_ns.Add({});
  queues->deserved.Add({});
  queues->limit.Add({});
  queues->over_quota_weight.Add({});
  queues->past_usage.Add({});
  queues->preempt_min_runtime_ns.Add({});
  const QueueId queue = queues->reclaim_min_runtime_ns.Add({});
  WriteQuotas(row, queue, names, queues);
}

}  // namespace

void WriteQuotas(const QueueRow& row, QueueId queue, Interner* names, QueueColumns* queues) {
  queues->display_name[queue] =
      names->Intern(row.display_name.empty() ? row.name : row.display_name);
  queues->priority[queue] = row.priority.value_or(kDefaultQueuePriority);
  queues->created_ns[queue] = row.created_ns.value_or(kNoTime);
  for (size_t i = 0; i < kQuotaResources; ++i) {
    queues->deserved[queue][i] = QuotaOf(row.resources[i].quota, i);
    queues->limit[queue][i] = QuotaOf(row.resources[i].limit, i);
    queues->over_quota_weight[queue][i] = row.resources[i].over_quota_weight;
  }
  queues->past_usage[queue] = row.past_usage;
  queues->preempt_min_runtime_ns[queue] = row.preempt_min_runtime_ns;
  queues->reclaim_min_runtime_ns[queue] = row.reclaim_min_runtime_ns;
}

void KeepWholeQueueTrees(std::vector<QueueRow>* rows, std::vector<Rejection>* rejections) {
  QueueByName by_name;
  std::map<std::string_view, std::vector<std::string_view>> children;  // "" are the top level
  for (const QueueRow& row : *rows) {
    by_name.emplace(row.name, &row);
    children[row.parent].push_back(row.name);
  }
  std::vector<std::string_view> reached = children[""];
  for (size_t i = 0; i < reached.size(); ++i) {
    const std::vector<std::string_view>& below = children[reached[i]];
    reached.insert(reached.end(), below.begin(), below.end());
  }
  if (reached.size() == rows->size()) return;
  const std::set<std::string, std::less<>> kept(reached.begin(), reached.end());
  for (const auto& [name, row] : by_name) {
    if (kept.contains(name)) continue;
    rejections->push_back({.kind = "Queue",
                           .name = std::string(name),
                           .field = "spec.parentQueue",
                           .message = WhyLeftOut(*row, by_name)});
  }
  std::erase_if(*rows, [&](const QueueRow& row) { return !kept.contains(row.name); });
}

void FlattenQueues(std::vector<QueueRow>* rows, std::vector<Rejection>* rejections) {
  std::erase_if(*rows, [](const QueueRow& row) { return row.parent.empty(); });
  std::erase_if(*rows, [&](const QueueRow& row) {
    if (row.name != kFlatRootQueue) return false;
    rejections->push_back(
        {.kind = "Queue",
         .name = row.name,
         .field = "metadata.name",
         .message =
             "this name is reserved for the parent of all queues when fullHierarchyFairness is "
             "off"});
    return true;
  });
  for (QueueRow& row : *rows) row.parent = std::string(kFlatRootQueue);
  QueueRow root;
  root.name = std::string(kFlatRootQueue);
  for (QuotaRow& quota : root.resources)
    quota = {.quota = kUnlimited, .over_quota_weight = 1, .limit = kUnlimited};
  rows->push_back(std::move(root));
}

void WriteQueues(const std::vector<QueueRow>& rows, Interner* names, Directory* directory,
                 QueueColumns* queues) {
  for (const QueueRow& row : rows)
    directory->Add(row.name, queues->name.Add(names->Intern(row.name)));
  for (const QueueRow& row : rows) AddQueue(row, names, *directory, queues);
  IndexVector<QueueId, std::vector<QueueId>> children(queues->size());
  RankByName(*names, queues);
  for (const QueueId queue : InOrderOf(queues->name_rank)) {
    const QueueId parent = queues->parent[queue];
    (parent.valid() ? children[parent] : queues->top_level).push_back(queue);
  }
  for (const QueueId queue : queues->name.ids()) {
    const auto begin = static_cast<int32_t>(queues->child_list.size());
    queues->child_list.insert(queues->child_list.end(), children[queue].begin(),
                              children[queue].end());
    queues->children.Add({begin, static_cast<int32_t>(queues->child_list.size())});
  }
  queues->parents_first = queues->top_level;
  for (size_t i = 0; i < queues->parents_first.size(); ++i) {
    const std::vector<QueueId>& below = children[queues->parents_first[i]];
    queues->parents_first.insert(queues->parents_first.end(), below.begin(), below.end());
  }
}

}  // namespace kai

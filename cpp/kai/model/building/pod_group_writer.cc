#include "kai/model/building/pod_group_writer.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include "kai/base/text_head.h"
#include "kai/model/building/numbering.h"
#include "kai/model/building/row_lookup.h"
#include "kai/model/building/sub_group_tree.h"

namespace kai {
namespace {

constexpr int64_t kDefaultPodGroupPriority = 50;  // spec 2 G4
constexpr int64_t kPreemptibleBelow = 100;        // spec 1 F96

std::string_view NodePoolOf(const PodGroupSpecRow& row, const ShardParams& params) {
  const std::string* pool = FindLabelText(row.labels, params.node_pool_label_key);
  return pool == nullptr ? kDefaultNodePool : std::string_view(*pool);
}

}  // namespace

PriorityClasses::PriorityClasses(const std::vector<PriorityClassRow>& rows) {
  std::optional<int64_t> global_default;
  for (const PriorityClassRow& row : rows) {
    values_[row.name] = row.value;
    // Kubernetes allows one default class. Of several the largest value is used, so that their
    // order does not matter.
    if (row.global_default)
      global_default = std::max(global_default.value_or(row.value), row.value);
  }
  default_value_ = global_default.value_or(kDefaultPodGroupPriority);
}

int64_t PriorityClasses::ValueOf(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? default_value_ : found->second;
}

bool HasUsedItsTry(const PodGroupSpecRow& row, const ShardParams& params) {
  return row.scheduling_backoff.value_or(-1) != -1 && !row.latest_condition_node_pool.empty() &&
         row.latest_condition_node_pool == NodePoolOf(row, params);
}

PodGroupId PodGroupWriter::Add(const CompactPodGroup& row) {
  Interner& names = *at_.names;
  const PodGroupSpecRow& spec = *row.spec;
  const PodGroupId group = groups_.name.Add(names.Intern(row.name));
  groups_.namespace_name.Add(names.Intern(row.namespace_name));
  at_.directory->Add(row.namespace_name, row.name, group);
  groups_.owner_name.Add(row.owner_name.empty() ? NameId() : names.Intern(row.owner_name));
  groups_.queue_name.Add(names.Intern(spec.queue));
  const QueueId queue = at_.directory->FindQueue(spec.queue);
  groups_.queue.Add(queue);
  const int64_t priority = queue.valid() ? at_.priorities->ValueOf(spec.priority_class) : 0;
  groups_.priority.Add(static_cast<int32_t>(priority));
  const bool preemptible = spec.preemptibility == "preemptible" ||
                           (spec.preemptibility.empty() && priority < kPreemptibleBelow);
  groups_.preemptible.Add(queue.valid() && preemptible ? 1 : 0);
  groups_.created_ns.Add(row.created_ns.value_or(kNoTime));
  groups_.creation_rank.Add(0);
  groups_.misfits.Add({});
  groups_.backoff_prefix.Add(spec.scheduling_backoff.value_or(-1) == 1 ? 1 : 0);
  groups_.node_pool.Add(names.Intern(NodePoolOf(spec, *at_.params)));
  groups_.last_start_ns.Add(kNoTime);
  groups_.stale_since_ns.Add(kNoTime);
  groups_.last_eviction_ns.Add(kNoTime);
  groups_.service.Add({});
  Stamp(row, group);
  groups_.estimate_ns.Add(row.estimate_ns.value_or(-1));
  groups_.preemption_delay_ns.Add(spec.preemption_delay_ns.value_or(0));
  groups_.staleness_grace_ns.Add(
      spec.staleness_grace_ns.value_or(at_.params->default_staleness_grace_ns));

  const SubGroupTree tree = SubGroupTreeOf(spec);
  if (!tree.problem.empty()) {
    at_.rejections->push_back({.kind = "PodGroup",
                               .name = NameOf(row),
                               .field = "spec.subGroups",
                               .message = tree.problem});
  }
  AddSets(group, tree, DomainCountOf(row, at_.rejections));
  return group;
}

void PodGroupWriter::Stamp(const CompactPodGroup& row, PodGroupId group) {
  groups_.last_start_ns[group] = row.last_start_ns.value_or(kNoTime);
  groups_.stale_since_ns[group] = row.stale_since_ns.value_or(kNoTime);
  groups_.last_eviction_ns[group] = row.last_eviction_ns.value_or(kNoTime);
  groups_.service[group] = row.service;
}

void PodGroupWriter::AddSets(PodGroupId group, const SubGroupTree& tree,
                             const DomainCountRow* domain_count) {
  std::vector<SubGroupId>& ids = ids_;
  ids.clear();
  for (size_t i = 0; i < tree.sets.size(); ++i) ids.push_back(SubGroupId(sets_.size() + i));
  OrderForIds(at_.seed, &ids);
  sets_.Resize(sets_.size() + tree.sets.size());
  std::vector<std::pair<std::string_view, SubGroupId>>& pod_sets = pod_sets_;
  pod_sets.clear();
  for (size_t i = 0; i < tree.sets.size(); ++i) {
    const SubGroupTree::Set& set = tree.sets[i];
    const SubGroupId id = ids[i];
    sets_.name[id] = at_.names->Intern(set.name);
    sets_.group[id] = group;
    sets_.is_pod_set[id] = set.is_pod_set ? 1 : 0;
    sets_.minimum[id] = set.minimum;
    sets_.minimum_given[id] = set.minimum_given ? 1 : 0;
    if (set.topology != nullptr) {
      const bool is_root = set.parent < 0;
      sets_.topology[id] =
          at_.topologies->ConstraintOf(*set.topology, is_root ? domain_count : nullptr);
    }
    if (set.parent >= 0) sets_.parent[id] = ids[static_cast<size_t>(set.parent)];
    if (set.is_pod_set) pod_sets.emplace_back(set.name, id);
  }
  groups_.root.Add(ids[0]);
  size_t child = 1;  // siblings are adjacent, by name, in the order of their parents
  for (size_t i = 0; i < tree.sets.size(); ++i) {
    const auto begin = static_cast<int32_t>(sets_.child_list.size());
    for (; child < ids.size() && tree.sets[child].parent == static_cast<int32_t>(i); ++child)
      sets_.child_list.push_back(ids[child]);
    sets_.children[ids[i]] = {begin, static_cast<int32_t>(sets_.child_list.size())};
  }
  std::sort(pod_sets.begin(), pod_sets.end());
  const auto begin = static_cast<int32_t>(groups_.pod_set_list.size());
  for (const auto& [name, set] : pod_sets) groups_.pod_set_list.push_back(set);
  groups_.pod_sets.Add({begin, static_cast<int32_t>(groups_.pod_set_list.size())});
}

bool CreationOrder::IsBefore::operator()(PodGroupId a, PodGroupId b) const {
  if (groups->created_ns[a] != groups->created_ns[b])
    return groups->created_ns[a] < groups->created_ns[b];
  if (groups->name[a] != groups->name[b])
    return names->Text(groups->name[a]) < names->Text(groups->name[b]);
  return names->Text(groups->namespace_name[a]) < names->Text(groups->namespace_name[b]);
}

void CreationOrder::Add(PodGroupId group) {
  const auto at = order_.insert(group).first;
  const auto after = std::next(at);
  const int64_t low = at == order_.begin() ? 0 : groups_.creation_rank[*std::prev(at)];
  if (after == order_.end()) {
    groups_.creation_rank[group] = low + kGap;
    return;
  }
  const int64_t high = groups_.creation_rank[*after];
  if (at == order_.begin()) {
    groups_.creation_rank[group] = high - kGap;
  } else if (high - low > 1) {
    groups_.creation_rank[group] = low + (high - low) / 2;
  } else {
    Rank();
  }
}

void CreationOrder::AddAll() {
  // Many groups have the same age; a few characters of their names distinguish most of them.
  const Interner& names = *order_.key_comp().names;
  const auto text = [&](PodGroupId group) { return names.Text(groups_.name[group]); };
  struct Entry {
    int64_t created_ns;
    uint64_t head;
    PodGroupId group;
  };
  std::vector<Entry> all;
  all.reserve(groups_.size());
  const std::string_view first = groups_.size() == 0 ? "" : text(PodGroupId(0));
  size_t prefix = first.size();
  for (const PodGroupId group : groups_.name.ids())
    prefix = CommonPrefix(first, prefix, text(group));
  for (const PodGroupId group : groups_.name.ids())
    all.push_back({groups_.created_ns[group], TextHead(text(group), prefix), group});
  std::sort(all.begin(), all.end(), [&](const Entry& a, const Entry& b) {
    if (a.created_ns != b.created_ns) return a.created_ns < b.created_ns;
    return a.head != b.head ? a.head < b.head : order_.key_comp()(a.group, b.group);
  });
  for (const Entry& entry : all) order_.insert(order_.end(), entry.group);
  Rank();
}

void CreationOrder::Rank() {
  int64_t rank = 0;
  for (const PodGroupId group : order_) groups_.creation_rank[group] = (rank += kGap);
}

}  // namespace kai

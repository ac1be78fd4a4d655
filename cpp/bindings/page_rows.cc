#include "page_rows.h"

#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kai/model/building/numbering.h"
#include "kai/placement/node_room.h"
#include "kai/session/alone.h"
#include "kai/session/best_domain.h"
#include "kai/session/digest.h"
#include "kai/session/gpu_account.h"
#include "kai/session/group_places.h"
#include "kai/session/group_story.h"
#include "kai/session/holders.h"
#include "kai/session/holdings.h"
#include "kai/session/places_facts.h"
#include "kai/session/plan_texts.h"
#include "kai/session/protection.h"
#include "kai/texts/reason_text.h"
#include "plan_members.h"

namespace kai::bindings {
namespace {

namespace py = pybind11;

py::object TextOrNone(NameId name, const Cluster& cluster) {
  if (!name.valid()) return py::none();
  return ToPython(cluster.Text(name));
}

py::list OnNodes(const std::vector<GroupStory::OnNode>& nodes, const Cluster& cluster) {
  py::list rows;
  for (const GroupStory::OnNode& each : nodes)
    rows.append(py::make_tuple(ToPython(cluster.Text(cluster.nodes().name[each.node])), each.pods));
  return rows;
}

py::tuple RowOf(const GroupStory& story, const Cluster& cluster) {
  py::object sharer = py::none();
  if (story.sharer.valid()) {
    const GpuRequest& gpu = cluster.ClassOf(story.sharer).gpu;
    const bool is_part = gpu.kind == GpuRequestKind::kFraction;
    sharer = py::make_tuple(gpu.count, is_part ? gpu.portion : 0.0, is_part ? 0 : gpu.memory_mib);
  }
  py::list causes;
  for (const GroupStory::Cause& each : story.causes) {
    py::object for_group = py::none();
    if (each.for_group.valid()) for_group = py::str(cluster.PodGroupName(each.for_group));
    causes.append(py::make_tuple(ToPython(each.action), for_group, each.pods));
  }
  return py::make_tuple(story.least, story.pods, story.waiting, sharer, story.placed,
                        OnNodes(story.running, cluster), OnNodes(story.bound, cluster),
                        OnNodes(story.promised, cluster), story.evicted, story.lost, causes,
                        story.moves);
}

}  // namespace

py::dict CountRows(const Plan& plan) {
  const PlanCounts counts = PageCountsOf(plan);
  py::dict rows;
  for (size_t kind = 0; kind < counts.decisions.size(); ++kind)
    rows[ToPython(DecisionTable::kKinds[kind])] = counts.decisions[kind];
  rows["pod_groups"] = counts.groups;
  rows["waiting"] = counts.waiting;
  return rows;
}

py::tuple DecisionRowsToPython(const Plan& plan, const DecisionTable& decisions, size_t most) {
  const DecisionRows made = DecisionRowsOf(plan, decisions, most);
  py::list rows;
  for (const DecisionRow& each : made.rows) {
    py::object for_group = py::none();
    if (!each.for_group.empty()) for_group = py::str(each.for_group);
    rows.append(py::make_tuple(ToPython(DecisionTable::kKinds[static_cast<size_t>(each.kind)]),
                               each.group, each.groups, each.pods, each.gpus, ToPython(each.action),
                               for_group, each.places, each.nodes));
  }
  return py::make_tuple(rows, made.hidden_pods, made.hidden_groups);
}

py::tuple AccountRows(const Plan& plan, const GpuAccount& account) {
  py::dict gained;
  for (const auto& [queue, gpus] : account.gained)
    gained[ToPython(plan.cluster->Text(plan.cluster->queues().name[queue]))] = gpus;
  py::list above;
  for (const auto& [queue, gpus] : account.first_above)
    above.append(
        py::make_tuple(ToPython(plan.cluster->Text(plan.cluster->queues().name[queue])), gpus));
  py::list bare;
  for (const PodGroupId group : plan.bare_groups) bare.append(plan.cluster->PodGroupName(group));
  return py::make_tuple(account.capacity, account.free, gained, account.queues_in_use,
                        account.queues_above, above, bare, account.leaving);
}

py::tuple NamesOf(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  const PodGroupColumns& groups = cluster.pod_groups();
  py::dict pods;
  for (const PodId pod : InOrderOfNames(cluster.names(), cluster.pods())) {
    const PodGroupId group = cluster.pods().group[pod];
    if (group.valid()) pods[py::str(cluster.PodName(pod))] = cluster.PodGroupName(group);
  }
  py::list owners;
  for (const PodGroupId group : InOrderOfNames(cluster.names(), groups)) {
    if (!groups.owner_name[group].valid() || cluster.Text(groups.owner_name[group]).empty())
      continue;
    const std::string owner = std::string(cluster.Text(groups.namespace_name[group])) + "/" +
                              std::string(cluster.Text(groups.owner_name[group]));
    owners.append(py::make_tuple(owner, cluster.PodGroupName(group)));
  }
  return py::make_tuple(pods, owners);
}

py::list WaitingRows(const Plan& plan) {
  py::list rows;
  for (const WaitingClass& each : WaitingClassesOf(plan))
    rows.append(py::make_tuple(each.names, each.spans_queues));
  return rows;
}

py::dict QueueParents(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  const QueueColumns& queues = cluster.queues();
  py::dict parents;
  for (const QueueId queue : InOrderOfNames(cluster.names(), queues)) {
    const QueueId parent = queues.parent[queue];
    parents[TextOrNone(queues.name[queue], cluster)] =
        TextOrNone(parent.valid() ? queues.name[parent] : NameId(), cluster);
  }
  return parents;
}

namespace {

// Raises KeyError for a name that no group has.
std::vector<PodGroupId> GroupsNamed(const std::vector<std::string>& names, const Cluster& cluster) {
  const PodGroupColumns& columns = cluster.pod_groups();
  absl::flat_hash_map<std::pair<NameId, NameId>, std::vector<size_t>> called;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string_view name = names[i];
    for (size_t slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1)) {
      const NameId space = cluster.names().Find(name.substr(0, slash));
      const NameId own = cluster.names().Find(name.substr(slash + 1));
      if (space.valid() && own.valid()) called[{space, own}].push_back(i);
    }
  }
  std::vector<PodGroupId> groups(names.size());
  for (const PodGroupId group : columns.name.ids()) {
    if (!columns.name[group].valid()) continue;
    const auto found = called.find({columns.namespace_name[group], columns.name[group]});
    if (found == called.end()) continue;
    for (const size_t i : found->second) groups[i] = group;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (!groups[i].valid()) throw py::key_error(names[i]);
  }
  return groups;
}

// Makes rows of classes; groups share what is the same for a class.
class PlacesRowMaker {
 public:
  explicit PlacesRowMaker(const Cluster& cluster) : cluster_(cluster) {}

  py::tuple Make(const GroupPlaces::Waiting& waiting) {
    const ClassPlaces& places = *waiting.places;
    const auto [obstacles, is_new] = obstacles_.try_emplace(&places);
    if (is_new) {
      for (const Standing::Obstacles& each : places.standing.obstacles)
        obstacles->second.append(ToPython(FactsOf(each, waiting.first, cluster_)));
    }
    py::list refusals;
    for (const PodRefusal& each : waiting.refusals)
      refusals.append(ToPython(FactsOf(each, waiting.first, cluster_)));
    return py::make_tuple(
        cluster_.PodName(waiting.first), waiting.pods, MostSharedGpus(cluster_, places.pod_class),
        refusals, MessageOf(waiting), places.standing.possible.size(), places.capacity, places.free,
        obstacles->second, places.lacks_partner, places.most.pods, LimitOf(places), places.leaving);
  }

 private:
  // The resource that limits how many of the pods fit, and how much of it each needs.
  py::object LimitOf(const ClassPlaces& places) const {
    if (!places.most.slot.valid()) return py::none();
    const std::span<const double> request = cluster_.pod_classes().request[places.pod_class];
    const size_t slot = places.most.slot.index();
    return py::make_tuple(ToPython(cluster_.slots().Name(places.most.slot)),
                          ForPeople(cluster_.slots(), places.most.slot, request[slot]));
  }

  // KAI's text; "" without refusals.
  std::string MessageOf(const GroupPlaces::Waiting& waiting) const {
    if (waiting.refusals.empty()) return "";
    NoNodeCause cause;
    cause.pod = waiting.refusals;
    const NoNode reason{.pod = waiting.first,
                        .cause = std::make_shared<const NoNodeCause>(std::move(cause))};
    return kai::MessageOf(reason, cluster_.pods().group[waiting.first], cluster_);
  }

  const Cluster& cluster_;
  absl::flat_hash_map<const ClassPlaces*, py::list> obstacles_;
};

}  // namespace

py::list PlacesRows(const Plan& plan, const GpuAccount& account, const Config& config,
                    const std::vector<std::string>& names) {
  const Cluster& cluster = *plan.cluster;
  const std::vector<GroupPlaces> all = PlacesOf(plan, account, config, GroupsNamed(names, cluster));
  PlacesRowMaker maker(cluster);
  py::list rows;
  for (const GroupPlaces& group : all) {
    py::list classes;
    for (const GroupPlaces::Waiting& each : group.classes) classes.append(maker.Make(each));
    rows.append(classes);
  }
  return rows;
}

py::list DomainRows(const Plan& plan, const GpuAccount& account, const Config& config,
                    const std::vector<std::string>& names) {
  const Cluster& cluster = *plan.cluster;
  py::list rows;
  std::vector<size_t> at;  // where the rows of these groups belong
  std::vector<PodGroupId> groups;
  for (const PodGroupId group : GroupsNamed(names, cluster)) {
    if (NeedsOneDomain(plan, group)) {
      at.push_back(rows.size());
      groups.push_back(group);
    }
    rows.append(py::none());
  }
  if (groups.empty()) return rows;
  const FreeAmounts after = FreeAfter(plan, account);
  const std::vector<GroupPlaces> places = PlacesOf(plan, account, config, groups);
  for (size_t i = 0; i < groups.size(); ++i) {
    const std::optional<BestDomain> best = BestDomainOf(plan, groups[i], places[i], after);
    if (!best) continue;
    py::list obstacles;
    for (const Standing::Obstacles& each : best->obstacles)
      obstacles.append(ToPython(FactsOf(each, places[i].classes.front().first, cluster)));
    py::list lacks;
    for (const BestDomain::Lack& each : best->lacks) {
      lacks.append(py::make_tuple(ToPython(cluster.slots().Name(each.slot)), each.nodes,
                                  ToPython(cluster.Text(cluster.nodes().name[each.first]))));
    }
    rows[at[i]] = py::make_tuple(ToPython(cluster.Text(best->level)), best->name, best->domains,
                                 best->room, best->most, obstacles, lacks);
  }
  return rows;
}

py::list HolderRows(const Plan& plan, const GpuAccount& account, const Config& config,
                    const std::vector<std::string>& names) {
  const Cluster& cluster = *plan.cluster;
  const std::vector<PodGroupId> groups = GroupsNamed(names, cluster);
  const std::vector<GroupPlaces> places = PlacesOf(plan, account, config, groups);
  const auto name_of = [&](QueueId queue) {
    return TextOrNone(queue.valid() ? cluster.queues().name[queue] : NameId(), cluster);
  };
  const auto name_of_first = [&](const Holders& each) {
    if (each.why == Holders::Why::kNoGroup) return cluster.PodName(each.first_pod);
    return cluster.PodGroupName(each.first);
  };
  py::list all;
  for (const std::vector<HeldPlaces>& of_group : HoldersOf(plan, account, config, groups, places)) {
    py::list resources;
    for (const HeldPlaces& of_resource : of_group) {
      py::list rows;
      for (const Holders& each : of_resource.holders) {
        rows.append(py::make_tuple(ToPython(WordOf(each.why)), name_of(each.queue),
                                   name_of(each.level), each.groups, each.amount,
                                   name_of_first(each), each.until_ns, each.runtime_ns));
      }
      const NodeId nearest = of_resource.nearest;
      resources.append(py::make_tuple(
          ToPython(cluster.slots().Name(of_resource.slot)), rows, of_resource.room,
          of_resource.own_room, of_resource.requested,
          TextOrNone(nearest.valid() ? cluster.nodes().name[nearest] : NameId(), cluster),
          of_resource.free));
    }
    all.append(resources);
  }
  return all;
}

py::list ProtectionRows(const Plan& plan, const Config& config,
                        const std::vector<std::string>& names) {
  static constexpr std::string_view kResources[] = {"cpu", "memory", "gpu"};
  const auto amount_of = [](double amount, QuotaResource resource) -> py::object {
    if (amount == kUnlimited) return py::none();
    return py::float_(resource == kQuotaCpu ? amount / kMillicpuPerCore : amount);
  };
  const Cluster& cluster = *plan.cluster;
  py::list all;
  for (const Protection& kept : ProtectionsOf(plan, config, GroupsNamed(names, cluster))) {
    py::list levels;
    for (const Protection::Level& each : kept.levels) {
      levels.append(py::make_tuple(
          ToPython(cluster.Text(cluster.queues().name[each.queue])), ToPython(WordOf(each.share)),
          ToPython(kResources[each.resource]), amount_of(each.held, each.resource),
          amount_of(each.bound, each.resource), each.reclaim.minimum_ns, each.reclaim.until_ns));
    }
    all.append(py::make_tuple(kept.preemptible, kept.may_be_preempted, kept.preempts_by_order,
                              kept.may_be_moved, kept.priority, kept.spare, kept.preempt.minimum_ns,
                              kept.preempt.until_ns, levels));
  }
  return all;
}

py::list PossibleNodeRows(const Plan& plan, const GpuAccount& account, const Config& config,
                          const std::string& name) {
  const Cluster& cluster = *plan.cluster;
  const std::vector<PodGroupId> groups = GroupsNamed({name}, cluster);
  const std::vector<GroupPlaces> places = PlacesOf(plan, account, config, groups);
  py::list rows;
  if (places.front().classes.empty()) return rows;
  for (const NodeId node : places.front().classes.front().places->standing.possible) {
    const double free = static_cast<double>(account.free_on[node]) / kNanoOfAGpu;
    rows.append(py::make_tuple(ToPython(cluster.Text(cluster.nodes().name[node])), free,
                               cluster.nodes().allocatable[node][kGpuSlot.index()]));
  }
  return rows;
}

py::list StartAlone(const Plan& plan, const Config& config, const std::vector<std::string>& names) {
  py::list rows;
  for (const PodGroupId group : GroupsNamed(names, *plan.cluster))
    rows.append(StartsAlone(plan, config, group));
  return rows;
}

namespace {

// GPUs are counted in billionths.
double ShownOf(const Cluster& cluster, ResourceSlot slot, double amount) {
  return slot == kGpuSlot ? amount / kNanoOfAGpu : ForPeople(cluster.slots(), slot, amount);
}

}  // namespace

py::tuple HoldingRows(const Plan& plan, const GpuAccount& account, const Config& config,
                      const std::string& name) {
  const Cluster& cluster = *plan.cluster;
  const std::vector<PodGroupId> groups = GroupsNamed({name}, cluster);
  const std::vector<GroupPlaces> places = PlacesOf(plan, account, config, groups);
  py::list resources;
  py::list requested;
  py::list free;
  py::list held;
  if (places.front().classes.empty()) return py::make_tuple(resources, requested, free, held);
  const GroupPlaces::Waiting& waiting = places.front().classes.front();
  std::vector<ResourceSlot> slots;
  for (size_t i = 0; i < cluster.slots().size(); ++i) {
    const auto slot = ResourceSlot(static_cast<int32_t>(i));
    const bool is_gpu = slot == kGpuSlot;
    const double each = is_gpu ? static_cast<double>(NanoGpus(GpusOf(waiting.first, cluster)))
                               : cluster.RequestOf(waiting.first)[i];
    if (slot == kPodsSlot || each <= 0) continue;
    slots.push_back(slot);
    resources.append(ToPython(cluster.slots().Name(slot)));
    requested.append(ShownOf(cluster, slot, each));
  }
  const auto row_of = [&](std::span<const double> amounts) {
    py::list row;
    for (const ResourceSlot slot : slots) row.append(ShownOf(cluster, slot, amounts[slot.index()]));
    return row;
  };
  const FreeAmounts after = FreeAfter(plan, account);
  absl::flat_hash_set<NodeId> possible;
  for (const NodeId node : waiting.places->standing.possible) {
    possible.insert(node);
    free.append(py::make_tuple(ToPython(cluster.Text(cluster.nodes().name[node])),
                               row_of(after.free[node])));
  }
  for (const Holding& each : HoldingsOf(plan)) {
    if (!each.group.valid() || each.group == groups.front() || !possible.contains(each.node))
      continue;
    held.append(py::make_tuple(ToPython(cluster.Text(cluster.nodes().name[each.node])),
                               cluster.PodGroupName(each.group), row_of(each.amounts)));
  }
  return py::make_tuple(resources, requested, free, held);
}

py::list GroupRows(const Plan& plan, const std::vector<std::string>& names, bool evictions) {
  const Cluster& cluster = *plan.cluster;
  const std::vector<PodGroupId> groups = GroupsNamed(names, cluster);
  const std::vector<GroupStory> stories = StoriesOf(plan, groups);
  const GroupRowMaker maker(plan, evictions);
  py::list rows;
  for (size_t i = 0; i < groups.size(); ++i)
    rows.append(py::make_tuple(maker.Make(groups[i]), RowOf(stories[i], cluster)));
  return rows;
}

namespace {

struct Decided {
  int bound = 0, pipelined = 0, evicted = 0;
};

absl::flat_hash_map<PodGroupId, Decided> DecidedOf(const Plan& plan) {
  absl::flat_hash_map<PodGroupId, Decided> decided;
  for (const CycleLog::Decision& decision : plan.decisions) {
    Decided& counts = decided[plan.cluster->pods().group[decision.pod]];
    if (decision.kind == CycleLog::Decision::Kind::kEvict) {
      ++counts.evicted;
    } else if (decision.kind == CycleLog::Decision::Kind::kBind) {
      ++counts.bound;
    } else {
      ++counts.pipelined;
    }
  }
  return decided;
}

}  // namespace

py::dict DecidedRows(const Plan& plan) {
  py::dict rows;
  for (const auto& [group, counts] : DecidedOf(plan))
    rows[py::str(plan.cluster->PodGroupName(group))] =
        py::make_tuple(counts.bound, counts.pipelined, counts.evicted);
  return rows;
}

py::list OutlineRows(const Plan& plan, const std::optional<std::vector<std::string>>& names) {
  const Cluster& cluster = *plan.cluster;
  absl::flat_hash_set<std::string_view> named;
  if (names) named.insert(names->begin(), names->end());
  const absl::flat_hash_map<PodGroupId, Decided> decided = DecidedOf(plan);
  std::vector<PodGroupId> groups;
  for (const PodGroupId group : cluster.pod_groups().name.ids()) {
    if (!cluster.pod_groups().name[group].valid()) continue;
    const GroupOutcome outcome = plan.OutcomeOf(group);
    const bool rests =
        outcome.verdict == Verdict::kRunning && outcome.reasons.empty() && !decided.contains(group);
    if (!rests || !names || named.contains(cluster.PodGroupName(group))) groups.push_back(group);
  }
  py::list rows;
  absl::flat_hash_map<std::string, py::str> texts;  // many groups have the same reason
  const auto shared = [&](std::string_view text) {
    const auto [found, is_new] = texts.try_emplace(std::string(text));
    if (is_new) found->second = ToPython(text);
    return found->second;
  };
  for (const PodGroupId group : groups) {
    const std::vector<ReportedReason> reasons = ReasonsOf(plan, group);
    const auto counts = decided.find(group);
    const Decided known = counts == decided.end() ? Decided() : counts->second;
    rows.append(py::make_tuple(
        cluster.PodGroupName(group), shared(VerdictName(plan.OutcomeOf(group).verdict)),
        shared(reasons.empty() ? "" : std::string_view(reasons.front().code)),
        shared(reasons.empty() ? "" : reasons.front().message), known.bound, known.pipelined,
        known.evicted));
  }
  return rows;
}

}  // namespace kai::bindings

#include "kai/placement/group_placer.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "kai/placement/domain_split.h"

namespace kai {

GroupPlacer::Result GroupPlacer::Place(PodGroupId group, Mode mode, Statement* statement) {
  Result result;
  PodList pods = order_->PodsToPlace(group);
  if (pods.empty()) return result;
  result.had_pods = true;
  Attempt attempt{.mode = mode, .statement = statement};
  result.placed = TryToPlace(group, pods, &attempt);
  if (result.placed) return result;
  result.reasons = std::move(attempt.reasons);
  // If a set does not need all sub-groups, others may find a place (spec 4 W5).
  std::vector<SubGroupId> passed_over;
  while (mode == Mode::kReal) {
    const auto spare = std::ranges::find_if(
        attempt.failed, [&](SubGroupId set) { return order_->IsOptional(set, passed_over); });
    if (spare == attempt.failed.end()) return result;
    passed_over.push_back(*spare);
    pods = order_->PodsToPlace(group, passed_over);
    attempt = {.mode = mode, .statement = statement};
    if (!pods.empty() && TryToPlace(group, pods, &attempt)) {
      result.placed = true;
      result.reasons.clear();
      return result;
    }
  }
  return result;
}

bool GroupPlacer::PlaceOn(PodId pod, NodeId node, Statement* statement, const GpuList& gpus) {
  if (!IsWithinLimits(cluster_.pods().group[pod], {&pod, 1})) return false;
  const NodeAllowance allowance = AllowanceOf(pod);
  const NodeSubset only = NodeSubset::Of({node});
  const NodeSearch::Area area{.nodes = &only, .scores = nullptr};
  search_->Confine(&area);
  search_->Prefer(gpus.empty() ? nullptr : &gpus);
  const NodeSearch::Found found = search_->Find(cluster_.pods().pod_class[pod], &allowance, pod);
  search_->Prefer(nullptr);
  search_->Confine(nullptr);
  if (!found.node.valid()) return false;
  if (found.now && cluster_.pods().status[pod] == PodStatus::kPending) {
    statement->Place(pod, node, found.gpus);
  } else {
    statement->Pipeline(pod, node, found.gpus);
  }
  return true;
}

bool GroupPlacer::IsInItsDomains(PodGroupId group) const {
  if (domains_ == nullptr) return true;
  const SubGroupColumns& sets = cluster_.sub_groups();
  for (const SubGroupId pod_set : order_->PodSetsOf(group)) {
    for (SubGroupId set = pod_set; set.valid(); set = sets.parent[set]) {
      if (!NeedsDomain(set)) continue;
      const TopologyConstraint& constraint = cluster_.topology_constraints()[sets.topology[set]];
      if (!constraint.tree.valid() || constraint.required_depth <= 0) continue;
      const DomainTree& tree = cluster_.topologies()[constraint.tree];
      const auto domain_of = [&](NodeId node) {
        const TopologyDomainId domain = tree.DomainOf(node);
        const bool is_deep = domain.valid() && tree.DepthOf(domain) >= constraint.required_depth;
        return is_deep ? tree.AncestorAt(domain, constraint.required_depth) : TopologyDomainId();
      };
      const std::vector<NodeId> held = HeldNodes(set, {});
      for (const NodeId node : held) {
        const TopologyDomainId domain = domain_of(node);
        if (!domain.valid() || domain != domain_of(held.front())) return false;
      }
    }
  }
  return true;
}

bool GroupPlacer::TryToPlace(PodGroupId group, std::span<const PodId> pods, Attempt* attempt) {
  if (options_.check_capacity) {
    const RequestedAmount requested = RequestOf(pods);
    if (QueueRefusal refusal = RefusalOfQueues(group, requested)) {
      std::visit(
          [&](auto& first) {
            AddOthers(group, requested, &first);
            attempt->reasons.push_back(std::move(first));
          },
          *refusal);
      return false;
    }
  }
  const NodeSubset nodes = NodeSubset::All();
  return PlaceSet(cluster_.pod_groups().root[group], pods, {.nodes = &nodes, .scores = nullptr},
                  attempt, NoOthers);
}

bool GroupPlacer::NodeAllowance::Allows(double gpus) const {
  if (!placer_.options_.check_capacity || !placer_.options_.check_nodes) return true;
  return !RefusalWith(gpus);
}

QueueRefuses GroupPlacer::NodeAllowance::Why(double gpus) const {
  return {.bound = *RefusalWith(gpus)};
}

GroupPlacer::QueueRefusal GroupPlacer::NodeAllowance::RefusalWith(double gpus) const {
  return placer_.RefusalOfQueues(
      group_, RequestedAmount(placer_.options_.adding, requested_.WithGpus(gpus)));
}

RequestedAmount GroupPlacer::RequestOf(std::span<const PodId> pods) const {
  RequestedAmount requested(options_.adding);
  for (const PodId pod : pods) requested += cluster_.ClassOf(pod).gate_requested;
  return requested;
}

GroupPlacer::QueueRefusal GroupPlacer::RefusalOfQueues(PodGroupId group,
                                                       const RequestedAmount& requested) const {
  const QueueId queue = cluster_.pod_groups().queue[group];
  CapacityAnswer answer = CheckLimit(shares_->table(), queue, requested);
  if (answer.fits() && cluster_.pod_groups().preemptible[group] == 0)
    answer = CheckNonPreemptibleQuota(shares_->table(), queue, requested);
  if (answer.fits()) return std::nullopt;
  const QueueBound bound = BoundOf(answer, requested);
  if (answer.reason == CapacityReason::kOverLimit) return OverLimit{bound};
  return OverQuota{bound};
}

QueueBound GroupPlacer::BoundOf(const CapacityAnswer& answer,
                                const RequestedAmount& requested) const {
  const bool is_limit = answer.reason == CapacityReason::kOverLimit;
  const QueueView over = (*shares_)[answer.queue];
  const Share& share = over[answer.resource];
  return {.queue = answer.queue,
          .resource = answer.resource,
          .bound = is_limit ? share.limit : share.deserved,
          .allocated =
              (is_limit ? over.allocated() : over.allocated_non_preemptible())[answer.resource],
          .requested = requested[answer.resource]};
}

void GroupPlacer::AddOthers(PodGroupId group, const RequestedAmount& requested,
                            QueueBound* first) const {
  const auto bounds = [&](const std::vector<CapacityAnswer>& answers) {
    std::vector<QueueBound> found;
    for (const CapacityAnswer& answer : answers) found.push_back(BoundOf(answer, requested));
    return found;
  };
  const QueueId queue = cluster_.pod_groups().queue[group];
  std::vector<QueueBound> limits = bounds(AllOverLimit(shares_->table(), queue, requested));
  std::vector<QueueBound> quotas;
  if (cluster_.pod_groups().preemptible[group] == 0)
    quotas = bounds(AllOverNonPreemptibleQuota(shares_->table(), queue, requested));
  std::vector<QueueBound>& with_first = limits.empty() ? quotas : limits;
  with_first.erase(with_first.begin());
  first->other_limits = std::move(limits);
  first->other_quotas = std::move(quotas);
}

NodeSubset GroupPlacer::Offered() const {
  const IndexVector<NodeId, uint8_t>* offered = search_->offered();
  if (offered == nullptr) return NodeSubset::All();
  std::vector<NodeId> nodes;
  for (const NodeId node : offered->ids()) {
    if ((*offered)[node] != 0) nodes.push_back(node);
  }
  return NodeSubset::Of(std::move(nodes));
}

std::vector<NodeId> GroupPlacer::HeldNodes(SubGroupId set, std::span<const PodId> pods) const {
  const PodColumns& columns = cluster_.pods();
  std::vector<NodeId> held;
  for (const SubGroupId pod_set : order_->PodSetsOf(cluster_.sub_groups().group[set])) {
    if (!order_->IsWithin(pod_set, set)) continue;
    // KAI only uses pod sets that get pods now (spec 4 L3).
    if (!options_.pin_siblings && std::none_of(pods.begin(), pods.end(), [&](PodId pod) {
          return columns.pod_set[pod] == pod_set;
        }))
      continue;
    for (const PodId pod : order_->PodsOf(pod_set)) {
      // In KAI, a pod on an unknown node excludes its group from every domain.
      const bool counts = columns.node[pod].valid() || !options_.pin_siblings;
      if (IsActiveAllocated(columns.status[pod]) && counts) held.push_back(columns.node[pod]);
    }
  }
  return held;
}

bool GroupPlacer::PlaceSet(SubGroupId set, std::span<const PodId> pods,
                           const NodeSearch::Area& area, Attempt* attempt, Others others) {
  if (pods.empty()) return others();
  const bool placed = NeedsDomain(set) ? PlaceInDomain(set, pods, area, attempt, others)
                                       : PlaceMembers(set, pods, area, attempt, others);
  if (!placed) attempt->failed.push_back(set);
  return placed;
}

bool GroupPlacer::NeedsDomain(SubGroupId set) const {
  const TopologyConstraintId id = cluster_.sub_groups().topology[set];
  if (domains_ == nullptr || !id.valid()) return false;
  const TopologyConstraint& constraint = cluster_.topology_constraints()[id];
  return !(options_.level_free && constraint.tree.valid() && !constraint.HasLevel());
}

bool GroupPlacer::PlaceInDomain(SubGroupId set, std::span<const PodId> pods,
                                const NodeSearch::Area& area, Attempt* attempt, Others others) {
  const SubGroupColumns& sets = cluster_.sub_groups();
  const TopologyConstraint& constraint = cluster_.topology_constraints()[sets.topology[set]];
  const std::vector<NodeId> held = HeldNodes(set, pods);
  // The offered nodes matter only inside of a domain: the search for nodes already applies them.
  const NodeSubset within = area.nodes->all() ? Offered() : *area.nodes;
  const DomainSearch::Question question = {
      .constraint = constraint,
      .pods = pods,
      .within = within,
      .subgroup = sets.name[set],
      .group = sets.group[set],
      .held = held,
      .more_pods = options_.best_fit ? MorePodsOf(set, pods) : 0,
      .explains = options_.explains && attempt->mode == Mode::kReal};
  DomainSearch::Answer answer = domains_->Find(question);
  std::ranges::move(answer.reasons, std::back_inserter(attempt->reasons));
  for (const TopologyDomainId domain : answer.domains) {
    if (options_.best_fit && attempt->tries_left-- <= 0) return false;
    const bool is_wide = answer.tree->DepthOf(domain) < constraint.preferred_depth;
    if ((constraint.CountsDomains() || (options_.best_fit && is_wide)) &&
        PlaceSplit(question, set, answer, domain, area, attempt, others))
      return true;
    if (constraint.CountsDomains()) continue;
    const NodeSubset nodes = domains_->NodesOf(answer, domain, within);
    // Only the scores of the innermost preference count (spec 4 S3).
    const NodeSearch::Area inside{
        .nodes = &nodes, .scores = answer.scores != nullptr ? answer.scores.get() : area.scores};
    if (PlaceMembers(set, pods, inside, attempt, others)) return true;
  }
  if (constraint.CountsDomains() && !answer.domains.empty() && attempt->mode == Mode::kReal)
    attempt->reasons.push_back(DomainCountNotMet{.level = constraint.preferred,
                                                 .least = constraint.least_domains,
                                                 .most = constraint.most_domains,
                                                 .is_balanced = constraint.balanced});
  return false;
}

bool GroupPlacer::PlaceSplit(const DomainSearch::Question& question, SubGroupId set,
                             const DomainSearch::Answer& answer, TopologyDomainId domain,
                             const NodeSearch::Area& area, Attempt* attempt, Others others) {
  const TopologyConstraint& constraint = question.constraint;
  const std::vector<DomainSearch::Part> parts = domains_->PartsOf(question, domain);
  std::vector<int64_t> rooms, standing(parts.size());
  for (const DomainSearch::Part& part : parts) rooms.push_back(part.room);
  for (const NodeId node : question.held) {
    for (size_t i = 0; i < parts.size(); ++i) {
      if (IsInDomain(*answer.tree, parts[i].domain, node)) ++standing[i];
    }
  }
  const Statement::Checkpoint start = attempt->statement->Mark();
  const size_t reasons = attempt->reasons.size();
  for (int tries = 0; tries < kMostSplits; ++tries) {
    const std::optional<std::vector<int64_t>> split =
        SplitPods({.pods = static_cast<int64_t>(question.pods.size()),
                   .rooms = rooms,
                   .standing = standing,
                   .least = constraint.least_domains,
                   .most = constraint.most_domains,
                   .balanced = constraint.balanced});
    if (!split) return false;
    size_t next = 0;
    size_t failed = parts.size();
    for (size_t i = 0; i < parts.size() && failed == parts.size(); ++i) {
      if ((*split)[i] == 0) continue;
      const auto count = static_cast<size_t>((*split)[i]);
      const NodeSubset nodes = domains_->NodesOf(answer, parts[i].domain, question.within);
      if (!PlaceMembers(set, question.pods.subspan(next, count),
                        {.nodes = &nodes, .scores = area.scores}, attempt, NoOthers))
        failed = i;
      next += count;
    }
    if (failed == parts.size() && others()) return true;
    attempt->statement->RollBackTo(start);
    if (failed == parts.size()) return false;
    // The count was too high for this domain.
    rooms[failed] = (*split)[failed] - 1;
    attempt->reasons.resize(reasons);
  }
  return false;
}

int64_t GroupPlacer::MorePodsOf(SubGroupId set, std::span<const PodId> pods) const {
  int64_t waiting = 0;
  for (const SubGroupId pod_set : order_->PodSetsOf(cluster_.sub_groups().group[set])) {
    if (order_->IsWithin(pod_set, set))
      waiting += cluster_.sub_groups().counts[pod_set][PodStatus::kPending];
  }
  return std::max<int64_t>(waiting - static_cast<int64_t>(pods.size()), 0);
}

PodList GroupPlacer::PodsBelow(SubGroupId set, std::span<const PodId> pods) const {
  PodList below;
  std::copy_if(pods.begin(), pods.end(), std::back_inserter(below),
               [&](PodId pod) { return order_->IsWithin(cluster_.pods().pod_set[pod], set); });
  return below;
}

SubGroupList GroupPlacer::LargestFirst(SubGroupList children, std::span<const PodId> pods) const {
  std::vector<std::pair<double, size_t>> sizes;
  for (const SubGroupId child : children) {
    const PodList below = PodsBelow(child, pods);
    double gpus = 0;
    for (const PodId pod : below) gpus += cluster_.slots().TotalGpus(cluster_.RequestOf(pod));
    sizes.emplace_back(-gpus, sizes.size());
  }
  std::sort(sizes.begin(), sizes.end());
  SubGroupList sorted;
  for (const auto& [gpus, at] : sizes) sorted.push_back(children[at]);
  return sorted;
}

bool GroupPlacer::PlaceMembers(SubGroupId set, std::span<const PodId> pods,
                               const NodeSearch::Area& area, Attempt* attempt, Others others) {
  const Statement::Checkpoint start = attempt->statement->Mark();
  bool placed = true;
  if (cluster_.sub_groups().is_pod_set[set] != 0) {
    placed = PlacePodSet(set, pods, area, attempt) && others();
  } else {
    SubGroupList children = order_->ChildrenOf(set);
    if (children.size() == 1) {  // it contains all pods
      placed = PlaceSet(children.front(), pods, area, attempt, others);
    } else if (options_.best_fit) {
      children = LargestFirst(children, pods);
      placed = PlaceChildren(children, pods, area, attempt, others);
    } else {
      for (const SubGroupId child : children) {
        placed = PlaceSet(child, PodsBelow(child, pods), area, attempt, NoOthers);
        if (!placed) break;
      }
      placed = placed && others();
    }
  }
  if (!placed) attempt->statement->RollBackTo(start);
  return placed;
}

bool GroupPlacer::PlaceChildren(std::span<const SubGroupId> children, std::span<const PodId> pods,
                                const NodeSearch::Area& area, Attempt* attempt, Others others) {
  if (children.empty()) return others();
  return PlaceSet(children.front(), PodsBelow(children.front(), pods), area, attempt,
                  [&] { return PlaceChildren(children.subspan(1), pods, area, attempt, others); });
}

bool GroupPlacer::PlacePodSet(SubGroupId pod_set, std::span<const PodId> pods,
                              const NodeSearch::Area& area, Attempt* attempt) {
  attempt->failed.clear();
  search_->Confine(domains_ == nullptr ? nullptr : &area);
  bool placed = true;
  for (size_t i = 0; placed && i < pods.size(); ++i) {
    const NodeAllowance allowance = AllowanceOf(pods[i]);
    const NodeSearch::Found found =
        search_->Find(cluster_.pods().pod_class[pods[i]], &allowance, pods[i]);
    placed = found.node.valid();
    if (!placed) {
      if (options_.explains && attempt->mode == Mode::kReal)
        ExplainNoNode(pod_set, pods[i], static_cast<int32_t>(i), allowance, attempt);
    } else if (attempt->mode == Mode::kReal && found.now) {
      attempt->statement->Place(pods[i], found.node, found.gpus);
    } else {
      attempt->statement->Pipeline(pods[i], found.node, found.gpus);
    }
  }
  search_->Confine(nullptr);
  return placed;
}

void GroupPlacer::ExplainNoNode(SubGroupId pod_set, PodId pod, int32_t found,
                                const NodeAllowance& allowance, Attempt* attempt) const {
  // spec 2 P6
  const SubGroupColumns& sets = cluster_.sub_groups();
  const bool is_gang =
      std::ranges::any_of(cluster_.pod_groups().PodSetsOf(sets.group[pod_set]),
                          [&](SubGroupId id) { return order_->MinimumOf(id) > 1; });
  const int32_t minimum = order_->MinimumOf(pod_set);
  const NoNodeCausePtr cause = search_->Explain(pod, &allowance);
  if (is_gang && sets.counts[pod_set].active_used() < minimum) {
    attempt->reasons.push_back(GangIncomplete{
        .pod = pod,
        .cause = cause,
        .found = found,
        .minimum = minimum,
        .pod_set = pod_set,
        .is_whole_group = cluster_.pod_groups().PodSetsOf(sets.group[pod_set]).size() == 1 &&
                          cluster_.SubgroupText(pod_set).empty()});
  }
  attempt->reasons.push_back(NoNode{.pod = pod, .cause = cause});
}

}  // namespace kai

#include "kai/placement/class_plans.h"

#include <limits>
#include <set>
#include <utility>

#include "kai/base/heap_bytes.h"

namespace kai {

ClassPlans::ClassPlans(const Cluster& cluster, PlacementRules rules)
    : cluster_(cluster),
      rules_(std::move(rules)),
      examples_(cluster.node_classes().size()),
      plans_(cluster.pod_classes().size()) {
  for (const std::unique_ptr<Filter>& filter : rules_.filters) {
    if (Listener* listener = filter->listener(); listener != nullptr)
      listeners_.push_back(listener);
  }
  for (const NamedScorer& each : rules_.scorers) {
    if (Listener* listener = each.scorer->listener(); listener != nullptr)
      listeners_.push_back(listener);
  }
  FindExamples();
}

std::vector<NodeClassId> ClassPlans::FindExamples() {
  const IndexVector<NodeId, NodeClassId>& class_of = cluster_.nodes().node_class;
  std::vector<NodeId> known = std::move(examples_);
  examples_.assign(cluster_.node_classes().size(), NodeId());
  for (const NodeId node : class_of.ids()) examples_[class_of[node].index()] = node;
  known.resize(examples_.size());
  std::vector<NodeClassId> fresh;
  for (const NodeClassId node_class : cluster_.node_classes().ids()) {
    if (examples_[node_class.index()].valid() && !known[node_class.index()].valid())
      fresh.push_back(node_class);
  }
  return fresh;
}

void ClassPlans::Look(const absl::flat_hash_set<NodeId>& nodes) {
  if (nodes.empty()) return;
  const std::vector<NodeClassId> fresh = FindExamples();
  for (const PodClassId pod_class : plans_.ids()) {
    Entry& entry = plans_[pod_class];
    if (!entry.is_made) continue;
    ClassPlan& plan = entry.plan;
    if (plan.shares) {  // its charges depend on all nodes
      entry = {};
      continue;
    }
    plan.class_ok.resize(examples_.size(), 1);
    for (const std::unique_ptr<Filter>& filter : rules_.filters) {
      if (fresh.empty() || filter->ScopeFor(pod_class) != Filter::Scope::kNodeClass) continue;
      for (const NodeClassId node_class : fresh) ApplyFilter(*filter, pod_class, node_class, &plan);
    }
    if (!plan.has_candidates) continue;
    for (const NodeId node : nodes) {
      const auto at = std::ranges::lower_bound(plan.candidates, node);
      const bool was = at != plan.candidates.end() && *at == node;
      const bool is = node.index() < cluster_.nodes().size() && IsCandidate(pod_class, node);
      if (is && !was) plan.candidates.insert(at, node);
      if (was && !is) plan.candidates.erase(at);
    }
  }
}

void ClassPlans::Make(PodClassId pod_class, Entry* entry) {
  entry->is_made = true;
  ClassPlan& plan = entry->plan;
  for (const std::unique_ptr<PodCheck>& check : rules_.checks) {
    plan.is_refused = plan.is_refused || !check->Allows(pod_class);
    if (check->IsCheckedEachTime(pod_class)) plan.checks.push_back(check.get());
  }
  AddFilters(pod_class, &plan);
  FindCandidates(pod_class, &plan);
  FindShares(pod_class, &plan);
}

void ClassPlans::AddFilters(PodClassId pod_class, ClassPlan* plan) const {
  plan->class_ok.assign(examples_.size(), 1);
  for (const std::unique_ptr<Filter>& filter : rules_.filters) {
    const Filter::Scope scope = filter->ScopeFor(pod_class);
    if (scope == Filter::Scope::kNode || filter->LooksBeyondNode(pod_class))
      plan->node_filters.push_back(filter.get());
    if (scope != Filter::Scope::kNothing && filter->CountsRoom())
      plan->room_filters.push_back(filter.get());
    if (scope != Filter::Scope::kNodeClass) continue;
    for (const NodeClassId node_class : cluster_.node_classes().ids())
      ApplyFilter(*filter, pod_class, node_class, plan);
  }
}

void ClassPlans::ApplyFilter(const Filter& filter, PodClassId pod_class, NodeClassId node_class,
                             ClassPlan* plan) const {
  const NodeId example = examples_[node_class.index()];
  if (!example.valid()) return;  // no node has this class any more
  uint8_t& is_ok = plan->class_ok[node_class.index()];
  if (is_ok != 0 && !filter.Check(pod_class, example, nullptr)) is_ok = 0;
}

void ClassPlans::FindCandidates(PodClassId pod_class, ClassPlan* plan) const {
  // A label with a different value on nearly every node, in the pod or in its volumes, pins the pod
  // to few nodes. These are found once.
  const ConstraintId id = cluster_.pod_classes().info[pod_class].constraint;
  const NodeConstraint& constraint = cluster_.constraints()[id];
  const bool by_volumes =
      constraint.volumes.valid() && cluster_.IsCheckedPerNode(constraint.volumes);
  if (rules_.checks.empty() || (!cluster_.IsCheckedPerNode(id) && !by_volumes))
    return;  // without checks there are no filters that use labels either
  for (const NodeId node : cluster_.nodes().name.ids()) {
    if (IsCandidate(pod_class, node)) plan->candidates.push_back(node);
  }
  plan->has_candidates = true;
}

bool ClassPlans::IsCandidate(PodClassId pod_class, NodeId node) const {
  const NodeConstraint& constraint = cluster_.ConstraintOf(pod_class);
  const bool by_volumes =
      constraint.volumes.valid() && cluster_.IsCheckedPerNode(constraint.volumes);
  const NodeColumns& nodes = cluster_.nodes();
  const std::span<const Label> labels(nodes.labels[node]);
  return MatchesNode(constraint, labels, nodes.name[node], cluster_.names()) &&
         (!by_volumes || AnswerOf(cluster_.volume_needs()[constraint.volumes], labels,
                                  nodes.name[node], cluster_.names())
                             .yes());
}

void ClassPlans::FindShares(PodClassId pod_class, ClassPlan* plan) const {
  const GpuRequest& gpu = cluster_.pod_classes().info[pod_class].gpu;
  const std::span<const double> request = cluster_.pod_classes().request[pod_class];
  plan->request.assign(request.begin(), request.end());
  plan->has_overhead = std::ranges::any_of(cluster_.pod_classes().overhead[pod_class],
                                           [](double amount) { return amount != 0; });
  plan->claims = cluster_.pod_classes().info[pod_class].claims.valid() && !gpu.IsShared();
  if (!cluster_.shares_gpus()) return;
  plan->shares = gpu.IsShared();
  const bool is_scored = std::ranges::any_of(rules_.scorers, [&](const NamedScorer& each) {
    return each.scorer->DependsOn(pod_class) == Scorer::Dependence::kJoins;
  });
  plan->may_join = gpu.portion < 1 && (plan->shares || is_scored);
  if (gpu.kind == GpuRequestKind::kMemory) {
    plan->join.mib = static_cast<double>(gpu.memory_mib);
  } else if (gpu.portion > 0) {
    plan->join.portion = gpu.portion;
  } else {
    plan->join.mib = 0;
  }
  if (!plan->shares) return;
  plan->request[kGpuSlot.index()] = -std::numeric_limits<double>::infinity();
  plan->request_alone = plan->request;
  plan->request_alone[kGpuSlot.index()] = static_cast<double>(gpu.count);
  std::set<double> charges;
  for (const NodeId node : cluster_.nodes().name.ids())
    charges.insert(cluster_.GpusRequestedOn(pod_class, node));
  plan->charges.assign(charges.begin(), charges.end());
}

std::vector<PodRefusal> ClassPlans::RefusalsOf(PodId pod) const {
  const PodClassId pod_class = cluster_.pods().pod_class[pod];
  std::vector<PodRefusal> refusals;
  for (const std::unique_ptr<PodCheck>& check : rules_.checks) {
    if (!check->Allows(pod_class) ||
        (check->IsCheckedEachTime(pod_class) && !check->AllowsNow(pod_class)))
      refusals.push_back(check->Why(pod));
  }
  return refusals;
}

size_t ClassPlans::HeapBytes() const { return HeapBytesOfAll(listeners_, examples_, plans_); }

}  // namespace kai

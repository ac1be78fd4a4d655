#include "kai/placement/node_search.h"

#include <algorithm>

#include "kai/model/messages.h"

namespace kai {
namespace {

// How often all nodes are scanned before an index of them is made.
constexpr int kSearchesWithoutIndex = 4;

// The best node so far: highest score, then lowest name.
struct Best {
  NodeId node;
  double score = 0;
  bool now = false;

  void Offer(const Cluster& cluster, NodeId other, double other_score, bool other_now) {
    const auto rank = [&](NodeId id) { return cluster.nodes().name_rank[id]; };
    if (node.valid() &&
        (score > other_score || (score == other_score && rank(node) <= rank(other))))
      return;
    *this = {.node = other, .score = other_score, .now = other_now};
  }
};

}  // namespace

NodeSearch::NodeSearch(const Cluster& cluster, Rules rules, const Options& options)
    : cluster_(cluster),
      rules_(std::move(rules)),
      options_(options),
      gpu_index_{.slot = kGpuSlot, .strategy = options.gpu, .index = {}},
      cpu_index_{.slot = kCpuSlot, .strategy = options.cpu, .index = {}},
      plans_(cluster.pod_classes().size()) {
  for (const std::unique_ptr<Filter>& filter : rules_.filters) {
    if (Listener* listener = filter->listener(); listener != nullptr)
      listeners_.push_back(listener);
  }
}

NodeIndex* NodeSearch::IndexFor(PodClassId pod_class) {
  LazyIndex& lazy = cluster_.pod_classes().info[pod_class].cpu_only ? cpu_index_ : gpu_index_;
  if (!lazy.index) {
    if (++lazy.searches <= kSearchesWithoutIndex) return nullptr;
    lazy.index.emplace(cluster_, lazy.slot, lazy.strategy);
  }
  lazy.index->Refresh();
  return &*lazy.index;
}

ScoreView NodeSearch::ViewFor(PodClassId pod_class) {
  LazyIndex& lazy = cluster_.pod_classes().info[pod_class].cpu_only ? cpu_index_ : gpu_index_;
  if (lazy.index) {
    lazy.index->Refresh();  // who scans has not asked it
    return {.least_room = lazy.index->least_room(),
            .most_room = lazy.index->most_room(),
            .fits_now = false};
  }
  ScoreView view;
  bool any = false;
  const NodeColumns& nodes = cluster_.nodes();
  const size_t slots = nodes.idle.slots();
  const std::vector<double>&idle = nodes.idle.raw(), &releasing = nodes.releasing.raw();
  for (size_t at = lazy.slot.index(); at < idle.size(); at += slots) {
    if (nodes.allocatable.raw()[at] == 0) continue;
    const double room = idle[at] + releasing[at];
    view.least_room = any ? std::min(view.least_room, room) : room;
    view.most_room = any ? std::max(view.most_room, room) : room;
    any = true;
  }
  return view;
}

bool NodeSearch::IsRecentStillBest(PodClassId pod_class) const {
  // One pod went where the last one of this class was told to go, and nothing else has happened.
  // Where fuller nodes come first, its node is fuller by that pod than all it was at least as good
  // as, and so the best again while another pod fits, now or later as before.
  if (recent_.pod_class != pod_class || recent_.version + 1 != version() ||
      touched_.back() != recent_.found.node)
    return false;
  const NodeColumns& nodes = cluster_.nodes();
  const NodeId node = recent_.found.node;
  const std::span<const double> request = cluster_.pod_classes().request[pod_class];
  return FitsSum(request, nodes.idle[node], nodes.releasing[node]) &&
         Fits(request, nodes.idle[node]) == recent_.found.now;
}

void NodeSearch::Touch(const Change& change) {
  touched_.push_back(change.to_node);
  if (!change.to_node.valid()) return;
  if (gpu_index_.index) gpu_index_.index->Touch(change.to_node);
  if (cpu_index_.index) cpu_index_.index->Touch(change.to_node);
}

void NodeSearch::Applied(const Change& change, UndoStack* undo) {
  Touch(change);
  for (Listener* listener : listeners_) listener->Applied(change, undo);
  const bool takes = change.to == PodStatus::kAllocated || change.to == PodStatus::kPipelined;
  if (takes) return;
  recent_ = {};  // somewhere there is more room than before
  ++freed_;
}
void NodeSearch::Undone(const Change& change, UndoStack* undo) {
  Touch(change);
  for (auto listener = listeners_.rbegin(); listener != listeners_.rend(); ++listener)
    (*listener)->Undone(change, undo);
  recent_ = {};
  ++freed_;
}

NodeSearch::ClassPlan& NodeSearch::PlanFor(PodClassId pod_class) {
  ClassPlan& plan = plans_[pod_class];
  if (plan.ready) return plan;
  plan.ready = true;
  plan.is_refused = std::any_of(
      rules_.checks.begin(), rules_.checks.end(),
      [&](const std::unique_ptr<PodCheck>& check) { return !check->Allows(pod_class); });
  for (const std::unique_ptr<PodCheck>& check : rules_.checks) {
    if (check->AsksEachTime(pod_class)) plan.checks.push_back(check.get());
  }
  const size_t node_classes = cluster_.node_classes().size();
  plan.class_ok.assign(node_classes, 1);
  std::vector<NodeId> example(node_classes);
  const NodeColumns& nodes = cluster_.nodes();
  for (const NodeId node : nodes.name.ids()) example[nodes.node_class[node].index()] = node;
  for (const std::unique_ptr<Filter>& filter : rules_.filters) {
    const Filter::Scope scope = filter->ScopeFor(pod_class);
    if (scope == Filter::Scope::kNode || filter->LooksBeyondNode(pod_class))
      plan.node_filters.push_back(filter.get());
    if (scope != Filter::Scope::kNodeClass) continue;
    for (size_t i = 0; i < node_classes; ++i) {
      if (plan.class_ok[i] != 0 && !filter->Check(pod_class, example[i], nullptr))
        plan.class_ok[i] = 0;
    }
  }
  FindCandidates(pod_class, &plan);
  return plan;
}

void NodeSearch::FindCandidates(PodClassId pod_class, ClassPlan* plan) {
  // Pods pinned by a label that nearly every node has a value of its own for, be it their own word
  // or that of their volumes: the few nodes that match are found once.
  const ConstraintId id = cluster_.pod_classes().info[pod_class].constraint;
  const NodeConstraint& constraint = cluster_.constraints()[id];
  const bool by_volumes = constraint.volumes.valid() && cluster_.AskPerNode(constraint.volumes);
  if (rules_.filters.empty() || (!cluster_.AskPerNode(id) && !by_volumes))
    return;  // without filters nobody asks
  const NodeColumns& nodes = cluster_.nodes();
  for (const NodeId node : nodes.name.ids()) {
    const std::span<const Label> labels(nodes.labels[node]);
    if (MatchesNode(constraint, labels, nodes.name[node], cluster_.names()) &&
        (!by_volumes || AnswerOf(cluster_.volume_needs()[constraint.volumes], labels,
                                 nodes.name[node], cluster_.names())
                            .yes())) {
      plan->candidates.push_back(node);
    }
  }
  plan->has_candidates = true;
}

bool NodeSearch::IsRefusedNow(PodClassId pod_class, const ClassPlan& plan) const {
  return std::any_of(plan.checks.begin(), plan.checks.end(),
                     [&](const PodCheck* check) { return !check->AllowsNow(pod_class); });
}

std::span<const double> NodeSearch::RequestOn(PodClassId pod_class, NodeId node) const {
  const std::span<const double> request = cluster_.pod_classes().request[pod_class];
  const ClaimNeedsId claims = cluster_.pod_classes().info[pod_class].claims;
  if (!claims.valid()) return request;
  const double shared = cluster_.claims().SharedGpus(claims, node);
  if (shared == 0) return request;
  request_.assign(request.begin(), request.end());
  double& gpus = request_[kGpuSlot.index()];
  gpus = std::max(gpus - shared, 0.0);
  return request_;
}

bool NodeSearch::MustScan(PodClassId pod_class, const ClassPlan& plan) const {
  if (options_.always_scan || plan.has_candidates) return true;
  if (MostSharedGpus(pod_class) > 0) return true;
  if (offered_ != nullptr && cluster_.pod_classes().info[pod_class].cpu_only) return true;
  return std::any_of(rules_.scorers.begin(), rules_.scorers.end(), [&](const auto& scorer) {
    return scorer->DependsOn(pod_class) == Scorer::Dependence::kNode;
  });
}

NodeSearch::Found NodeSearch::Find(PodClassId pod_class) {
  ClassPlan& plan = PlanFor(pod_class);
  if (plan.is_refused || IsRefusedNow(pod_class, plan)) return {};
  if (IsRecentStillBest(pod_class)) {
    recent_.version = version();
    return recent_.found;
  }
  // Where nothing was found and room was only taken since, there is nothing now: unless a filter
  // looks at who stands there, or other nodes were offered.
  const bool stays_so = plan.node_filters.empty() && offered_ == nullptr && !options_.always_scan;
  if (stays_so && plan.nothing_at == freed_) return {};
  const Found found = Search(pod_class, plan);
  if (stays_so && !found.node.valid()) plan.nothing_at = freed_;
  return found;
}

NodeSearch::Found NodeSearch::Search(PodClassId pod_class, const ClassPlan& plan) {
  if (MustScan(pod_class, plan)) return FindByScan(pod_class, plan);
  const NodeIndex* index = IndexFor(pod_class);
  const Found found =
      index == nullptr ? FindByScan(pod_class, plan) : FindInIndex(pod_class, plan, *index);
  // Rounding apart, only GPUs are counted so coarsely that a fuller node is always the better one;
  // and nodes that have them are all scored alike but for room. Where single nodes are asked, the
  // one that took a pod may refuse the next.
  const bool packs_gpus = !AsksNodes(pod_class, plan) &&
                          !cluster_.pod_classes().info[pod_class].cpu_only &&
                          options_.gpu == Strategy::kBinpack &&
                          cluster_.pod_classes().request[pod_class][kGpuSlot.index()] >= 1;
  recent_ = packs_gpus && found.node.valid()
                ? Recent{.pod_class = pod_class, .found = found, .version = version()}
                : Recent{};
  return found;
}

double NodeSearch::SumOfScores(PodClassId pod_class, NodeId node, const ScoreView& view) const {
  double sum = 0;  // in plugin order: doubles do not add in any order (design §4.3 b)
  for (const std::unique_ptr<Scorer>& scorer : rules_.scorers) {
    if (scorer->DependsOn(pod_class) != Scorer::Dependence::kNothing)
      sum += scorer->Score(pod_class, node, view);
  }
  return sum;
}

NodeSearch::Found NodeSearch::FindInIndex(PodClassId pod_class, const ClassPlan& plan,
                                          const NodeIndex& index) {
  const NodeColumns& nodes = cluster_.nodes();
  const std::span<const double> request = cluster_.pod_classes().request[pod_class];
  ScoreView view{
      .least_room = index.least_room(), .most_room = index.most_room(), .fits_now = false};
  Best best;
  const bool asks_nodes = AsksNodes(pod_class, plan);
  const auto allows = [&](NodeId node) { return NodeAllows(pod_class, plan, node); };
  const auto allows_now = [&](NodeId node) {
    return allows(node) && !MustWait(pod_class, plan, node);
  };
  const NodeIndex::Test tests[] = {allows_now, allows};  // by Room
  const auto first_fit = [&](size_t group, Room room, const double* after) {
    return index.FirstFit(group, request, plan.class_ok, room, after,
                          asks_nodes ? &tests[static_cast<size_t>(room)] : nullptr);
  };
  const auto fits_now = [&](NodeId node, Room room) {
    return room == Room::kNow ||
           (Fits(request, nodes.idle[node]) && !(asks_nodes && MustWait(pod_class, plan, node)));
  };
  for (size_t group = 0; group < NodeIndex::kGroups; ++group) {
    const NodeId first = index.First(group);
    if (!first.valid()) continue;
    // Two searches: what fits now, and what fits now or later; the sums decide between them (design
    // §4.3 c).
    for (const Room room : {Room::kNow, Room::kLater}) {
      if (room == Room::kLater && best.node.valid()) {
        // No node of the group can have a higher sum than its first would have; usually that
        // settles it.
        view.fits_now = false;
        if (SumOfScores(pod_class, first, view) < best.score) break;
      }
      NodeId node = first_fit(group, room, nullptr);
      if (!node.valid()) continue;
      view.fits_now = fits_now(node, room);
      const double score = SumOfScores(pod_class, node, view);
      best.Offer(cluster_, node, score, view.fits_now);
      // Rounding can make the next key's sum equal; then the first name that fits there counts too.
      for (NodeId next = index.NextKey(group, index.key(node)); next.valid();
           next = index.NextKey(group, index.key(next))) {
        if (SumOfScores(pod_class, next, view) != score) break;
        const double before = index.key(node);
        node = first_fit(group, room, &before);
        if (!node.valid()) break;
        view.fits_now = fits_now(node, room);
        if (SumOfScores(pod_class, node, view) != score) break;
        best.Offer(cluster_, node, score, view.fits_now);
        next = node;
      }
    }
  }
  return {.node = best.node, .now = best.now};
}

bool NodeSearch::AsksNodes(PodClassId pod_class, const ClassPlan& plan) const {
  return std::any_of(plan.node_filters.begin(), plan.node_filters.end(), [&](const Filter* filter) {
    return filter->ScopeFor(pod_class) == Filter::Scope::kNode;
  });
}

bool NodeSearch::NodeAllows(PodClassId pod_class, const ClassPlan& plan, NodeId node) const {
  return std::all_of(plan.node_filters.begin(), plan.node_filters.end(), [&](const Filter* filter) {
    return filter->ScopeFor(pod_class) != Filter::Scope::kNode ||
           filter->Check(pod_class, node, nullptr);
  });
}

bool NodeSearch::MustWait(PodClassId pod_class, const ClassPlan& plan, NodeId node) const {
  return std::any_of(plan.node_filters.begin(), plan.node_filters.end(),
                     [&](const Filter* filter) { return filter->MustWait(pod_class, node); });
}

NodeSearch::Found NodeSearch::FindByScan(PodClassId pod_class, const ClassPlan& plan) {
  const NodeColumns& nodes = cluster_.nodes();
  std::optional<ScoreView> view;  // looked for once some node fits
  Best best;
  const bool restricted = offered_ != nullptr && cluster_.pod_classes().info[pod_class].cpu_only;
  const auto consider = [&](NodeId node) {
    if (restricted && (*offered_)[node] == 0) return;
    const std::span<const double> request = RequestOn(pod_class, node);
    if (!FitsSum(request, nodes.idle[node], nodes.releasing[node]) ||
        plan.class_ok[nodes.node_class[node].index()] == 0 || !NodeAllows(pod_class, plan, node))
      return;
    if (!view) view = ViewFor(pod_class);
    // As well: what is promised of the idle makes releasing negative.
    view->fits_now = Fits(request, nodes.idle[node]) && !MustWait(pod_class, plan, node);
    best.Offer(cluster_, node, SumOfScores(pod_class, node, *view), view->fits_now);
  };
  if (plan.has_candidates) {
    for (const NodeId node : plan.candidates) consider(node);
  } else {
    for (const NodeId node : nodes.name.ids()) consider(node);
  }
  return {.node = best.node, .now = best.now};
}

std::string NodeSearch::RefusalOf(PodId pod) const {
  const PodClassId pod_class = cluster_.pods().pod_class[pod];
  std::vector<std::pair<std::string_view, std::string>> errors;
  std::string alone;  // of the first check without a name
  for (const std::unique_ptr<PodCheck>& check : rules_.checks) {
    if (check->Allows(pod_class) &&
        (!check->AsksEachTime(pod_class) || check->AllowsNow(pod_class)))
      continue;
    if (!check->name().empty()) {
      errors.emplace_back(check->name(), check->Why(pod));
    } else if (alone.empty()) {
      alone = check->Why(pod);
    }
  }
  return errors.empty() ? alone : messages::ConditionsNotMet(cluster_.PodName(pod), errors);
}

int64_t NodeSearch::CountScoreKeys() const {
  int64_t keys = 0;
  for (const LazyIndex* lazy : {&gpu_index_, &cpu_index_}) {
    if (lazy->index) keys += lazy->index->CountKeys();
  }
  return keys;
}

const std::string& NodeSearch::Explain(PodId pod) {
  const PodClassId pod_class = cluster_.pods().pod_class[pod];
  ClassPlan& plan = PlanFor(pod_class);
  if (plan.is_refused ||
      IsRefusedNow(pod_class, plan)) {  // names the pod: not to be shared by the class
    pod_explanation_ = RefusalOf(pod);
    return pod_explanation_;
  }
  if (plan.explanation == nullptr) plan.explanation = std::make_unique<Explanation>();
  if (plan.explanation->version != version()) RefreshExplanation(pod_class, plan.explanation.get());
  return plan.explanation->text;
}

void NodeSearch::RefreshExplanation(PodClassId pod_class, Explanation* explanation) {
  const bool looks_further = std::any_of(
      rules_.filters.begin(), rules_.filters.end(),
      [&](const std::unique_ptr<Filter>& filter) { return filter->LooksBeyondNode(pod_class); });
  const auto changes = static_cast<size_t>(version() - explanation->version);
  if (explanation->version < 0 || looks_further || changes > cluster_.nodes().size()) {
    explanation->answers.clear();
    explanation->nodes_with.clear();
    explanation->of_node = IndexVector<NodeId, int32_t>(cluster_.nodes().size(), -1);
    for (const NodeId node : cluster_.nodes().name.ids()) {
      ExplainNode(pod_class, node, explanation);
    }
  } else {
    // Only nodes that changed can have changed their minds; asking one twice does no harm.
    for (size_t i = static_cast<size_t>(explanation->version); i < touched_.size(); ++i) {
      if (touched_[i].valid()) ExplainNode(pod_class, touched_[i], explanation);
    }
  }
  explanation->version = version();
  FitReport report;
  for (size_t i = 0; i < explanation->answers.size(); ++i)
    report.Add(explanation->answers[i], explanation->nodes_with[i]);
  explanation->text = report.Text(cluster_.slots());
}

void NodeSearch::ExplainNode(PodClassId pod_class, NodeId node, Explanation* explanation) {
  FitReport::Reasons reasons;
  ReasonsOf(pod_class, node, &reasons);
  int32_t& answer = explanation->of_node[node];
  std::vector<FitReport::Reasons>& answers = explanation->answers;
  if (answer >= 0) --explanation->nodes_with[static_cast<size_t>(answer)];
  const auto known = std::find(answers.begin(), answers.end(), reasons);
  answer = static_cast<int32_t>(known - answers.begin());
  if (known == answers.end()) {
    answers.push_back(reasons);
    explanation->nodes_with.push_back(0);
  }
  ++explanation->nodes_with[static_cast<size_t>(answer)];
}

void NodeSearch::ReasonsOf(PodClassId pod_class, NodeId node, FitReport::Reasons* reasons) {
  const NodeColumns& nodes = cluster_.nodes();
  const std::span<const double> request = RequestOn(pod_class, node);
  if (FitsSum(request, nodes.idle[node], nodes.releasing[node])) {
    node_report_.Clear();
    for (const std::unique_ptr<Filter>& filter : rules_.filters) {
      if (filter->ScopeFor(pod_class) == Filter::Scope::kNothing) continue;
      if (!filter->Check(pod_class, node, &node_report_)) break;
    }
    *reasons = node_report_.reasons();
    return;
  }
  if (Fits(request, nodes.idle[node])) return;
  // spec 3 E1, E2: only a node that lacks idle room has reasons, one per resource of which less
  // than asked for is free of use, promises included. A node that lacks only what was promised
  // away of the releasing says no without a reason.
  const std::span<const double> allocatable = nodes.allocatable[node];
  const std::span<const double> used = nodes.used[node];
  const auto claimed = static_cast<double>(cluster_.pod_classes().info[pod_class].gpu.dra);
  bool lacks_claimed = false;
  for (size_t i = 0; i < request.size(); ++i) {
    const double free = allocatable[i] - used[i];
    if (request[i] <= free) continue;
    // spec 3 E5: of GPUs only those outside of claims are spoken of.
    if (i == kGpuSlot.index() && claimed > 0 && request[i] - claimed <= std::max(free, 0.0)) {
      lacks_claimed = true;
    } else {
      reasons->codes.push_back(static_cast<uint16_t>(Reason::NotEnough(ResourceSlot(i)).index()));
    }
  }
  if (lacks_claimed && reasons->codes.empty())
    reasons->codes.push_back(static_cast<uint16_t>(Reason(Reason::kWithoutWords).index()));
}

}  // namespace kai

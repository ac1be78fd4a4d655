#include "kai/placement/node_search.h"

#include <algorithm>
#include <set>

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
      picker_(cluster, options.devices),
      plans_(cluster.pod_classes().size()) {
  for (const std::unique_ptr<Filter>& filter : rules_.filters) {
    if (Listener* listener = filter->listener(); listener != nullptr)
      listeners_.push_back(listener);
  }
}

NodeIndex* NodeSearch::IndexFor(PodClassId pod_class) {
  LazyIndex& lazy = LazyIndexFor(pod_class);
  if (!lazy.index) {
    if (++lazy.searches <= kSearchesWithoutIndex) return nullptr;
    const bool by_cpu = cluster_.pod_classes().info[pod_class].cpu_only;
    const ResourceSlot slot = by_cpu ? kCpuSlot : kGpuSlot;
    const Strategy strategy = by_cpu ? options_.cpu : options_.gpu;
    if (is_confined_) {
      lazy.index.emplace(cluster_, slot, strategy, confined_);
    } else {
      lazy.index.emplace(cluster_, slot, strategy);
    }
  }
  lazy.index->Refresh();
  return &*lazy.index;
}

void NodeSearch::Confine(const Area* area) {
  const bool confines = area != nullptr && (!area->nodes->all() || area->scores != nullptr);
  if (!confines && !is_confined_) return;
  is_confined_ = confines;
  recent_ = {};
  confined_.clear();
  for (LazyIndex* lazy : {&area_indices_.gpu, &area_indices_.cpu}) {
    lazy->searches = 0;
    lazy->index.reset();
  }
  if (!is_confined_) return;
  has_bands_ = area->scores != nullptr;
  const auto add = [&](NodeId node) {
    const int8_t steps = has_bands_ ? area->scores->StepsOf(node) : DomainScores::kMostSteps;
    if (steps != DomainScores::kNone)
      confined_.push_back(
          {.node = node, .band = static_cast<uint8_t>(DomainScores::kMostSteps - steps)});
  };
  if (area->nodes->all()) {
    for (const NodeId node : cluster_.nodes().name.ids()) add(node);
  } else {
    for (const NodeId node : area->nodes->nodes()) add(node);
  }
  std::stable_sort(
      confined_.begin(), confined_.end(),
      [](const NodeIndex::Member& a, const NodeIndex::Member& b) { return a.band < b.band; });
}

ScoreView NodeSearch::ViewFor(PodClassId pod_class) {
  LazyIndex& lazy = LazyIndexFor(pod_class);
  if (lazy.index) {
    lazy.index->Refresh();  // who scans has not asked it
    return {.least_room = lazy.index->least_room(),
            .most_room = lazy.index->most_room(),
            .fits_now = false,
            .joins = false};
  }
  const ResourceSlot slot = cluster_.pod_classes().info[pod_class].cpu_only ? kCpuSlot : kGpuSlot;
  ScoreView view;
  bool any = false;
  const NodeColumns& nodes = cluster_.nodes();
  const size_t slots = nodes.idle.slots();
  const std::vector<double>&idle = nodes.idle.raw(), &releasing = nodes.releasing.raw();
  const auto look = [&](size_t at) {
    if (nodes.allocatable.raw()[at] == 0) return;
    const double room = idle[at] + releasing[at];
    view.least_room = any ? std::min(view.least_room, room) : room;
    view.most_room = any ? std::max(view.most_room, room) : room;
    any = true;
  };
  if (is_confined_) {  // of the nodes that are offered (spec 3 T23)
    for (const NodeIndex::Member& each : confined_) look(each.node.index() * slots + slot.index());
  } else {
    for (size_t at = slot.index(); at < idle.size(); at += slots) look(at);
  }
  return view;
}

bool NodeSearch::IsRecentStillBest(PodClassId pod_class, const ClassPlan& plan) const {
  // One pod went where the last one of this class was told to go, and nothing else has happened.
  // Where fuller nodes come first, its node is fuller by that pod than all it was at least as good
  // as, and so the best again while another pod fits, now or later as before. Where the search
  // found devices to join, others may have some left; where it found none, there are none but here.
  if (recent_.pod_class != pod_class || recent_.version + 1 != version() ||
      touched_.back() != recent_.node)
    return false;
  const NodeId node = recent_.node;
  return HasRoom(pod_class, plan, node, Room::kLater) &&
         HasRoom(pod_class, plan, node, Room::kNow) == recent_.fits_now &&
         (!recent_.joins || MayJoin(pod_class, plan, node)) &&
         SharingAllowed(pod_class, plan, node);
}

void NodeSearch::FindShares(PodClassId pod_class, ClassPlan* plan) {
  const GpuRequest& gpu = cluster_.pod_classes().info[pod_class].gpu;
  const std::span<const double> request = cluster_.pod_classes().request[pod_class];
  plan->request.assign(request.begin(), request.end());
  plan->has_overhead = std::ranges::any_of(cluster_.pod_classes().overhead[pod_class],
                                           [](double amount) { return amount != 0; });
  plan->claims = cluster_.pod_classes().info[pod_class].claims.valid() && !gpu.IsShared();
  if (!cluster_.shares_gpus()) return;
  plan->shares = gpu.IsShared();
  const bool is_scored = std::any_of(
      rules_.scorers.begin(), rules_.scorers.end(), [&](const std::unique_ptr<Scorer>& scorer) {
        return scorer->DependsOn(pod_class) == Scorer::Dependence::kJoins;
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
    charges.insert(cluster_.GpusAskedOn(pod_class, node));
  plan->charges.assign(charges.begin(), charges.end());
}

bool NodeSearch::HasRoom(PodClassId pod_class, const ClassPlan& plan, NodeId node,
                         Room room) const {
  const NodeColumns& nodes = cluster_.nodes();
  const std::span<const double> request =
      plan.claims ? RequestOn(pod_class, node) : std::span<const double>(plan.request);
  if (!FitsSum(request, nodes.idle[node], nodes.releasing[node]) ||
      (room == Room::kNow && !Fits(request, nodes.idle[node])))
    return false;
  return !plan.shares || (picker_.HasEnough(pod_class, node, Room::kLater) &&
                          (room == Room::kLater || picker_.HasEnough(pod_class, node, room)));
}

bool NodeSearch::HasPodSlots(PodClassId pod_class, NodeId node) const {
  // spec 3 P6: one more for the pod that reserves the device.
  if (!options_.pod_slots) return true;
  const double slots = RoomOf(cluster_, node, kPodsSlot);
  return slots >= 2 || !picker_.Pick(pod_class, node, true).needs_pod_slot;
}

bool NodeSearch::SharingAllowed(PodClassId pod_class, const ClassPlan& plan, NodeId node) const {
  return !plan.shares || (IsOffered(pod_class, plan, node) &&
                          (most_charge_ == kUnlimitedCharge ||
                           cluster_.GpusAskedOn(pod_class, node) <= most_charge_) &&
                          HasPodSlots(pod_class, node));
}

NodeSearch::Found NodeSearch::On(PodClassId pod_class, const ClassPlan& plan, NodeId node,
                                 bool fits_now) const {
  Found found{.node = node, .now = fits_now, .gpus = {}};
  if (!plan.shares || !node.valid()) return found;
  GpuPicker::Choice choice = picker_.Pick(pod_class, node, fits_now);
  found.now = fits_now && !choice.waits;
  found.gpus = std::move(choice.gpus);
  return found;
}

void NodeSearch::Touch(const Change& change) {
  touched_.push_back(change.to_node);
  if (!change.to_node.valid()) return;
  for (LazyIndex* lazy : {&indices_.gpu, &indices_.cpu, &area_indices_.gpu, &area_indices_.cpu}) {
    if (lazy->index) lazy->index->Touch(change.to_node);
  }
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

bool NodeSearch::IsMoveWithin(PodId pod, NodeId node) const {
  return std::any_of(listeners_.begin(), listeners_.end(),
                     [&](const Listener* listener) { return listener->IsMoveWithin(pod, node); });
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
    if (scope != Filter::Scope::kNothing && filter->CountsRoom())
      plan.room_filters.push_back(filter.get());
    if (scope != Filter::Scope::kNodeClass) continue;
    for (size_t i = 0; i < node_classes; ++i) {
      if (plan.class_ok[i] != 0 && !filter->Check(pod_class, example[i], nullptr))
        plan.class_ok[i] = 0;
    }
  }
  FindCandidates(pod_class, &plan);
  FindShares(pod_class, &plan);
  return plan;
}

void NodeSearch::FindCandidates(PodClassId pod_class, ClassPlan* plan) {
  // Pods pinned by a label that nearly every node has a value of its own for, be it their own word
  // or that of their volumes: the few nodes that match are found once.
  const ConstraintId id = cluster_.pod_classes().info[pod_class].constraint;
  const NodeConstraint& constraint = cluster_.constraints()[id];
  const bool by_volumes = constraint.volumes.valid() && cluster_.AskPerNode(constraint.volumes);
  if (rules_.checks.empty() || (!cluster_.AskPerNode(id) && !by_volumes))
    return;  // checks of pods come with the filters that would ask
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

NodeSearch::Found NodeSearch::Find(PodClassId pod_class, const Allowance* allowance) {
  ClassPlan& plan = PlanFor(pod_class);
  if (plan.is_refused || IsRefusedNow(pod_class, plan)) return {};
  most_charge_ = kUnlimitedCharge;
  if (plan.shares && allowance != nullptr && !plan.charges.empty() &&
      !allowance->Allows(plan.charges.back())) {
    const auto most = std::find_if(plan.charges.rbegin(), plan.charges.rend(),
                                   [&](double charge) { return allowance->Allows(charge); });
    if (most == plan.charges.rend()) return {};
    most_charge_ = *most;
    const Found found = Search(pod_class, plan);
    recent_ = {};
    return found;
  }
  if (IsRecentStillBest(pod_class, plan)) {
    recent_.version = version();
    return On(pod_class, plan, recent_.node, recent_.fits_now);
  }
  // Where nothing was found and room was only taken since, there is nothing now: unless a filter
  // looks at who stands there, or other nodes were offered.
  const bool stays_so =
      plan.node_filters.empty() && offered_ == nullptr && !is_confined_ && !options_.always_scan;
  if (stays_so && plan.nothing_at == freed_) return {};
  const Found found = Search(pod_class, plan);
  if (stays_so && !found.node.valid()) plan.nothing_at = freed_;
  return found;
}

NodeSearch::Found NodeSearch::Search(PodClassId pod_class, const ClassPlan& plan) {
  if (MustScan(pod_class, plan)) {
    bool fits_now = false;
    return FindByScan(pod_class, plan, &fits_now);
  }
  const NodeIndex* index = IndexFor(pod_class);
  bool fits_now = false;
  const Found found = index == nullptr ? FindByScan(pod_class, plan, &fits_now)
                                       : FindInIndex(pod_class, plan, *index, &fits_now);
  // Rounding apart, only GPUs are counted so coarsely that a fuller node is always the better one;
  // and nodes that have them are all scored alike but for room. Where single nodes are asked, the
  // one that took a pod may refuse the next.
  const bool packs_gpus =
      !AsksNodes(pod_class, plan) && !cluster_.pod_classes().info[pod_class].cpu_only &&
      options_.gpu == Strategy::kBinpack &&
      (plan.shares || cluster_.pod_classes().request[pod_class][kGpuSlot.index()] >= 1);
  recent_ = packs_gpus && found.node.valid() ? Recent{.pod_class = pod_class,
                                                      .node = found.node,
                                                      .fits_now = fits_now,
                                                      .joins = MayJoin(pod_class, plan, found.node),
                                                      .version = version()}
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
                                          const NodeIndex& index, bool* fits_now) {
  ScoreView view{.least_room = index.least_room(),
                 .most_room = index.most_room(),
                 .fits_now = false,
                 .joins = false};
  Best best;
  const bool asks_nodes = AsksNodes(pod_class, plan);
  const bool tests = asks_nodes || plan.may_join || plan.shares;
  // Searches for what fits now, and for what fits now or later, each of nodes where the pod joins
  // others and then of all; the sums decide between them (design §4.3 c).
  struct Pass {
    Room room;
    bool joins;
  };
  constexpr Pass kPasses[] = {
      {Room::kNow, true}, {Room::kLater, true}, {Room::kNow, false}, {Room::kLater, false}};
  const auto looks_at = [&](NodeId node) {
    view.fits_now = HasRoom(pod_class, plan, node, Room::kNow) &&
                    !(asks_nodes && MustWait(pod_class, plan, node));
    view.joins = MayJoin(pod_class, plan, node);
  };
  for (size_t group = 0; group < index.groups(); ++group) {
    const NodeId first = index.First(group);
    if (!first.valid()) continue;
    view.domain = DomainScoreOf(NodeIndex::BandOf(group));
    for (const Pass& pass : kPasses) {
      if (pass.joins && !plan.may_join) continue;
      if (best.node.valid()) {
        // No node of the group can have a higher sum than its first would have; usually that
        // settles it.
        view.fits_now = pass.room == Room::kNow;
        view.joins = pass.joins;
        if (SumOfScores(pod_class, first, view) < best.score) continue;
      }
      const auto passes = [&](NodeId node) {
        if (plan.shares && !HasRoom(pod_class, plan, node, pass.room)) return false;
        if (pass.joins && !MayJoin(pod_class, plan, node)) return false;
        if (!SharingAllowed(pod_class, plan, node)) return false;
        return !asks_nodes || (NodeAllows(pod_class, plan, node) &&
                               (pass.room == Room::kLater || !MustWait(pod_class, plan, node)));
      };
      const NodeIndex::Test test = passes;
      const std::vector<double>& request =
          plan.shares && !pass.joins ? plan.request_alone : plan.request;
      const auto first_fit = [&](const double* after) {
        return index.FirstFit(group, request, plan.class_ok, pass.room, after,
                              tests ? &test : nullptr, pass.joins ? plan.join : SharedRoom());
      };
      NodeId node = first_fit(nullptr);
      if (!node.valid()) continue;
      looks_at(node);
      const double score = SumOfScores(pod_class, node, view);
      best.Offer(cluster_, node, score, view.fits_now);
      // Rounding can make the next key's sum equal; then the first name that fits there counts too.
      for (NodeId next = index.NextKey(group, index.key(node)); next.valid();
           next = index.NextKey(group, index.key(next))) {
        if (SumOfScores(pod_class, next, view) != score) break;
        const double before = index.key(node);
        node = first_fit(&before);
        if (!node.valid()) break;
        looks_at(node);
        if (SumOfScores(pod_class, node, view) != score) break;
        best.Offer(cluster_, node, score, view.fits_now);
        next = node;
      }
    }
  }
  *fits_now = best.now;
  return On(pod_class, plan, best.node, best.now);
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

NodeSearch::Found NodeSearch::FindByScan(PodClassId pod_class, const ClassPlan& plan,
                                         bool* fits_now) {
  const NodeColumns& nodes = cluster_.nodes();
  std::optional<ScoreView> view;  // looked for once some node fits
  Best best;
  const auto consider = [&](NodeId node, double domain) {
    if (!IsOffered(pod_class, plan, node) || !HasRoom(pod_class, plan, node, Room::kLater) ||
        plan.class_ok[nodes.node_class[node].index()] == 0 ||
        !SharingAllowed(pod_class, plan, node) || !NodeAllows(pod_class, plan, node))
      return;
    if (!view) view = ViewFor(pod_class);
    // As well: what is promised of the idle makes releasing negative.
    view->fits_now = HasRoom(pod_class, plan, node, Room::kNow) && !MustWait(pod_class, plan, node);
    view->joins = MayJoin(pod_class, plan, node);
    view->domain = domain;
    best.Offer(cluster_, node, SumOfScores(pod_class, node, *view), view->fits_now);
  };
  if (is_confined_) {
    // Nothing but what looks at single nodes outweighs a step of domains.
    const bool ends_early =
        std::none_of(rules_.scorers.begin(), rules_.scorers.end(), [&](const auto& scorer) {
          return scorer->DependsOn(pod_class) == Scorer::Dependence::kNode;
        });
    for (size_t i = 0; i < confined_.size(); ++i) {
      const NodeIndex::Member& each = confined_[i];
      if (ends_early && best.node.valid() && each.band != confined_[i - 1].band) break;
      consider(each.node, DomainScoreOf(each.band));
    }
  } else if (plan.has_candidates) {
    for (const NodeId node : plan.candidates) consider(node, 0);
  } else {
    for (const NodeId node : nodes.name.ids()) consider(node, 0);
  }
  *fits_now = best.now;
  return On(pod_class, plan, best.node, best.now);
}

NoNodeCausePtr NodeSearch::RefusalOf(PodId pod) const {
  const PodClassId pod_class = cluster_.pods().pod_class[pod];
  NoNodeCause cause;
  for (const std::unique_ptr<PodCheck>& check : rules_.checks) {
    if (!check->Allows(pod_class) ||
        (check->AsksEachTime(pod_class) && !check->AllowsNow(pod_class)))
      cause.pod.push_back(check->Why(pod));
  }
  return std::make_shared<const NoNodeCause>(std::move(cause));
}

int64_t NodeSearch::CountScoreKeys() const {
  int64_t keys = 0;
  for (const LazyIndex* lazy : {&indices_.gpu, &indices_.cpu}) {
    if (lazy->index) keys += lazy->index->CountKeys();
  }
  return keys;
}

NoNodeCausePtr NodeSearch::Explain(PodId pod, const Allowance* allowance) {
  const PodClassId pod_class = cluster_.pods().pod_class[pod];
  ClassPlan& plan = PlanFor(pod_class);
  // Speaks of the pod: not to be shared by the class.
  if (plan.is_refused || IsRefusedNow(pod_class, plan)) return RefusalOf(pod);
  // What a queue says to nodes is not to be shared by the class either.
  const bool is_limited = plan.shares && allowance != nullptr && !plan.charges.empty() &&
                          !allowance->Allows(plan.charges.back());
  if (!is_limited) allowance = nullptr;
  if (plan.explanation == nullptr) plan.explanation = std::make_unique<Explanation>();
  const bool is_passing = is_limited || is_confined_;
  if (is_passing) plan.explanation->version = -1;
  if (plan.explanation->version != version())
    RefreshExplanation(pod_class, allowance, plan.explanation.get());
  if (is_passing) plan.explanation->version = -1;
  return plan.explanation->cause;
}

void NodeSearch::RefreshExplanation(PodClassId pod_class, const Allowance* allowance,
                                    Explanation* explanation) {
  const bool looks_further = std::any_of(
      rules_.filters.begin(), rules_.filters.end(),
      [&](const std::unique_ptr<Filter>& filter) { return filter->LooksBeyondNode(pod_class); });
  const auto changes = static_cast<size_t>(version() - explanation->version);
  if (explanation->version < 0 || looks_further || changes > cluster_.nodes().size()) {
    explanation->answers.clear();
    explanation->nodes_with.clear();
    explanation->of_node = IndexVector<NodeId, int32_t>(cluster_.nodes().size(), -1);
    if (is_confined_) {
      for (const NodeIndex::Member& each : confined_)
        ExplainNode(pod_class, each.node, allowance, explanation);
    } else {
      for (const NodeId node : cluster_.nodes().name.ids())
        ExplainNode(pod_class, node, allowance, explanation);
    }
  } else {
    // Only nodes that changed can have changed their minds; asking one twice does no harm.
    for (size_t i = static_cast<size_t>(explanation->version); i < touched_.size(); ++i) {
      if (touched_[i].valid()) ExplainNode(pod_class, touched_[i], allowance, explanation);
    }
  }
  explanation->version = version();
  FitReport report;
  for (size_t i = 0; i < explanation->answers.size(); ++i)
    report.Add(explanation->answers[i], explanation->nodes_with[i]);
  explanation->cause = std::make_shared<const NoNodeCause>(report.cause());
}

void NodeSearch::ExplainNode(PodClassId pod_class, NodeId node, const Allowance* allowance,
                             Explanation* explanation) {
  FitReport::Answer answer = WhyNot(pod_class, node, allowance);
  int32_t& place = explanation->of_node[node];
  std::vector<FitReport::Answer>& answers = explanation->answers;
  if (place >= 0) --explanation->nodes_with[static_cast<size_t>(place)];
  const auto known = std::find(answers.begin(), answers.end(), answer);
  place = static_cast<int32_t>(known - answers.begin());
  if (known == answers.end()) {
    answers.push_back(std::move(answer));
    explanation->nodes_with.push_back(0);
  }
  ++explanation->nodes_with[static_cast<size_t>(place)];
}

FitReport::Answer NodeSearch::WhyNot(PodClassId pod_class, NodeId node,
                                     const Allowance* allowance) {
  const ClassPlan& plan = plans_[pod_class];
  node_report_.Clear();
  const bool has_other_room = std::ranges::all_of(plan.room_filters, [&](const Filter* filter) {
    return filter->Check(pod_class, node, &node_report_);
  });
  if (has_other_room && HasRoom(pod_class, plan, node, Room::kLater)) {
    ReportRefusal(pod_class, plan, node, allowance);
    return node_report_.answer();
  }
  const NodeColumns& nodes = cluster_.nodes();
  const std::span<const double> request = RequestOn(pod_class, node);
  if (Fits(plan.shares ? std::span<const double>(plan.request) : request, nodes.idle[node]) &&
      (!plan.shares || picker_.HasEnough(pod_class, node, Room::kNow)))
    return node_report_.answer();
  // spec 3 E1, E2: only a node that lacks idle room has reasons, one per resource of which less
  // than asked for is free of use, promises included. A node that lacks only what was promised
  // away of the releasing says no without a reason.
  FitReport::Answer answer;
  const auto add = [&](Refusal refusal) {
    answer.refusals.push_back(static_cast<uint16_t>(refusal.index()));
  };
  const GpuRequest& gpu = cluster_.pod_classes().info[pod_class].gpu;
  const std::span<const double> allocatable = nodes.allocatable[node];
  const std::span<const double> used = nodes.used[node];
  const std::vector<SharedGpu>& listed = nodes.shared_gpus[node];
  const auto shared = std::count_if(listed.begin(), listed.end(),
                                    [](const SharedGpu& each) { return each.used > 0; });
  const auto claimed = static_cast<double>(gpu.dra);
  bool lacks_claimed = false;
  const bool for_overhead = plan.has_overhead && WouldFitWithoutOverhead(pod_class, plan, node);
  // Memory is no GPU, unless it is more than one has.
  const bool too_large = gpu.memory_mib > cluster_.GpuCapacityMib(node);
  if (too_large) add(Refusal::kNotEnoughGpuMemory);
  for (size_t i = 0; i < request.size(); ++i) {
    double wanted = request[i];
    double taken = used[i];
    if (i == kGpuSlot.index()) {
      if (too_large) wanted = cluster_.AcceptedOn(pod_class, node)[kQuotaGpu];
      taken += static_cast<double>(shared);
    }
    const double free = allocatable[i] - taken;
    if (wanted <= free) continue;
    // spec 3 E5: of GPUs only those outside of claims are spoken of.
    if (i == kGpuSlot.index() && claimed > 0 && wanted - claimed <= std::max(free, 0.0)) {
      lacks_claimed = true;
    } else {
      add(Refusal::NotEnough(ResourceSlot(i), for_overhead));
    }
  }
  if (lacks_claimed && answer.refusals.empty()) add(Refusal::kUnsaid);
  return answer;
}

// Of a pod that fits with nothing else taken from it (spec 3 E4).
bool NodeSearch::WouldFitWithoutOverhead(PodClassId pod_class, const ClassPlan& plan, NodeId node) {
  const std::span<const double> overhead = cluster_.pod_classes().overhead[pod_class];
  const std::span<const double> request =
      plan.claims ? RequestOn(pod_class, node) : std::span<const double>(plan.request);
  return FitsSum(request, cluster_.nodes().idle[node], overhead) &&
         (!plan.shares || picker_.HasEnough(pod_class, node, Room::kNow));
}

void NodeSearch::ReportRefusal(PodClassId pod_class, const ClassPlan& plan, NodeId node,
                               const Allowance* allowance) {
  // The first no ends it (spec 3 P3a-P10).
  if (plan.shares && allowance != nullptr) {
    const double gpus = cluster_.GpusAskedOn(pod_class, node);
    if (!allowance->Allows(gpus)) return node_report_.Count(allowance->Why(gpus));
  }
  if (plan.shares && !HasPodSlots(pod_class, node))
    return node_report_.Count(Refusal::kNotEnoughPodSlots);
  for (const std::unique_ptr<Filter>& filter : rules_.filters) {
    if (filter->ScopeFor(pod_class) == Filter::Scope::kNothing) continue;
    if (!filter->Check(pod_class, node, &node_report_)) return;
  }
}

}  // namespace kai

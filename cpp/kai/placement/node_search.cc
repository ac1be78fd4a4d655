#include "kai/placement/node_search.h"

#include <algorithm>

#include "kai/model/messages.h"

namespace kai {
namespace {

constexpr std::string_view kMaxNodePoolResources =
    "MaxNodePoolResources";  // the check's name in messages (spec 3 P8)

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

NodeSearch::NodeSearch(const Cluster& cluster, std::vector<std::unique_ptr<Filter>> filters,
                       std::vector<std::unique_ptr<Scorer>> scorers, const Options& options)
    : cluster_(cluster),
      filters_(std::move(filters)),
      scorers_(std::move(scorers)),
      options_(options),
      gpu_index_{.slot = kGpuSlot, .strategy = options.gpu, .index = {}},
      cpu_index_{.slot = kCpuSlot, .strategy = options.cpu, .index = {}},
      plans_(cluster.pod_classes().size()) {}

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
  const LazyIndex& lazy = cluster_.pod_classes().info[pod_class].cpu_only ? cpu_index_ : gpu_index_;
  if (lazy.index) {
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

void NodeSearch::Applied(const Change& change, UndoStack*) {
  Touch(change);
  const bool takes = change.to == PodStatus::kAllocated || change.to == PodStatus::kPipelined;
  if (!takes) recent_ = {};  // somewhere there is more room than before
}
void NodeSearch::Undone(const Change& change, UndoStack*) {
  Touch(change);
  recent_ = {};
}

NodeSearch::ClassPlan& NodeSearch::PlanFor(PodClassId pod_class) {
  ClassPlan& plan = plans_[pod_class];
  if (plan.ready) return plan;
  plan.ready = true;
  plan.too_large =
      options_.check_largest_node && !Fits(cluster_.pod_classes().request[pod_class],
                                           std::span<const double>(cluster_.largest_node()));
  const size_t node_classes = cluster_.node_classes().size();
  plan.class_ok.assign(node_classes, 1);
  std::vector<NodeId> example(node_classes);
  const NodeColumns& nodes = cluster_.nodes();
  for (const NodeId node : nodes.name.ids()) example[nodes.node_class[node].index()] = node;
  for (const std::unique_ptr<Filter>& filter : filters_) {
    if (filter->ScopeFor(pod_class) != Filter::Scope::kNodeClass) continue;
    for (size_t i = 0; i < node_classes; ++i) {
      if (plan.class_ok[i] != 0 && !filter->Check(pod_class, example[i], nullptr))
        plan.class_ok[i] = 0;
    }
  }
  FindCandidates(pod_class, &plan);
  return plan;
}

void NodeSearch::FindCandidates(PodClassId pod_class, ClassPlan* plan) {
  // Pods pinned by a label that nearly every node has a value of its own for: the few nodes that
  // match are found once.
  const ConstraintId id = cluster_.pod_classes().info[pod_class].constraint;
  if (filters_.empty() || !cluster_.AskPerNode(id)) return;  // without filters nobody asks
  const NodeColumns& nodes = cluster_.nodes();
  for (const NodeId node : nodes.name.ids()) {
    if (MatchesNode(cluster_.constraints()[id], nodes.labels[node], nodes.name[node],
                    cluster_.names())) {
      plan->candidates.push_back(node);
    }
  }
  plan->has_candidates = true;
}

bool NodeSearch::MustScan(PodClassId pod_class, const ClassPlan& plan) const {
  if (options_.always_scan || plan.has_candidates) return true;
  if (offered_ != nullptr && cluster_.pod_classes().info[pod_class].cpu_only) return true;
  const auto asks_nodes = [&](const auto& filter) {
    return filter->ScopeFor(pod_class) == Filter::Scope::kNode;
  };
  const auto scores_nodes = [&](const auto& scorer) {
    return scorer->DependsOn(pod_class) == Scorer::Dependence::kNode;
  };
  return std::any_of(filters_.begin(), filters_.end(), asks_nodes) ||
         std::any_of(scorers_.begin(), scorers_.end(), scores_nodes);
}

NodeSearch::Found NodeSearch::Find(PodClassId pod_class) {
  const ClassPlan& plan = PlanFor(pod_class);
  if (plan.too_large) return {};
  if (IsRecentStillBest(pod_class)) {
    recent_.version = version();
    return recent_.found;
  }
  if (MustScan(pod_class, plan)) return FindByScan(pod_class, plan);
  const NodeIndex* index = IndexFor(pod_class);
  const Found found =
      index == nullptr ? FindByScan(pod_class, plan) : FindInIndex(pod_class, plan, *index);
  // Rounding apart, only GPUs are counted so coarsely that a fuller node is always the better one;
  // and nodes that have them are all scored alike but for room.
  const bool packs_gpus = !cluster_.pod_classes().info[pod_class].cpu_only &&
                          options_.gpu == Strategy::kBinpack &&
                          cluster_.pod_classes().request[pod_class][kGpuSlot.index()] >= 1;
  recent_ = packs_gpus && found.node.valid()
                ? Recent{.pod_class = pod_class, .found = found, .version = version()}
                : Recent{};
  return found;
}

double NodeSearch::SumOfScores(PodClassId pod_class, NodeId node, const ScoreView& view) const {
  double sum = 0;  // in plugin order: doubles do not add in any order (design §4.3 b)
  for (const std::unique_ptr<Scorer>& scorer : scorers_) {
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
      NodeId node = index.FirstFit(group, request, plan.class_ok, room);
      if (!node.valid()) continue;
      view.fits_now = room == Room::kNow || Fits(request, nodes.idle[node]);
      const double score = SumOfScores(pod_class, node, view);
      best.Offer(cluster_, node, score, view.fits_now);
      // Rounding can make the next key's sum equal; then the first name that fits there counts too.
      for (NodeId next = index.NextKey(group, index.key(node)); next.valid();
           next = index.NextKey(group, index.key(next))) {
        if (SumOfScores(pod_class, next, view) != score) break;
        const double before = index.key(node);
        node = index.FirstFit(group, request, plan.class_ok, room, &before);
        if (!node.valid()) break;
        view.fits_now = room == Room::kNow || Fits(request, nodes.idle[node]);
        if (SumOfScores(pod_class, node, view) != score) break;
        best.Offer(cluster_, node, score, view.fits_now);
        next = node;
      }
    }
  }
  return {.node = best.node, .now = best.now};
}

bool NodeSearch::PassesFilters(PodClassId pod_class, const ClassPlan& plan, NodeId node) const {
  if (plan.class_ok[cluster_.nodes().node_class[node].index()] == 0) return false;
  return std::all_of(filters_.begin(), filters_.end(), [&](const std::unique_ptr<Filter>& filter) {
    return filter->ScopeFor(pod_class) != Filter::Scope::kNode ||
           filter->Check(pod_class, node, nullptr);
  });
}

NodeSearch::Found NodeSearch::FindByScan(PodClassId pod_class, const ClassPlan& plan) {
  const NodeColumns& nodes = cluster_.nodes();
  const std::span<const double> request = cluster_.pod_classes().request[pod_class];
  std::optional<ScoreView> view;  // looked for once some node fits
  Best best;
  const bool restricted = offered_ != nullptr && cluster_.pod_classes().info[pod_class].cpu_only;
  const auto consider = [&](NodeId node) {
    if (restricted && (*offered_)[node] == 0) return;
    if (!FitsSum(request, nodes.idle[node], nodes.releasing[node]) ||
        !PassesFilters(pod_class, plan, node))
      return;
    if (!view) view = ViewFor(pod_class);
    // As well: what is promised of the idle makes releasing negative.
    view->fits_now = Fits(request, nodes.idle[node]);
    best.Offer(cluster_, node, SumOfScores(pod_class, node, *view), view->fits_now);
  };
  if (plan.has_candidates) {
    for (const NodeId node : plan.candidates) consider(node);
  } else {
    for (const NodeId node : nodes.name.ids()) consider(node);
  }
  return {.node = best.node, .now = best.now};
}

std::string NodeSearch::LargerThanAnyNodeText(PodId pod) const {
  // spec 3 P14: GPU, CPU, memory, then the others in the order of their slots; the first that is
  // too large is named.
  const PodClass& info = cluster_.ClassOf(pod);
  const std::span<const double> request = cluster_.RequestOf(pod);
  const ResourceSlots& slots = cluster_.slots();
  const std::string name = cluster_.PodName(pod);
  messages::PoolLimit limit{.pod = name,
                            .gpus = request[kGpuSlot.index()],
                            .cpu_millicores = request[kCpuSlot.index()],
                            .memory_bytes = request[kMemorySlot.index()],
                            .others = {},
                            .mig = {},
                            .node_pool = cluster_.params().node_pool_label_value,
                            .resource = {},
                            .largest = 0};
  if (limit.node_pool.empty()) limit.node_pool = "default";
  for (const auto& [mig, amount] : info.gpu.mig) {
    limit.mig.emplace_back(mig, static_cast<double>(amount));
    limit.gpus += MigGpuEquivalents(mig) * static_cast<double>(amount);
  }
  std::vector<ResourceSlot> order = {kGpuSlot, kCpuSlot, kMemorySlot};
  for (size_t i = kPodsSlot.index(); i < slots.size(); ++i) {
    order.push_back(ResourceSlot(i));
    if (request[i] != 0 && !slots.IsMig(ResourceSlot(i)))
      limit.others.emplace_back(slots.Name(ResourceSlot(i)), request[i]);
  }
  for (const ResourceSlot slot : order) {
    if (request[slot.index()] <= cluster_.largest_node()[slot.index()]) continue;
    limit.resource = slot == kGpuSlot ? "GPU" : slot == kCpuSlot ? "CPU" : slots.Name(slot);
    limit.largest = cluster_.largest_node()[slot.index()];
    break;
  }
  return messages::ConditionsNotMet(name, kMaxNodePoolResources,
                                    messages::LargerThanAnyNode(limit));
}

const std::string& NodeSearch::Explain(PodId pod) {
  const PodClassId pod_class = cluster_.pods().pod_class[pod];
  ClassPlan& plan = PlanFor(pod_class);
  if (plan.too_large) {  // names the pod: not to be shared by the class
    pod_explanation_ = LargerThanAnyNodeText(pod);
    return pod_explanation_;
  }
  if (plan.explanation == nullptr) plan.explanation = std::make_unique<Explanation>();
  if (plan.explanation->version != version()) RefreshExplanation(pod_class, plan.explanation.get());
  return plan.explanation->text;
}

void NodeSearch::RefreshExplanation(PodClassId pod_class, Explanation* explanation) {
  const bool looks_further = std::any_of(
      filters_.begin(), filters_.end(),
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
  const std::span<const double> request = cluster_.pod_classes().request[pod_class];
  if (FitsSum(request, nodes.idle[node], nodes.releasing[node])) {
    node_report_.Clear();
    for (const std::unique_ptr<Filter>& filter : filters_) {
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
  for (size_t i = 0; i < request.size(); ++i) {
    if (request[i] > allocatable[i] - used[i])
      reasons->push_back(static_cast<uint16_t>(Reason::NotEnough(ResourceSlot(i)).index()));
  }
}

}  // namespace kai

#include "kai/placement/node_search.h"

#include <algorithm>
#include <utility>

#include "kai/base/heap_bytes.h"

namespace kai {

// The best node so far: highest score, then lowest name.
struct NodeSearch::Best {
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

namespace {

NodeRoom::Options WithChooser(NodeRoom::Options options, const ClassPlans& plans) {
  for (const NamedScorer& each : plans.rules().scorers) {
    if (const GpuChooser* chooser = each.scorer->gpu_chooser(); chooser != nullptr)
      options.devices.chooser = chooser;
  }
  return options;
}

}  // namespace

NodeSearch::NodeSearch(ClassPlans* plans, OrderedNodes* nodes, const Options& options)
    : cluster_(plans->cluster()),
      plans_(*plans),
      all_nodes_(*nodes),
      options_(options),
      room_(cluster_, WithChooser(options.room, *plans)),
      nothing_at_(cluster_.pod_classes().size(), -1),
      explanations_(plans, room_, &touched_) {}

void NodeSearch::Confine(const Area* area) {
  const bool confines = area != nullptr && (!area->nodes->all() || area->scores != nullptr);
  if (!confines && !area_) return;
  recent_ = {};
  area_.reset();
  has_bands_ = confines && area->scores != nullptr;
  if (!confines) return;
  std::vector<OrderedNodes::Member> members;
  const auto add = [&](NodeId node) {
    const int8_t steps = has_bands_ ? area->scores->StepsOf(node) : DomainScores::kMostSteps;
    if (steps != DomainScores::kNone)
      members.push_back(
          {.node = node, .band = static_cast<uint8_t>(DomainScores::kMostSteps - steps)});
  };
  if (area->nodes->all()) {
    for (const NodeId node : cluster_.nodes().name.ids()) add(node);
  } else {
    members.reserve(area->nodes->nodes().size());
    for (const NodeId node : area->nodes->nodes()) add(node);
  }
  std::ranges::stable_sort(members, {}, &OrderedNodes::Member::band);
  area_.emplace(cluster_, all_nodes_.strategies(), std::move(members));
}

void NodeSearch::Touch(NodeId node) {
  touched_.Touch(node);
  all_nodes_.Touch(node);
  NoteFreedRoom();
}

void NodeSearch::Grow() {
  nothing_at_.Resize(cluster_.pod_classes().size(), -1);
  explanations_.Grow();
  touched_.Trim(cluster_.nodes().size());
}

void NodeSearch::Note(const Change& change) {
  touched_.Touch(change.to_node);
  if (!change.to_node.valid()) return;
  all_nodes_.Touch(change.to_node);
  if (area_) area_->Touch(change.to_node);
}

void NodeSearch::Applied(const Change& change) {
  Note(change);
  for (Listener* listener : plans_.listeners()) listener->Applied(change);
  const bool takes = change.to == PodStatus::kAllocated || change.to == PodStatus::kPipelined;
  if (!takes) NoteFreedRoom();
}
void NodeSearch::Undone(const Change& change) {
  Note(change);
  const std::span<Listener* const> listeners = plans_.listeners();
  for (auto listener = listeners.rbegin(); listener != listeners.rend(); ++listener)
    (*listener)->Undone(change);
  NoteFreedRoom();
}

bool NodeSearch::IsMoveWithin(PodId pod, NodeId node) const {
  return std::ranges::any_of(plans_.listeners(), [&](const Listener* listener) {
    return listener->IsMoveWithin(pod, node);
  });
}

// ---- the search

void NodeSearch::Begin(PodClassId pod_class, const ClassPlan& plan) {
  current_.pod_class = pod_class;
  current_.plan = &plan;
  current_.cpu_only = cluster_.pod_classes().info[pod_class].cpu_only;
  current_.most_charge = kUnlimitedCharge;
}

bool NodeSearch::LimitTo(const QueueAllowance& allowance) {
  const std::vector<double>& charges = current_.plan->charges;
  const auto most = std::find_if(charges.rbegin(), charges.rend(),
                                 [&](double charge) { return allowance.Allows(charge); });
  if (most == charges.rend()) return false;
  current_.most_charge = *most;
  return true;
}

NodeSearch::Found NodeSearch::Find(PodClassId pod_class, const QueueAllowance* allowance,
                                   PodId pod) {
  if (watch_ != nullptr) [[unlikely]]
    Record(pod, allowance);
  const ClassPlan& plan = plans_.Of(pod_class);
  if (plan.is_refused || plan.IsRefusedNow(pod_class)) return {};
  Begin(pod_class, plan);
  current_.pod = pod;
  if (IsLimited(plan, allowance)) {
    if (!LimitTo(*allowance)) return {};
    const Found found = Search();
    recent_ = {};
    return found;
  }
  if (IsRecentStillBest()) {
    recent_.version = touched_.version();
    return On(recent_.node, recent_.fits_now);
  }
  // If the last search found nothing and no room was freed since, there is still no node. This is
  // not true if a filter depends on pods on the nodes, or other nodes were offered.
  const bool stays_so =
      plan.node_filters.empty() && offered_ == nullptr && !area_ && !options_.always_scan;
  if (stays_so && nothing_at_[pod_class] == freed_) return {};
  const Found found = Search();
  if (stays_so && !found.node.valid()) nothing_at_[pod_class] = freed_;
  return found;
}

bool NodeSearch::IsRecentStillBest() const {
  // One pod was placed on the node of the last search for this class, and nothing else has changed.
  // If fuller nodes come first, this node is now even fuller, so it is again the best while another
  // pod fits in the same way, now or later. If the search found a device to join, other devices may
  // have room as well; if it found none, the only ones are on this node.
  if (recent_.pod_class != current_.pod_class || recent_.version + 1 != touched_.version() ||
      touched_.last() != recent_.node)
    return false;
  const NodeId node = recent_.node;
  return HasRoom(node, Room::kLater) && HasRoom(node, Room::kNow) == recent_.fits_now &&
         (!recent_.joins || MayJoin(node)) && SharingAllowed(node);
}

void NodeSearch::SelectRules() {
  current_.scores_nodes = false;
  current_.scorers.clear();
  for (const NamedScorer& each : plans_.rules().scorers) {
    const Scorer::Dependence dependence = each.scorer->DependsOn(current_.pod_class);
    if (dependence == Scorer::Dependence::kNothing) continue;
    current_.scorers.push_back(each.scorer.get());
    current_.scores_nodes = current_.scores_nodes || dependence == Scorer::Dependence::kNode;
  }
  current_.filters.clear();
  for (const Filter* filter : current_.plan->node_filters) {
    if (filter->ScopeFor(current_.pod_class) == Filter::Scope::kNode)
      current_.filters.push_back(filter);
  }
}

bool NodeSearch::MustScan() const {
  return options_.always_scan || current_.plan->has_candidates || current_.scores_nodes ||
         (offered_ != nullptr && current_.cpu_only) ||
         MostSharedGpus(cluster_, current_.pod_class) > 0;
}

bool NodeSearch::PacksGpus() const {
  // Despite rounding, GPUs are counted coarsely enough that a fuller node is always better, and
  // nodes with GPUs have equal scores except for room. If filters check single nodes, the node that
  // took a pod may refuse the next one.
  return current_.filters.empty() && !current_.cpu_only &&
         all_nodes_.strategies().gpu == Strategy::kBinpack &&
         (current_.plan->shares ||
          cluster_.pod_classes().request[current_.pod_class][kGpuSlot.index()] >= 1);
}

NodeSearch::Found NodeSearch::On(NodeId node, bool fits_now) const {
  Found found{.node = node, .now = fits_now, .gpus = {}};
  if (!current_.plan->shares || !node.valid()) return found;
  std::optional<GpuPicker::Choice> preferred;
  if (preferred_ != nullptr)
    preferred = room_.CheckDevices(current_.pod_class, node, fits_now, *preferred_);
  GpuPicker::Choice choice =
      preferred ? *std::move(preferred)
                : room_.PickDevices(current_.pod_class, node, fits_now, current_.pod);
  found.now = fits_now && !choice.waits;
  found.gpus = std::move(choice.gpus);
  return found;
}

bool NodeSearch::SharingAllowed(NodeId node) const {
  return !current_.plan->shares ||
         (IsOffered(node) &&
          (current_.most_charge == kUnlimitedCharge ||
           cluster_.GpusRequestedOn(current_.pod_class, node) <= current_.most_charge) &&
          ((preferred_ != nullptr &&
            room_.CheckDevices(current_.pod_class, node, true, *preferred_)) ||
           room_.HasPodSlots(current_.pod_class, node)));
}

bool NodeSearch::NodeAllows(NodeId node) const {
  const bool allows = std::ranges::all_of(current_.filters, [&](const Filter* filter) {
    return filter->Check(current_.pod_class, node, nullptr);
  });
  if (!allows || !only_lasting_) return allows;
  const bool lasts = std::ranges::all_of(current_.filters, [&](const Filter* filter) {
    return filter->Lasts(current_.pod_class, node);
  });
  any_passing_ = any_passing_ || !lasts;
  return lasts;
}

bool NodeSearch::MustWait(NodeId node) const {
  return std::ranges::any_of(current_.plan->node_filters, [&](const Filter* filter) {
    return filter->MustWait(current_.pod_class, node);
  });
}

double NodeSearch::SumOfScores(NodeId node, const ScoreView& view) const {
  double sum = 0;  // in plugin order, because sums of doubles depend on the order
  for (const Scorer* scorer : current_.scorers)
    sum += scorer->Score(current_.pod_class, node, view);
  return sum;
}

// ---- by scanning

void NodeSearch::FindFitting(bool every_band) {
  fitting_.clear();
  domains_.clear();
  const std::vector<uint8_t>& class_ok = current_.plan->class_ok;
  const auto consider = [&](NodeId node, double domain) {
    if (!IsOffered(node) || !HasRoom(node, Room::kLater) ||
        class_ok[cluster_.nodes().node_class[node].index()] == 0 || !SharingAllowed(node) ||
        !NodeAllows(node))
      return;
    fitting_.push_back(node);
    domains_.push_back(domain);
  };
  if (const std::vector<OrderedNodes::Member>* members = nodes().members(); members != nullptr) {
    for (size_t i = 0; i < members->size(); ++i) {
      const OrderedNodes::Member& each = (*members)[i];
      // Only scores of single nodes can outweigh the difference between two bands of domains.
      if (!every_band && !current_.scores_nodes && !fitting_.empty() &&
          each.band != (*members)[i - 1].band)
        break;
      consider(each.node, DomainScoreOf(each.band));
    }
  } else if (current_.plan->has_candidates) {
    for (const NodeId node : current_.plan->candidates) consider(node, 0);
  } else {
    for (const NodeId node : cluster_.nodes().name.ids()) consider(node, 0);
  }
}

template <typename Visit>
void NodeSearch::VisitFitting(const Visit& visit) {
  if (fitting_.empty()) return;
  for (const Scorer* scorer : current_.scorers) scorer->Prepare(current_.pod_class, fitting_);
  ScoreView view = nodes().ExtremesFor(current_.cpu_only);
  view.pod = current_.pod;
  for (size_t i = 0; i < fitting_.size(); ++i) {
    const NodeId node = fitting_[i];
    // Check both rooms: promised idle resources make releasing negative.
    view.fits_now = HasRoom(node, Room::kNow) && !MustWait(node);
    view.joins = MayJoin(node);
    view.domain = domains_[i];
    visit(node, view);
  }
}

NodeSearch::Best NodeSearch::Scan() {
  FindFitting(/*every_band=*/false);
  Best best;
  VisitFitting([&](NodeId node, const ScoreView& view) {
    best.Offer(cluster_, node, SumOfScores(node, view), view.fits_now);
  });
  return best;
}

void NodeSearch::Record(PodId pod, const QueueAllowance* allowance) {
  if (watch_->pod() == pod) watch_->Search(ScoresOf(pod, allowance));
}

ScoreSheet NodeSearch::ScoresOf(PodId pod, const QueueAllowance* allowance) {
  const PodClassId pod_class = cluster_.pods().pod_class[pod];
  const std::vector<NamedScorer>& scorers = plans_.rules().scorers;
  ScoreSheet sheet;
  for (const NamedScorer& each : scorers) sheet.plugins.emplace_back(each.name);
  nodes().ForEach([&](NodeId) { ++sheet.searched; });
  const ClassPlan& plan = plans_.Of(pod_class);
  if (plan.is_refused || plan.IsRefusedNow(pod_class)) return sheet;
  Begin(pod_class, plan);
  current_.pod = pod;
  if (IsLimited(plan, allowance) && !LimitTo(*allowance)) return sheet;
  SelectRules();
  FindFitting(/*every_band=*/true);
  VisitFitting([&](NodeId node, const ScoreView& view) {
    ScoreSheet::Row row{
        .node = node, .sum = SumOfScores(node, view), .now = view.fits_now, .scores = {}};
    for (const NamedScorer& each : scorers) {
      const bool counts = each.scorer->DependsOn(pod_class) != Scorer::Dependence::kNothing;
      row.scores.push_back(counts ? each.scorer->Score(pod_class, node, view) : 0);
    }
    sheet.rows.push_back(std::move(row));
  });
  std::ranges::sort(sheet.rows, [&](const ScoreSheet::Row& one, const ScoreSheet::Row& other) {
    const auto& rank = cluster_.nodes().name_rank;
    return one.sum != other.sum ? one.sum > other.sum : rank[one.node] < rank[other.node];
  });
  return sheet;
}

// ---- in the index

class NodeSearch::IndexWalk {
 public:
  IndexWalk(const NodeSearch& search, const NodeIndex& index)
      : search_(search),
        plan_(*search.current_.plan),
        index_(index),
        checks_nodes_(!search.current_.filters.empty()),
        tests_(checks_nodes_ || plan_.may_join || plan_.shares) {
    view_.least_room = index.least_room();
    view_.most_room = index.most_room();
  }

  Best Run() {
    // Searches for nodes that fit now and for nodes that fit now or later. Each is done first for
    // nodes where the pod joins others and then for all nodes; the sums decide between the results.
    constexpr Pass kPasses[] = {
        {Room::kNow, true}, {Room::kLater, true}, {Room::kNow, false}, {Room::kLater, false}};
    for (size_t group = 0; group < index_.groups(); ++group) {
      const NodeId first = index_.First(group);
      if (!first.valid()) continue;
      view_.domain = search_.DomainScoreOf(NodeIndex::BandOf(group));
      for (const Pass& pass : kPasses) {
        if (pass.joins && !plan_.may_join) continue;
        if (MayWin(first, pass)) Search(group, pass);
      }
    }
    return best_;
  }

 private:
  struct Pass {
    Room room;
    bool joins;
  };

  // False if no node of the group can win: none has a higher sum than its first node would have;
  // usually this decides.
  bool MayWin(NodeId first, const Pass& pass) {
    if (!best_.node.valid()) return true;
    view_.fits_now = pass.room == Room::kNow;
    view_.joins = pass.joins;
    return !(search_.SumOfScores(first, view_) < best_.score);
  }

  void Search(size_t group, const Pass& pass) {
    NodeId node = FirstFit(group, pass, nullptr);
    if (!node.valid()) return;
    const double score = ScoreOf(node);
    best_.Offer(search_.cluster_, node, score, view_.fits_now);
    // After rounding, the sum for the next key can be equal; then the lowest name that fits counts
    // there as well.
    for (NodeId next = index_.NextKey(group, index_.key(node)); next.valid();
         next = index_.NextKey(group, index_.key(node))) {
      if (search_.SumOfScores(next, view_) != score) return;
      const double before = index_.key(node);
      node = FirstFit(group, pass, &before);
      if (!node.valid() || ScoreOf(node) != score) return;
      best_.Offer(search_.cluster_, node, score, view_.fits_now);
    }
  }

  NodeId FirstFit(size_t group, const Pass& pass, const double* after) const {
    const auto passes = [&](NodeId node) {
      if (plan_.shares && !search_.HasRoom(node, pass.room)) return false;
      if (pass.joins && !search_.MayJoin(node)) return false;
      if (!search_.SharingAllowed(node)) return false;
      return !checks_nodes_ ||
             (search_.NodeAllows(node) && (pass.room == Room::kLater || !search_.MustWait(node)));
    };
    const NodeIndex::Test test = passes;
    const std::vector<double>& request =
        plan_.shares && !pass.joins ? plan_.request_alone : plan_.request;
    return index_.FirstFit(group, request, plan_.class_ok, pass.room, after,
                           tests_ ? &test : nullptr, pass.joins ? plan_.join : SharedRoom());
  }

  double ScoreOf(NodeId node) {
    view_.fits_now =
        search_.HasRoom(node, Room::kNow) && !(checks_nodes_ && search_.MustWait(node));
    view_.joins = search_.MayJoin(node);
    return search_.SumOfScores(node, view_);
  }

  const NodeSearch& search_;
  const ClassPlan& plan_;
  const NodeIndex& index_;
  const bool checks_nodes_;
  const bool tests_;
  ScoreView view_;
  Best best_;
};

NodeSearch::Found NodeSearch::Search() {
  SelectRules();
  const bool must_scan = MustScan();
  const NodeIndex* index = must_scan ? nullptr : nodes().IndexFor(current_.cpu_only);
  const Best best = index == nullptr ? Scan() : IndexWalk(*this, *index).Run();
  if (!must_scan) {
    recent_ = {};
    if (best.node.valid() && PacksGpus()) {
      recent_ = {.pod_class = current_.pod_class,
                 .node = best.node,
                 .fits_now = best.now,
                 .joins = MayJoin(best.node),
                 .version = touched_.version()};
    }
  }
  return On(best.node, best.now);
}

size_t NodeSearch::HeapBytes() const {
  return HeapBytesOfAll(touched_, nothing_at_, explanations_, fitting_, domains_);
}

}  // namespace kai

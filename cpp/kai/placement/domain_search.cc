#include "kai/placement/domain_search.h"

#include <algorithm>
#include <tuple>

#include "kai/api/rounding.h"

namespace kai {
namespace {

constexpr double kNothingFree = 1000;  // ratio of a request if nothing is free (spec 4 A5)
constexpr double kMostRatio = 1;
constexpr size_t kMostKinds = 8;  // kinds of pods that are counted one by one

// The domains at that depth inside this one, by id.
std::vector<TopologyDomainId> DomainsAt(const DomainTree& tree, TopologyDomainId domain,
                                        int32_t depth) {
  std::vector<TopologyDomainId> found;
  for (TopologyDomainId at = domain; at < tree.EndOf(domain);
       at = TopologyDomainId(at.index() + 1)) {
    if (tree.DepthOf(at) == depth) found.push_back(at);
  }
  return found;
}

}  // namespace

std::optional<DomainDepths> DepthsFor(const TopologyConstraint& constraint) {
  const int32_t required = constraint.required_depth;
  const int32_t preferred = constraint.preferred_depth;
  const bool is_known = required != TopologyConstraint::kUnknownLevel &&
                        preferred != TopologyConstraint::kUnknownLevel;
  if (!is_known || (required == 0 && preferred == 0) || (preferred > 0 && preferred < required))
    return std::nullopt;
  return DomainDepths{.narrowest = std::max(preferred, required), .widest = required};
}

DomainSearch::DomainSearch(const Cluster& cluster, const Options& options)
    : cluster_(cluster), options_(options), trees_(cluster.topologies().size()) {}

DomainSearch::Tree& DomainSearch::TreeOf(TopologyId id) {
  std::unique_ptr<Tree>& tree = trees_[id];
  if (tree != nullptr) return *tree;
  const DomainTree& shared = cluster_.topologies()[id];
  const std::span<const NodeId> nodes = shared.NodesOf(DomainTree::kRoot);
  const bool differs = options_.whole_nodes && !std::ranges::all_of(nodes, [&](NodeId node) {
                         return shared.IsWhole(node);
                       });
  if (!differs) {
    tree = std::make_unique<Tree>(cluster_, shared, cluster_.domain_totals(id), &touched_);
  } else {
    tree =
        std::make_unique<Tree>(cluster_, std::make_unique<Tree::Own>(cluster_, shared), &touched_);
  }
  return *tree;
}

DomainSearch::Needs DomainSearch::NeedsOf(std::span<const PodId> pods) const {
  const size_t slots = cluster_.slots().size();
  Needs needs{.pods = static_cast<int64_t>(pods.size()),
              .sum = std::vector<double>(slots),
              .largest = std::vector<double>(slots)};
  std::vector<int64_t> requesting(slots);
  int64_t with_gpus = 0;
  for (const PodId pod : pods) {
    const std::span<const double> request = cluster_.RequestOf(pod);
    const PodClassId pod_class = cluster_.pods().pod_class[pod];
    if (needs.kinds.empty() || needs.kinds.back().first != pod_class)
      needs.kinds.emplace_back(pod_class, 0);
    ++needs.kinds.back().second;
    for (size_t i = 0; i < slots; ++i) {
      needs.sum[i] += request[i];
      needs.largest[i] = std::max(needs.largest[i], request[i]);
      if (request[i] > 0) ++requesting[i];
    }
    // Only GPUs from a device plugin count, whole or in parts.
    const GpuRequest& gpu = cluster_.ClassOf(pod).gpu;
    if (gpu.kind != GpuRequestKind::kMemory &&
        GpusOfPortions(gpu.portion, static_cast<double>(gpu.count)) > 0)
      ++with_gpus;
  }
  std::sort(needs.kinds.begin(), needs.kinds.end());
  for (size_t i = 1; i < needs.kinds.size();) {
    if (needs.kinds[i].first == needs.kinds[i - 1].first) {
      needs.kinds[i - 1].second += needs.kinds[i].second;
      needs.kinds.erase(needs.kinds.begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  const auto some = [&](int64_t count) { return count != 0 && count != needs.pods; };
  needs.alike = !some(with_gpus);
  for (size_t i = kPodsSlot.index(); i < slots; ++i)
    needs.alike = needs.alike && !some(requesting[i]);
  needs.only_slots = std::ranges::count_if(requesting, [](int64_t each) { return each > 0; }) <= 1;
  return needs;
}

TopologyDomainId DomainSearch::CommonDomainOf(const DomainTree& tree,
                                              const NodeSubset& within) const {
  if (within.all()) {
    const std::span<const NodeId> nodes = tree.NodesOf(DomainTree::kRoot);
    if (nodes.empty()) return DomainTree::kRoot;
    return tree.CommonOf(tree.DomainOf(nodes.front()), tree.DomainOf(nodes.back()));
  }
  // Ids are depth first: a domain that contains the first and the last contains all.
  TopologyDomainId first, last;
  for (const NodeId node : within.nodes()) {
    const TopologyDomainId domain = tree.DomainOf(node);
    if (!domain.valid()) continue;
    first = first.valid() ? std::min(first, domain) : domain;
    last = last.valid() ? std::max(last, domain) : domain;
  }
  return first.valid() ? tree.CommonOf(first, last) : DomainTree::kRoot;
}

double DomainSearch::RatioOf(const Needs& needs, std::span<const double> free) const {
  double ratio = 0;
  for (size_t i = 0; i < free.size(); ++i) {
    if (i == kPodsSlot.index() || needs.sum[i] <= 0) continue;
    ratio = std::max(ratio, free[i] > 0 ? needs.sum[i] / free[i] : kNothingFree);
  }
  return ratio;
}

namespace {

// spec 4 C5, C6
Reason WrongLevels(const DomainSearch::Question& question) {
  const TopologyConstraint& wanted = question.constraint;
  const auto unknown = [&](NameId level, bool is_required) {
    return UnknownLevel{.topology = wanted.topology,
                        .subgroup = question.subgroup,
                        .level = level,
                        .is_required = is_required};
  };
  if (wanted.required_depth == TopologyConstraint::kUnknownLevel)
    return unknown(wanted.required, true);
  if (wanted.preferred_depth != TopologyConstraint::kNoLevel)
    return unknown(wanted.preferred, false);
  return NoLevel{.topology = wanted.topology, .subgroup = question.subgroup};
}

}  // namespace

// The state of one search.
struct DomainSearch::Search {
  const Question& question;
  const Needs& needs;
  Tree& in;
  const DomainRooms::Counts* counts = nullptr;  // null: the pods are too different to be counted
  int32_t narrowest = 0;                        // the searched depths
  int32_t widest = 0;
  bool has_pins = false;
  std::vector<TopologyDomainId> pinned = {};              // domains of the required level
  std::vector<std::vector<TopologyDomainId>> found = {};  // by depth, in the order of the tree
  std::vector<TopologyDomainId> refused = {};             // domains at the widest depth
  std::vector<TopologyDomainId> preferred = {};           // in the order of the tree

  std::vector<std::pair<const DomainRooms::Counts*, int64_t>> kinds = {};  // if counted by kind

  const DomainTree& tree() const { return in.tree; }
  double RatioOf(const DomainSearch& search, TopologyDomainId domain) const {
    return search.RatioOf(needs, in.rooms.FreeOf(domain));
  }
  bool Accepts(const DomainSearch& search, TopologyDomainId domain) const {
    if (needs.only_slots) return !tree().NodesOf(domain).empty();
    if (!kinds.empty()) {
      return RatioOf(search, domain) <= kMostRatio &&
             std::ranges::all_of(
                 kinds, [&](const auto& kind) { return (*kind.first)[domain] >= kind.second; });
    }
    return counts != nullptr ? (*counts)[domain] >= needs.pods
                             : RatioOf(search, domain) <= kMostRatio;
  }
  bool IsInPool(TopologyDomainId domain) const {
    if (!has_pins) return true;
    const int32_t depth = question.constraint.required_depth;
    return std::ranges::find(pinned, tree().AncestorAt(domain, depth)) != pinned.end();
  }

  void Walk(const DomainSearch& search, TopologyDomainId domain) {
    const int32_t depth = tree().DepthOf(domain);
    if (depth == question.constraint.preferred_depth) preferred.push_back(domain);
    if (depth >= widest && depth <= narrowest && IsInPool(domain)) {
      if (Accepts(search, domain)) {
        found[static_cast<size_t>(depth)].push_back(domain);
      } else if (depth == widest) {
        refused.push_back(domain);
      }
    }
    if (depth == narrowest) return;
    // The ids of siblings are in the order of their texts.
    std::vector<std::pair<double, TopologyDomainId>> children;
    for (TopologyDomainId child = tree().FirstChild(domain); child.valid();
         child = tree().Next(child))
      children.emplace_back(-RatioOf(search, child), child);
    std::sort(children.begin(), children.end());
    for (const auto& [ratio, child] : children) Walk(search, child);
  }

  // Adds the domain of the required level with room for the most pods.
  void AddBest(TopologyDomainId common, const Cluster& cluster, Answer* answer) const {
    if (counts == nullptr) return;
    const std::vector<TopologyDomainId> domains =
        DomainsAt(tree(), common, question.constraint.required_depth);
    if (domains.empty()) return;
    const TopologyDomainId best = *std::ranges::max_element(
        domains, {}, [&](TopologyDomainId domain) { return (*counts)[domain]; });
    answer->reasons.push_back(DomainTooSmall{.domain = tree().Text(best, cluster.names()),
                                             .holds = (*counts)[best],
                                             .wanted = needs.pods,
                                             .is_best = true});
  }

  // By name, in the order of their texts.
  void AddRefused(const Cluster& cluster, Answer* answer) {
    std::sort(refused.begin(), refused.end());
    for (const TopologyDomainId domain : refused) {
      if (counts != nullptr) {
        answer->reasons.push_back(DomainTooSmall{.domain = tree().Text(domain, cluster.names()),
                                                 .holds = (*counts)[domain],
                                                 .wanted = needs.pods});
        continue;
      }
      const std::span<const double> free = in.rooms.FreeOf(domain);
      for (size_t i = 0; i < free.size(); ++i) {
        if (needs.sum[i] > free[i]) answer->reasons.push_back(DomainsLack{.slot = ResourceSlot(i)});
      }
    }
  }

  // Adds domains of the widest level that the rest of the group excludes: KAI treats them as empty,
  // and lists their missing resources.
  void AddOutside(TopologyDomainId start, Answer* answer) const {
    for (const TopologyDomainId domain : DomainsAt(tree(), DomainTree::kRoot, widest)) {
      if (tree().Holds(start, domain) || !IsInPool(domain)) continue;
      for (size_t i = 0; i < needs.sum.size(); ++i) {
        if (needs.sum[i] > 0)
          answer->reasons.push_back(DomainsLack{.slot = ResourceSlot(i), .is_outside = true});
      }
    }
  }

  // Placed pods pin the new ones to their domains of the required level.
  void Pin() {
    const int32_t required = question.constraint.required_depth;
    has_pins = required > 0 && !question.held.empty();
    for (const NodeId node : question.held) {
      const TopologyDomainId domain = node.valid() ? tree().DomainOf(node) : TopologyDomainId();
      if (domain.valid() && tree().DepthOf(domain) >= required)
        pinned.push_back(tree().AncestorAt(domain, required));
    }
  }

  std::shared_ptr<const DomainScores> Scores() const {
    auto scores = std::make_shared<DomainScores>(DomainScores{
        .tree = &tree(),
        .depth = question.constraint.preferred_depth,
        .steps = IndexVector<TopologyDomainId, int8_t>(tree().size(), DomainScores::kNone)});
    const size_t count = preferred.size();
    for (size_t i = 0; i < count; ++i)
      scores->steps[preferred[i]] = static_cast<int8_t>(DomainScores::kMostSteps * (i + 1) / count);
    return scores;
  }

  // The best fit first.
  void Sort(const DomainSearch& search, std::vector<TopologyDomainId>* domains) const {
    std::vector<std::tuple<bool, bool, double, TopologyDomainId>> order;
    for (const TopologyDomainId domain : *domains) {
      const bool holds_some = std::ranges::any_of(
          question.held, [&](NodeId node) { return IsInDomain(tree(), domain, node); });
      const bool holds_all =
          counts != nullptr && (*counts)[domain] >= needs.pods + question.more_pods;
      order.emplace_back(!holds_some, !holds_all, -RatioOf(search, domain), domain);
    }
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < order.size(); ++i) (*domains)[i] = std::get<3>(order[i]);
  }
};

DomainSearch::Answer DomainSearch::Find(const Question& question) {
  const TopologyConstraint& wanted = question.constraint;
  Answer answer;
  const auto refuse = [&](Reason reason) {
    if (question.explains) answer.reasons.push_back(std::move(reason));
    return std::move(answer);
  };
  if (!wanted.tree.valid()) return refuse(NoSuchTopology{.topology = wanted.topology});
  TopologyNotSatisfied unsatisfied{.topology = wanted.topology,
                                   .level = wanted.required,
                                   .subgroup = question.subgroup,
                                   .within = {}};

  Tree& in = TreeOf(wanted.tree);
  answer.tree = &in.tree;
  const Needs needs = NeedsOf(question.pods);
  Search search{.question = question, .needs = needs, .in = in};
  Count(&search);
  const TopologyDomainId common =
      in.tree.AncestorAt(CommonDomainOf(in.tree, question.within), LowestStart(wanted, in.tree));
  if (!search.Accepts(*this, common)) {
    if (question.explains && wanted.required_depth > 0) search.AddBest(common, cluster_, &answer);
    unsatisfied.within = common == DomainTree::kRoot ? "" : in.tree.Text(common, cluster_.names());
    return refuse(std::move(unsatisfied));
  }

  // spec 4 C5, C6: invalid levels are reported after missing resources.
  const std::optional<DomainDepths> depths = DepthsFor(wanted);
  if (!depths && !options_.reports_levels) return answer;
  if (!depths) return refuse(WrongLevels(question));

  search.widest = depths->widest;
  search.narrowest = depths->narrowest;
  search.found.resize(static_cast<size_t>(search.narrowest) + 1);
  search.Pin();
  // KAI counts nothing above its start, but pods that request nothing need nothing there (spec 4
  // A10).
  const bool starts_too_low = in.tree.DepthOf(common) > search.narrowest;
  const TopologyDomainId start =
      needs.only_slots && starts_too_low ? in.tree.AncestorAt(common, search.narrowest) : common;
  search.Walk(*this, start);
  if (wanted.preferred_depth > 0) answer.scores = search.Scores();
  if (options_.best_fit) {
    for (std::vector<TopologyDomainId>& level : search.found) search.Sort(*this, &level);
  }
  for (auto level = search.found.rbegin(); level != search.found.rend(); ++level)
    answer.domains.insert(answer.domains.end(), level->begin(), level->end());
  if (!answer.domains.empty() || !question.explains) return answer;
  search.AddRefused(cluster_, &answer);
  search.AddOutside(start, &answer);
  return refuse(std::move(unsatisfied));
}

void DomainSearch::Count(Search* search) const {
  const Needs& needs = search->needs;
  DomainRooms& rooms = search->in.rooms;
  if (needs.only_slots) return;
  if (needs.alike) search->counts = &rooms.CountsFor(needs.largest);
  if (!options_.best_fit || needs.kinds.size() <= 1 || needs.kinds.size() > kMostKinds) return;
  for (const auto& [pod_class, pods] : needs.kinds)
    search->kinds.emplace_back(&rooms.CountsFor(cluster_.pod_classes().request[pod_class]), pods);
}

int32_t DomainSearch::LowestStart(const TopologyConstraint& wanted, const DomainTree& tree) const {
  if (wanted.preferred_depth > 0) return wanted.preferred_depth;
  const bool stops = options_.stop_at_required && wanted.required_depth > 0;
  return stops ? wanted.required_depth : tree.depth();
}

std::vector<DomainSearch::Part> DomainSearch::PartsOf(const Question& question,
                                                      TopologyDomainId domain) {
  Tree& in = TreeOf(question.constraint.tree);
  const Needs needs = NeedsOf(question.pods);
  std::vector<Part> parts;
  if (!needs.alike || needs.only_slots) return parts;
  const DomainRooms::Counts& counts = in.rooms.CountsFor(needs.largest);
  for (const TopologyDomainId at : DomainsAt(in.tree, domain, question.constraint.preferred_depth))
    parts.push_back({.domain = at, .room = counts[at]});
  return parts;
}

NodeSubset DomainSearch::NodesOf(const Answer& answer, TopologyDomainId domain,
                                 const NodeSubset& within) const {
  const std::span<const NodeId> nodes = answer.tree->NodesOf(domain);
  std::vector<NodeId> offered;
  std::ranges::copy_if(nodes, std::back_inserter(offered),
                       [&](NodeId node) { return within.Holds(node); });
  return NodeSubset::Of(std::move(offered));
}

}  // namespace kai

#include "kai/placement/standing.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace kai {
namespace {

// What rules find about a node, apart from its amounts.
struct Answer {
  std::vector<Refusal> refusals;
  std::vector<NamedRefusal> named;
  std::vector<Requirement> unmet;
  std::vector<InternedTaint> taints;

  friend bool operator==(const Answer&, const Answer&) = default;
};

class Survey {
 public:
  Survey(PodClassId pod_class, ClassPlans* plans)
      : pod_class_(pod_class),
        cluster_(plans->cluster()),
        pods_(cluster_.pod_classes().info[pod_class]),
        plan_(plans->Of(pod_class)) {
    for (const std::unique_ptr<Filter>& filter : plans->rules().filters) {
      const Filter::Scope scope = filter->ScopeFor(pod_class);
      if (scope == Filter::Scope::kNothing || !filter->IsStanding(pod_class)) continue;
      (scope == Filter::Scope::kNodeClass ? class_filters_ : node_filters_).push_back(filter.get());
    }
    FindNeeds();
  }

  Standing Run() {
    for (const NodeId node : cluster_.nodes().name.ids()) {
      Answer answer = AnswerOfClass(node);
      Ask(node_filters_, node, &answer);
      AddShortages(node, &answer);
      if (answer.refusals.empty() && answer.named.empty()) {
        standing_.possible.push_back(node);
      } else {
        Add(node, std::move(answer));
      }
    }
    std::ranges::stable_sort(standing_.obstacles, [](const auto& a, const auto& b) {
      return a.nodes.size() > b.nodes.size();
    });
    return std::move(standing_);
  }

 private:
  void FindNeeds() {
    needs_ = plan_.request;
    if (plan_.shares) needs_[kGpuSlot.index()] = static_cast<double>(pods_.gpu.count);
  }

  // What others hold of its claims on the node it needs no second time (spec 3 D6).
  double SharedOn(NodeId node) const {
    if (plan_.shares || !pods_.claims.valid()) return 0;
    return cluster_.claims().SharedGpus(pods_.claims, node);
  }

  const Answer& AnswerOfClass(NodeId node) {
    const NodeClassId node_class = cluster_.nodes().node_class[node];
    const auto [found, is_new] = of_class_.try_emplace(node_class);
    if (is_new) {
      found->second = std::make_unique<Answer>();
      Ask(class_filters_, node, found->second.get());
    }
    return *found->second;
  }

  void Ask(std::span<const Filter* const> filters, NodeId node, Answer* answer) const {
    for (const Filter* filter : filters) {
      FitReport report;
      if (filter->Check(pod_class_, node, &report)) continue;
      NoNodeCause cause = report.cause();
      for (const auto& [refusal, times] : cause.refusals) {
        answer->refusals.push_back(refusal);
        if (refusal == Refusal::kNodeAffinityMismatch) answer->unmet = UnmetOn(node);
        if (refusal == Refusal::kUntoleratedTaints) answer->taints = TaintsOf(node);
      }
      for (auto& [refusal, times] : cause.named) answer->named.push_back(std::move(refusal));
    }
  }

  void AddShortages(NodeId node, Answer* answer) const {
    const NodeColumns& nodes = cluster_.nodes();
    const std::span<const double> offered = nodes.allocatable[node];
    for (size_t i = 0; i < needs_.size(); ++i) {
      const auto slot = ResourceSlot(static_cast<int32_t>(i));
      const double shared = i == kGpuSlot.index() ? SharedOn(node) : 0;
      if (needs_[i] - shared > offered[i]) answer->refusals.push_back(Refusal::NotEnough(slot));
    }
    const auto memory_mib = static_cast<double>(pods_.gpu.memory_mib);
    if (plan_.shares && memory_mib > nodes.gpu_memory_mib[node] &&
        cluster_.node_classes()[nodes.node_class[node]].has_gpu_memory)
      answer->refusals.push_back(Refusal::kNotEnoughGpuMemory);
  }

  void Add(NodeId node, Answer answer) {
    const auto is_same = [&](const std::pair<Answer, size_t>& row) { return row.first == answer; };
    auto found = std::ranges::find_if(rows_, is_same);
    if (found == rows_.end()) {
      standing_.obstacles.push_back({.nodes = {},
                                     .refusals = answer.refusals,
                                     .named = answer.named,
                                     .unmet = answer.unmet,
                                     .taints = answer.taints});
      rows_.emplace_back(std::move(answer), standing_.obstacles.size() - 1);
      found = std::prev(rows_.end());
    }
    standing_.obstacles[found->second].nodes.push_back(node);
  }

  std::vector<Requirement> UnmetOn(NodeId node) const {
    const NodeConstraint& constraint = cluster_.ConstraintOf(pod_class_);
    std::vector<Requirement> unmet = Unmet(constraint.selector, LabelsOf(node));
    if (!unmet.empty() || !constraint.has_affinity) return unmet;
    std::optional<std::vector<Requirement>> nearest;
    for (const NodeTerm& term : constraint.affinity) {
      std::vector<Requirement> left = UnmetOfTerm(term, node);
      if (!nearest || left.size() < nearest->size()) nearest = std::move(left);
    }
    return nearest ? *std::move(nearest) : std::vector<Requirement>();
  }

  std::vector<Requirement> UnmetOfTerm(const NodeTerm& term, NodeId node) const {
    std::vector<Requirement> unmet = Unmet(term.expressions, LabelsOf(node));
    for (const Requirement& field : term.fields) {
      if (!Matches(field, cluster_.nodes().name[node], cluster_.names())) unmet.push_back(field);
    }
    return unmet;
  }

  std::vector<Requirement> Unmet(std::span<const Requirement> requirements,
                                 std::span<const Label> labels) const {
    std::vector<Requirement> unmet;
    for (const Requirement& each : requirements) {
      if (!Matches(each, FindLabel(labels, each.key), cluster_.names())) unmet.push_back(each);
    }
    return unmet;
  }

  std::span<const Label> LabelsOf(NodeId node) const { return cluster_.nodes().labels[node]; }

  std::vector<InternedTaint> TaintsOf(NodeId node) const {
    const NodeClass& node_class = cluster_.node_classes()[cluster_.nodes().node_class[node]];
    const NodeConstraint& constraint = cluster_.ConstraintOf(pod_class_);
    std::vector<InternedTaint> taints;
    for (const InternedTaint& taint : node_class.taints) {
      if (!Tolerates(constraint.tolerations, taint)) taints.push_back(taint);
    }
    return taints;
  }

  const PodClassId pod_class_;
  const Cluster& cluster_;
  const PodClass& pods_;
  const ClassPlan& plan_;
  std::vector<const Filter*> class_filters_;
  std::vector<const Filter*> node_filters_;
  std::vector<double> needs_;  // of an empty node
  absl::flat_hash_map<NodeClassId, std::unique_ptr<Answer>> of_class_;
  std::vector<std::pair<Answer, size_t>> rows_;  // with the place of their obstacles
  Standing standing_;
};

}  // namespace

Standing StandingOf(PodClassId pod_class, ClassPlans* plans) {
  return Survey(pod_class, plans).Run();
}

}  // namespace kai

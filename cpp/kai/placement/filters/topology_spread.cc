// topologySpreadConstraints with DoNotSchedule (kube-scheduler's PodTopologySpread). Not in KAI,
// and off by default (docs/reference/config.md).
//
// For every constraint of a class of pods, it counts the selected pods per domain, and the number
// of domains with each number of pods. So the minimum is known without a walk over all domains.
// Leaving pods do not count.
#include <algorithm>
#include <map>
#include <tuple>

#include "kai/placement/filters/filters.h"
#include "kai/placement/placed_pods.h"

namespace kai {
namespace {

class TopologySpreadFilter final : public Filter, private Listener {
 public:
  explicit TopologySpreadFilter(const Cluster& cluster)
      : cluster_(cluster), tallies_of_(cluster.pod_classes().size()) {
    std::map<std::tuple<Spread, ConstraintId>, size_t> known;
    for (const PodClassId pod_class : cluster.pod_classes().info.ids()) {
      const ConstraintId id = cluster.pod_classes().info[pod_class].constraint;
      for (const Spread& spread : cluster.constraints()[id].spread) {
        const auto [found, added] = known.try_emplace({spread, id}, tallies_.size());
        if (added) tallies_.push_back(MakeTally(spread, id));
        tallies_of_[pod_class].push_back(found->second);
      }
    }
    if (tallies_.empty()) return;
    ForEachPlacedPod(cluster, [&](PodId pod, NodeId node, bool is_leaving) {
      Count(pod, node, is_leaving ? 0 : 1);
    });
  }

  Scope ScopeFor(PodClassId pod_class) const override {
    return tallies_of_[pod_class].empty() ? Scope::kNothing : Scope::kNode;
  }
  bool LooksBeyondNode(PodClassId pod_class) const override {
    return !tallies_of_[pod_class].empty();
  }

  bool Check(PodClassId pod_class, NodeId node, FitReport* report) const override {
    for (const size_t index : tallies_of_[pod_class]) {
      const Tally& tally = tallies_[index];
      const DomainId domain = cluster_.affinity().DomainOf(tally.spread.term, node);
      if (!domain.valid()) return No(Refusal::kSpreadWithoutLabel, report);
      const int32_t here = tally.held[domain];
      const int32_t least = tally.domains < tally.spread.min_domains ? 0 : tally.Least();
      const int32_t own = Counts(tally, pod_class) ? 1 : 0;
      if (here + own - least > tally.spread.max_skew) return No(Refusal::kTooUneven, report);
    }
    return true;
  }

  Listener* listener() override { return tallies_.empty() ? nullptr : this; }

 private:
  // The counts of one constraint, for pods of one NodeConstraint.
  struct Tally {
    Spread spread;
    IndexVector<NodeId, uint8_t> eligible;  // nodes that count
    IndexVector<DomainId, int32_t> held;    // pods by domain
    IndexVector<DomainId, uint8_t> counts;  // the domain has an eligible node
    int32_t domains = 0;                    // number of domains that count
    std::vector<int32_t> domains_with;      // number of domains by number of pods

    int32_t Least() const {
      for (size_t pods = 0; pods < domains_with.size(); ++pods) {
        if (domains_with[pods] > 0) return static_cast<int32_t>(pods);
      }
      return 0;
    }
    void Add(DomainId domain, int32_t pods) {
      if (pods == 0) return;
      --domains_with[static_cast<size_t>(held[domain])];
      held[domain] += pods;
      if (domains_with.size() <= static_cast<size_t>(held[domain]))
        domains_with.resize(static_cast<size_t>(held[domain]) + 1);
      ++domains_with[static_cast<size_t>(held[domain])];
    }
  };

  static bool No(Refusal refusal, FitReport* report) {
    if (report != nullptr) report->Count(refusal);
    return false;
  }

  Tally MakeTally(const Spread& spread, ConstraintId id) const {
    const NodeConstraint& constraint = cluster_.constraints()[id];
    const NodeColumns& nodes = cluster_.nodes();
    Tally tally{.spread = spread,
                .eligible = IndexVector<NodeId, uint8_t>(nodes.size()),
                .held = {},
                .counts = {},
                .domains_with = {0}};
    size_t domains = 0;
    for (const NodeId node : nodes.name.ids()) {
      const DomainId domain = cluster_.affinity().DomainOf(spread.term, node);
      if (domain.valid()) domains = std::max(domains, domain.index() + 1);
    }
    tally.held.Resize(domains);
    tally.counts.Resize(domains);
    for (const NodeId node : nodes.name.ids()) {
      // A node counts only if it has the keys of all constraints of the pod.
      bool eligible =
          std::all_of(constraint.spread.begin(), constraint.spread.end(), [&](const Spread& each) {
            return cluster_.affinity().DomainOf(each.term, node).valid();
          });
      if (spread.honor_node_affinity) {
        eligible = eligible &&
                   MatchesNode(constraint, nodes.labels[node], nodes.name[node], cluster_.names());
      }
      if (spread.honor_taints) {
        const NodeClass& node_class = cluster_.node_classes()[nodes.node_class[node]];
        eligible = eligible && std::all_of(node_class.taints.begin(), node_class.taints.end(),
                                           [&](const InternedTaint& taint) {
                                             return Tolerates(constraint.tolerations, taint);
                                           });
      }
      if (!eligible) continue;
      tally.eligible[node] = 1;
      const DomainId domain = cluster_.affinity().DomainOf(spread.term, node);
      if (tally.counts[domain] == 0) {
        tally.counts[domain] = 1;
        ++tally.domains;
        ++tally.domains_with[0];
      }
    }
    return tally;
  }

  bool Counts(const Tally& tally, PodClassId pod_class) const {
    const std::vector<AffinityTermId>& matched =
        cluster_.pod_classes().info[pod_class].matched_terms;
    return std::binary_search(matched.begin(), matched.end(), tally.spread.term);
  }

  void Count(PodId pod, NodeId node, int32_t pods) {
    if (pods == 0 || !node.valid()) return;
    for (Tally& tally : tallies_) {
      if (tally.eligible[node] != 0 && Counts(tally, cluster_.pods().pod_class[pod]))
        tally.Add(cluster_.affinity().DomainOf(tally.spread.term, node), pods);
    }
  }

  void Applied(const Change& change) override {
    const PodCountChange by = PodCountChangeOf(change);
    Count(change.pod, change.to_node, by.all - by.leaving);
  }
  void Undone(const Change& change) override {
    const PodCountChange by = PodCountChangeOf(change);
    Count(change.pod, change.to_node, by.leaving - by.all);
  }

  const Cluster& cluster_;
  std::vector<Tally> tallies_;
  IndexVector<PodClassId, std::vector<size_t>> tallies_of_;
};

}  // namespace

std::unique_ptr<Filter> MakeTopologySpreadFilter(const Cluster& cluster) {
  return std::make_unique<TopologySpreadFilter>(cluster);
}

}  // namespace kai

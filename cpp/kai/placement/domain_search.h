// DomainSearch: finds the topology domains in which to try some pods, best first (spec 4 A1-A12,
// S1-S3).
//
//   DomainSearch search(cluster, {.whole_nodes = true, .stop_at_required = false});
//   const DomainSearch::Answer answer = search.Find({.constraint = asked.constraint(), ...
//   for (const TopologyDomainId domain : answer.domains) {
//   const NodeSubset nodes_of_domain = search.NodesOf(answer, domain, within);
//
// Domains of the preferred level come before larger ones. Within one level, the domains below the
// tightest domain that holds the pods come first, then the tightest of these. The search only
// counts room: placing the pods shows whether they really fit.
//
// Invariants: the answer is for the cluster with the changes of the open Statement: the search is
// one of the statement's listeners. An answer without domains has reasons, if the question requests
// them. Cost: the size of the tree, and for pods of a new shape a check of every node. Not
// thread-safe.
#ifndef KAI_PLACEMENT_DOMAIN_SEARCH_H_
#define KAI_PLACEMENT_DOMAIN_SEARCH_H_

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kai/model/changes/listener.h"
#include "kai/model/columns/cluster.h"
#include "kai/model/reasons/reason.h"
#include "kai/placement/domain_rooms.h"
#include "kai/placement/node_subset.h"

namespace kai {

// The scores of the domains of one level: the emptiest domain has the highest score (spec 4 S1).
struct DomainScores {
  static constexpr double kPerStep = 100'000;
  static constexpr int8_t kMostSteps = 10;
  static constexpr int8_t kNone = -1;  // the node is outside of the searched domains

  const DomainTree* tree = nullptr;
  int32_t depth = 0;
  IndexVector<TopologyDomainId, int8_t> steps;  // of the domains at that depth

  int8_t StepsOf(NodeId node) const {
    const TopologyDomainId domain = tree->DomainOf(node);
    if (!domain.valid()) return kNone;
    // A node without the label of that level has no score.
    return tree->DepthOf(domain) < depth ? int8_t{0} : steps[tree->AncestorAt(domain, depth)];
  }
};

// Whether the node is in the domain; false for an unknown node.
inline bool IsInDomain(const DomainTree& tree, TopologyDomainId domain, NodeId node) {
  const TopologyDomainId at = node.valid() ? tree.DomainOf(node) : TopologyDomainId();
  return at.valid() && tree.Holds(domain, at);
}

// The depths of the domains that are searched (spec 4 A8).
struct DomainDepths {
  int32_t narrowest = 0;
  int32_t widest = 0;  // 0: up to the root
};
// Nothing: the levels are invalid (spec 4 C5).
std::optional<DomainDepths> DepthsFor(const TopologyConstraint& constraint);

class DomainSearch final : public Listener {
 public:
  struct Options {
    bool whole_nodes = false;      // leaves out nodes without the label of some level
    bool stop_at_required = true;  // the search does not start below the required level
    bool reports_levels = true;    // invalid levels are reported as an error
    // In each level, first the domains that contain pods of the group, then domains that can hold
    // the whole group, then the tightest. Unequal pods are counted by kind (spec 4 W6, W7).
    bool best_fit = false;
  };
  struct Question {
    const TopologyConstraint& constraint;
    std::span<const PodId> pods;
    const NodeSubset& within;
    NameId subgroup;  // for reasons; empty text: the whole group
    PodGroupId group;
    // The nodes of placed pods that must share their domain of the required level with the new
    // pods; a pod on an unknown node is in no domain.
    std::span<const NodeId> held = {};
    int64_t more_pods = 0;  // more pods that the group can use after these
    bool explains = false;
  };
  struct Answer {
    const DomainTree* tree = nullptr;
    std::vector<TopologyDomainId> domains;
    std::shared_ptr<const DomainScores> scores;  // null: no level is preferred
    std::vector<Reason> reasons;                 // filled if the question requests them
  };

  DomainSearch(const Cluster& cluster, const Options& options);

  Answer Find(const Question& question);
  // The domains of the preferred level below this one, each with the number of these pods that it
  // has room for. Empty: the pods are too different to be counted.
  struct Part {
    TopologyDomainId domain;
    int64_t room = 0;
  };
  std::vector<Part> PartsOf(const Question& question, TopologyDomainId domain);
  // The nodes of the domain that may be used.
  NodeSubset NodesOf(const Answer& answer, TopologyDomainId domain, const NodeSubset& within) const;

  void Applied(const Change& change) override { touched_.push_back(change.to_node); }
  void Undone(const Change& change) override { touched_.push_back(change.to_node); }

 private:
  // A tree of the cluster, or a tree of only the nodes with all labels.
  struct Tree {
    struct Own {
      Own(const Cluster& cluster, const DomainTree& whole)
          : tree(whole.OfWholeNodes(cluster.names())), totals(cluster, tree) {}
      DomainTree tree;
      DomainTotals totals;
    };
    Tree(const Cluster& cluster, const DomainTree& clusters, const DomainTotals& totals,
         const std::vector<NodeId>* touched)
        : tree(clusters), rooms(cluster, tree, totals, touched, 0) {}
    // Counted in the current state.
    Tree(const Cluster& cluster, std::unique_ptr<Own> its_own, const std::vector<NodeId>* touched)
        : own(std::move(its_own)),
          tree(own->tree),
          rooms(cluster, tree, own->totals, touched, touched->size()) {}

    std::unique_ptr<Own> own;
    const DomainTree& tree;
    DomainRooms rooms;
  };
  // The requests of all pods together.
  struct Needs {
    int64_t pods = 0;
    std::vector<double> sum;
    std::vector<double> largest;  // element-wise
    bool alike = true;            // all request the same kinds of resources (spec 4 A4)
    bool only_slots = false;      // they request only pod slots
    std::vector<std::pair<PodClassId, int64_t>> kinds = {};  // the number of pods of each class
  };
  struct Search;

  Tree& TreeOf(TopologyId id);
  Needs NeedsOf(std::span<const PodId> pods) const;
  // Counts the pods that each domain has room for.
  void Count(Search* search) const;
  int32_t LowestStart(const TopologyConstraint& wanted, const DomainTree& tree) const;
  TopologyDomainId CommonDomainOf(const DomainTree& tree, const NodeSubset& within) const;
  double RatioOf(const Needs& needs, std::span<const double> free) const;

  const Cluster& cluster_;
  Options options_;
  std::vector<NodeId> touched_;                           // nodes of all changes, in order
  IndexVector<TopologyId, std::unique_ptr<Tree>> trees_;  // null: not used yet
};

}  // namespace kai

#endif  // KAI_PLACEMENT_DOMAIN_SEARCH_H_

// DomainSearch: the topology domains in which some pods are worth trying, best first (spec 4
// A1-A12, S1-S3).
//
//   DomainSearch search(cluster, {.whole_nodes = true, .stop_at_required = false});
//   const DomainSearch::Answer answer = search.Find({.constraint = asked.constraint(), ...
//   for (const TopologyDomainId domain : answer.domains) {
//   const NodeSubset nodes_of_domain = search.NodesOf(answer, domain, within);
//
// Domains of the preferred level come before wider ones; of one level those below the tightest
// domain that holds the pods come first, and then the tightest of these. The search counts room
// only: whether the pods really fit is found out by placing them.
//
// Invariants: the answer is that for the cluster as the open Statement left it: the search is one
// of the statement's listeners. An answer without domains has reasons, if the question asked for
// them. Cost: the size of the tree, and for pods of a new shape a look at every node. Not
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

// How much the domains of one level are liked: the emptiest most (spec 4 S1).
struct DomainScores {
  static constexpr double kPerStep = 100'000;
  static constexpr int8_t kMostSteps = 10;
  static constexpr int8_t kNone = -1;  // the node is none of those that were looked at

  const DomainTree* tree = nullptr;
  int32_t depth = 0;
  IndexVector<TopologyDomainId, int8_t> steps;  // of domains of that depth

  int8_t StepsOf(NodeId node) const {
    const TopologyDomainId domain = tree->DomainOf(node);
    if (!domain.valid()) return kNone;
    // Of a node without that level's label nothing is known.
    return tree->DepthOf(domain) < depth ? int8_t{0} : steps[tree->AncestorAt(domain, depth)];
  }
};

// False as well where the node is not known.
inline bool StandsIn(const DomainTree& tree, TopologyDomainId domain, NodeId node) {
  const TopologyDomainId at = node.valid() ? tree.DomainOf(node) : TopologyDomainId();
  return at.valid() && tree.Holds(domain, at);
}

// The depths of the domains that are looked at (spec 4 A8).
struct DomainDepths {
  int32_t narrowest = 0;
  int32_t widest = 0;  // 0: up to the root
};
// Nothing: the levels make no sense (spec 4 C5).
std::optional<DomainDepths> DepthsFor(const TopologyConstraint& constraint);

class DomainSearch final : public Listener {
 public:
  struct Options {
    bool whole_nodes = false;      // nodes that lack the label of some level are left out
    bool stop_at_required = true;  // the search starts at the required level at the lowest
    bool tells_levels = true;      // levels that make no sense are an error that is told
    // Of one level first the domains where pods of the group stand, then those that would hold all
    // of it, then the tightest; and unlike pods are counted one kind at a time (spec 4 W6, W7).
    bool best_fit = false;
  };
  struct Question {
    const TopologyConstraint& constraint;
    std::span<const PodId> pods;
    const NodeSubset& within;
    NameId subgroup;  // that reasons speak of; empty text: the group as a whole
    PodGroupId group;
    // Where pods stand that have to have the new ones in their domain of the required level; one
    // on an unknown node is in none.
    std::span<const NodeId> held = {};
    int64_t more_pods = 0;  // that the group would like to have after these
    bool explains = false;
  };
  struct Answer {
    const DomainTree* tree = nullptr;
    std::vector<TopologyDomainId> domains;
    std::shared_ptr<const DomainScores> scores;  // null: no level is preferred
    std::vector<Reason> reasons;                 // where something explains
  };

  DomainSearch(const Cluster& cluster, const Options& options);

  Answer Find(const Question& question);
  // Domains of the preferred level in this one, with how many of the pods each has room for. None:
  // the pods are too unlike to be counted.
  struct Part {
    TopologyDomainId domain;
    int64_t room = 0;
  };
  std::vector<Part> PartsOf(const Question& question, TopologyDomainId domain);
  // Nodes of the domain that are offered.
  NodeSubset NodesOf(const Answer& answer, TopologyDomainId domain, const NodeSubset& within) const;

  void Applied(const Change& change) override { touched_.push_back(change.to_node); }
  void Undone(const Change& change) override { touched_.push_back(change.to_node); }

 private:
  // A tree of the cluster's, or one of the nodes alone that have all labels.
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
    // Counted as things stand.
    Tree(const Cluster& cluster, std::unique_ptr<Own> its_own, const std::vector<NodeId>* touched)
        : own(std::move(its_own)),
          tree(own->tree),
          rooms(cluster, tree, own->totals, touched, touched->size()) {}

    std::unique_ptr<Own> own;
    const DomainTree& tree;
    DomainRooms rooms;
  };
  // What the pods ask for together.
  struct Ask {
    int64_t pods = 0;
    std::vector<double> sum;
    std::vector<double> largest;  // element-wise
    bool alike = true;            // all of them ask for the same kinds of things (spec 4 A4)
    bool only_slots = false;      // nothing but a place to stand
    std::vector<std::pair<PodClassId, int64_t>> kinds = {};  // how many pods of each class
  };
  struct Search;

  Tree& TreeOf(TopologyId id);
  Ask AskOf(std::span<const PodId> pods) const;
  // For how many of the pods domains have room.
  void Count(Search* search) const;
  int32_t LowestStart(const TopologyConstraint& wanted, const DomainTree& tree) const;
  TopologyDomainId CommonDomainOf(const DomainTree& tree, const NodeSubset& within) const;
  double RatioOf(const Ask& ask, std::span<const double> free) const;

  const Cluster& cluster_;
  Options options_;
  std::vector<NodeId> touched_;                           // by every change of the cycle, in order
  IndexVector<TopologyId, std::unique_ptr<Tree>> trees_;  // null: not asked for yet
};

}  // namespace kai

#endif  // KAI_PLACEMENT_DOMAIN_SEARCH_H_

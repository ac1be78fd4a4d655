// NodeSearch: the node that a pod should get: of all nodes that fit, now or once what is releasing
// is gone, the one with the highest sum of scores, the lowest name among equals (spec 2 P2-P4, spec
// 3 W1).
//
//   NodeSearch search(&kept->plans, &kept->nodes,
//                     {.room = {.devices = {.pack = true}, .pod_slots = options.filters}});
//   const auto statement = Statement::Open(cluster.get(), {&search, ...
//   const NodeSearch::Found found = search.Find(pods);
//   if (!found.node.valid()) ... *search.Explain(pod) ...
//
// It can be kept from one cycle to the next, with the plans and the order of all nodes, as long as
// it hears of what happens between them as well (Touch(), Grow()).
//
// Invariants: it hears each change of the statement and passes it on to the filters and to the
// order of nodes, so that it always speaks of the cluster as it stands. The index and a scan of all
// nodes give the same answer; the scan is the definition.
//
// Cost: usually O(log nodes). A scan of all nodes where scores look at single nodes, for the first
// few searches, and for pods that a label pins to few nodes (of these alone). Threads: one.
#ifndef KAI_PLACEMENT_NODE_SEARCH_H_
#define KAI_PLACEMENT_NODE_SEARCH_H_

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "kai/model/changes/listener.h"
#include "kai/model/columns/cluster.h"
#include "kai/placement/class_plans.h"
#include "kai/placement/domain_search.h"
#include "kai/placement/explanation.h"
#include "kai/placement/node_room.h"
#include "kai/placement/ordered_nodes.h"
#include "kai/placement/queue_allowance.h"
#include "kai/placement/touched_nodes.h"

namespace kai {

class NodeSearch final : public Listener {
 public:
  struct Options {
    bool always_scan = false;  // answer every search by scanning: the plain way, for comparison
    NodeRoom::Options room;
  };
  struct Found {
    NodeId node;
    bool now = false;  // fits what is idle; else it has to wait for what is releasing
    GpuList gpus;      // that it shares there
  };

  // `nodes`: all of them. Both have to outlive the search.
  NodeSearch(ClassPlans* plans, OrderedNodes* nodes, const Options& options);
  NodeSearch(const NodeSearch&) = delete;
  NodeSearch& operator=(const NodeSearch&) = delete;

  ClassPlans& plans() { return plans_; }

  // `allowance`: for pods that share GPUs; null: no limit. `pod`: for scores that tell the pods of
  // a class apart; invalid: any of them.
  Found Find(PodClassId pod_class, const QueueAllowance* allowance = nullptr, PodId pod = {});

  // Why no node takes the pod, as the cluster stands.
  NoNodeCausePtr Explain(PodId pod, const QueueAllowance* allowance = nullptr) {
    return explanations_.Of(pod, nodes(), allowance);
  }

  // From now on only these nodes are offered to pods without GPUs and to those that share; null:
  // all nodes. Pods with whole GPUs find no other nodes without it either: a search for them leaves
  // out only nodes that have no GPU to give (spec 2 V3).
  void OfferOnly(const IndexVector<NodeId, uint8_t>* nodes) { offered_ = nodes; }
  const IndexVector<NodeId, uint8_t>* offered() const { return offered_; }

  // From now on only these nodes are searched; null: all. Nodes that have no score are left out
  // (spec 4 S3).
  struct Area {
    const NodeSubset* nodes = nullptr;
    const DomainScores* scores = nullptr;  // null: all domains score the same
  };
  void Confine(const Area* area);

  void Applied(const Change& change) override;
  void Undone(const Change& change) override;
  bool IsMoveWithin(PodId pod, NodeId node) const override;

  const TouchedNodes& touched() const { return touched_; }
  // Between cycles: something about the node changed, be it for more room or for less.
  void Touch(NodeId node);
  // Between cycles: the cluster may have more classes of pods.
  void Grow();

  size_t HeapBytes() const;

 private:
  static constexpr double kUnlimitedCharge = std::numeric_limits<double>::infinity();

  // The search that is under way: the class, and what answers for it as things stand.
  struct Current {
    PodClassId pod_class;
    PodId pod;
    const ClassPlan* plan = nullptr;
    bool cpu_only = false;
    double most_charge = kUnlimitedCharge;  // nodes where the pod counts for more are no use
    std::vector<const Scorer*> scorers;     // in plugin order
    bool scores_nodes = false;              // some of them look at single nodes
    std::vector<const Filter*> filters;     // that have to answer for single nodes
  };
  // The last answer, where no filter and no score looked at single nodes.
  struct Recent {
    PodClassId pod_class;
    NodeId node;
    bool fits_now = false;
    bool joins = false;
    TouchedNodes::Version version = TouchedNodes::kNone;
  };
  struct Best;
  class IndexWalk;

  OrderedNodes& nodes() { return area_ ? *area_ : all_nodes_; }

  void Begin(PodClassId pod_class, const ClassPlan& plan);
  bool IsRecentStillBest() const;
  Found Search();
  void SelectRules();
  bool MustScan() const;
  // The nodes that the pod may have, apart from what is better.
  void FindFitting();
  Best Scan();
  // Where one pod of a class after the other goes until the node is full.
  bool PacksGpus() const;
  // With the devices that the pod gets there.
  Found On(NodeId node, bool fits_now) const;

  // These speak of the search that is under way.
  bool HasRoom(NodeId node, Room room) const {
    return room_.Holds(current_.pod_class, *current_.plan, node, room);
  }
  bool MayJoin(NodeId node) const {
    return room_.MayJoin(current_.pod_class, *current_.plan, node);
  }
  bool IsOffered(NodeId node) const {
    return offered_ == nullptr || (*offered_)[node] != 0 ||
           !(current_.plan->shares || current_.cpu_only);
  }
  // What else keeps pods that share from a node: the offer, the queue, pod slots.
  bool SharingAllowed(NodeId node) const;
  bool NodeAllows(NodeId node) const;
  bool MustWait(NodeId node) const;
  double SumOfScores(NodeId node, const ScoreView& view) const;
  // What the band adds to a node's score (spec 4 S1).
  double DomainScoreOf(uint8_t band) const {
    return has_bands_ ? (DomainScores::kMostSteps - band) * DomainScores::kPerStep : 0;
  }

  void Note(const Change& change);
  void NoteFreedRoom() {
    recent_ = {};
    ++freed_;
  }

  const Cluster& cluster_;
  ClassPlans& plans_;
  OrderedNodes& all_nodes_;
  Options options_;
  NodeRoom room_;

  TouchedNodes touched_;
  int64_t freed_ = 0;  // how often a change left more room somewhere
  // Nothing was found when room had been freed so often; -1: something was, or there was no search.
  IndexVector<PodClassId, int64_t> nothing_at_;
  Recent recent_;
  Current current_;
  // Of a scan: the nodes that fit, and what their topology domains score.
  std::vector<NodeId> fitting_;
  std::vector<double> domains_;
  const IndexVector<NodeId, uint8_t>* offered_ = nullptr;
  std::optional<OrderedNodes> area_;  // where the search is confined
  bool has_bands_ = false;            // domains of the area differ in score
  Explanations explanations_;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_NODE_SEARCH_H_

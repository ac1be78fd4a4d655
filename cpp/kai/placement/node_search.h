// NodeSearch: finds the node for a pod: of all nodes that fit, now or once releasing resources are
// free, the one with the highest sum of scores, and of equal ones the lowest name (spec 2 P2-P4,
// spec 3 W1).
//
//   NodeSearch search(&kept->plans, &kept->nodes,
//                     {.room = {.devices = {.pack = true}, .pod_slots = options.filters}});
//   const auto statement = Statement::Open(cluster.get(), {&search, ...
//   const NodeSearch::Found found = search.Find(pods);
//   if (!found.node.valid()) ... *search.Explain(pod) ...
//
// It can be kept from one cycle to the next, with the plans and the order of all nodes, if Touch()
// and Grow() are called for changes between cycles.
//
// Invariants: it is a listener of the statement and forwards each change to the filters and to the
// order of nodes, so that results are for the current state. The index and a scan of all nodes give
// the same result; the scan is the definition.
//
// Cost: usually O(log nodes). It scans all nodes if scores depend on single nodes, and for the
// first few searches; for pods that a label pins to few nodes it scans only these. Threads: one.
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
#include "kai/placement/score_sheet.h"
#include "kai/placement/touched_nodes.h"

namespace kai {

class NodeSearch final : public Listener {
 public:
  struct Options {
    bool always_scan = false;  // scan in every search; for comparison
    NodeRoom::Options room;
  };
  struct Found {
    NodeId node;
    bool now = false;  // fits idle resources; false: waits for releasing ones
    GpuList gpus;      // the devices that it shares there
  };

  // `nodes`: all nodes. Both must live longer than the search.
  NodeSearch(ClassPlans* plans, OrderedNodes* nodes, const Options& options);
  NodeSearch(const NodeSearch&) = delete;
  NodeSearch& operator=(const NodeSearch&) = delete;

  ClassPlans& plans() { return plans_; }

  // `allowance`: for pods that share GPUs; null: no limit. `pod`: for scores that distinguish pods
  // of one class; invalid: any pod.
  Found Find(PodClassId pod_class, const QueueAllowance* allowance = nullptr, PodId pod = {});

  // Why no node takes the pod in the current state.
  NoNodeCausePtr Explain(PodId pod, const QueueAllowance* allowance = nullptr) {
    return explanations_.Of(pod, nodes(), allowance);
  }

  // The scores of all nodes that the pod may use in the current state, in all domains of the area;
  // later searches find the same as without this call.
  ScoreSheet ScoresOf(PodId pod, const QueueAllowance* allowance = nullptr);
  // From now on, each search for the watched pod is recorded; null: none is.
  void Watch(ScoreWatch* watch) { watch_ = watch; }

  // From now on, pods without GPUs and pods that share GPUs may only use these nodes; null: all
  // nodes. Pods with whole GPUs need no such limit: their searches leave out only nodes without a
  // GPU to give (spec 2 V3).
  void OfferOnly(const IndexVector<NodeId, uint8_t>* nodes) { offered_ = nodes; }
  const IndexVector<NodeId, uint8_t>* offered() const { return offered_; }

  // From now on, a node is refused if a filter allows it only because of pods that are leaving
  // (true), or may be used (false).
  void OnlyLasting(bool only) {
    only_lasting_ = only;
    any_passing_ = false;
  }
  // True: since the last call of OnlyLasting(), a node was refused for this reason alone.
  bool RefusedPassing() const { return any_passing_; }
  // From now on, a pod that shares GPUs gets these devices of a node, if they have room, before all
  // others; null: any. For searches of one node.
  void Prefer(const GpuList* gpus) { preferred_ = gpus; }

  // From now on, only these nodes are searched; null: all. Nodes without a score are left out (spec
  // 4 S3).
  struct Area {
    const NodeSubset* nodes = nullptr;
    const DomainScores* scores = nullptr;  // null: all domains score the same
  };
  void Confine(const Area* area);

  void Applied(const Change& change) override;
  void Undone(const Change& change) override;
  bool IsMoveWithin(PodId pod, NodeId node) const override;

  const TouchedNodes& touched() const { return touched_; }
  // Between cycles: the node changed, with more room or less.
  void Touch(NodeId node);
  // Between cycles: the cluster may have new classes of pods.
  void Grow();

  size_t HeapBytes() const;

 private:
  static constexpr double kUnlimitedCharge = std::numeric_limits<double>::infinity();

  // The current search: the class, and its checks and scores in the current state.
  struct Current {
    PodClassId pod_class;
    PodId pod;
    const ClassPlan* plan = nullptr;
    bool cpu_only = false;
    double most_charge = kUnlimitedCharge;  // nodes where the pod counts for more are excluded
    std::vector<const Scorer*> scorers;     // in plugin order
    bool scores_nodes = false;              // some of them depend on single nodes
    std::vector<const Filter*> filters;     // that must check single nodes
  };
  // The last result, if no filter and no score depended on single nodes.
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
  // True: on some nodes, the pod would count for more than its queue may use.
  static bool IsLimited(const ClassPlan& plan, const QueueAllowance* allowance) {
    return plan.shares && allowance != nullptr && !plan.charges.empty() &&
           !allowance->Allows(plan.charges.back());
  }
  // Excludes these nodes; false: they are all nodes.
  bool LimitTo(const QueueAllowance& allowance);
  bool IsRecentStillBest() const;
  Found Search();
  void SelectRules();
  bool MustScan() const;
  // Finds all nodes that the pod may use, in any order; nodes in later bands that cannot win only
  // if `every_band`.
  void FindFitting(bool every_band);
  // Calls visit(node, view) for the nodes that were found.
  template <typename Visit>
  void VisitFitting(const Visit& visit);
  // Passes the scores for the pod to the watch, if it watches this pod.
  void Record(PodId pod, const QueueAllowance* allowance);
  Best Scan();
  // True: successive pods of a class go to the same node until it is full.
  bool PacksGpus() const;
  // The result for this node, with the devices that the pod gets there.
  Found On(NodeId node, bool fits_now) const;

  // For the current search.
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
  // Whether pods that share GPUs may use the node: checks the offered nodes, the queue and pod
  // slots.
  bool SharingAllowed(NodeId node) const;
  bool NodeAllows(NodeId node) const;
  bool MustWait(NodeId node) const;
  double SumOfScores(NodeId node, const ScoreView& view) const;
  // The part of a node's score that depends on its band (spec 4 S1).
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
  int64_t freed_ = 0;  // number of changes that freed room
  // The value of freed_ when the last search of the class found nothing; -1: it found a node, or
  // there was no search.
  IndexVector<PodClassId, int64_t> nothing_at_;
  Recent recent_;
  Current current_;
  // In a scan: the nodes that fit, and the scores of their topology domains.
  std::vector<NodeId> fitting_;
  std::vector<double> domains_;
  const IndexVector<NodeId, uint8_t>* offered_ = nullptr;
  bool only_lasting_ = false;
  mutable bool any_passing_ = false;  // see RefusedPassing()
  const GpuList* preferred_ = nullptr;
  std::optional<OrderedNodes> area_;  // the nodes that the search is confined to
  bool has_bands_ = false;            // domains of the area differ in score
  Explanations explanations_;
  ScoreWatch* watch_ = nullptr;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_NODE_SEARCH_H_

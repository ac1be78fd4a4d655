// NodeSearch: the node that a pod should get: of all nodes that fit, now or once what is releasing
// is gone, the one with the highest sum of scores, the lowest name among equals (spec 2 P2-P4, spec
// 3 W1).
//
//   NodeSearch search(cluster, std::move(filters), std::move(scorers), {...});
//   const NodeSearch::Found found = search.Find(pod_class);
//   if (!found.node.valid()) text = search.Explain(pod);
//
// It is a listener of the statement, and so always speaks of the cluster as it stands.
//
// Most classes of pods are answered by the node index, which asks single nodes only where a filter
// has to; those whose scores look at single nodes are answered by a scan, which is also the
// definition that the index must agree with.
#ifndef KAI_PLACEMENT_NODE_SEARCH_H_
#define KAI_PLACEMENT_NODE_SEARCH_H_

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "kai/model/cluster.h"
#include "kai/model/listener.h"
#include "kai/placement/domain_search.h"
#include "kai/placement/filter.h"
#include "kai/placement/fit_report.h"
#include "kai/placement/gpu_picker.h"
#include "kai/placement/node_index.h"
#include "kai/placement/pod_check.h"
#include "kai/placement/scorer.h"

namespace kai {

class NodeSearch final : public Listener {
 public:
  struct Options {
    Strategy gpu = Strategy::kBinpack;
    Strategy cpu = Strategy::kBinpack;
    bool always_scan = false;  // answer every search by scanning: the plain way, for comparison
    GpuPicker::Options devices;
    bool pod_slots = true;  // for pods that reserve devices; off without the plugin that asks
  };
  struct Found {
    NodeId node;
    bool now = false;  // fits what is idle; else it has to wait for what is releasing
    GpuList gpus;      // that it shares there
  };

  // What a queue lets a pod that shares GPUs count, which differs from node to node (spec 1 F79).
  class Allowance {
   public:
    virtual ~Allowance() = default;
    virtual bool Allows(double gpus) const = 0;
    virtual QueueRefuses Why(double gpus) const = 0;
  };

  // What is asked of pods, of nodes, and which of these are liked best.
  struct Rules {
    std::vector<std::unique_ptr<PodCheck>> checks;
    std::vector<std::unique_ptr<Filter>> filters;
    std::vector<std::unique_ptr<Scorer>> scorers;
  };

  NodeSearch(const Cluster& cluster, Rules rules, const Options& options);

  // `allowance`: of pods that share GPUs; null: as much as they like.
  Found Find(PodClassId pod_class, const Allowance* allowance = nullptr);

  // From now on only these nodes are offered to pods without GPUs and to those that share; null:
  // all nodes. Pods with whole GPUs are not asked about: a search for them leaves out only nodes
  // that have no GPU to give (spec 2 V3).
  void OfferOnly(const IndexVector<NodeId, uint8_t>* nodes) { offered_ = nodes; }

  // From now on nodes are looked for here only; null: everywhere. Nodes of which the scores know
  // nothing are left out (spec 4 S3).
  struct Area {
    const NodeSubset* nodes = nullptr;
    const DomainScores* scores = nullptr;  // null: all are liked alike
  };
  void Confine(const Area* area);
  const IndexVector<NodeId, uint8_t>* offered() const { return offered_; }

  // What never changes in a cycle lets such pods onto the node: filters that ask per class of
  // nodes.
  bool MayRunOn(PodClassId pod_class, NodeId node) {
    const ClassPlan& plan = PlanFor(pod_class);
    return !plan.is_refused && plan.class_ok[cluster_.nodes().node_class[node].index()] != 0 &&
           (!plan.has_candidates ||
            std::binary_search(plan.candidates.begin(), plan.candidates.end(), node));
  }

  // No node could take a pod of that class, whoever left it: it is larger than any node, or lacks
  // what it needs before it can have one (spec 3 P16).
  bool CanNeverRun(PodClassId pod_class) { return PlanFor(pod_class).is_refused; }

  // GPUs that the class may have on some node without taking them from anybody (spec 3 D6).
  double MostSharedGpus(PodClassId pod_class) const {
    const ClaimNeedsId claims = cluster_.pod_classes().info[pod_class].claims;
    return claims.valid() ? cluster_.claims().MostSharedGpus(claims) : 0;
  }

  // How many different places in the order of nodes the indices hold, of those that were made:
  // design §4.3 lives on there being few.
  int64_t CountScoreKeys() const;

  // Why no node takes the pod, as the cluster stands. Cached until something changes, so that a
  // thousand pods of one class that find no room cost one walk over the nodes.
  NoNodeCausePtr Explain(PodId pod, const Allowance* allowance = nullptr);

  // Every change so far, counted: two equal versions are the same state.
  int64_t version() const { return static_cast<int64_t>(touched_.size()); }

  void Applied(const Change& change, UndoStack* undo) override;
  void Undone(const Change& change, UndoStack* undo) override;
  bool IsMoveWithin(PodId pod, NodeId node) const override;

 private:
  // Why the nodes refuse a class of pods, kept so that the next question costs what changed since.
  struct Explanation {
    int64_t version = -1;
    // The different answers there are, how many nodes give each, and which one a node gives: -1
    // before it is asked.
    std::vector<FitReport::Answer> answers;
    std::vector<int64_t> nodes_with;
    IndexVector<NodeId, int32_t> of_node;
    NoNodeCausePtr cause;
  };

  // What never changes in a cycle about a class of pods, and what was found out about it.
  struct ClassPlan {
    bool ready = false;
    bool is_refused = false;                  // by a check of pods
    std::vector<const PodCheck*> checks;      // that ask at every search
    std::vector<const Filter*> node_filters;  // that may ask single nodes
    std::vector<const Filter*> room_filters;  // of these, that count room
    std::vector<uint8_t> class_ok;   // by NodeClassId: all filters that ask per class say yes
    std::vector<NodeId> candidates;  // the only nodes worth asking, when `has_candidates`
    bool has_candidates = false;
    bool claims = false;        // devices, some of which others may have claimed as well
    bool has_overhead = false;  // that is part of what it asks for
    bool shares = false;        // devices with others
    bool may_join = false;      // devices of others count for it, be it as a score
    // What a node must have; of pods that share, without GPUs, and with as many idle ones as they
    // need where they can join nobody.
    std::vector<double> request;
    std::vector<double> request_alone;
    SharedRoom join;              // where they can
    std::vector<double> charges;  // GPUs that nodes make it count for, each once, ascending
    int64_t nothing_at = -1;      // nothing was found when room had been freed so often
    std::unique_ptr<Explanation> explanation;  // of the last time somebody asked
  };

  ClassPlan& PlanFor(PodClassId pod_class);
  void FindCandidates(PodClassId pod_class, ClassPlan* plan);
  bool IsRefusedNow(PodClassId pod_class, const ClassPlan& plan) const;
  // What the class would take of the node: GPUs that its claims share with who is there are no
  // longer to be had (spec 3 D6). Good until the next call.
  std::span<const double> RequestOn(PodClassId pod_class, NodeId node) const;
  bool MustScan(PodClassId pod_class, const ClassPlan& plan) const;
  Found Search(PodClassId pod_class, const ClassPlan& plan);
  // `fits_now`: without waiting, be it on another device than the one it gets.
  Found FindInIndex(PodClassId pod_class, const ClassPlan& plan, const NodeIndex& index,
                    bool* fits_now);
  Found FindByScan(PodClassId pod_class, const ClassPlan& plan, bool* fits_now);
  void FindShares(PodClassId pod_class, ClassPlan* plan);
  // Rooms of the node that matter to every pod of the class, the devices it shares included.
  bool HasRoom(PodClassId pod_class, const ClassPlan& plan, NodeId node, Room room) const;
  bool HasPodSlots(PodClassId pod_class, NodeId node) const;
  // What else keeps pods that share from a node: the search's bounds, the queue, pod slots.
  bool SharingAllowed(PodClassId pod_class, const ClassPlan& plan, NodeId node) const;
  bool MayJoin(PodClassId pod_class, const ClassPlan& plan, NodeId node) const {
    return plan.may_join && picker_.Joins(pod_class, node);
  }
  bool IsOffered(PodClassId pod_class, const ClassPlan& plan, NodeId node) const {
    return offered_ == nullptr || (*offered_)[node] != 0 ||
           !(plan.shares || cluster_.pod_classes().info[pod_class].cpu_only);
  }
  // With the devices that it gets there.
  Found On(PodClassId pod_class, const ClassPlan& plan, NodeId node, bool fits_now) const;
  // Some filter has to ask single nodes, as things stand.
  bool AsksNodes(PodClassId pod_class, const ClassPlan& plan) const;
  // What those filters say of this one.
  bool NodeAllows(PodClassId pod_class, const ClassPlan& plan, NodeId node) const;
  bool MustWait(PodClassId pod_class, const ClassPlan& plan, NodeId node) const;
  double SumOfScores(PodClassId pod_class, NodeId node, const ScoreView& view) const;
  // An index is made when it has been missed a few times: small cycles do without.
  struct LazyIndex {
    int searches = 0;
    std::optional<NodeIndex> index;
  };
  // For pods that go by GPUs and those that go by CPU.
  struct Indices {
    LazyIndex gpu;
    LazyIndex cpu;
  };
  // Of all nodes, or of those where the search is confined.
  LazyIndex& LazyIndexFor(PodClassId pod_class) {
    Indices& indices = is_confined_ ? area_indices_ : indices_;
    return cluster_.pod_classes().info[pod_class].cpu_only ? indices.cpu : indices.gpu;
  }
  // Null: not made yet.
  NodeIndex* IndexFor(PodClassId pod_class);
  // What the band adds to a node's score (spec 4 S1).
  double DomainScoreOf(uint8_t band) const {
    return has_bands_ ? (DomainScores::kMostSteps - band) * DomainScores::kPerStep : 0;
  }
  ScoreView ViewFor(PodClassId pod_class);
  bool IsRecentStillBest(PodClassId pod_class, const ClassPlan& plan) const;
  void Touch(const Change& change);
  void RefreshExplanation(PodClassId pod_class, const Allowance* allowance,
                          Explanation* explanation);
  void ExplainNode(PodClassId pod_class, NodeId node, const Allowance* allowance,
                   Explanation* explanation);
  // Why the node refuses the class; empty where it does not say.
  FitReport::Answer WhyNot(PodClassId pod_class, NodeId node, const Allowance* allowance);
  bool WouldFitWithoutOverhead(PodClassId pod_class, const ClassPlan& plan, NodeId node);
  void ReportRefusal(PodClassId pod_class, const ClassPlan& plan, NodeId node,
                     const Allowance* allowance);
  NoNodeCausePtr RefusalOf(PodId pod) const;

  static constexpr double kUnlimitedCharge = std::numeric_limits<double>::infinity();

  const Cluster& cluster_;
  Rules rules_;
  std::vector<Listener*> listeners_;  // of filters
  Options options_;
  GpuPicker picker_;
  Indices indices_;
  Indices area_indices_;
  // The last answer, where no filter and no score looked at single nodes.
  struct Recent {
    PodClassId pod_class;
    NodeId node;
    bool fits_now = false;
    bool joins = false;
    int64_t version = -1;
  };
  Recent recent_;
  // Of the search that is under way: nodes that make the pod count for more are no use to it.
  double most_charge_ = kUnlimitedCharge;
  IndexVector<PodClassId, ClassPlan> plans_;
  int64_t freed_ = 0;            // how often a change left more room somewhere
  std::vector<NodeId> touched_;  // by every change so far, in order; its length is the version
  const IndexVector<NodeId, uint8_t>* offered_ = nullptr;
  // Where the search is confined: the nodes it may look at, those that are liked most in front.
  std::vector<NodeIndex::Member> confined_;
  bool is_confined_ = false;
  bool has_bands_ = false;               // nodes are liked by their domain
  FitReport node_report_;                // scratch
  mutable std::vector<double> request_;  // scratch
};

}  // namespace kai

#endif  // KAI_PLACEMENT_NODE_SEARCH_H_

// ClassPlans: everything that a search for nodes can compute for a class of pods before it reads
// what is placed: the classes of nodes that the filters allow, the checks and filters that must run
// at each search, and the resources that a node must have.
//
//   ClassPlans& plans = rooms.search().plans();
//   plans.Of(pinned).candidates              // the only nodes that are possible
//   plans.MayRunOn(pinned, rooms.Node("n1")) // apart from room and from other pods
//
// Invariants: a plan depends on the objects of the cluster and never on what is placed where. It is
// valid from one cycle to the next until volumes or affinity terms change, or the largest offer of
// any node changes; Look() and Grow() must be called for other changes of nodes and for new classes
// of pods. The plans own filters and scorers. Some of them count what is placed: pass every change
// to listeners().
//
// Cost: a plan is made at its first use, with one check per filter and class of nodes. For pods
// that share GPUs, or that a label pins to single nodes, it also checks every node. After that, a
// plan is an access to an array. Look() is O(nodes + plans). Threads: one, because reading makes
// plans.
#ifndef KAI_PLACEMENT_CLASS_PLANS_H_
#define KAI_PLACEMENT_CLASS_PLANS_H_

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "kai/model/changes/listener.h"
#include "kai/model/columns/cluster.h"
#include "kai/placement/filter.h"
#include "kai/placement/node_index.h"
#include "kai/placement/pod_check.h"
#include "kai/placement/scorer.h"

namespace kai {

// Checks for pods, filters for nodes, and scorers that choose the best node: each in plugin order.
struct PlacementRules {
  std::vector<std::unique_ptr<PodCheck>> checks;
  std::vector<std::unique_ptr<Filter>> filters;
  std::vector<NamedScorer> scorers;
};

struct ClassPlan {
  bool is_refused = false;                  // a check refuses the pods: no node is possible
  std::vector<const PodCheck*> checks;      // that must run at each search
  std::vector<const Filter*> node_filters;  // that may have to check single nodes
  std::vector<const Filter*> room_filters;  // that count room on nodes
  std::vector<uint8_t> class_ok;            // by NodeClassId: all per-class filters allow it
  bool has_candidates = false;              // only `candidates` are possible
  std::vector<NodeId> candidates;           // ascending
  bool claims = false;                      // claims devices, perhaps shared with other pods
  bool has_overhead = false;                // pod overhead is part of the request
  bool shares = false;                      // shares devices with other pods
  bool may_join = false;                    // shared devices matter, at least for a score
  // What a node must have. For pods that share GPUs: without GPUs, and (`request_alone`) with the
  // idle GPUs that they need if they cannot join other pods.
  std::vector<double> request;
  std::vector<double> request_alone;
  SharedRoom join;              // enough room on a shared device to join it
  std::vector<double> charges;  // GPUs that the pod counts for: each value once, ascending

  // True: one of the checks that must run at each search refuses the pod now.
  bool IsRefusedNow(PodClassId pod_class) const {
    return std::ranges::any_of(checks,
                               [&](const PodCheck* check) { return !check->AllowsNow(pod_class); });
  }
};

class ClassPlans {
 public:
  ClassPlans(const Cluster& cluster, PlacementRules rules);

  const Cluster& cluster() const { return cluster_; }
  const PlacementRules& rules() const { return rules_; }
  // The listeners of filters and scorers that count what is placed.
  std::span<Listener* const> listeners() const { return listeners_; }

  const ClassPlan& Of(PodClassId pod_class) {
    Entry& entry = plans_[pod_class];
    if (!entry.is_made) Make(pod_class, &entry);
    return entry.plan;
  }

  // True: the per-class filters, and the pod's own pin, allow the node.
  bool MayRunOn(PodClassId pod_class, NodeId node) {
    const ClassPlan& plan = Of(pod_class);
    return !plan.is_refused && plan.class_ok[cluster_.nodes().node_class[node].index()] != 0 &&
           (!plan.has_candidates || std::ranges::binary_search(plan.candidates, node));
  }

  // True: no node can ever take such a pod: it is larger than any node, or lacks something that it
  // needs before it can get one (spec 3 P16).
  bool CanNeverRun(PodClassId pod_class) { return Of(pod_class).is_refused; }

  // Of the checks that refuse the pod, now or for ever.
  std::vector<PodRefusal> RefusalsOf(PodId pod) const;

  // Between cycles: these nodes were added, were removed, got another class or offer other
  // resources. An id may belong to no node any more.
  void Look(const absl::flat_hash_set<NodeId>& nodes);
  // The cluster has new classes of pods.
  void Grow() { plans_.Resize(cluster_.pod_classes().size()); }
  size_t HeapBytes() const;

 private:
  struct Entry {
    bool is_made = false;
    ClassPlan plan;
  };

  void Make(PodClassId pod_class, Entry* entry);
  void AddFilters(PodClassId pod_class, ClassPlan* plan) const;
  void ApplyFilter(const Filter& filter, PodClassId pod_class, NodeClassId node_class,
                   ClassPlan* plan) const;
  std::vector<NodeClassId> FindExamples();
  bool IsCandidate(PodClassId pod_class, NodeId node) const;
  void FindCandidates(PodClassId pod_class, ClassPlan* plan) const;
  void FindShares(PodClassId pod_class, ClassPlan* plan) const;

  const Cluster& cluster_;
  PlacementRules rules_;
  std::vector<Listener*> listeners_;
  std::vector<NodeId> examples_;  // by NodeClassId: a node of the class; invalid: none
  IndexVector<PodClassId, Entry> plans_;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_CLASS_PLANS_H_

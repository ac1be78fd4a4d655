// ClassPlans: what a search for nodes knows about a class of pods before it looks at what is
// placed: which classes of nodes the filters allow, which checks and filters have to answer at each
// search, and what a node must have.
//
//   ClassPlans& plans = rooms.search().plans();
//   plans.Of(pinned).candidates              // the only nodes worth a look
//   plans.MayRunOn(pinned, rooms.Node("n1")) // apart from room and from other pods
//
// Invariants: a plan depends on the objects of the cluster and never on what is placed where. It
// stays right from one cycle to the next until volumes or affinity terms change, or the most that
// any node offers, as long as the plans hear of other nodes (Look()) and classes (Grow()).
// The plans own filters and scorers, some of which count what is placed: forward each change to
// listeners().
//
// Cost: a plan is made when it is first needed, with one question per filter and class of nodes;
// for pods that share GPUs or that a label pins to single nodes also with a look at every node.
// Later a plan is an access to an array. Look() is O(nodes + plans). Threads: one, because reading
// makes plans.
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

// What pods must meet, what nodes must meet, and which nodes are best: each in plugin order.
struct PlacementRules {
  std::vector<std::unique_ptr<PodCheck>> checks;
  std::vector<std::unique_ptr<Filter>> filters;
  std::vector<std::unique_ptr<Scorer>> scorers;
};

struct ClassPlan {
  bool is_refused = false;                  // by a check of pods: no node is worth a look
  std::vector<const PodCheck*> checks;      // that have to answer at each search
  std::vector<const Filter*> node_filters;  // that may have to answer for single nodes
  std::vector<const Filter*> room_filters;  // that count room
  std::vector<uint8_t> class_ok;   // by NodeClassId: all filters that answer per class agree
  bool has_candidates = false;     // `candidates` are the only nodes worth a look
  std::vector<NodeId> candidates;  // ascending
  bool claims = false;             // devices, some of which other pods may claim as well
  bool has_overhead = false;       // that is part of the request
  bool shares = false;             // devices with other pods
  bool may_join = false;           // shared devices matter, be it for a score alone
  // What a node must have. For pods that share: apart from GPUs, and with as many idle ones as they
  // need where they can join no other pod.
  std::vector<double> request;
  std::vector<double> request_alone;
  SharedRoom join;              // room on a shared device that is enough to join
  std::vector<double> charges;  // GPUs that the pod counts for, by node: each value once, ascending

  // Some check, of those that have to answer at each search, refuses the pod as things stand.
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
  // The filters and scorers that count what is placed.
  std::span<Listener* const> listeners() const { return listeners_; }

  const ClassPlan& Of(PodClassId pod_class) {
    Entry& entry = plans_[pod_class];
    if (!entry.is_made) Make(pod_class, &entry);
    return entry.plan;
  }

  // The filters that answer per class of nodes, and the pod's own pin, allow the node.
  bool MayRunOn(PodClassId pod_class, NodeId node) {
    const ClassPlan& plan = Of(pod_class);
    return !plan.is_refused && plan.class_ok[cluster_.nodes().node_class[node].index()] != 0 &&
           (!plan.has_candidates || std::ranges::binary_search(plan.candidates, node));
  }

  // No node can take such a pod, whatever leaves it: the pod is larger than any node, or lacks what
  // it needs before it can have one (spec 3 P16).
  bool CanNeverRun(PodClassId pod_class) { return Of(pod_class).is_refused; }

  // Between cycles: these came, went, are of another class, or offer something else; none of an id
  // may be there any more.
  void Look(const absl::flat_hash_set<NodeId>& nodes);
  // The cluster has more classes of pods.
  void Grow() { plans_.Resize(cluster_.pod_classes().size()); }
  size_t HeapBytes() const;

 private:
  struct Entry {
    bool is_made = false;
    ClassPlan plan;
  };

  void Make(PodClassId pod_class, Entry* entry);
  void AddFilters(PodClassId pod_class, ClassPlan* plan) const;
  void Ask(const Filter& filter, PodClassId pod_class, NodeClassId node_class,
           ClassPlan* plan) const;
  std::vector<NodeClassId> FindExamples();
  bool IsCandidate(PodClassId pod_class, NodeId node) const;
  void FindCandidates(PodClassId pod_class, ClassPlan* plan) const;
  void FindShares(PodClassId pod_class, ClassPlan* plan) const;

  const Cluster& cluster_;
  PlacementRules rules_;
  std::vector<Listener*> listeners_;
  std::vector<NodeId> examples_;  // by NodeClassId: a node of the class; invalid: there is none
  IndexVector<PodClassId, Entry> plans_;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_CLASS_PLANS_H_

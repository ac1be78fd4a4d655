// A Filter decides if a pod could run on a node, apart from room. ScopeFor() returns how far a
// result of Check() is valid for a class of pods: Check() is not needed, or it runs once per node
// class, or once per node. To add one: docs/internals/first-change.md.
//
//   filter.ScopeFor(pod_class) == Filter::Scope::kNothing
//   const bool fits = filter.Check(pod_class, id, &report);
//
// Invariants: Check() reads the cluster with the changes of the open Statement, changes nothing,
// and returns the same with and without a report. Results per node class are computed once and kept
// for the cycle, so a filter that depends on other pods must return kNode. A filter that counts
// placed pods updates its counts with the changes that its listener() gets, and must restore them
// exactly when changes are undone. Cost: with kNode, Check() runs for up to every node in each
// search; work that is the same for all nodes belongs in the constructor. Not thread-safe.
#ifndef KAI_PLACEMENT_FILTER_H_
#define KAI_PLACEMENT_FILTER_H_

#include "kai/model/changes/listener.h"
#include "kai/model/columns/cluster.h"
#include "kai/placement/fit_report.h"

namespace kai {

class Filter {
 public:
  enum class Scope : uint8_t { kNothing, kNodeClass, kNode };

  virtual ~Filter() = default;
  virtual Scope ScopeFor(PodClassId pod_class) const = 0;
  // True: the result for one node can change because of events on another node. A filter with scope
  // kNothing for these pods must also return true if its scope can become kNode.
  virtual bool LooksBeyondNode(PodClassId) const { return false; }
  // True: the pod could run there. If false and `report` is given, counts the reason in it.
  virtual bool Check(PodClassId pod_class, NodeId node, FitReport* report) const = 0;
  // True: Check() allows the pod only because the pods in its way are leaving, so it must wait for
  // them.
  virtual bool MustWait(PodClassId, NodeId) const { return false; }
  // False: Check() allows the pod only because of pods that are leaving, so it would be refused
  // once they are gone.
  virtual bool Lasts(PodClassId, NodeId) const { return true; }

  // True: no pod on a node matters to Check(), so its result stays until other objects change.
  virtual bool IsStanding(PodClassId pod_class) const {
    return ScopeFor(pod_class) == Scope::kNodeClass;
  }

  // True: the filter counts room, like that of resources. For a node that also lacks idle
  // resources, only the missing resources are reported (spec 3 E1).
  virtual bool CountsRoom() const { return false; }

  // The listener that needs every change; null: none.
  virtual Listener* listener() { return nullptr; }
};

}  // namespace kai

#endif  // KAI_PLACEMENT_FILTER_H_

// A Filter says whether a pod could run on a node, apart from room. ScopeFor() says how far an
// answer of Check() holds for a class of pods: not needed at all, once per node class, or per node.
// To add one: docs/internals/first-change.md.
//
//   filter.ScopeFor(pod_class) == Filter::Scope::kNothing
//   const bool fits = filter.Check(pod_class, id, &report);
//
// Invariants: Check() reads the cluster as the open Statement left it, changes nothing, and answers
// the same with and without a report. Answers per node class are asked once and kept for the cycle;
// a filter that looks at other pods must say kNode. A filter that counts what stands where keeps
// its counts by the changes that its listener() gets, and must be back where it was when they are
// undone. Cost: with kNode Check() runs for up to every node in each search; what is the same for
// all nodes belongs into the constructor. Not thread-safe.
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
  // Answers about one node can change because of what happens on another. A filter whose scope for
  // these pods is kNothing now and can become kNode must say so here.
  virtual bool LooksBeyondNode(PodClassId) const { return false; }
  // True: the pod could run there. When not, and `report` is given, counts why.
  virtual bool Check(PodClassId pod_class, NodeId node, FitReport* report) const = 0;
  // Check() said yes, but only because those in the way are leaving: the pod has to wait for them.
  virtual bool MustWait(PodClassId, NodeId) const { return false; }

  // It counts room, like that of resources: of a node that is short of idle ones as well, these are
  // spoken of (spec 3 E1).
  virtual bool CountsRoom() const { return false; }

  // What hears every change; null: nothing.
  virtual Listener* listener() { return nullptr; }
};

}  // namespace kai

#endif  // KAI_PLACEMENT_FILTER_H_

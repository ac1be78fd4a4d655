// A Scorer scores a node for a pod. The scores of all scorers are added in plugin order, in
// doubles, and the sums are compared exactly (spec 3 W1). To add one: a file in scorers/, a line in
// session/registry.cc.
//
//   scorer->Score(PodClassId(0), NodeId(0), {.fits_now = true})
//   scorer->DependsOn(PodClassId(0))          // kFitsNow
//
// DependsOn() returns what the score depends on for a class of pods. If all scorers depend only on
// the node's room and kind, the node index finds the best node without scoring any other. If a
// scorer depends on more, it returns kNode, and all nodes are scored.
//
// Invariants: a score depends only on what DependsOn() returns; both functions change nothing.
// Cost: with kNode a call for every node that fits, otherwise for a few nodes of a search. Not
// thread-safe.
#ifndef KAI_PLACEMENT_SCORER_H_
#define KAI_PLACEMENT_SCORER_H_

#include <memory>
#include <span>
#include <string_view>

#include "kai/model/changes/listener.h"
#include "kai/model/columns/cluster.h"
#include "kai/placement/gpu_chooser.h"

namespace kai {

// Data about the searched nodes and the node that is scored.
struct ScoreView {
  double least_room = 0;  // of the strategy's resource, over the searched nodes with it (spec 3 W3)
  double most_room = 0;
  bool fits_now = false;  // without waiting for releasing resources
  bool joins = false;     // a shared device has room for the pod
  PodId pod = {};         // invalid: any of its class
  double domain = 0;      // the score of its topology domain (spec 4 S1)
};

class Scorer {
 public:
  enum class Dependence : uint8_t {
    kNothing,  // always zero for these pods
    kRoom,     // room of the strategy's resource
    kFitsNow,
    kNodeKind,  // whether the node has GPUs
    kJoins,
    kDomain,
    kNode,  // anything else
  };

  virtual ~Scorer() = default;
  virtual Dependence DependsOn(PodClassId pod_class) const = 0;
  virtual double Score(PodClassId pod_class, NodeId node, const ScoreView& view) const = 0;
  // If scores depend on single nodes: called before Score() with all nodes that fit, for scorers
  // that can score many nodes at once.
  virtual void Prepare(PodClassId, std::span<const NodeId>) const {}

  // The listener that needs every change; null: none.
  virtual Listener* listener() { return nullptr; }
  // The chooser of the GPU of a node; null: none.
  virtual const GpuChooser* gpu_chooser() const { return nullptr; }
};

// A scorer and its name in the configuration: of a plugin, an extra, or a function that is a
// policy.
struct NamedScorer {
  std::string_view name;  // of a text that lives longer
  std::unique_ptr<Scorer> scorer;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_SCORER_H_

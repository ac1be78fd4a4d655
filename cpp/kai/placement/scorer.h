// A Scorer says how well a node suits a pod. Scores of all scorers are added in plugin order, in
// doubles, and the sums compared exactly (spec 3 W1). To add one: a file in scorers/, a line in
// session/registry.cc.
//
//   scorer->Score(PodClassId(0), NodeId(0), {.fits_now = true})
//   scorer->DependsOn(PodClassId(0))          // kFitsNow
//
// DependsOn() says, for a class of pods, what the score is a function of. As long as every scorer
// depends on the node's room and kind alone, the best node is found in the node index without
// scoring any other; a scorer that looks further says kNode, and all nodes are scored.
//
// Invariants: a score depends on nothing but what DependsOn() names; both change nothing. Cost:
// with kNode a call for every node that fits, else for a few nodes of a search. Not thread-safe.
#ifndef KAI_PLACEMENT_SCORER_H_
#define KAI_PLACEMENT_SCORER_H_

#include <span>

#include "kai/model/changes/listener.h"
#include "kai/model/columns/cluster.h"
#include "kai/placement/gpu_chooser.h"

namespace kai {

// What there is to know about the offered nodes and this one when it is scored.
struct ScoreView {
  double least_room = 0;  // of the resource that placement goes by, over the offered nodes that
                          // have it at all (spec 3 W3)
  double most_room = 0;
  bool fits_now = false;  // without waiting for what is releasing
  bool joins = false;     // others share a device on which there is room for it
  PodId pod = {};         // invalid: any of its class
  double domain = 0;      // how much its topology domain is liked (spec 4 S1)
};

class Scorer {
 public:
  enum class Dependence : uint8_t {
    kNothing,  // always zero for these pods
    kRoom,     // room by the placement strategy
    kFitsNow,
    kNodeKind,  // whether the node has GPUs
    kJoins,
    kDomain,
    kNode,  // anything else
  };

  virtual ~Scorer() = default;
  virtual Dependence DependsOn(PodClassId pod_class) const = 0;
  virtual double Score(PodClassId pod_class, NodeId node, const ScoreView& view) const = 0;
  // Where scores look at single nodes: called before Score() of all nodes that fit, for scorers
  // that can score many at once.
  virtual void Prepare(PodClassId, std::span<const NodeId>) const {}

  // What hears every change; null: nothing.
  virtual Listener* listener() { return nullptr; }
  // What chooses the GPU of a node; null: nothing.
  virtual const GpuChooser* gpu_chooser() const { return nullptr; }
};

}  // namespace kai

#endif  // KAI_PLACEMENT_SCORER_H_

// Proofs that a group cannot be placed if every victim must find a new place, as consolidation
// requires. They count only whole GPUs.
//
//   ReturnBounds::Movable with_one(one);
//   bounds.StartPart(pods);
//   bounds.MayFitWithAnyOf(&movable)
//   bounds.MayFit(cycle.Victims(recorded), cycle.Victims(added))
//
// A node with n GPUs has floor(n / r) parts of r GPUs, and a pod with s GPUs takes at least floor(s
// / r) of them, for every r. So the nodes must have at least as many parts as all pods on them need
// in the end: those of the group and its victims.
//
// Invariants: a placement that they rule out would have failed (tests compare them with the plain
// search); one that they allow may still fail. They are valid for the state in which they were
// made, and prove nothing if GPUs are shared. Cost: a walk over all nodes, and over all pods of a
// Movable, once for each size of pods; O(victims) for a scenario. Not thread-safe.
#ifndef KAI_ACTIONS_RETURN_BOUNDS_H_
#define KAI_ACTIONS_RETURN_BOUNDS_H_

#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kai/actions/action.h"
#include "kai/actions/victim.h"

namespace kai {

class ReturnBounds {
 public:
  static constexpr int kMostGpus = 64;  // of a node or a pod; nothing is proved for larger ones

  // Groups with pods that may all move, and cached data about them. The groups must live longer.
  class Movable {
   public:
    explicit Movable(std::span<const PodGroupId> groups) : groups_(groups) { parts_.fill(-1); }

   private:
    friend class ReturnBounds;
    std::span<const PodGroupId> groups_;
    // Their pods that hold GPUs of a node; nothing: not computed yet.
    struct Holder {
      NodeId node;
      int gpus = 0;
    };
    std::optional<std::vector<Holder>> holders_;
    int largest_ = kMostGpus;                   // the most GPUs that one of them holds
    std::array<int64_t, kMostGpus + 1> parts_;  // by size; -1: not counted yet
  };

  explicit ReturnBounds(const CycleView& cycle);

  // Sets the pods to prove for.
  void StartPart(std::span<const PodId> pods);
  // Whether they may fit if any pods of the groups move.
  bool MayFitWithAnyOf(Movable* movable);
  // Whether they may fit if these victims move.
  bool MayFit(std::span<const Victim> recorded, std::span<const Victim> added);

 private:
  int GpusOf(PodId pod);
  // The parts of `size` GPUs that are free on the nodes; and those that the nodes may have for the
  // group if any pods of these groups move.
  int64_t FreeParts(int size);
  int64_t PartsWithAnyOf(Movable* movable, int size);
  std::span<const Movable::Holder> HoldersOf(Movable* movable);
  void Free(NodeId node, int gpus);

  const CycleView& cycle_;
  bool is_sure_ = true;                                 // the counts are complete
  IndexVector<NodeId, int> free_;                       // GPUs that are idle or being freed
  IndexVector<NodeId, int> freed_;                      // scratch: freed by victims
  std::vector<NodeId> freed_on_;                        // nodes with an entry there
  std::array<int64_t, kMostGpus + 1> pods_of_ = {};     // of the part, by size
  std::array<int64_t, kMostGpus + 1> victims_of_ = {};  // scratch
  int largest_ = 0;                                     // of the part
  std::array<int64_t, kMostGpus + 1> free_parts_;       // by size; -1: not counted yet
};

}  // namespace kai

#endif  // KAI_ACTIONS_RETURN_BOUNDS_H_

// Proofs that a group cannot be placed as long as every victim has to find a place again, as
// consolidation demands. They count whole GPUs and nothing else.
//
//   ReturnBounds::Movable with_one(one);
//   bounds.StartPart(pods);
//   bounds.MayFitWithAnyOf(&movable)
//   bounds.MayFit(cycle.Victims(recorded), cycle.Victims(added))
//
// A pod of s GPUs takes at least floor(s / r) of the floor(n / r) parts of r GPUs that a node with
// n GPUs has, for every r. Hence the parts of all nodes have to be at least those of all pods that
// stand there in the end: the group's, and its victims'.
//
// Invariants: what they rule out would have failed (tests compare them with the plain search); what
// they allow may still fail. They hold for the cluster as it stood when they were made, and prove
// nothing where GPUs are shared. Cost: a look at every node, and at every pod of a Movable, for
// each size of pods, once; O(victims) for a scenario. Not thread-safe.
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
  static constexpr int kMostGpus = 64;  // of a node or a pod; of larger ones nothing is proved

  // Groups of which any pods may move, and what is known of them. They have to outlive it.
  class Movable {
   public:
    explicit Movable(std::span<const PodGroupId> groups) : groups_(groups) { parts_.fill(-1); }

   private:
    friend class ReturnBounds;
    std::span<const PodGroupId> groups_;
    // Their pods that hold GPUs of a node; nothing: not looked for yet.
    struct Holder {
      NodeId node;
      int gpus = 0;
    };
    std::optional<std::vector<Holder>> holders_;
    int largest_ = kMostGpus;                   // that one of them holds, at most
    std::array<int64_t, kMostGpus + 1> parts_;  // by size; -1: not counted yet
  };

  explicit ReturnBounds(const CycleView& cycle);

  // From now on it is about these pods.
  void StartPart(std::span<const PodId> pods);
  // Whether they may fit, whichever pods of the groups move.
  bool MayFitWithAnyOf(Movable* movable);
  // Whether they may fit if these victims move.
  bool MayFit(std::span<const Victim> recorded, std::span<const Victim> added);

 private:
  int GpusOf(PodId pod);
  // Parts of `size` GPUs that the nodes have free; and those that they may have for the group if
  // any pods of these groups move.
  int64_t FreeParts(int size);
  int64_t PartsWithAnyOf(Movable* movable, int size);
  std::span<const Movable::Holder> HoldersOf(Movable* movable);
  void Free(NodeId node, int gpus);

  const CycleView& cycle_;
  bool is_sure_ = true;                                 // what is counted is all there is to count
  IndexVector<NodeId, int> free_;                       // GPUs, idle or being freed
  IndexVector<NodeId, int> freed_;                      // scratch: by victims
  std::vector<NodeId> freed_on_;                        // nodes with an entry there
  std::array<int64_t, kMostGpus + 1> pods_of_ = {};     // of the part, by size
  std::array<int64_t, kMostGpus + 1> victims_of_ = {};  // scratch
  int largest_ = 0;                                     // of the part
  std::array<int64_t, kMostGpus + 1> free_parts_;       // by size; -1: not counted yet
};

}  // namespace kai

#endif  // KAI_ACTIONS_RETURN_BOUNDS_H_

// Proofs that a search, or one scenario of it, cannot succeed, so that it need not be simulated.
// They only count room: the most pods of one class that the nodes could hold if the victims were
// gone and no other pod came.
//
//   bounds.NeverFits(groups)
//   bounds.StartPart(count, cycle.Victims(recorded));
//   bounds.MayHold(cycle.Victims(added))            // in addition to recorded ones
//
// Invariants: a search or scenario that they rule out would have failed (property tests compare
// them with the plain search); one that they allow may still fail. Cost: a walk over all nodes per
// class of pods to make one; MayHold() O(victims), and a count for each of their nodes. Not
// thread-safe.
#ifndef KAI_ACTIONS_SEARCH_BOUNDS_H_
#define KAI_ACTIONS_SEARCH_BOUNDS_H_

#include <span>
#include <vector>

#include "kai/actions/action.h"
#include "kai/actions/victim.h"

namespace kai {

class SearchBounds {
 public:
  SearchBounds(const CycleView& cycle, std::span<const PodId> pods);

  // True: no node could hold the first pod, even without all candidates.
  bool NeverFits(std::span<const PodGroupId> candidates);

  // Sets the part of the pods to prove for, and the victims that are gone in any case.
  void StartPart(std::span<const PodId> pods, std::span<const Victim> recorded);
  // The same for the first `count` pods.
  void StartPart(size_t count, std::span<const Victim> recorded) {
    StartPart(std::span<const PodId>(pods_).first(count), recorded);
  }
  // Whether the nodes could hold the part if these victims were gone as well.
  bool MayHold(std::span<const Victim> victims);
  // Whether the nodes could hold the part if the candidates on any one node were gone. Only after
  // NeverFits(), which checks the candidates.
  bool MayHoldWithOneNode() const;

 private:
  // One class of the pods, and the number of its pods that nodes can hold.
  struct ClassCount {
    PodClassId pod_class;
    double free = 0;         // in the current state
    double held = 0;         // without the recorded victims
    double wanted = 0;       // of the part
    double most_on_one = 0;  // node, without all candidates
  };

  double HoldsOf(const ClassCount& count, NodeId node, std::span<const double> room) const;
  // The room of a node in the scratch table, filled at its first use; valid until the call for
  // another node.
  std::span<double> RoomOf(NodeId node) {
    if (room_at_[node] < 0) AddRoom(node);
    return {rooms_.data() + static_cast<size_t>(room_at_[node]) * slots_, slots_};
  }
  void AddRoom(NodeId node);
  void Free(const Victim& victim);
  // Adds to `held`, for every class, the pods that the nodes hold now, times `sign`.
  void CountHeld(std::span<const NodeId> nodes, double sign, std::vector<double>* held);
  void ForgetRooms(size_t keep);

  const CycleView& cycle_;
  std::vector<PodId> pods_;
  std::vector<ClassCount> classes_;
  // The rooms of nodes that lose victims: idle, releasing and freed by victims.
  size_t slots_;
  IndexVector<NodeId, int32_t> room_at_;  // index in rooms_; -1: none
  std::vector<NodeId> touched_;
  std::vector<double> rooms_;
  size_t recorded_nodes_ = 0;  // of touched_: nodes of recorded victims
  std::vector<double> recorded_rooms_;
  bool each_on_one_node_ = false;  // no candidate group has pods on several nodes
  std::vector<NodeId> changed_;    // scratch
  IndexVector<NodeId, uint8_t> is_changed_;
};

}  // namespace kai

#endif  // KAI_ACTIONS_SEARCH_BOUNDS_H_

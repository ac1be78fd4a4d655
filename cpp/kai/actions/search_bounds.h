// Proofs that a search, or one scenario of it, cannot succeed, so that nothing need be simulated
//. They count room and nothing else: how many pods of one class the nodes could hold
// at most, were the victims gone and no other pod to come.
//
//   bounds.NeverFits(groups)
//   bounds.StartPart(count, cycle.Victims(recorded));
//   bounds.MayHold(cycle.Victims(added))            // on top of the recorded ones
//
// Invariants: what they rule out would have failed (property tests compare them with the plain
// search); what they allow may still fail. Cost: a look at every node per class of pods to make
// one; MayHold() O(victims), and a count for each node that they stand on. Not thread-safe.
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

  // No node could hold the first pod, even if every candidate left.
  bool NeverFits(std::span<const PodGroupId> candidates);

  // From now on it is about these of the pods, with these victims gone in any case.
  void StartPart(std::span<const PodId> pods, std::span<const Victim> recorded);
  // The first ones.
  void StartPart(size_t count, std::span<const Victim> recorded) {
    StartPart(std::span<const PodId>(pods_).first(count), recorded);
  }
  // Whether the part could be held, were these victims gone as well.
  bool MayHold(std::span<const Victim> victims);
  // Whether the part could be held, were the candidates gone from one node, whichever it is. Only
  // after NeverFits(), which looks at them.
  bool MayHoldWithOneNode() const;

 private:
  // One class of the pods, and how many of it nodes can hold.
  struct ClassCount {
    PodClassId pod_class;
    double free = 0;         // as the cluster stands
    double held = 0;         // with the recorded victims gone
    double wanted = 0;       // of the part
    double most_on_one = 0;  // node, with all candidates gone
  };

  double HoldsOf(const ClassCount& count, NodeId node, std::span<const double> room) const;
  // Of the scratch table, filled on first use; good until another node's is asked for.
  std::span<double> RoomOf(NodeId node) {
    if (room_at_[node] < 0) AddRoom(node);
    return {rooms_.data() + static_cast<size_t>(room_at_[node]) * slots_, slots_};
  }
  void AddRoom(NodeId node);
  void Free(const Victim& victim);
  // Adds, for every class, what the nodes hold now, times `sign`, to `held`.
  void CountHeld(std::span<const NodeId> nodes, double sign, std::vector<double>* held);
  void ForgetRooms(size_t keep);

  const CycleView& cycle_;
  std::vector<PodId> pods_;
  std::vector<ClassCount> classes_;
  // Rooms of nodes that lose victims: idle, releasing and what victims give back.
  size_t slots_;
  IndexVector<NodeId, int32_t> room_at_;  // into rooms_, -1: none
  std::vector<NodeId> touched_;
  std::vector<double> rooms_;
  size_t recorded_nodes_ = 0;  // of touched_: what the recorded victims free
  std::vector<double> recorded_rooms_;
  bool each_on_one_node_ = false;  // no candidate group has pods on several nodes
  std::vector<NodeId> changed_;    // scratch
  IndexVector<NodeId, uint8_t> is_changed_;
};

}  // namespace kai

#endif  // KAI_ACTIONS_SEARCH_BOUNDS_H_

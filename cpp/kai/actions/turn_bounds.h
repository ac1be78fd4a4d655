// TurnBounds: a proof that a group is placed in no scenario of its search, because it is always the
// last to take its turn: all victims have their places back by then.
//
//   turn_bounds_.emplace(cycle_, group_, candidates_.All(), waiting_.runs());
//   if (CannotSucceed() || turn_bounds_->AllReturnFirst(part.front())) break;
//
// The proof has two halves. The order of turns: the queue of the group, represented by one of its
// groups, comes after the queue of each victim as long as a victim of that queue waits. The room:
// all victims request the same, nodes have no room for one more of them, and so there are always as
// many free places as waiting victims. After their turns every node has the room that it has now,
// which is too little for the group.
//
// Invariants: a scenario that it rules out would have failed (tests compare it with the plain
// search); it proves nothing for victims that differ, that may lose only some of their pods, or
// that are in queues of other parents. Valid for the state in which it was made. Cost: O(nodes +
// candidates) once, and O(waiting runs) for each part of the group. Not thread-safe.
#ifndef KAI_ACTIONS_TURN_BOUNDS_H_
#define KAI_ACTIONS_TURN_BOUNDS_H_

#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/actions/action.h"

namespace kai {

class TurnBounds {
 public:
  // `candidates`: groups that may lose pods. `waiting`: WaitingRuns without the group. All must
  // live longer.
  TurnBounds(const CycleView& cycle, PodGroupId group, std::span<const PodGroupId> candidates,
             std::span<const std::span<const PodGroupId>> waiting)
      : cycle_(cycle), group_(group), candidates_(candidates), waiting_(waiting) {}

  // True: no scenario of these candidates places the group. `first`: the first pod of its part.
  bool AllReturnFirst(PodId first);

 private:
  // The candidates in one queue.
  struct Losers {
    int32_t fewest_pods = 0;  // of a group
    int64_t lowest_priority = 0;
    int64_t youngest = 0;  // creation rank
  };
  // The first groups of the runs below each child of the own queue's parent, the oldest first.
  using Fronts = absl::flat_hash_map<QueueId, std::vector<PodGroupId>>;

  // The half about room.
  bool AllFindPlaces();
  bool AddCandidate(PodGroupId candidate);
  bool AddClass(PodClassId pod_class);
  bool FitBackOn(NodeId node) const;
  bool IsWithinLimits(QueueId queue) const;
  bool HasNoNode(PodClassId pod_class) const;
  bool IsPlain(PodClassId pod_class) const;
  bool FitsEachPlace(PodClassId pod_class) const;

  // The half about turns.
  bool ComesLast() const;
  Fronts FrontsOfSiblings() const;
  bool GoesBefore(PodGroupId a, PodGroupId b) const;
  std::vector<PodGroupId> FirstsOf(const std::vector<PodGroupId>& pushed) const;
  bool TakesPart(PodGroupId waiting) const;
  QueueStanding StandingOf(QueueId queue, const QuotaCount& allocated,
                           const QuotaCount& request) const;
  QueueStanding StandingWith(QueueId queue, PodGroupId next) const;
  // At its worst, while a victim of the queue waits.
  QueueStanding WorstOf(QueueId queue, const Losers& losers,
                        std::span<const PodGroupId> fronts) const;

  const CycleView& cycle_;
  PodGroupId group_;
  std::span<const PodGroupId> candidates_;
  std::span<const std::span<const PodGroupId>> waiting_;
  std::optional<bool> all_find_places_;
  std::vector<PodClassId> classes_;  // of the candidates' pods
  std::vector<NodeId> nodes_;        // that these are on, with repetitions
  absl::flat_hash_map<QueueId, Losers> losers_;
};

}  // namespace kai

#endif  // KAI_ACTIONS_TURN_BOUNDS_H_

// FailedGroups: the pod groups that KAI skips because a group with the same constraints has failed,
// and KAI considers that group not harder to place (spec 2 H1-H4).
//
//   FailedGroups failed(cycle.view, Scope::kQueue);
//   failed.Add(cycle.rooms.Group("a/g"));
//   failed.Includes(cycle.rooms.Group("b/g"))       // true: skip it
//
// This is too coarse (spec 2 W6), so it is used only with `signature_skip: kai`. turns.h skips
// groups with identical requests.
//
// Invariants: when off, it skips no group. Cost: O(pods of the group) per check. Not thread-safe.
#ifndef KAI_ACTIONS_FAILED_GROUPS_H_
#define KAI_ACTIONS_FAILED_GROUPS_H_

#include <map>
#include <vector>

#include "kai/actions/action.h"

namespace kai {

class FailedGroups {
 public:
  enum class Scope : uint8_t { kQueue, kCluster };  // where a failed group counts for others

  FailedGroups(const CycleView& cycle, Scope scope) : cycle_(cycle), scope_(scope) {}

  bool Includes(PodGroupId group);
  void Add(PodGroupId group);

 private:
  using Key = std::vector<int64_t>;

  bool IsOn() const { return !cycle_.switches->on(Switch::kSignatureSkip); }
  Key SignatureOf(PodGroupId group);
  PodStatus StatusAtStart(PodId pod) const;
  std::vector<PodClassId> PendingOf(PodGroupId group) const;
  bool IsEasier(PodGroupId group, PodGroupId than) const;
  bool IsSmaller(PodGroupId group, PodGroupId than) const;

  const CycleView& cycle_;
  Scope scope_;
  std::map<Key, PodGroupId> groups_;
  // Signatures describe the cluster at the start of the cycle (spec 2 H1).
  std::map<PodId, PodStatus> at_start_;  // status of pods that have changed since
  size_t seen_ = 0;                      // changes of the statement included in at_start_
  std::map<PodAffinity, int64_t> affinities_;
};

}  // namespace kai

#endif  // KAI_ACTIONS_FAILED_GROUPS_H_

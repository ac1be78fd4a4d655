// FailedGroups: which pod groups KAI does not try, since one of the same constraints that it holds
// to be no harder has failed (spec 2 H1-H4).
//
//   FailedGroups failed(cycle.view, Scope::kQueue);
//   failed.Add(cycle.rooms.Group("a/g"));
//   failed.Knows(cycle.rooms.Group("b/g"))       // true: skip it
//
// That is too coarse (spec 2 W6): it is on only where the switch signature_skip asks for it. What
// groups that ask exactly the same question are spared is the business of turns.h.
//
// Invariants: off, it knows none. Cost: O(pods of the group) a question. Not thread-safe.
#ifndef KAI_ACTIONS_FAILED_GROUPS_H_
#define KAI_ACTIONS_FAILED_GROUPS_H_

#include <map>
#include <vector>

#include "kai/actions/action.h"

namespace kai {

class FailedGroups {
 public:
  enum class Scope : uint8_t { kQueue, kCluster };  // within which one speaks for another

  FailedGroups(const CycleView& cycle, Scope scope) : cycle_(cycle), scope_(scope) {}

  bool Knows(PodGroupId group);
  void Add(PodGroupId group);

 private:
  using Key = std::vector<int64_t>;

  bool IsOn() const { return !cycle_.mends->on(Mend::kSignatureSkip); }
  Key SignatureOf(PodGroupId group);
  PodStatus StatusAtStart(PodId pod) const;
  std::vector<PodClassId> PendingOf(PodGroupId group) const;
  bool IsEasier(PodGroupId group, PodGroupId than) const;
  bool IsSmaller(PodGroupId group, PodGroupId than) const;

  const CycleView& cycle_;
  Scope scope_;
  std::map<Key, PodGroupId> groups_;
  // Signatures are of the cluster as the cycle began (spec 2 H1).
  std::map<PodId, PodStatus> at_start_;  // of pods that have changed since
  size_t seen_ = 0;                      // changes of the statement that at_start_ knows
  std::map<PodAffinity, int64_t> affinities_;
};

}  // namespace kai

#endif  // KAI_ACTIONS_FAILED_GROUPS_H_

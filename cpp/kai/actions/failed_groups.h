// FailedGroups: which pod groups need not be tried, since one like them has just failed.
//
//   FailedGroups failed(cycle.view, Scope::kQueue);
//   failed.Add(cycle.rooms.Group("ns/q"));
//   failed.Knows(cycle.rooms.Group("ns/same"))      // true: skip it
//
// KAI skips a group that is "not easier" than a failed one of the same constraints (spec 2 §12).
// That is too coarse (W6), so by default only groups that ask exactly the same question of an
// unchanged cluster are passed over.
//
// Invariants: by default a group that is skipped would have failed; any change of the statement
// forgets what failed. Cost: O(pods of the group) a question. Not thread-safe.
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

  bool UsesSignatures() const { return !cycle_.mends->on(Mend::kSignatureSkip); }
  Key QuestionOf(PodGroupId group) const;
  Key SignatureOf(PodGroupId group);
  PodStatus StatusAtStart(PodId pod) const;
  std::vector<PodClassId> PendingOf(PodGroupId group) const;
  bool IsEasier(PodGroupId group, PodGroupId than) const;
  bool IsSmaller(PodGroupId group, PodGroupId than) const;

  const CycleView& cycle_;
  Scope scope_;
  std::map<Key, PodGroupId> groups_;
  size_t changes_ = 0;  // of the statement when the groups failed
  // Signatures are of the cluster as the cycle began (spec 2 H1).
  std::map<PodId, PodStatus> at_start_;  // of pods that have changed since
  size_t seen_ = 0;                      // changes of the statement that at_start_ knows
  std::map<PodAffinity, int64_t> affinities_;
};

}  // namespace kai

#endif  // KAI_ACTIONS_FAILED_GROUPS_H_

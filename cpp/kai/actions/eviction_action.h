// EvictionAction: what consolidation, reclaim and preempt have in common (spec 2 R1). They differ
// in whom they work for, who may be a victim, and which scenarios are acceptable.
#ifndef KAI_ACTIONS_EVICTION_ACTION_H_
#define KAI_ACTIONS_EVICTION_ACTION_H_

#include <memory>
#include <string>
#include <vector>

#include "kai/actions/action.h"
#include "kai/actions/candidates.h"
#include "kai/actions/victim_search.h"

namespace kai {

class EvictionAction : public Action {
 public:
  void Run(CycleView& cycle) final;

 protected:
  explicit EvictionAction(std::string name, int64_t depth)
      : name_(std::move(name)), depth_(depth) {}

  // Nothing to do in this cycle, whoever waits.
  virtual bool IsOff(const CycleView&) const { return false; }
  virtual bool OnlyForPreemptible() const { return false; }
  // Reclaim: may this group take from others at all? Others are passed over without a trace.
  virtual bool MayStart(CycleView&, PodGroupId) { return true; }
  // A search for the group cannot succeed.
  virtual bool IsHopeless(CycleView&, PodGroupId) { return false; }
  // One failed group can speak for another only if they are in one queue (spec 2 R1).
  virtual bool RemembersPerQueue() const { return true; }
  // Groups that may lose pods for this one; in order of creation. `active` are all preemptible
  // groups with a pod that holds or is promised a node.
  virtual std::vector<PodGroupId> CandidatesFor(CycleView& cycle, PodGroupId group,
                                                const std::vector<PodGroupId>& active) = 0;
  // Asked while the scenario stands (spec 2 V13).
  virtual bool Accepts(CycleView& cycle, PodGroupId group, const Scenario& scenario,
                       const QuotaVector& request) = 0;
  // What the pod is told; asked with the cluster as it is before any eviction.
  virtual std::string MessageFor(CycleView& cycle, PodGroupId group, const Victim& victim) = 0;

 private:
  std::vector<PodGroupId> ActiveVictims(CycleView& cycle) const;
  bool MayEvictNow(CycleView& cycle, PodGroupId group) const;
  bool CanNeverRun(CycleView& cycle, PodGroupId group) const;
  void Commit(CycleView& cycle, PodGroupId group, Statement::Checkpoint start);

  std::string name_;
  int64_t depth_;
};

}  // namespace kai

#endif  // KAI_ACTIONS_EVICTION_ACTION_H_

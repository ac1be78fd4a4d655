// Plan: the result of a cycle as plain data: decisions in the order in which they have to be
// carried out, a verdict and its reasons per pod group, and the numbers of queues. Ids refer to the
// planned cluster; plan_texts.h makes sentences.
//
//   for (const CycleLog::Decision& decision : plan.decisions) {
//   VerdictName(outcome.verdict)
//   plan.OutcomeOf(group)
//
// Invariants: a plan keeps its cluster alive; equal input gives equal plans, except for timings.
// Cost: reading is O(1), plus a copy of an outcome. Copies of a plan share the outcomes. Threads:
// immutable: many readers.
#ifndef KAI_SESSION_PLAN_H_
#define KAI_SESSION_PLAN_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/actions/action.h"
#include "kai/actions/promises.h"
#include "kai/fairshare/share.h"
#include "kai/model/columns/cluster.h"
#include "kai/model/reasons/reason.h"

namespace kai {

enum class Verdict : uint8_t {
  kPlaced,
  kPipelined,
  kPartlyPlaced,
  kUnschedulable,
  kNotReady,
  kRunning,
  kInvalid
};
std::string_view VerdictName(Verdict verdict);

// A reason of a pod group, and where it appears: in KAI's event and condition, and in the plan.
struct OutcomeReason {
  Reason reason;
  bool in_event = true;
  bool in_plan = true;
};

// What the cycle does to a timestamp annotation of a pod group. A written timestamp is the cycle's
// time.
enum class StampWrite : uint8_t { kNone, kNow, kRemove };

// For two groups of one class (group_classes.h): the pod of `group` that corresponds to this pod of
// the other group, and the reason of the other group expressed for `group`.
PodId CounterpartOf(PodId pod, PodGroupId group, const Cluster& cluster);
Reason ForGroup(Reason reason, PodGroupId group, const Cluster& cluster);

// The annotations of a pod group that the cycle writes.
struct GroupStamps {
  bool last_start = false;
  bool last_eviction = false;
  StampWrite stale_since = StampWrite::kNone;
  std::optional<ServiceRow> service = {};  // empty: unchanged
  bool any() const {
    return last_start || last_eviction || stale_since != StampWrite::kNone || service;
  }
};

struct GroupOutcome {
  Verdict verdict = Verdict::kRunning;
  std::vector<OutcomeReason> reasons;  // without evictions, which are in Plan::evictions
  // Pods whose condition is written, unordered; each with the index of its own reason in `reasons`,
  // or -1 for the reason of the whole group.
  std::vector<std::pair<PodId, int32_t>> waiting_pods;
  // The group could start, but pods of it wait: KAI's event lists the reasons, or that they are
  // unknown.
  bool has_errors_event = false;
  GroupStamps writes;
};

// The outcomes of all pod groups. Most groups simply keep running and share one outcome; many
// waiting groups have the same requests, and share the outcome of the first of them.
class GroupOutcomes {
 public:
  GroupOutcomes() = default;
  explicit GroupOutcomes(size_t groups) : place_(groups, kSimplyRunning) {}

  bool IsSimplyRunning(PodGroupId group) const { return place_[group] == kSimplyRunning; }
  // For a group that is not simply running: the group that was described, and its outcome.
  struct Described {
    PodGroupId group;
    GroupOutcome outcome;
  };
  const Described& operator[](PodGroupId group) const {
    return outcomes_[static_cast<size_t>(place_[group])];
  }

  // For the code that fills outcomes; valid until the next call.
  GroupOutcome& At(PodGroupId group) {
    if (place_[group] == kSimplyRunning) {
      place_[group] = static_cast<int32_t>(outcomes_.size());
      outcomes_.push_back({.group = group, .outcome = {}});
    }
    return outcomes_[static_cast<size_t>(place_[group])].outcome;
  }
  // Gives the group the outcome of another group of its class.
  void Share(PodGroupId group, PodGroupId with) { place_[group] = place_[with]; }

 private:
  static constexpr int32_t kSimplyRunning = -1;
  IndexVector<PodGroupId, int32_t> place_;
  std::vector<Described> outcomes_;
};

struct Plan {
  // The devices that the pod of a decision shares, by name; empty if none.
  std::vector<std::string> GpuGroupsOf(const CycleLog::Decision& decision) const;

  std::shared_ptr<const Cluster> cluster;
  int64_t now_ns = 0;
  CycleTime::Holds holds;  // the times for which the same objects give the same plan
  std::vector<CycleLog::Decision> decisions;
  std::vector<KeptPlace> kept_promises;  // of the places that the cycle was given
  // Groups that lost the room for which pods were evicted, unordered.
  std::vector<UnkeptPromise> unkept_promises;
  std::vector<QueueUse> queue_uses;  // CycleLog::queue_uses
  std::vector<GpuList> shared_gpus;  // CycleLog::shared_gpus
  // NUMA zones of the pods of decisions (CycleLog::Decision::zones).
  std::vector<ZoneLedger::Record> zones;
  // What is left of NUMA zones after the decisions, by node, in the layout of NumaNode.
  std::vector<std::pair<NodeId, std::vector<double>>> zones_available;
  // The devices that resource claims of bound pods get.
  std::vector<std::pair<PodId, std::vector<GivenClaim>>> claims;
  // Ranks of pods that start, for groups with a topology constraint; sorted by group and rank.
  struct TopologyRank {
    PodId pod;
    int32_t rank = 0;
    TopologyId topology;
    TopologyDomainId domain;  // the narrowest; invalid: its node is in none
  };
  std::vector<TopologyRank> ranks;
  // Pods that leave without a promise to come back, by pod group and name, each with the decision
  // about it.
  struct Eviction {
    PodGroupId group;
    PodId pod;
    size_t decision = 0;
  };
  std::vector<Eviction> evictions;
  // Groups whose annotations are written, unordered.
  struct Stamped {
    PodGroupId group;
    GroupStamps writes;
  };
  std::vector<Stamped> stamped;
  GroupOutcome OutcomeOf(PodGroupId group) const;  // empty if none was described
  // Groups that consolidation did not move because of a bare pod, the oldest first.
  std::vector<PodGroupId> bare_groups;
  // Shared with equal plans; null without Session::Options::explains.
  std::shared_ptr<const GroupOutcomes> outcomes;
  IndexVector<QueueId, QueueShare> queues;  // beside what the cluster has about them
  // Searches that a budget ended, and how many scenarios each had tried. With these counts in
  // scenarioSearchBudgets.maxScenarios.searches, any machine makes the same plan again.
  std::vector<std::pair<std::string, int64_t>> spent_searches;
  // How many distinct keys nodes had in the orders that were searched (NodeIndex); 0 if the cycle
  // was too small for such an order.
  int64_t score_keys = 0;
  bool has_queue_numbers = true;  // false without the plugin that computes them
  std::vector<std::pair<std::string, int64_t>>
      timing_ns;  // in the order of execution; "total" is last
};

}  // namespace kai

#endif  // KAI_SESSION_PLAN_H_

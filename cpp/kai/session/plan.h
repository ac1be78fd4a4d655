// Plan: the answer of a cycle as plain data: decisions in the order in which they have to happen, a
// verdict and its reasons per pod group, the queues' numbers. Ids refer to the cluster
// that was planned; plan_texts.h makes sentences of it.
//
//   for (const CycleLog::Decision& decision : plan.decisions) {
//   VerdictName(outcome.verdict)
//   plan.OutcomeOf(group)
//
// Invariants: a plan keeps its cluster alive; equal input gives equal plans, timings apart. Cost:
// reading is O(1), and a copy of an outcome. A copy shares what became of the groups. Threads:
// nothing in it changes: many readers.
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

// A reason of a pod group, and where it is given: in KAI's event and condition, and to programs.
struct OutcomeReason {
  Reason reason;
  bool in_event = true;
  bool in_plan = true;
};

// What the cycle does to a time stamp among the annotations of a pod group. Whatever is written is
// the cycle's time.
enum class StampWrite : uint8_t { kNone, kNow, kRemove };

// Of two groups of one class (group_classes.h): the pod of `group` that stands where this one
// stands in its own, and what keeps `group` waiting as it does the other.
PodId CounterpartOf(PodId pod, PodGroupId group, const Cluster& cluster);
Reason ForGroup(Reason reason, PodGroupId group, const Cluster& cluster);

// What the cycle writes to the annotations of a pod group.
struct GroupStamps {
  bool last_start = false;
  bool last_eviction = false;
  StampWrite stale_since = StampWrite::kNone;
  std::optional<ServiceRow> service = {};  // nothing: it stays
  bool any() const {
    return last_start || last_eviction || stale_since != StampWrite::kNone || service;
  }
};

struct GroupOutcome {
  Verdict verdict = Verdict::kRunning;
  std::vector<OutcomeReason> reasons;  // without evictions: Plan::evictions
  // Pods whose condition is written, in no order that counts; each with its own reason, by its
  // place above, or -1: that of the group as a whole.
  std::vector<std::pair<PodId, int32_t>> waiting_pods;
  // The group could start, and pods of it wait: KAI's event lists why, or that it is not known.
  bool has_errors_event = false;
  GroupStamps writes;
};

// What became of every pod group. Most simply go on running, and share one outcome that says so;
// many of those that wait ask for the same, and have the outcome of the first of them.
class GroupOutcomes {
 public:
  GroupOutcomes() = default;
  explicit GroupOutcomes(size_t groups) : place_(groups, kSimplyRunning) {}

  bool IsSimplyRunning(PodGroupId group) const { return place_[group] == kSimplyRunning; }
  // Of a group that is not simply running: the group that it was described for, and what was said.
  struct Described {
    PodGroupId group;
    GroupOutcome outcome;
  };
  const Described& operator[](PodGroupId group) const {
    return outcomes_[static_cast<size_t>(place_[group])];
  }

  // For code that describes it; good until the next one is asked for.
  GroupOutcome& At(PodGroupId group) {
    if (place_[group] == kSimplyRunning) {
      place_[group] = static_cast<int32_t>(outcomes_.size());
      outcomes_.push_back({.group = group, .outcome = {}});
    }
    return outcomes_[static_cast<size_t>(place_[group])].outcome;
  }
  // The group has the outcome of another one of its class.
  void Share(PodGroupId group, PodGroupId with) { place_[group] = place_[with]; }

 private:
  static constexpr int32_t kSimplyRunning = -1;
  IndexVector<PodGroupId, int32_t> place_;
  std::vector<Described> outcomes_;
};

struct Plan {
  // The devices that the pod of a decision shares, by name; empty: none.
  std::vector<std::string> GpuGroupsOf(const CycleLog::Decision& decision) const;

  std::shared_ptr<const Cluster> cluster;
  int64_t now_ns = 0;
  CycleTime::Holds holds;  // the times for which the same objects give the same plan
  std::vector<CycleLog::Decision> decisions;
  std::vector<KeptPlace> kept_promises;  // of the places that the cycle was given
  std::vector<QueueUse> queue_uses;      // CycleLog::queue_uses
  std::vector<GpuList> shared_gpus;      // CycleLog::shared_gpus
  // NUMA zones that pods of decisions get (CycleLog::Decision::zones).
  std::vector<ZoneLedger::Record> zones;
  // What the decisions leave of zones, by node; as a table of NumaNode.
  std::vector<std::pair<NodeId, std::vector<double>>> zones_available;
  // Of pods with a decision to bind: what their resource claims hold.
  std::vector<std::pair<PodId, std::vector<GivenClaim>>> claims;
  // Of pods that start, in groups that ask for a topology; by group and rank.
  struct TopologyRank {
    PodId pod;
    int32_t rank = 0;
    TopologyId topology;
    TopologyDomainId domain;  // the narrowest; invalid: its node is outside
  };
  std::vector<TopologyRank> ranks;
  // Pods that leave without a promise to come back, those of a pod group together and by name; with
  // the decision that says so.
  struct Eviction {
    PodGroupId group;
    PodId pod;
    size_t decision = 0;
  };
  std::vector<Eviction> evictions;
  // Groups with such a write, in no order.
  struct Stamped {
    PodGroupId group;
    GroupStamps writes;
  };
  std::vector<Stamped> stamped;
  GroupOutcome OutcomeOf(PodGroupId group) const;  // nothing, where none was described
  // Shared with plans that say the same; null: without Session::Options::explains.
  std::shared_ptr<const GroupOutcomes> outcomes;
  IndexVector<QueueId, QueueShare> queues;  // beside what the cluster says that they hold
  // Searches that a budget ended, and the scenarios each had tried: with these counts in
  // scenarioSearchBudgets.maxScenarios.searches the plan can be had again, whatever the machine.
  std::vector<std::pair<std::string, int64_t>> spent_searches;
  // Different places that nodes had in the orders in which they were searched; 0: the
  // cycle was too small for one to be made.
  int64_t score_keys = 0;
  bool has_queue_numbers = true;  // false without the plugin that makes them
  std::vector<std::pair<std::string, int64_t>>
      timing_ns;  // in the order in which things ran; "total" last
};

}  // namespace kai

#endif  // KAI_SESSION_PLAN_H_

// An Action is one step of a cycle: it walks over pod groups in order and changes the cluster
// through the statement of its CycleView. Run() is called once per cycle, in the configured order;
// it writes its decisions to the CycleLog. To add one: a file here, a line in session/registry.cc.
//
//   make()->Run(*cycle);
//
// Invariants: an action changes the cluster only through the statement, and keeps only changes that
// the log has decisions for. It keeps nothing from one cycle to the next. Cost: that of the action;
// making the log is O(pod groups). Not thread-safe: one thread runs a cycle.
#ifndef KAI_ACTIONS_ACTION_H_
#define KAI_ACTIONS_ACTION_H_

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/actions/cycle_time.h"
#include "kai/actions/job_order.h"
#include "kai/actions/search_budgets.h"
#include "kai/actions/search_meter.h"
#include "kai/actions/unkept_promises.h"
#include "kai/actions/worklist.h"
#include "kai/api/switches.h"
#include "kai/fairshare/fair_shares.h"
#include "kai/model/changes/statement.h"
#include "kai/model/reasons/reason.h"
#include "kai/placement/attained_service.h"
#include "kai/placement/group_classes.h"
#include "kai/placement/group_placer.h"
#include "kai/placement/numa/zone_ledger.h"
#include "kai/placement/pod_order.h"
#include "kai/placement/room_count.h"

namespace kai {

// Why a pod is evicted; session/plan_texts.h has the messages.
enum class EvictionNote : uint8_t { kNone, kReclaimed, kPreempted, kConsolidated, kStale };

// The usage of a queue before any eviction, in internal units (spec 2 R6).
struct QueueUse {
  QueueId queue;
  QuotaVector used{};
  QuotaVector quota{};
  QuotaVector fair_share{};
};

class WaitingRuns;  // turns.h

// Changed groups of shared classes, by age.
using ChangedGroups = absl::flat_hash_map<GroupClassId, std::vector<PodGroupId>>;

// All that happened to pods and pod groups in this cycle, in order.
struct CycleLog {
  explicit CycleLog(const Cluster& cluster) : happened_(cluster.pod_groups().size()) {}

  struct Decision {
    enum class Kind : uint8_t { kBind, kPipeline, kEvict };
    Kind kind = Kind::kBind;
    EvictionNote note = EvictionNote::kNone;
    PodId pod;
    NodeId node;
    PodGroupId for_group;     // kEvict
    std::string_view action;  // kEvict: a static text
    // kReclaimed: indices in queue_uses of the queue that loses and of the queue that gains.
    std::array<int32_t, 2> queue_uses = {};
    int32_t gpus = -1;   // index in shared_gpus; -1: the pod shares none
    int32_t zones = -1;  // index in ZoneLedger::records() at the end of the cycle; negative: none
  };
  std::vector<Decision> decisions;
  std::vector<GpuList> shared_gpus;  // GPUs in the lists of their nodes
  int32_t KeepGpus(const GpuList& gpus) {
    if (gpus.empty()) return -1;
    shared_gpus.push_back(gpus);
    return static_cast<int32_t>(shared_gpus.size() - 1);
  }
  // What the claims of bound pods held at the time of the binding (spec 3 D9).
  std::vector<std::pair<PodId, std::vector<GivenClaim>>> claims;
  std::vector<QueueUse> queue_uses;
  std::span<const Reason> ReasonsOf(PodGroupId group) const {
    const auto found = reasons.find(group);
    return found == reasons.end() ? std::span<const Reason>() : found->second;
  }
  absl::flat_hash_map<PodGroupId, std::vector<Reason>> reasons;  // only groups with reasons
  // Groups of a class that found no place, in order. The reasons of such a group also apply to the
  // following unchanged groups of its class, up to the next one in the list (group_classes.h).
  absl::flat_hash_map<GroupClassId, std::vector<PodGroupId>> answers;
  // What happened to a group in this cycle; one byte, because most cycles affect few of many
  // groups.
  enum Happened : uint8_t {
    kStarted = 1,       // first real allocation (spec 2 A1)
    kPlaced = 2,        // a pod was placed or promised a place
    kEvicted = 4,       // it lost a pod to another group (spec 2 T7)
    kIsStale = 8,       // all pods are evicted: the gang was incomplete for too long
    kBudgetSpent = 16,  // a search for it ended early (spec 2 V17)
    kHeldOff = 32       // it may not evict yet, as it lost the room of its victims
  };
  bool Has(PodGroupId group, Happened what) const { return (happened_[group] & what) != 0; }
  void Mark(PodGroupId group, Happened what) { happened_[group] |= what; }
  void Unmark(PodGroupId group, Happened what) { happened_[group] &= static_cast<uint8_t>(~what); }

  // Only where it differs from the cluster's value; INT64_MIN: not stale (spec 2 D6).
  absl::flat_hash_map<PodGroupId, int64_t> stale_since_ns;
  // Groups that consolidation did not move because of a bare pod, the oldest first.
  std::vector<PodGroupId> bare_groups;
  std::vector<std::pair<std::string, int64_t>> spent_searches;  // SearchMeter::spent()
  // The result of ChangedOfShared() for this number of changes in the statement (turns.h).
  std::optional<Statement::Checkpoint> changed_at;
  ChangedGroups changed;
  // The same for ReadyRuns(), and the objects that its result refers to.
  std::optional<Statement::Checkpoint> ready_at;
  std::shared_ptr<const WaitingRuns> waiting;
  std::vector<std::span<const PodGroupId>> ready;

 private:
  IndexVector<PodGroupId, uint8_t> happened_;
};

// All objects that a cycle works with.
struct CycleView {
  // INT64_MIN: not stale.
  int64_t StaleSince(PodGroupId group) const {
    const auto changed = log->stale_since_ns.find(group);
    return changed != log->stale_since_ns.end() ? changed->second
                                                : cluster->pod_groups().stale_since_ns[group];
  }
  const PodGroupLists& lists() const { return cluster->pod_groups().lists; }
  // The record of the NUMA zones of a pod that just got a node.
  int32_t ZonesOf(PodId pod) const { return zones == nullptr ? -1 : zones->RecordOf(pod); }
  bool MayRun(PodGroupId group) const { return cluster->pod_groups().may_run[group] != 0; }
  // The order of groups that are otherwise equal: by age, then name, or that of a job order; and
  // the groups of a class in that order.
  const IndexVector<PodGroupId, int64_t>& Places() const {
    return job_order() == nullptr ? cluster->pod_groups().creation_rank : job_order()->places();
  }
  std::span<const PodGroupId> GroupsOf(GroupClassId id) const {
    return job_order() == nullptr ? classes->GroupsOf(id) : job_order()->GroupsOf(*classes, id);
  }
  const JobOrder* job_order() const { return worklist.job_order; }

  Cluster* cluster = nullptr;
  CycleTime* time = nullptr;
  Statement* statement = nullptr;
  const FairShares* shares = nullptr;
  PodOrder* order = nullptr;
  const GroupClasses* classes = nullptr;
  NodeSearch* search = nullptr;
  RoomCount* room = nullptr;
  GroupPlacer* placer = nullptr;
  const ZoneLedger* zones = nullptr;          // null: NUMA zones are not used
  const AttainedService* service = nullptr;   // null: no order of pod groups uses it
  Worklist::Options worklist;                 // without the depth; each action has its own
  std::vector<ScenarioGenerator> generators;  // in plugin order
  const SearchBudgets* budgets = nullptr;
  const Clock* stopwatch = nullptr;  // for searches; null: no time budgets
  const Switches* switches = nullptr;
  UnkeptPromises* unkept = nullptr;  // null: they have no consequence
  bool plain_search = false;         // search for victims without shortcuts, for comparison
  // False: no group is tried only to find its reasons, and no reasons are computed.
  bool explains = true;
  PodGroupId alone;  // the only group whose waiting pods are tried; invalid: all groups are
  CycleLog* log = nullptr;
};

class Action {
 public:
  virtual ~Action() = default;
  virtual void Run(CycleView& cycle) = 0;
};

}  // namespace kai

#endif  // KAI_ACTIONS_ACTION_H_

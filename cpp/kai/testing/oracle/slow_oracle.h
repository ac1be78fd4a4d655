// A second implementation of the scheduler, transcribed from the specification as plainly as
// possible: no index, no cache, no undo log, names instead of ids, every sum computed from scratch.
// Property tests compare the engine with it.
//
//   oracle::World world(rows, {});  // unmodified rows
//   oracle::Choice choice = oracle::FindNode(world, "vision/train-0");
//   world.Place("vision/train-0", choice.node);  // changes the world; to undo, keep a copy
//   std::vector<oracle::Decision> plan = oracle::Allocate(&world);
//
// slow_evictions.h has the evicting actions and whole cycles; slow_topology.h has topology.
//
// It reads the rows and none of the engine's columns, so it also finds errors in
// ClusterRows::Build(); it does not report errors in rows. It does not support resource claims.
#ifndef KAI_TESTING_ORACLE_SLOW_ORACLE_H_
#define KAI_TESTING_ORACLE_SLOW_ORACLE_H_

#include <array>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/api/extras.h"
#include "kai/api/quota_count.h"
#include "kai/api/switches.h"
#include "kai/model/columns/pod_status.h"
#include "kai/model/rows/cluster_rows.h"
#include "kai/testing/makers/test_time.h"
#include "kai/testing/oracle/slow_sharing.h"

namespace kai {

namespace oracle {

// The plugin `joborder` with its effective values.
struct JobOrderSettings {
  std::string policy = "fifo";
  bool preempts = false;
  bool within_priority = false;
  std::vector<double> thresholds_s = {};
  double lease_s = 0;
  double weight_age = 0;
  double weight_size = 0;
  double weight_priority = 0;
  double max_age_s = 1;
  bool favor_small = false;
};

// The parts of a configuration that have an effect. The defaults are KAI's (spec 2 C7).
struct Settings {
  std::vector<std::string> plugins = {
      "predicates",    "proportion", "priority",           "elastic",
      "kubeflow",      "ray",        "nodeavailability",   "resourcetype",
      "subgrouporder", "taskorder",  "nominatednode",      "nodeplacement",
      "minruntime",    "topology",   "sg-nodelocalgreedy", "sg-multinodegang"};  // in order
  bool gpu_spread = false;
  bool cpu_spread = false;
  double k_value = 1;
  double saturation_multiplier = 1;                     // spec 1 F93
  int64_t depth = -1;                                   // for allocate: pod groups per leaf queue
  std::map<std::string, int64_t> eviction_depths = {};  // for other actions; missing: no limit
  int64_t preempt_min_runtime_ns = 0;  // for queues without their own (spec 1 F102)
  int64_t reclaim_min_runtime_ns = 0;
  bool reclaim_runtime_by_lca = true;
  std::optional<JobOrderSettings> job_order = {};
  Switches switches = {};
  Extras extras = {};
  int64_t now_ns = kTestNowNs;

  bool Has(std::string_view plugin) const;
};

// cpu in millicores, memory in bytes, GPUs in devices.
using Three = std::array<double, 3>;
// Amounts by resource name, whole GPUs under "gpu"; a missing name is zero.
using Amounts = std::map<std::string, double>;

// Readiness of the pod group (spec 2 S4).
constexpr bool IsAlive(PodStatus s) {
  return IsActiveAllocated(s) || s == PodStatus::kPending || s == PodStatus::kGated;
}

namespace parts {

// A node of the tree of spec 2 G5; the root's name is "".
struct Set {
  bool is_leaf = false;
  int64_t minimum = 0;                // pods of a leaf, children of a set
  bool given = true;                  // false: a set without minSubGroup
  std::vector<std::string> children;  // sorted
};
using SetTree = std::map<std::string, Set>;

// A pod group, or the part of it that a search considers (spec 2 V2, V8).
struct Shape {
  SetTree tree;
  std::vector<int> pods;  // including those of no sub-group
};

}  // namespace parts

// spec 1 F31
struct QueueNumbers {
  Three deserved{};
  Three limit{};
  Three weight{};
  QuotaCount allocated{};
  QuotaCount allocated_non_preemptible{};
  QuotaCount request{};
  Three fair_share{};
};

// The rows, and the place of every pod: nodes and queues by name, pods and pod groups by "ns/name".
// It is cheap enough to copy for an attempt.
class World {
 public:
  explicit World(ClusterRows rows, Settings settings = {});

  const ClusterRows& rows() const;
  const Settings& settings() const;

  // spec 2 T3-T5 and S5. Pipelining a pod that was just evicted moves it: its old place stays
  // releasing. A pod that shares GPUs gets these groups ("" is a device that no pod shares yet) or,
  // if they are not given, the ones that it would choose.
  void Place(std::string_view pod, std::string_view node, const parts::Groups& groups = {});
  void Pipeline(std::string_view pod, std::string_view node, const parts::Groups& groups = {});
  void Evict(std::string_view pod);
  // Evicts a pod that was just evicted: its queue is charged again (spec 2 W8).
  void EvictAgain(std::string_view pod);

  // Sorted names of existing objects, without other node pools, orphaned queues and the like.
  std::vector<std::string> Nodes() const;
  std::vector<std::string> Queues() const;
  std::vector<std::string> PodGroups() const;
  std::vector<std::string> PodsOf(std::string_view pod_group) const;

  PodStatus StatusOf(std::string_view pod) const;
  std::string NodeOf(std::string_view pod) const;  // "" if it has none

  // A node's ledger, computed from scratch (spec 2 S5, spec 3 N1-N4).
  Amounts Allocatable(std::string_view node) const;
  Amounts Idle(std::string_view node) const;
  Amounts Releasing(std::string_view node) const;
  Amounts Used(std::string_view node) const;

  // A shared device and how much of it is taken, also by pods that have moved away but still run
  // there.
  struct SharedDevice {
    std::multiset<std::string> pods;
    int64_t used = 0;
    int64_t allocated = 0;
    int64_t releasing = 0;

    friend auto operator<=>(const SharedDevice&, const SharedDevice&) = default;
  };
  std::multiset<SharedDevice> SharedDevices(std::string_view node) const;
  parts::Groups GroupsOf(std::string_view pod) const;  // on its node

  // The total to divide among queues (spec 1 F30).
  QuotaCount Total() const;

  // The oracle's own data: the rows that count, by position, and the place of every pod.
  struct Kept;
  const Kept& kept() const { return *kept_; }
  struct Spot {
    int node = -1;
    parts::Groups groups;  // shared groups there; empty: none, or unknown
  };
  struct PodState {
    PodStatus status = PodStatus::kPending;
    int node = -1;              // -1: none, or a node outside the snapshot
    bool is_virtual = false;    // its status comes from a statement (spec 2 S6)
    parts::Groups groups;       // shared groups on its node
    std::vector<Spot> leaving;  // places that it moved away from and still uses
    int placed = 0;             // which placement of the cycle it was; 0: none
  };
  const std::vector<PodState>& pods() const { return pods_; }
  std::vector<PodState>* mutable_pods() { return &pods_; }
  const parts::GpuLedger& gpus(int node) const { return gpus_[static_cast<size_t>(node)]; }
  // Pods that were evicted again, with their nodes.
  const std::vector<std::pair<int, int>>& evicted_again() const { return evicted_again_; }
  // Undoes the eviction of a pod: it is in place as before.
  void Return(int pod, const PodState& before);

  // True: leaving pods do not satisfy the affinity of other pods.
  bool only_lasting() const { return only_lasting_; }
  void OnlyLasting(bool only) { only_lasting_ = only; }

  // State of a pod group that a cycle changes.
  struct GroupState {
    std::shared_ptr<const parts::Shape> shape;
    std::optional<int64_t> last_start_ns;
    std::optional<int64_t> last_eviction_ns;
  };
  const GroupState& group(int index) const { return groups_[static_cast<size_t>(index)]; }
  GroupState* mutable_group(int index) { return &groups_[static_cast<size_t>(index)]; }

 private:
  std::shared_ptr<const Kept> kept_;
  std::vector<PodState> pods_;
  std::vector<GroupState> groups_;
  std::vector<std::pair<int, int>> evicted_again_;
  // Unlike all other data, these depend on the order of events (spec 3 N5, N6).
  std::vector<parts::GpuLedger> gpus_;  // by node
  int groups_opened_ = 0;
  int placements_ = 0;
  bool only_lasting_ = false;

  void Charge(int pod, int node, const parts::Groups& groups, PodStatus status);
  void Discharge(int pod, int node, const parts::Groups& groups, PodStatus status);
  parts::Groups Opened(int pod, int node, parts::Groups groups, bool pipeline_only);
};

// ---- (a) queue order ----------------------------------------------------------------------------

// The tree of heaps of spec 1 F60; jobs are numbers whose meaning it does not use.
class HeapTree {
 public:
  explicit HeapTree(const World* world) : world_(world) {}
  virtual ~HeapTree() = default;

  bool empty() const { return children_.empty() || children_.at(kRoot).empty(); }

 protected:
  static constexpr int kRoot = -1;
  using Heap = std::vector<int>;

  virtual bool JobLess(int a, int b) const = 0;
  virtual bool QueueLess(int a, int b) const = 0;
  virtual int LeafOf(int job) const = 0;

  // `depth`: jobs per leaf; -1: no limit.
  void PushJob(int job, int64_t depth);
  int PopJob();
  int BestLeaf(int queue) const;
  int BestJob(int queue) const { return jobs_.at(BestLeaf(queue)).front(); }
  const World& world() const { return *world_; }

 private:
  const World* world_;
  std::map<int, Heap> children_;  // queues by parent
  std::map<int, Heap> jobs_;      // jobs by leaf
  std::map<int, bool> marked_;
};

// Pod groups, best first, with the comparators of spec 1 F61-F71 and the job order of spec 1 F73.
// It stores no numbers: every comparison reads the world.
class QueueTree : private HeapTree {
 public:
  explicit QueueTree(const World* world) : QueueTree(world, world->settings().depth) {}
  QueueTree(const World* world, int64_t depth) : HeapTree(world), depth_(depth) {}

  void Push(std::string_view pod_group);
  using HeapTree::empty;
  std::string Pop();

 private:
  bool JobLess(int a, int b) const override;
  bool QueueLess(int a, int b) const override;
  int LeafOf(int job) const override;

  int64_t depth_;
};

// The pod groups that allocate tries (spec 2 O1), in the order in which they are pushed.
std::vector<std::string> Candidates(const World& world);

// spec 2 G13, spec 1 F27
std::vector<std::string> TasksToAllocate(const World& world, std::string_view pod_group);
QuotaCount NextRequest(const World& world, std::string_view pod_group);

// ---- (b) fair share -----------------------------------------------------------------------------

struct Sibling {
  std::string name;
  double priority = 100;
  int64_t created = 0;
  double deserved = 0;
  double limit = -1;
  double weight = 0;
  double usage = 0;
  double request = 0;
  double fair_share = 0;
};
// spec 1 F41-F51 for one resource and one set of siblings; returns the rest.
double Divide(double total, double k_value, std::vector<Sibling>* siblings);

// The numbers of all queues in the current world, with the fair share from the start of the cycle
// (spec 1 F31-F51).
std::map<std::string, QueueNumbers> NumbersOf(const World& world);

// ---- (c) placement ------------------------------------------------------------------------------

struct Choice {
  std::string node;                      // "": none fits
  bool now = false;                      // fits into idle resources; otherwise it has to wait
  std::vector<std::string> groups = {};  // shared devices; "": one that is not shared yet

  friend bool operator==(const Choice&, const Choice&) = default;
};
// The node for one waiting pod: scores all, sorts, and returns the first that fits and passes all
// filters (spec 2 P2-P4, spec 3 P3a-P10, W1).
Choice FindNode(const World& world, std::string_view pod);
// True if every filter accepts the pod on the node, apart from resources.
bool PassesFilters(const World& world, std::string_view pod, std::string_view node);
double ScoreOf(const World& world, std::string_view pod, std::string_view node);
// How many nodes lack which resource, for a pod that found none (spec 3 E1, E2); by KAI's words for
// resources. Nodes that reject the pod for other reasons are not counted.
std::map<std::string, int> ShortagesOf(const World& world, std::string_view pod);

// ---- (d) allocate -------------------------------------------------------------------------------

struct Decision {
  enum class Kind { kBind, kPipeline, kEvict };
  Kind kind = Kind::kBind;
  std::string pod;
  std::string node = {};       // "" for kEvict
  std::string action = {};     // for kEvict: the action's name
  std::string for_group = {};  // for kEvict: the group that needs the room; "" for stale gangs

  friend bool operator==(const Decision&, const Decision&) = default;
};
std::ostream& operator<<(std::ostream& out, const Decision& decision);

// The whole action (spec 2 O1-O3, P1-P6, A1, A2); the world is then that at the end of the action.
std::vector<Decision> Allocate(World* world);

// ---- shared by the parts of the oracle ----------------------------------------------------------

struct World::Kept {
  struct Group {
    const PodGroupRow* row = nullptr;
    std::string name;
    int queue = -1;  // -1: does not exist
    int64_t priority = 0;
    bool preemptible = false;
    parts::Shape shape;
  };
  struct Pod {
    const PodRow* row = nullptr;
    std::string name;
    int group = -1;               // -1: none
    bool counts = false;          // has a group and one of its sub-groups
    bool is_reservation = false;  // of a shared device (spec 3 N15)
    std::vector<double> request;  // by resource; spec 3 R18
  };
  struct Queue {
    const QueueRow* row = nullptr;
    int parent = -1;
    std::vector<int> children;  // sorted by name
    QueueNumbers start;
  };

  ClusterRows rows;
  Settings settings;
  std::vector<const NodeRow*> nodes;  // sorted by name
  std::vector<std::vector<double>> allocatable;
  std::vector<Queue> queues;  // sorted by name
  std::vector<Group> groups;  // sorted by namespace and name
  std::vector<Pod> pods;      // sorted by namespace and name
  std::vector<std::string> resources = {"cpu", "memory", "gpu", "pods"};
  double smallest_gpu_mib = 0;  // 0: unknown on all nodes
  double largest_gpu_mib = 0;
  QuotaCount total;
  std::vector<long double> job_keys;  // slow_job_order.h

  int NodeIndex(std::string_view name) const;   // -1: there is none
  int QueueIndex(std::string_view name) const;  // likewise
  int GroupIndex(std::string_view name) const;  // likewise
  int PodIndex(std::string_view name) const;
  size_t ResourceIndex(const std::string& name);
  bool InNodePool(const StringPairs& labels) const;  // spec 1 F9
  bool IsBelow(int queue, int ancestor) const;
  bool IsLeaf(int queue) const;  // and exists

  void KeepNodes();
  void KeepQueues();
  void KeepGroups();
  void KeepPods(std::vector<PodState>* states);
  void MakeVectors();
  void CountTotal(const std::vector<PodState>& states);

  // The amounts of a waiting pod in its queue; a memory request as a part of a device of `gpu_mib`
  // (spec 1 F24).
  QuotaCount Requested(const Pod& pod, double gpu_mib) const;
  // The amounts of a placed pod (spec 1 F25, and the last row of spec 1 F24).
  QuotaCount Accepted(const Pod& pod, int node) const;
  double DevicesOf(int node) const;  // spec 3 N5: cnt
  // The amounts that the check at a node uses (spec 1 F79).
  QuotaCount AtTheGate(const Pod& pod, int node) const;
  // A pod's part of a node's GPUs (spec 3 N2, N3).
  parts::GpuPart GpusTaken(const Pod& pod, int node, const parts::Groups& shared) const;
};

namespace parts {

template <typename T>
const T& At(const std::vector<T>& values, int index) {
  return values[static_cast<size_t>(index)];
}

bool AtMost(double a, double b);  // spec 1 F26
bool AtMost(const Three& a, const Three& b);
inline bool AtMost(const QuotaCount& a, const Three& b) { return AtMost(a.values(), b); }

std::string SubGroupOf(const PodRow& pod);
bool IsShared(const PodRow& pod);       // spec 3 R19
bool AnyGpu(const PodRow& pod);         // likewise
double MigGpus(const GpuRequest& gpu);  // GPUs in MIG slices
bool IsOpen(const NodeRow& node);       // spec 3 P7
bool MeetsNodeAffinity(const PodRow& pod, const NodeRow& node);
bool ToleratesTaints(const PodRow& pod, const NodeRow& node);
const std::string* Label(const StringPairs& labels, const std::string& key);  // null if missing
std::optional<int64_t> Integer(const std::string& text);
bool Meets(const SelectorRequirement& requirement, const std::string* value);
bool MeetsAll(const std::vector<SelectorRequirement>& requirements, const StringPairs& labels);

QueueNumbers NumbersNow(const World& world, int queue);
double AllocatableShare(const QueueNumbers& numbers, size_t resource);  // spec 1 F34
// spec 1 F77 (limits) and spec 1 F78 (quotas of the non-preemptible): true if q more fits.
bool FitsLimits(const World& world, int group, const QuotaCount& q);
bool FitsQuotas(const World& world, int group, const QuotaCount& q);

// A queue in a comparison: its current numbers, and those with the job.
struct Standing {
  const QueueRow* row;
  QueueNumbers numbers;
  QuotaCount with_job;  // allocated plus J (spec 1 F65, F67)
  QuotaCount next;      // the same minus victims (spec 1 F68)
};
bool OrderOf(const Standing& l, const Standing& r, const QuotaCount& total);  // spec 1 F61-F71
bool CreatedFirst(const QueueRow& l, const QueueRow& r);  // the framework's own order

enum class Elastic { kBelow, kExactly, kAbove };
Elastic ElasticOf(const World& world, int group);
struct JobStanding {
  int group;
  Elastic elastic;
};
bool JobFirst(const World& world, const JobStanding& l, const JobStanding& r);  // spec 1 F73
// By (creation time, name), the order in which worklists are filled.
bool GroupFirst(const World& world, int a, int b);

// Calls visit(pod row, node row, is leaving) for every pod on a node.
template <typename Visit>
void ForEachPlacedPod(const World& world, const Visit& visit) {
  const World::Kept& kept = world.kept();
  for (size_t i = 0; i < kept.pods.size(); ++i) {
    const World::PodState& state = world.pods()[i];
    if (state.node >= 0 && IsActiveUsed(state.status)) {
      visit(*kept.pods[i].row, *At(kept.nodes, state.node), state.status == PodStatus::kReleasing);
    }
    for (const World::Spot& spot : state.leaving) {
      visit(*kept.pods[i].row, *At(kept.nodes, spot.node), true);
    }
  }
}

// Pods of one leaf whose status passes the test.
template <typename Test>
std::vector<int> PodsOfLeaf(const World& world, int group, const std::string& leaf,
                            const Test& test) {
  std::vector<int> pods;
  for (const int pod : world.group(group).shape->pods) {
    const World::Kept::Pod& each = At(world.kept().pods, pod);
    if (each.counts && SubGroupOf(*each.row) == leaf && test(At(world.pods(), pod).status)) {
      pods.push_back(pod);
    }
  }
  return pods;
}
int64_t ActiveAllocated(const World& world, int group, const std::string& leaf);
bool IsAllocationSatisfied(const World& world, int group, const std::string& set);  // spec 2 G9
bool IsReady(const World& world, int group, const std::string& set);                // spec 2 G7
int64_t SatisfiedChildren(const World& world, int group, const Set& set);
// spec 2 G11
std::vector<std::string> MembersInOrder(const World& world, int group, const Set& set);
// spec 2 G12
bool TaskFirst(const World& world, int a, int b);
// spec 2 G13; without some sub-groups, if the others suffice.
std::vector<int> Tasks(const World& world, int group, const std::set<std::string>& without = {});
QuotaCount SumOfRequests(const World& world, const std::vector<int>& tasks, double gpu_mib);

struct Ledger {
  std::vector<double> idle;
  std::vector<double> releasing;
  std::vector<double> used;
};
std::vector<Ledger> Ledgers(const World& world);  // by node
// Idle plus releasing in GPUs (spec 3 N13), MIG slices included.
double RoomInGpus(const World& world, int node);
bool HasGpusToGive(const World& world, int node);  // spec 2 V3

// True if some empty node could hold the pod, and the objects that it names exist (spec 3 P13, P14,
// P16).
bool PassesPodChecks(const World& world, int pod);
// True if a waiting group can affect the turn of its queue, in an order of all waiting groups.
bool RepresentsItsQueue(const World& world, int group);
// Pods with a place from this cycle whose required affinity is not satisfied once leaving pods are
// gone and the places of the cycle are given in their order (spec 2 W11).
std::set<int> ShortLivedPods(const World& world);
// The scores of nodes from their domains (spec 4 S1).
using NodeScores = std::map<int, double>;
// spec 2 P2-P4 among some nodes; with scores of domains, nodes without a score are excluded.
struct Placement {
  int node = -1;     // -1: none
  bool now = false;  // it can start there
  Groups groups;     // shared devices; "": one that is not shared yet
};
Placement PlaceTask(const World& world, int pod, const std::set<int>& nodes, bool pipeline_only,
                    const NodeScores* domains = nullptr);

}  // namespace parts
}  // namespace oracle
}  // namespace kai

#endif  // KAI_TESTING_ORACLE_SLOW_ORACLE_H_

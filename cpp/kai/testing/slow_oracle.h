// The scheduler once more, transcribed from the specification and written for nothing but being
// plain: no index, no cache, no undo log, names instead of ids, every sum taken from scratch.
// Property tests compare the engine with it.
//
//   oracle::World world(rows, {});  // rows as the ClusterBuilder takes them
//   oracle::Choice choice = oracle::FindNode(world, "vision/train-0");
//   world.Place("vision/train-0", choice.node);  // a statement's words; undo by keeping a copy
//   std::vector<oracle::Decision> plan = oracle::Allocate(&world);
//
// It reads the rows themselves and none of the engine's columns, so it also finds what the
// ClusterBuilder gets wrong; it does not say what is wrong with rows. What the engine has not built
// (fractions, MIG, DRA, topology) is left out here as it is there.
#ifndef KAI_TESTING_SLOW_ORACLE_H_
#define KAI_TESTING_SLOW_ORACLE_H_

#include <array>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kai/model/pod_status.h"
#include "kai/testing/cluster_maker.h"

namespace kai {

struct Config;

namespace oracle {

// What of a configuration plays a part. The initial values are KAI's defaults (spec 2 C7).
struct Settings {
  std::vector<std::string> plugins = {
      "predicates",    "proportion", "priority",         "elastic",
      "kubeflow",      "ray",        "nodeavailability", "resourcetype",
      "subgrouporder", "taskorder",  "nominatednode",    "nodeplacement"};  // in order
  bool gpu_spread = false;
  bool cpu_spread = false;
  double k_value = 1;
  int64_t depth = -1;  // pod groups per leaf queue
  int64_t now_ns = kTestNowNs;

  bool Has(std::string_view plugin) const;
};

Settings SettingsOf(const Config& config, int64_t now_ns = kTestNowNs);

// cpu in millicores, memory in bytes, GPUs in devices.
using Three = std::array<double, 3>;
// Amounts by resource name, whole GPUs under "gpu"; an absent name is zero.
using Amounts = std::map<std::string, double>;

// spec 1 F31
struct QueueNumbers {
  Three deserved{};
  Three limit{};
  Three weight{};
  Three allocated{};
  Three allocated_non_preemptible{};
  Three request{};
  Three fair_share{};
};

// The rows, and where every pod stands: nodes and queues by name, pods and pod groups by "ns/name".
// Copying it is cheap enough to be the way to try something.
class World {
 public:
  explicit World(ClusterRows rows, Settings settings = {});

  const ClusterRows& rows() const;
  const Settings& settings() const;

  // spec 2 T3-T5 and S5. Pipelining a pod that was just evicted moves it: what it held stays
  // releasing.
  void Place(std::string_view pod, std::string_view node);
  void Pipeline(std::string_view pod, std::string_view node);
  void Evict(std::string_view pod);

  // Names of what there is, sorted: without objects of other node pools, orphaned queues and the
  // like.
  std::vector<std::string> Nodes() const;
  std::vector<std::string> Queues() const;
  std::vector<std::string> PodGroups() const;
  std::vector<std::string> PodsOf(std::string_view pod_group) const;

  PodStatus StatusOf(std::string_view pod) const;
  std::string NodeOf(std::string_view pod) const;  // "" when on none

  // A node's ledger, from scratch (spec 2 S5, spec 3 N1-N4).
  Amounts Allocatable(std::string_view node) const;
  Amounts Idle(std::string_view node) const;
  Amounts Releasing(std::string_view node) const;
  Amounts Used(std::string_view node) const;

  // What there is to divide (spec 1 F30).
  Three Total() const;

  // The oracle's own: what of the rows counts, by position, and where every pod stands.
  struct Kept;
  const Kept& kept() const { return *kept_; }
  struct PodState {
    PodStatus status = PodStatus::kPending;
    int node = -1;             // -1: on none, or on one outside the snapshot
    bool is_virtual = false;   // its status is the work of a statement (spec 2 S6)
    std::vector<int> leaving;  // nodes it moved away from, which it still occupies
  };
  const std::vector<PodState>& pods() const { return pods_; }

 private:
  std::shared_ptr<const Kept> kept_;
  std::vector<PodState> pods_;
};

// ---- (a) queue order ----------------------------------------------------------------------------

// The tree of heaps of spec 1 F60 with the comparators F61-F71 and the job order F73. It keeps no
// numbers: every comparison looks at the world.
class QueueTree {
 public:
  explicit QueueTree(const World* world) : world_(world) {}

  void Push(std::string_view pod_group);
  bool empty() const { return children_.empty() || children_.at(kRoot).empty(); }
  std::string Pop();

 private:
  static constexpr int kRoot = -1;
  using Heap = std::vector<int>;

  bool JobLess(int a, int b) const;
  bool QueueLess(int a, int b) const;
  int BestJob(int queue) const;

  const World* world_;
  std::map<int, Heap> children_;  // queues, by their parent
  std::map<int, Heap> jobs_;      // pod groups, by their leaf
  std::map<int, bool> marked_;
};

// The pod groups allocate considers (spec 2 O1), in the order in which they are pushed.
std::vector<std::string> Candidates(const World& world);

// spec 2 G13 and F27
std::vector<std::string> TasksToAllocate(const World& world, std::string_view pod_group);
Three NextRequest(const World& world, std::string_view pod_group);

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
// spec 1 §4 for one resource and one family of siblings; returns what is left.
double Divide(double total, double k_value, std::vector<Sibling>* siblings);

// The numbers of all queues as the world stands now, with the fair share of the start of the cycle
// (spec 1 §3, §4).
std::map<std::string, QueueNumbers> NumbersOf(const World& world);

// ---- (c) placement ------------------------------------------------------------------------------

struct Choice {
  std::string node;  // "": none fits
  bool now = false;  // on what is idle; else it has to wait

  friend bool operator==(const Choice&, const Choice&) = default;
};
// The node for one waiting pod: score all, sort, take the first that fits and passes all filters
// (spec 2 P2-P4, spec 3 §7, §9).
Choice FindNode(const World& world, std::string_view pod);
// Whether every filter lets the pod onto the node, room apart.
bool PassesFilters(const World& world, std::string_view pod, std::string_view node);
double ScoreOf(const World& world, std::string_view pod, std::string_view node);

// ---- (d) allocate -------------------------------------------------------------------------------

struct Decision {
  enum class Kind { kBind, kPipeline };
  Kind kind = Kind::kBind;
  std::string pod;
  std::string node;

  friend bool operator==(const Decision&, const Decision&) = default;
};
std::ostream& operator<<(std::ostream& out, const Decision& decision);

// The whole action (spec 2 §6-§8); the world is as the action leaves it.
std::vector<Decision> Allocate(World* world);

}  // namespace oracle
}  // namespace kai

#endif  // KAI_TESTING_SLOW_ORACLE_H_

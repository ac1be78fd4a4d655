#include "kai/testing/oracle/slow_evictions.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "kai/base/check.h"
#include "kai/testing/oracle/slow_filters.h"
#include "kai/testing/oracle/slow_job_order.h"
#include "kai/testing/oracle/slow_topology.h"

namespace kai::oracle {

using namespace parts;  // NOLINT: the oracle's own

namespace {

using Kept = World::Kept;

bool Contains(const std::vector<int>& values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::vector<int> Without(const std::vector<int>& values, const std::vector<int>& gone) {
  std::vector<int> left;
  for (const int value : values) {
    if (!Contains(gone, value)) left.push_back(value);
  }
  return left;
}

std::vector<int> Joined(std::vector<int> values, const std::vector<int>& more) {
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

std::string NameOf(const World& world, int pod) { return At(world.kept().pods, pod).name; }
std::string NameOfGroup(const World& world, int group) {
  return At(world.kept().groups, group).name;
}
std::vector<std::string> NamesOf(const World& world, const std::vector<int>& pods) {
  std::vector<std::string> names;
  for (const int pod : pods) names.push_back(NameOf(world, pod));
  return names;
}

int GroupOf(const World& world, int pod) { return At(world.kept().pods, pod).group; }
int NodeOf(const World& world, int pod) { return At(world.pods(), pod).node; }
PodStatus StatusOf(const World& world, int pod) { return At(world.pods(), pod).status; }
double GpusOf(const World& world, int pod) {
  return world.kept().Accepted(At(world.kept().pods, pod), NodeOf(world, pod))[2];
}

// Pods of a group, in all its sub-groups, whose status passes the test.
template <typename Test>
std::vector<int> PodsWith(const World& world, int group, const Test& test) {
  std::vector<int> pods;
  for (const int pod : world.group(group).shape->pods) {
    if (At(world.kept().pods, pod).counts && test(StatusOf(world, pod))) pods.push_back(pod);
  }
  return pods;
}
std::vector<int> AllPods(const World& world, int group) {
  return PodsWith(world, group, [](PodStatus) { return true; });
}
std::vector<int> ActivePods(const World& world, int group) {
  return PodsWith(world, group, [](PodStatus s) { return IsActiveAllocated(s); });
}
int64_t ActiveUsed(const World& world, int group, const std::string& leaf) {
  return static_cast<int64_t>(
      PodsOfLeaf(world, group, leaf, [](PodStatus s) { return IsActiveUsed(s); }).size());
}

World Narrowed(const World& world, int group, const SetTree& tree, const std::vector<int>& pods) {
  World part = world;
  part.mutable_group(group)->shape =
      std::make_shared<const Shape>(Shape{.tree = tree, .pods = pods});
  return part;
}

bool IsGangSatisfied(const World& world, int group, const std::string& name) {  // spec 2 G8
  const SetTree& tree = world.group(group).shape->tree;
  const Set& set = tree.at(name);
  if (set.is_leaf) return ActiveUsed(world, group, name) >= set.minimum;
  int64_t satisfied = 0;
  for (const std::string& child : set.children) {
    satisfied += IsGangSatisfied(world, group, child) ? 1 : 0;
  }
  const bool by_tree = world.settings().switches.on(Switch::kMinSubGroup);
  return satisfied >= (by_tree ? set.minimum : static_cast<int64_t>(set.children.size()));
}

// ---- batches of victims (spec 2 G14) ------------------------------------------------------------

std::vector<std::string> MembersInReverse(const World& world, int group, const Set& set) {
  std::vector<std::string> members = MembersInOrder(world, group, set);
  std::reverse(members.begin(), members.end());
  return members;
}

// All active pods below, in the order in which they are given up.
std::vector<int> ActiveBelow(const World& world, int group, const std::string& name) {
  const Set& set = world.group(group).shape->tree.at(name);
  std::vector<int> pods;
  if (set.is_leaf) {
    pods = PodsOfLeaf(world, group, name, [](PodStatus s) { return IsActiveAllocated(s); });
    std::sort(pods.begin(), pods.end(), [&](int a, int b) { return TaskFirst(world, b, a); });
    return pods;
  }
  for (const std::string& kid : MembersInReverse(world, group, set)) {
    pods = Joined(pods, ActiveBelow(world, group, kid));
  }
  return pods;
}

bool HasSurplus(const World& world, int group, const std::string& name) {
  const Set& set = world.group(group).shape->tree.at(name);
  if (set.is_leaf) return ActiveAllocated(world, group, name) > set.minimum;
  bool surplus = SatisfiedChildren(world, group, set) > set.minimum;
  for (const std::string& kid : set.children) surplus = surplus || HasSurplus(world, group, kid);
  return surplus;
}

// With the switch same_cycle_eviction, a cycle does not evict pods that it placed or promised, nor
// pods that would have to go together with one of them.
bool IsSpared(const World& world, int pod) {
  const PodStatus status = StatusOf(world, pod);
  return world.settings().switches.on(Switch::kSameCycleEviction) &&
         (status == PodStatus::kAllocated || status == PodStatus::kPipelined);
}
bool AnySpared(const World& world, const std::vector<int>& pods) {
  return std::any_of(pods.begin(), pods.end(), [&](int pod) { return IsSpared(world, pod); });
}

std::vector<int> Surplus(const World& world, int group, const std::string& name) {
  const SetTree& tree = world.group(group).shape->tree;
  const Set& set = tree.at(name);
  const int64_t satisfied = SatisfiedChildren(world, group, set);
  if (satisfied == 0) return {};
  const std::vector<std::string> kids = MembersInReverse(world, group, set);
  if (HasSurplus(world, group, name)) {
    for (const std::string& kid : kids) {
      std::vector<int> pods;
      if (!tree.at(kid).is_leaf) {
        pods = Surplus(world, group, kid);
      } else if (HasSurplus(world, group, kid)) {
        pods = ActiveBelow(world, group, kid);
        std::erase_if(pods, [&](int pod) { return IsSpared(world, pod); });
        if (!pods.empty()) return {pods.front()};
      }
      if (!pods.empty()) return pods;
    }
  }
  if (set.minimum < satisfied) {
    for (const std::string& kid : kids) {
      const std::vector<int> pods = ActiveBelow(world, group, kid);
      if (!pods.empty() && !AnySpared(world, pods)) return pods;
    }
  }
  return {};
}

std::vector<int> Batch(const World& world, int group) {
  const std::vector<int> pods = Surplus(world, group, "");
  if (!pods.empty()) return pods;
  std::vector<int> all;
  for (const auto& [name, set] : world.group(group).shape->tree) {
    if (set.is_leaf) all = Joined(all, ActiveBelow(world, group, name));
  }
  return AnySpared(world, all) ? std::vector<int>{} : all;
}

// ---- the order of victims (spec 2 O4, spec 1 F108, F109) ----------------------------------------

// The tree of heaps, worst first. A Job is a pod group without the pods that it has given up.
class VictimTree : private HeapTree {
 public:
  struct Job {
    int group = -1;
    std::vector<int> pods;
    Elastic elastic = Elastic::kBelow;
  };

  explicit VictimTree(const World* world) : HeapTree(world) {}

  void Push(int group, const std::vector<int>& pods) {
    const World part = Narrowed(world(), group, world().group(group).shape->tree, pods);
    jobs_.push_back({.group = group, .pods = pods, .elastic = ElasticOf(part, group)});
    PushJob(static_cast<int>(jobs_.size()) - 1, -1);
  }
  using HeapTree::empty;
  Job Pop() {
    const int job = PopJob();
    popped_[LeafOf(job)].push_back(job);
    return At(jobs_, job);
  }
  // These pods of a popped job become victims.
  void Take(int group, const std::vector<int>& pods) {
    std::vector<int>& taken = taken_[At(world().kept().groups, group).queue];
    taken = Joined(taken, pods);
  }

 private:
  bool JobLess(int a, int b) const override {
    const Job& l = At(jobs_, a);
    const Job& r = At(jobs_, b);
    return !JobFirst(world(), {.group = l.group, .elastic = l.elastic},
                     {.group = r.group, .elastic = r.elastic});
  }

  bool QueueLess(int a, int b) const override {
    const QueueRow* row_a = At(world().kept().queues, a).row;
    const QueueRow* row_b = At(world().kept().queues, b).row;
    if (!world().settings().Has("proportion")) return !CreatedFirst(*row_a, *row_b);
    return !OrderOf(StandingOf(a, row_a), StandingOf(b, row_b), world().Total());
  }

  int LeafOf(int job) const override {
    return At(world().kept().groups, At(jobs_, job).group).queue;
  }

  Standing StandingOf(int queue, const QueueRow* row) const {
    Standing standing{
        .row = row, .numbers = NumbersNow(world(), queue), .with_job = {}, .next = {}};
    standing.with_job = standing.numbers.allocated;
    QuotaCount lost = RequestsOf(jobs_, BestJob(queue));
    if (world().settings().switches.on(Switch::kVictimShares)) {
      for (const auto& [leaf, pods] : taken_) {
        if (world().kept().IsBelow(leaf, queue)) lost += SumOfRequests(world(), pods, 0);
      }
    } else {
      const auto popped = popped_.find(BestLeaf(queue));
      if (popped != popped_.end()) {
        for (const int job : popped->second) lost += RequestsOf(jobs_, job);
      }
    }
    standing.next = standing.numbers.allocated - lost;
    return standing;
  }

  // The sum of the requests of a job's allocated pods.
  QuotaCount RequestsOf(const std::vector<Job>& jobs, int job) const {
    std::vector<int> allocated;
    for (const int pod : At(jobs, job).pods) {
      if (IsAllocated(StatusOf(world(), pod))) allocated.push_back(pod);
    }
    return SumOfRequests(world(), allocated, 0);
  }

  std::vector<Job> jobs_;                   // including popped ones
  std::map<int, std::vector<int>> popped_;  // jobs by leaf
  std::map<int, std::vector<int>> taken_;   // pods by leaf
};

std::vector<int> WholeGroupsInOrder(const World& world, std::vector<int> groups) {
  std::sort(groups.begin(), groups.end(), [&](int a, int b) { return GroupFirst(world, a, b); });
  VictimTree tree(&world);
  for (const int group : groups) tree.Push(group, AllPods(world, group));
  std::vector<int> order;
  while (!tree.empty()) {
    const VictimTree::Job job = tree.Pop();
    tree.Take(job.group, ActivePods(world, job.group));
    order.push_back(job.group);
  }
  return order;
}

// Calls `visit` with lists of batches that grow by one batch, starting with the empty list, until
// it returns true (spec 2 V8). `groups` are in the order in which they are pushed.
using Batches = std::vector<std::vector<int>>;
bool ForEachBase(const World& world, const std::vector<int>& groups,
                 const std::vector<int>& recorded,
                 const std::function<bool(const Batches&)>& visit) {
  Batches batches;
  if (visit(batches)) return true;
  VictimTree tree(&world);
  for (const int group : groups) tree.Push(group, AllPods(world, group));
  while (!tree.empty()) {
    const VictimTree::Job job = tree.Pop();
    const World part = Narrowed(world, job.group, world.group(job.group).shape->tree, job.pods);
    const std::vector<int> batch = Batch(part, job.group);
    const bool is_recorded =
        std::any_of(batch.begin(), batch.end(), [&](int pod) { return Contains(recorded, pod); });
    if (is_recorded) {
      const std::vector<int> rest = Without(job.pods, recorded);
      tree.Take(job.group, Without(job.pods, rest));
      if (!rest.empty()) tree.Push(job.group, rest);
      continue;
    }
    if (batch.empty()) continue;  // it has no running pods left, so the base is the same again
    tree.Take(job.group, batch);
    if (batch.size() < ActivePods(part, job.group).size()) {
      tree.Push(job.group, Without(job.pods, batch));
    }
    batches.push_back(batch);
    if (visit(batches)) return true;
  }
  return false;
}

// ---- minimum runtime (spec 1 F102-F106) ---------------------------------------------------------

// Queues from this one up to the top.
std::vector<int> PathUp(const World& world, int queue) {
  std::vector<int> path;
  for (; queue >= 0; queue = At(world.kept().queues, queue).parent) path.push_back(queue);
  return path;
}

int64_t RuntimeOf(const World& world, const std::string& action, int waiting, int victim) {
  const Settings& settings = world.settings();
  const bool preempt = action == "preempt";
  const int64_t otherwise =
      preempt ? settings.preempt_min_runtime_ns : settings.reclaim_min_runtime_ns;
  const auto inherited = [&](const std::vector<int>& path) {
    for (const int queue : path) {
      const QueueRow& row = *At(world.kept().queues, queue).row;
      const std::optional<int64_t>& given =
          preempt ? row.preempt_min_runtime_ns : row.reclaim_min_runtime_ns;
      if (given) return *given;
    }
    return otherwise;
  };
  if (victim < 0 || waiting < 0) return otherwise;
  std::vector<int> path = PathUp(world, victim);
  if (preempt || !settings.reclaim_runtime_by_lca) return inherited(path);
  const std::vector<int> other = PathUp(world, waiting);
  if (path.back() != other.back()) return inherited({path.back()});
  // Down to the child of the lowest common ancestor, or to the ancestor itself if it is the
  // victim's queue.
  size_t start = 0;
  while (start + 1 < path.size() && !Contains(other, path[start + 1])) ++start;
  if (Contains(other, path[0])) start = 0;
  path.erase(path.begin(), path.begin() + static_cast<int64_t>(start));
  return inherited(path);
}

bool IsProtected(const World& world, const std::string& action, int waiting, int victim) {
  const std::optional<int64_t>& start = world.group(victim).last_start_ns;
  if (!start) return false;  // spec 1 F103
  const auto queue_of = [&](int group) { return At(world.kept().groups, group).queue; };
  return world.settings().now_ns <
         *start + RuntimeOf(world, action, queue_of(waiting), queue_of(victim));
}

// True if some pod set has more pods, of any status, than its minimum (spec 1 F104, spec 2 G10).
bool IsElastic(const World& world, int group) {
  for (const auto& [name, set] : world.group(group).shape->tree) {
    const auto pods = PodsOfLeaf(world, group, name, [](PodStatus) { return true; });
    if (set.is_leaf && set.minimum < static_cast<int64_t>(pods.size())) return true;
  }
  return false;
}

bool PassesRuntimeFilter(const World& world, const std::string& action, int waiting, int victim) {
  return !world.settings().Has("minruntime") || IsElastic(world, victim) ||
         !IsProtected(world, action, waiting, victim);
}

// spec 1 F106; `world` is after the what-if.
bool PassesRuntimeValidator(const World& world, const std::string& action, int waiting,
                            const std::vector<int>& victims) {
  if (!world.settings().Has("minruntime")) return true;
  std::set<int> groups;
  for (const int pod : victims) groups.insert(GroupOf(world, pod));
  for (const int group : groups) {
    if (!IsElastic(world, group) || !IsProtected(world, action, waiting, group)) continue;
    std::map<std::string, int64_t> lost;
    for (const int pod : victims) {
      if (GroupOf(world, pod) == group) ++lost[SubGroupOf(*At(world.kept().pods, pod).row)];
    }
    for (const auto& [leaf, count] : lost) {
      const int64_t minimum = world.group(group).shape->tree.at(leaf).minimum;
      // With the switch, pods that are leaving already, and pods that an earlier action moves or
      // promised a place, do not count.
      const bool counts_all = !world.settings().switches.on(Switch::kProtectedMinimum);
      int64_t there = 0;
      for (const int pod :
           PodsOfLeaf(world, group, leaf, [](PodStatus s) { return IsActiveUsed(s); })) {
        const bool runs = IsAllocated(StatusOf(world, pod)) || Contains(victims, pod);
        there += counts_all || runs ? 1 : 0;
      }
      if (there - count < minimum) return false;
    }
  }
  return true;
}

// ---- reclaim (spec 1 F84-F95) -------------------------------------------------------------------

QuotaCount NextRequestOf(const World& world, int group) {  // J
  return SumOfRequests(world, Tasks(world, group), world.kept().smallest_gpu_mib);
}

bool MayStart(const World& world, int group, const QuotaCount& request) {  // spec 1 F84
  if (!world.settings().Has("proportion")) return false;
  const Kept::Group& each = At(world.kept().groups, group);
  const QueueNumbers n = NumbersNow(world, each.queue);
  if (!AtMost(n.allocated + request, n.fair_share)) return false;
  return each.preemptible || AtMost(n.allocated_non_preemptible + request, n.deserved);
}

// spec 1 F88: the first queues in which the two paths from the root differ; empty if none differ.
template <typename Queue>
std::optional<std::pair<Queue, Queue>> Leveled(std::vector<Queue> x, std::vector<Queue> y) {
  while (!x.empty() && !y.empty()) {
    if (x.back() != y.back()) return std::pair(x.back(), y.back());
    x.pop_back();
    y.pop_back();
  }
  return std::nullopt;
}

// Above the bound in some resource; -1 is more than any amount (spec 1 F90).
bool Exceeds(const QuotaCount& amount, const Three& bound) { return !AtMost(amount, bound); }

Three AllocatableOf(const QueueNumbers& numbers) {
  return {AllocatableShare(numbers, 0), AllocatableShare(numbers, 1), AllocatableShare(numbers, 2)};
}

bool PassesProportionFilter(const World& world, int waiting, int victim,
                            const QuotaCount& request) {  // spec 1 F86
  if (!world.settings().Has("proportion")) return true;
  const auto queue_of = [&](int group) { return At(world.kept().groups, group).queue; };
  const auto pair = Leveled(PathUp(world, queue_of(waiting)), PathUp(world, queue_of(victim)));
  if (!pair) return true;
  const QueueNumbers x = NumbersNow(world, pair->first);
  const QueueNumbers y = NumbersNow(world, pair->second);
  if (!AtMost(x.allocated + request, x.deserved)) {
    return Exceeds(y.allocated, AllocatableOf(y));
  }
  bool below = false;
  for (size_t r = 0; r < 3; ++r) {
    if (request[r] <= 0 || y.deserved[r] == -1) continue;
    if (y.allocated[r] > y.deserved[r]) return true;
    below = below || y.allocated[r] < y.deserved[r];
  }
  return !below;
}

// ---- a search (spec 2 V1-V17) -------------------------------------------------------------------

struct Scenario {
  std::vector<int> pending;
  std::vector<int> recorded;
  std::vector<int> potential;
};

struct Search {
  std::string action;
  int group = -1;               // the group that needs room
  std::vector<int> tasks;       // its pods to place
  std::vector<int> candidates;  // possible victim groups, in the order of GroupFirst
  std::set<int> feasible;       // nodes, without those of recorded victims (spec 2 V3)
  std::vector<double> rooms;    // GPUs of nodes that are idle or releasing, at the start
  // True if a simulated scenario is acceptable.
  std::function<bool(const World&, const Scenario&)> validate;
};

struct Solution {
  World world;
  std::vector<int> victims;  // to record
  std::vector<Decision> decisions;
};

double RoomOf(const Search& search, int node) { return At(search.rooms, node); }

std::set<int> NodesOf(const World& world, const std::vector<int>& pods) {
  std::set<int> nodes;
  for (const int pod : pods) {
    if (NodeOf(world, pod) >= 0) nodes.insert(NodeOf(world, pod));
  }
  return nodes;
}

double GpusOn(const World& world, const std::vector<int>& pods, int node) {
  double gpus = 0;
  for (const int pod : pods) {
    if (NodeOf(world, pod) == node) gpus += GpusOf(world, pod);
  }
  return gpus;
}

std::vector<int> Flat(const Batches& batches) {
  std::vector<int> pods;
  for (const std::vector<int>& batch : batches) pods = Joined(pods, batch);
  return pods;
}

// GPU memory counts as zero (spec 3 R18).
double RequestedGpus(const World& world, int pod) { return SumOfRequests(world, {pod}, 0)[2]; }

// spec 2 V2
Shape Partial(const World& world, int group, const std::vector<int>& pending) {
  const Shape& whole = *world.group(group).shape;
  Shape part{.tree = whole.tree, .pods = Joined(ActivePods(world, group), pending)};
  std::sort(part.pods.begin(), part.pods.end());
  std::map<std::string, int64_t> pods;
  for (const int pod : part.pods) ++pods[SubGroupOf(*At(world.kept().pods, pod).row)];
  const std::function<bool(const std::string&)> is_empty = [&](const std::string& name) {
    const Set& set = whole.tree.at(name);
    if (set.is_leaf) return pods[name] == 0;
    return std::all_of(set.children.begin(), set.children.end(), is_empty);
  };
  for (auto& [name, set] : part.tree) {
    if (set.is_leaf) {
      set.minimum = std::min(set.minimum, pods[name]);
    } else if (set.given) {
      set.minimum = std::min<int64_t>(
          set.minimum, std::count_if(set.children.begin(), set.children.end(),
                                     [&](const std::string& child) { return !is_empty(child); }));
    }
  }
  return part;
}

// spec 2 V10-V12
bool PassesFilters(const World& world, const Search& search, const std::vector<int>& pending,
                   const std::vector<int>& recorded, const Batches& batches) {
  if (world.settings().switches.on(Switch::kScenarioFilters)) return true;
  const std::vector<int> victims = Joined(recorded, Flat(batches));
  std::set<int> nodes = search.feasible;
  nodes.merge(NodesOf(world, victims));
  for (const int pod : pending) {
    const PodRow& row = *At(world.kept().pods, pod).row;
    if (row.node_selector.empty() && !row.has_node_affinity) continue;
    if (std::none_of(nodes.begin(), nodes.end(), [&](int node) {
          return MeetsNodeAffinity(row, *At(world.kept().nodes, node));
        })) {
      return false;
    }
  }
  std::vector<double> all_rooms = search.rooms;
  for (size_t i = 0; i < all_rooms.size(); ++i)
    all_rooms[i] += GpusOn(world, victims, static_cast<int>(i));
  if (!DomainsHaveGpus(world, search.group, Partial(world, search.group, pending), all_rooms))
    return false;
  std::vector<double> rooms;
  for (const int node : nodes) rooms.push_back(At(all_rooms, node));
  std::sort(rooms.begin(), rooms.end(), std::greater<>());
  if (rooms.size() > pending.size()) rooms.resize(pending.size());
  std::vector<double> requests;
  for (const int pod : pending) requests.push_back(RequestedGpus(world, pod));
  std::sort(requests.begin(), requests.end(), std::greater<>());
  for (const double request : requests) {
    if (request == 0) return true;
    const auto holder =
        std::find_if(rooms.begin(), rooms.end(), [&](double room) { return room >= request; });
    if (holder == rooms.end()) return false;
    *holder -= request;
  }
  return true;
}

// The scenarios of one valid base (spec 2 V9): the victims besides the recorded ones.
std::vector<std::vector<int>> NodeLocalGreedy(const World& world, const std::vector<int>& recorded,
                                              const Batches& batches) {
  std::vector<std::vector<int>> emitted;
  if (batches.empty()) {
    if (!recorded.empty()) emitted.push_back({});
    return emitted;
  }
  // The nodes of all pods of the last group, victims or not.
  const int latest = GroupOf(world, batches.back().front());
  for (const int node : NodesOf(world, AllPods(world, latest))) {
    std::set<int> groups;
    for (const int pod : Flat(batches)) {
      if (NodeOf(world, pod) == node) groups.insert(GroupOf(world, pod));
    }
    std::vector<int> victims;
    if (!world.settings().switches.on(Switch::kSingleVictims)) {  // spec 2 W8
      for (const int pod : recorded) {
        if (groups.contains(GroupOf(world, pod)) && !Contains(victims, pod)) victims.push_back(pod);
      }
    }
    for (const int pod : Flat(batches)) {
      if (groups.contains(GroupOf(world, pod))) victims.push_back(pod);
    }
    emitted.push_back(victims);
  }
  return emitted;
}

std::vector<std::vector<int>> MultiNodeGang(const World& world, const Search& search,
                                            const std::vector<int>& pending,
                                            const std::vector<int>& recorded,
                                            const Batches& batches) {
  if (batches.empty()) return {{}};
  const std::vector<int> potential = Flat(batches);
  double demand = 0;
  double smallest = std::numeric_limits<double>::infinity();
  for (const int pod : pending) {
    demand += RequestedGpus(world, pod);
    smallest = std::min(smallest, RequestedGpus(world, pod));
  }
  std::vector<int> nodes;  // nodes with potential victims, by first appearance
  for (const int pod : potential) {
    const int node = NodeOf(world, pod);
    if (node >= 0 && !Contains(nodes, node)) nodes.push_back(node);
  }
  const auto capacity = [&](int node) {
    return GpusOn(world, recorded, node) + RoomOf(search, node) + GpusOn(world, potential, node);
  };
  double baseline = 0;
  for (const int node : search.feasible) {
    if (!Contains(nodes, node)) baseline += capacity(node);
  }
  if (smallest > 0) std::erase_if(nodes, [&](int node) { return capacity(node) < smallest; });
  std::stable_sort(nodes.begin(), nodes.end(),
                   [&](int a, int b) { return capacity(a) < capacity(b); });
  std::vector<double> capacities;
  for (const int node : nodes) capacities.push_back(capacity(node));
  std::vector<std::vector<int>> emitted;
  for (const size_t size : PrefixSizes(capacities, demand - baseline)) {
    std::vector<int> victims;
    for (const std::vector<int>& batch : batches) {
      const bool touches = std::any_of(batch.begin(), batch.end(), [&](int pod) {
        return std::find(nodes.begin(), nodes.begin() + static_cast<int64_t>(size),
                         NodeOf(world, pod)) != nodes.begin() + static_cast<int64_t>(size);
      });
      if (touches) victims = Joined(victims, batch);
    }
    if (world.settings().switches.on(Switch::kWholeGangs)) {
      // Adds the earlier batches of the same groups, on any node.
      std::vector<int> whole;
      for (size_t i = 0; i < batches.size(); ++i) {
        const int group = GroupOf(world, batches[i].front());
        const bool goes = std::any_of(
            batches.begin() + static_cast<int64_t>(i), batches.end(), [&](const auto& later) {
              return GroupOf(world, later.front()) == group && Contains(victims, later.front());
            });
        if (goes) whole = Joined(whole, batches[i]);
      }
      victims = whole;
    }
    emitted.push_back(victims);
  }
  return emitted;
}

// The changes that a scenario makes to the world (spec 2 T4, T5).
class Simulation {
 public:
  Simulation(const World& world, std::set<int> nodes) : world_(world), nodes_(std::move(nodes)) {}

  World& world() { return world_; }
  const World& world() const { return world_; }
  const std::vector<Decision>& pipelined() const { return pipelined_; }
  bool stayed(int pod) const { return returned_.contains(pod); }

  // A pod may be a victim twice (spec 2 W8).
  void Evict(int pod) {
    if (before_.emplace(pod, At(world_.pods(), pod)).second) {
      world_.Evict(NameOf(world_, pod));
    } else {
      world_.EvictAgain(NameOf(world_, pod));
    }
  }

  // Places the next pods of a group, all of them or none (spec 2 P1).
  bool PlaceGroup(int group) {
    const std::vector<int> tasks = Tasks(world_, group);
    if (tasks.empty()) return false;
    const QuotaCount request = SumOfRequests(world_, tasks, world_.kept().largest_gpu_mib);
    if (world_.settings().Has("proportion") &&
        !(FitsLimits(world_, group, request) && FitsQuotas(world_, group, request))) {
      return false;
    }
    Attempt attempt{.group = group};
    return PlaceMember("", tasks, std::set<int>(nodes_), &attempt, this);
  }

  bool PlacePod(int pod, const std::set<int>& nodes, const NodeScores* scores) {
    const Placement found = PlaceTask(world_, pod, nodes, /*pipeline_only=*/true, scores);
    if (found.node < 0) return false;
    Pipeline(pod, found.node, found.groups);
    return true;
  }

 private:
  // Other devices of the same node are a different place (spec 3 S7).
  bool IsThere(int pod, int node, const Groups& groups) const {
    const Switches& switches = world_.settings().switches;
    const auto in_order = [&](Groups names) {
      if (switches.on(Switch::kDeviceOrder)) std::sort(names.begin(), names.end());
      return names;
    };
    const World::PodState& state = At(world_.pods(), pod);
    std::vector<Groups> spots;  // its places on this node, the latest first
    if (state.node == node) spots.push_back(state.groups);
    for (auto spot = state.leaving.rbegin(); spot != state.leaving.rend(); ++spot) {
      if (spot->node == node) spots.push_back(spot->groups);
    }
    if (!spots.empty() && !switches.on(Switch::kPassedDevices)) spots.resize(1);
    return std::any_of(spots.begin(), spots.end(),
                       [&](const Groups& own) { return in_order(own) == in_order(groups); });
  }

  void Pipeline(int pod, int node, const Groups& groups) {
    if (before_.contains(pod) && IsThere(pod, node, groups)) {
      world_.Return(pod, before_.at(pod));  // it does not move
      returned_.insert(pod);
      return;
    }
    const std::string target = At(world_.kept().nodes, node)->name;
    world_.Pipeline(NameOf(world_, pod), target, groups);
    pipelined_.push_back(
        {.kind = Decision::Kind::kPipeline, .pod = NameOf(world_, pod), .node = target});
  }

  World world_;
  std::set<int> nodes_;
  std::map<int, World::PodState> before_;  // before its eviction, by pod
  std::set<int> returned_;
  std::vector<Decision> pipelined_;
};

// The victims that a search records: all victims of a pod group if one of its victims leaves or
// moves; for preempt and consolidation also if any other pod of the group does, even one that an
// earlier action evicted. (spec 2 V13 excludes victims that stayed; KAI's decisions show that it
// includes them if other pods of their group did not stay.) Pods that lost their place come first.
std::vector<int> LostOf(const World& after, const std::vector<int>& victims,
                        std::string_view action) {
  std::set<int> losers;
  for (const int pod : victims) {
    const auto others = PodsWith(after, GroupOf(after, pod), [](PodStatus s) {
      return s == PodStatus::kReleasing || s == PodStatus::kPipelined;
    });
    if (action != "reclaim" && !others.empty()) losers.insert(GroupOf(after, pod));
    const PodStatus status = StatusOf(after, pod);
    if (status == PodStatus::kReleasing || status == PodStatus::kPipelined)
      losers.insert(GroupOf(after, pod));
  }
  std::vector<int> lost;
  for (const bool leaving : {true, false}) {
    for (const int pod : victims) {
      const bool is_leaving = StatusOf(after, pod) == PodStatus::kReleasing;
      if (losers.contains(GroupOf(after, pod)) && is_leaving == leaving) lost.push_back(pod);
    }
  }
  return lost;
}

// With the switch whole_gangs: the parts of a group in which a pod got a place are whole without
// leaving pods.
bool PlacesWholeGangs(const World& world, const std::vector<Decision>& pipelined) {
  if (!world.settings().switches.on(Switch::kWholeGangs)) return true;
  return std::all_of(pipelined.begin(), pipelined.end(), [&](const Decision& each) {
    const int pod = world.kept().PodIndex(each.pod);
    if (StatusOf(world, pod) != PodStatus::kPipelined) return true;
    const int group = GroupOf(world, pod);
    const SetTree& tree = world.group(group).shape->tree;
    std::string name = SubGroupOf(*At(world.kept().pods, pod).row);
    for (;;) {
      if (!IsAllocationSatisfied(world, group, name)) return false;
      if (name.empty()) return true;
      for (const auto& [parent, set] : tree) {
        if (std::find(set.children.begin(), set.children.end(), name) == set.children.end())
          continue;
        name = parent;
        break;
      }
    }
  });
}

// True: every place that the cycle has given after `before` lasts, and so do the earlier ones.
bool PlacesLast(const World& before, const World& after) {
  if (!before.settings().switches.on(Switch::kLeavingPods) || !before.settings().Has("predicates"))
    return true;
  const std::set<int> known = ShortLivedPods(before);
  const std::set<int> now = ShortLivedPods(after);
  return std::all_of(now.begin(), now.end(), [&](int pod) {
    return known.contains(pod) && At(before.pods(), pod).placed == At(after.pods(), pod).placed;
  });
}

// Evicts the victims and places the group and theirs; empty: the group found no place, or the
// scenario is not acceptable.
std::optional<Simulation> Play(const World& world, const Search& search, const Scenario& scenario,
                               bool only_lasting) {
  const std::vector<int> victims = Joined(scenario.recorded, scenario.potential);
  std::set<int> nodes = search.feasible;
  nodes.merge(NodesOf(world, victims));
  Simulation trial(world, nodes);
  trial.world().OnlyLasting(only_lasting);
  trial.world().mutable_group(search.group)->shape =
      std::make_shared<const Shape>(Partial(world, search.group, scenario.pending));
  for (const int pod : victims) {
    if (NodeOf(world, pod) < 0) return std::nullopt;  // spec 2 T4: its node is unknown
    trial.Evict(pod);
  }

  std::set<int> involved = {search.group};
  for (const int pod : victims) involved.insert(GroupOf(world, pod));
  std::vector<int> listed(involved.begin(), involved.end());
  for (size_t i = 0; i < world.kept().groups.size(); ++i) {
    const int group = static_cast<int>(i);
    const bool waits =
        !PodsWith(world, group, [](PodStatus s) { return s == PodStatus::kPending; }).empty();
    if (waits && !involved.contains(group) && world.kept().IsLeaf(world.kept().groups[i].queue) &&
        RepresentsItsQueue(trial.world(), group)) {
      listed.push_back(group);
    }
  }
  std::sort(listed.begin(), listed.end(), [&](int a, int b) { return GroupFirst(world, a, b); });
  QueueTree jobs(&trial.world(), -1);
  for (const int group : listed) jobs.Push(NameOfGroup(world, group));
  while (!jobs.empty()) {
    const int group = world.kept().GroupIndex(jobs.Pop());
    if (!involved.contains(group)) continue;
    const Simulation before = trial;
    bool placed = trial.PlaceGroup(group);
    if (placed && !PlacesWholeGangs(trial.world(), trial.pipelined())) {
      trial = before;
      placed = false;
    }
    if (!placed && group == search.group) return std::nullopt;
  }
  trial.world().OnlyLasting(false);
  if (!search.validate(trial.world(), scenario) || !PlacesLast(world, trial.world()))
    return std::nullopt;
  return trial;
}

// spec 2 V13
std::optional<Solution> Simulate(const World& world, const Search& search,
                                 const Scenario& scenario) {
  const std::vector<int> victims = Joined(scenario.recorded, scenario.potential);
  if (victims.empty()) return std::nullopt;
  // Affinity to an evicted pod counts only if that pod returns, so it is tried last (spec 2 W11).
  std::optional<Simulation> played = Play(world, search, scenario, /*only_lasting=*/true);
  if (!played) played = Play(world, search, scenario, /*only_lasting=*/false);
  if (!played) return std::nullopt;
  const Simulation& trial = *played;
  Solution solution{.world = trial.world(), .victims = {}, .decisions = {}};
  solution.victims = LostOf(solution.world, victims, search.action);
  std::map<int, int> times;
  for (const int pod : victims) {
    // A pod that was evicted twice and returned once is still deleted (spec 2 W8).
    if (++times[pod] != (trial.stayed(pod) ? 2 : 1)) continue;
    solution.decisions.push_back({.kind = Decision::Kind::kEvict,
                                  .pod = NameOf(world, pod),
                                  .action = search.action,
                                  .for_group = NameOfGroup(world, search.group)});
    solution.world.mutable_group(GroupOf(world, pod))->last_eviction_ns =
        world.settings().now_ns;  // the time of the commit (spec 2 D1)
  }
  for (const Decision& each : trial.pipelined()) solution.decisions.push_back(each);
  solution.world.mutable_group(search.group)->shape = world.group(search.group).shape;
  return solution;
}

// Scenarios that failed for a job (spec 2 V15).
using Fingerprints =
    std::set<std::tuple<std::multiset<int>, std::multiset<int>, std::multiset<int>>>;

// spec 2 V7
std::optional<Solution> Probe(const World& world, Search search, const std::string& generator,
                              size_t k, const std::vector<int>& recorded, Fingerprints* failed) {
  const std::vector<int> pending(search.tasks.begin(),
                                 search.tasks.begin() + static_cast<int64_t>(k));
  search.feasible.merge(NodesOf(world, recorded));  // spec 2 V3
  std::optional<Solution> solution;
  ForEachBase(world, search.candidates, recorded, [&](const Batches& batches) {
    if (!PassesFilters(world, search, pending, recorded, batches)) return false;
    const std::vector<std::vector<int>> emitted =
        generator == "sg-nodelocalgreedy"
            ? NodeLocalGreedy(world, recorded, batches)
            : MultiNodeGang(world, search, pending, recorded, batches);
    for (const std::vector<int>& potential : emitted) {
      const auto fingerprint = std::tuple(std::multiset(pending.begin(), pending.end()),
                                          std::multiset(recorded.begin(), recorded.end()),
                                          std::multiset(potential.begin(), potential.end()));
      if (failed->contains(fingerprint)) continue;
      solution = Simulate(world, search,
                          {.pending = pending, .recorded = recorded, .potential = potential});
      if (solution) return true;
      failed->insert(fingerprint);
    }
    return false;
  });
  return solution;
}

// spec 2 V1; empty if unsolved.
std::optional<Solution> Solve(const World& world, const Search& search) {
  const size_t n = search.tasks.size();
  Fingerprints failed;
  if (n == 0) return std::nullopt;
  for (const std::string& generator : world.settings().plugins) {
    if (generator != "sg-nodelocalgreedy" && generator != "sg-multinodegang") continue;
    std::vector<int> recorded;
    const auto works = [&](size_t k) {
      const auto solution = Probe(world, search, generator, k, recorded, &failed);
      if (solution) recorded = solution->victims;
      return solution.has_value();
    };
    size_t best = 0;
    size_t failure = n + 1;  // the smallest known failure
    for (size_t k = 1; best < n; k = std::min(2 * k, n)) {
      if (!works(k)) {
        failure = k;
        break;
      }
      best = k;
    }
    if (best == 0) continue;
    while (best + 1 < failure && best < n) {
      const size_t middle = (best + failure) / 2;
      (works(middle) ? best : failure) = middle;
    }
    std::optional<Solution> solution = Probe(world, search, generator, n, recorded, &failed);
    if (!solution) continue;
    const auto used = [&](const World& at) {
      return PodsWith(at, search.group, [](PodStatus s) { return IsActiveUsed(s); }).size();
    };
    if (IsGangSatisfied(solution->world, search.group, "") && used(solution->world) > used(world)) {
      return solution;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

// ---- signatures (spec 2 H1-H4) ------------------------------------------------------------------

std::string Text(const std::vector<std::string>& parts, char begin, char end) {
  std::string text(1, begin);
  for (const std::string& part : parts) text += std::to_string(part.size()) + ":" + part;
  return text + end;
}

std::string Text(const std::vector<SelectorRequirement>& requirements) {
  std::vector<std::string> parts;
  for (const SelectorRequirement& each : requirements) {
    parts.push_back(each.key);
    parts.push_back(std::to_string(static_cast<int>(each.op)));
    parts.push_back(Text(each.values, '[', ']'));
  }
  return Text(parts, '{', '}');
}

std::string Text(const PodAffinityTerm& term) {
  return Text({term.selector ? Text(*term.selector) : "none", Text(term.namespaces, '[', ']'),
               term.all_namespaces ? "all" : "", term.topology_key},
              '(', ')');
}

std::string PodSignature(const World& world, const PodRow& row) {  // spec 2 H2
  std::vector<std::string> parts;
  parts.push_back(NodeRequirementsOf(world, row));
  StringPairs selector = row.node_selector;
  std::sort(selector.begin(), selector.end());
  for (const auto& [key, value] : selector) parts.push_back(Text({key, value}, '<', '>'));
  parts.push_back(row.has_node_affinity ? "affinity" : "");
  for (const NodeSelectorTerm& term : row.node_affinity) {
    parts.push_back(Text(term.expressions) + Text(term.fields));
  }
  for (const auto* terms : {&row.affinity.required, &row.affinity.required_anti}) {
    parts.emplace_back("terms");
    for (const PodAffinityTerm& term : *terms) parts.push_back(Text(term));
  }
  for (const auto* terms : {&row.affinity.preferred, &row.affinity.preferred_anti}) {
    parts.emplace_back("weighted");
    for (const WeightedPodAffinityTerm& each : *terms) {
      parts.push_back(std::to_string(each.weight) + Text(each.term));
    }
  }
  for (const Toleration& each : row.tolerations) {
    parts.push_back(Text({each.key, each.exists ? "Exists" : "Equal", each.value,
                          std::to_string(static_cast<int>(each.effect))},
                         '~', '~'));
  }
  return Text(parts, '(', ')');
}

// The topology constraints of a member and of all sets above it.
std::vector<std::string> ConstraintsAbove(const World& world, int group,
                                          const std::string& member) {
  const TopologyConstraintRow wish = ConstraintOf(world, group, member);
  std::vector<std::string> constraints = {
      Text({wish.topology, wish.required_level, wish.preferred_level}, ':', ':')};
  for (const auto& [name, set] : world.group(group).shape->tree) {
    if (std::find(set.children.begin(), set.children.end(), member) == set.children.end()) continue;
    const std::vector<std::string> more = ConstraintsAbove(world, group, name);
    constraints.insert(constraints.end(), more.begin(), more.end());
  }
  return constraints;
}

std::string SignatureOf(const World& world, int group) {  // spec 2 H3
  std::vector<std::string> sets;
  for (const auto& [name, set] : world.group(group).shape->tree) {
    if (!set.is_leaf) continue;
    std::vector<std::string> pods;
    for (const int pod :
         PodsOfLeaf(world, group, name, [](PodStatus s) { return !IsActiveAllocated(s); })) {
      pods.push_back(PodSignature(world, *At(world.kept().pods, pod).row));
    }
    std::sort(pods.begin(), pods.end());
    const std::vector<std::string> constraints = ConstraintsAbove(world, group, name);
    sets.push_back(pods.empty() ? "" : Text(constraints, '|', '|') + Text(pods, '[', ']'));
  }
  std::sort(sets.begin(), sets.end());
  return Text(sets, '{', '}');
}

using Vector = std::vector<double>;
bool FitsIn(const Vector& a, const Vector& b) {
  for (size_t r = 0; r < a.size(); ++r) {
    if (a[r] > b[r]) return false;
  }
  return true;
}

std::vector<Vector> PendingVectors(const World& world, int group) {
  std::vector<Vector> vectors;
  for (const int pod :
       PodsWith(world, group, [](PodStatus s) { return s == PodStatus::kPending; })) {
    vectors.push_back(At(world.kept().pods, pod).request);
  }
  for (size_t i = 1; i < vectors.size(); ++i) {  // insertion sort, as the order is partial
    for (size_t j = i;
         j > 0 && FitsIn(vectors[j], vectors[j - 1]) && !FitsIn(vectors[j - 1], vectors[j]); --j) {
      std::swap(vectors[j], vectors[j - 1]);
    }
  }
  return vectors;
}

bool IsEasier(const std::vector<Vector>& p, const std::vector<Vector>& q) {  // spec 2 H4
  if (p.empty() || q.empty()) return false;
  if (q.size() > p.size()) return true;
  for (size_t i = 0; i < p.size(); ++i) {
    if (i >= q.size()) return false;
    if (FitsIn(p[i], q[i]) && !FitsIn(q[i], p[i])) return true;
  }
  return false;
}

bool IsNotLarger(const std::vector<Vector>& p, const std::vector<Vector>& q) {
  if (p.size() > q.size()) return false;
  for (size_t i = 0; i < p.size(); ++i) {
    if (!FitsIn(p[i], q[i])) return false;
  }
  return true;
}

// ---- the actions (spec 2 R1-R7, D1-D7) ----------------------------------------------------------

bool WaitsToEvict(const World& world, int group) {  // spec 2 D1
  const PodGroupRow& row = *At(world.kept().groups, group).row;
  const int64_t delay = row.preemption_delay_ns.value_or(0);
  if (delay <= 0) return false;
  for (const std::optional<int64_t>& since :
       {row.created_ns, world.group(group).last_eviction_ns}) {
    if (since && world.settings().now_ns < *since + delay) return true;
  }
  return false;
}

// True if a pod of the group got its place in this cycle.
bool WasPlacedNow(const World& world, int group) {
  return !PodsWith(world, group, [](PodStatus s) {
            return s == PodStatus::kAllocated || s == PodStatus::kPipelined;
          }).empty();
}

bool AnyPodNeedsNamespaces(const World& world, int group) {
  for (const int pod : PodsWith(world, group, [](PodStatus s) { return IsAlive(s); })) {
    if (NeedsNamespaces(world.kept().rows, *At(world.kept().pods, pod).row)) return true;
  }
  return false;
}

bool MayBeVictim(const World& world, const std::string& action, int waiting, int victim) {
  const Kept& kept = world.kept();
  const Kept::Group& mine = At(kept.groups, waiting);
  const Kept::Group& its = At(kept.groups, victim);
  if (victim == waiting || !its.preemptible || !kept.IsLeaf(its.queue)) return false;
  if (ActivePods(world, victim).empty() || AnyPodNeedsNamespaces(world, victim)) return false;
  const std::vector<int> active = ActivePods(world, victim);
  if (std::all_of(active.begin(), active.end(), [&](int pod) { return IsSpared(world, pod); })) {
    return false;
  }
  if (action == "reclaim") {
    return its.queue != mine.queue && PassesRuntimeFilter(world, action, waiting, victim) &&
           PassesProportionFilter(world, waiting, victim, NextRequestOf(world, waiting));
  }
  const std::vector<int> alive = PodsWith(world, victim, [](PodStatus s) { return IsAlive(s); });
  const bool known = std::any_of(alive.begin(), alive.end(), [&](int pod) {
    const bool waits = !IsActiveUsed(StatusOf(world, pod));
    return waits || NodeOf(world, pod) >= 0;  // spec 1 F99
  });
  // A pod that was evicted twice counts as two missing pods (decision 0008).
  const auto again = std::count_if(
      world.evicted_again().begin(), world.evicted_again().end(),
      [&](const auto& pod_and_node) { return GroupOf(world, pod_and_node.first) == victim; });
  if (static_cast<int64_t>(alive.size()) <= again) return false;
  const bool is_bare = std::any_of(active.begin(), active.end(), [&](int pod) {
    return At(kept.pods, pod).row->bare && At(world.pods(), pod).placed == 0;
  });
  if (action == "consolidation" && world.settings().switches.on(Switch::kBarePods) && is_bare)
    return false;
  if (action == "consolidation" || !known) return known;
  return its.queue == mine.queue && MattersMore(world, waiting, victim) &&
         PassesRuntimeFilter(world, action, waiting, victim);
}

std::vector<int> CandidatesFor(const World& world, const std::string& action, int waiting) {
  std::vector<int> candidates;
  for (size_t i = 0; i < world.kept().groups.size(); ++i) {
    const int group = static_cast<int>(i);
    if (MayBeVictim(world, action, waiting, group)) candidates.push_back(group);
  }
  const auto older = [&](int a, int b) { return GroupFirst(world, a, b); };
  std::sort(candidates.begin(), candidates.end(), older);
  const int64_t most = world.rows().params.max_consolidation_preemptees;
  const bool fixed = world.settings().switches.on(Switch::kConsolidationLimit);
  const auto taken = static_cast<size_t>(fixed ? most : most + 1);
  if (action != "consolidation" || most < 0 || candidates.size() <= taken) return candidates;
  // The groups that give up pods first (spec 2 R2 does not define which).
  std::vector<int> first;
  ForEachBase(world, candidates, {}, [&](const Batches& batches) {
    const int group = batches.empty() ? -1 : GroupOf(world, batches.back().front());
    if (group >= 0 && !Contains(first, group)) first.push_back(group);
    return first.size() == taken;
  });
  std::sort(first.begin(), first.end(), older);
  return first;
}

// The victims of a scenario as losses of queues (spec 1 F89).
std::vector<Chunk> ChunksOf(const World& before, const World& after,
                            const std::vector<int>& victims) {
  const Kept& kept = before.kept();
  const bool moved_count = !before.rows().params.allow_consolidating_reclaim;
  std::vector<int> queues;  // in the order of their first victims
  std::vector<int> groups;  // in the order of their first victims
  for (const int pod : victims) {
    const int group = GroupOf(before, pod);
    if (!Contains(groups, group)) groups.push_back(group);
    const int queue = At(kept.groups, group).queue;
    if (!Contains(queues, queue)) queues.push_back(queue);
  }
  std::vector<Chunk> chunks;
  for (const int queue : queues) {
    for (const int group : groups) {
      if (At(kept.groups, group).queue != queue) continue;
      const Chunk nothing{.queue = At(kept.queues, queue).row->name, .amount = {}, .mig_gpus = 0};
      const auto add = [&](int pod, Chunk* chunk) {
        const Kept::Pod& each = At(kept.pods, pod);
        chunk->amount += kept.Accepted(each, NodeOf(before, pod));
        chunk->mig_gpus += MigGpus(each.row->gpu);
      };
      Chunk core = nothing;
      bool has_core = false;
      std::map<std::string, int64_t> seen;  // number of victims by leaf
      for (const int pod : victims) {
        if (GroupOf(before, pod) != group) continue;
        const std::string leaf = SubGroupOf(*At(kept.pods, pod).row);
        const bool is_core = seen[leaf]++ < before.group(group).shape->tree.at(leaf).minimum;
        if (!moved_count && IsActiveAllocated(StatusOf(after, pod))) continue;
        if (is_core) {
          add(pod, &core);
          has_core = true;
        } else {
          chunks.push_back(nothing);
          add(pod, &chunks.back());
        }
      }
      if (has_core) chunks.push_back(core);
    }
  }
  return chunks;
}

std::map<std::string, std::string> ParentsOf(const Kept& kept) {
  std::map<std::string, std::string> parents;
  for (const Kept::Queue& queue : kept.queues) {
    parents[queue.row->name] = queue.parent < 0 ? "" : At(kept.queues, queue.parent).row->name;
  }
  return parents;
}

// What a group that lost pods requests next, once they wait: one of them, or all of its minimum.
std::vector<QuotaCount> ReturnsOf(const World& after, int group, const std::vector<int>& victims) {
  const Kept& kept = after.kept();
  std::vector<int> lost;
  std::vector<int> core;
  std::map<std::string, int64_t> seen;  // number of victims by leaf
  for (const int pod : victims) {
    if (GroupOf(after, pod) != group) continue;
    const std::string leaf = SubGroupOf(*At(kept.pods, pod).row);
    const bool is_core = seen[leaf]++ < after.group(group).shape->tree.at(leaf).minimum;
    if (IsActiveAllocated(StatusOf(after, pod))) continue;
    lost.push_back(pod);
    if (is_core) core.push_back(pod);
  }
  std::vector<QuotaCount> returns;
  if (IsAllocationSatisfied(after, group, "")) {
    for (const int pod : lost)
      returns.push_back(SumOfRequests(after, {pod}, kept.smallest_gpu_mib));
  } else if (!core.empty()) {
    returns.push_back(SumOfRequests(after, core, kept.smallest_gpu_mib));
  }
  return returns;
}

// True: a group that lost pods could reclaim them at once from the group that got their room.
bool MayBeTakenBack(const World& after, int waiting, const std::vector<int>& victims,
                    const QuotaCount& request) {
  const Kept& kept = after.kept();
  if (!after.settings().switches.on(Switch::kLastingReclaim) ||
      !At(kept.groups, waiting).preemptible)
    return false;
  const auto queue_of = [&](int group) {
    return At(kept.queues, At(kept.groups, group).queue).row->name;
  };
  std::set<int> losers;
  for (const int pod : victims) losers.insert(GroupOf(after, pod));
  return std::any_of(losers.begin(), losers.end(), [&](int group) {
    const std::vector<QuotaCount> returns = ReturnsOf(after, group, victims);
    return std::any_of(returns.begin(), returns.end(), [&](const QuotaCount& returning) {
      return MayStart(after, group, returning) &&
             PassesProportionFilter(after, group, waiting, returning) &&
             MayReclaim(NumbersOf(after), ParentsOf(kept),
                        {.queue = queue_of(group), .preemptible = true, .request = returning},
                        {{.queue = queue_of(waiting), .amount = request, .mig_gpus = 0}},
                        after.settings().saturation_multiplier);
    });
  });
}

std::function<bool(const World&, const Scenario&)> ValidatorFor(const World& world,
                                                                const std::string& action,
                                                                int waiting) {
  if (action == "consolidation") {
    return [](const World& after, const Scenario& scenario) {
      for (const int pod : Joined(scenario.recorded, scenario.potential)) {
        if (StatusOf(after, pod) == PodStatus::kReleasing) return false;
      }
      return true;
    };
  }
  return [&world, action, waiting](const World& after, const Scenario& scenario) {
    const std::vector<int> victims = Joined(scenario.recorded, scenario.potential);
    if (!PassesRuntimeValidator(after, action, waiting, victims)) return false;
    if (action == "preempt" || !world.settings().Has("proportion")) return true;
    const Kept& kept = world.kept();
    const Kept::Group& group = At(kept.groups, waiting);
    const QuotaCount request = SumOfRequests(world, scenario.pending, kept.smallest_gpu_mib);
    return MayReclaim(NumbersOf(world), ParentsOf(kept),
                      {.queue = At(kept.queues, group.queue).row->name,
                       .preemptible = group.preemptible,
                       .request = request},
                      ChunksOf(world, after, victims), world.settings().saturation_multiplier) &&
           !MayBeTakenBack(after, waiting, victims, request);
  };
}

// spec 2 R2, spec 3 N13: true if all GPUs of ready nodes together suffice, and their memory.
bool HasRoomAtAll(const World& world, const std::vector<int>& tasks) {
  const Kept& kept = world.kept();
  double gpus = 0;
  double mib = 0;
  for (size_t i = 0; i < kept.nodes.size(); ++i) {
    if (!IsOpen(*kept.nodes[i])) continue;
    const int node = static_cast<int>(i);
    gpus += RoomInGpus(world, node);
    mib += SumsOf(world.gpus(node), MemoryOfGpu(*kept.nodes[i])).mib;
  }
  double wanted_mib = 0;
  for (const int pod : tasks) {
    const GpuRequest& gpu = At(kept.pods, pod).row->gpu;
    if (gpu.kind != GpuRequestKind::kMemory) continue;
    wanted_mib += static_cast<double>(gpu.memory_mib);  // of one device
  }
  return SumOfRequests(world, tasks, 0)[2] <= gpus + 1e-6 && wanted_mib <= mib;
}

Search SearchFor(const World& world, const std::string& action, int group) {
  Search search;
  search.action = action;
  search.group = group;
  search.tasks = Tasks(world, group);
  search.candidates = CandidatesFor(world, action, group);
  search.validate = ValidatorFor(world, action, group);
  const std::vector<int> pods = AllPods(world, group);
  const bool all_gpu = std::all_of(
      pods.begin(), pods.end(), [&](int pod) { return AnyGpu(*At(world.kept().pods, pod).row); });
  for (size_t i = 0; i < world.kept().nodes.size(); ++i) {  // spec 2 V3
    const int node = static_cast<int>(i);
    search.rooms.push_back(RoomInGpus(world, node));
    if (!all_gpu || HasGpusToGive(world, node)) search.feasible.insert(node);
  }
  return search;
}

// True if satisfied gangs would stay satisfied, or leave completely.
bool LeavesGangsWhole(const World& world, const std::vector<int>& victims) {
  std::set<int> groups;
  for (const int pod : victims) groups.insert(GroupOf(world, pod));
  return std::all_of(groups.begin(), groups.end(), [&](int group) {
    const std::vector<int> active = ActivePods(world, group);
    const std::vector<int> left = Without(active, victims);
    const SetTree& tree = world.group(group).shape->tree;
    return left.empty() ||
           !IsAllocationSatisfied(Narrowed(world, group, tree, active), group, "") ||
           IsAllocationSatisfied(Narrowed(world, group, tree, left), group, "");
  });
}

int64_t Evictions(const Solution& solution) {
  return std::count_if(solution.decisions.begin(), solution.decisions.end(),
                       [](const auto& each) { return each.kind == Decision::Kind::kEvict; });
}

// Tries every smaller set of the candidates' running pods.
void CountExcess(const World& world, const Search& search, const Solution& solution,
                 size_t most_pods, std::vector<Excess>* found) {
  std::vector<int> pods;
  for (const int group : search.candidates) pods = Joined(pods, ActivePods(world, group));
  if (pods.size() > most_pods) return;
  const auto used = [&](const World& at) {
    return PodsWith(at, search.group, [](PodStatus s) { return IsActiveUsed(s); }).size();
  };
  Excess excess{.action = search.action,
                .victims = Evictions(solution),
                .fewest = Evictions(solution),
                .candidates = static_cast<int64_t>(pods.size())};
  for (uint32_t set = 1; set < uint32_t{1} << pods.size(); ++set) {
    if (std::popcount(set) >= excess.fewest) continue;
    std::vector<int> victims;
    for (size_t i = 0; i < pods.size(); ++i) {
      if ((set >> i & 1) != 0) victims.push_back(pods[i]);
    }
    if (!LeavesGangsWhole(world, victims)) continue;
    const std::optional<Solution> other =
        Simulate(world, search, {.pending = search.tasks, .recorded = {}, .potential = victims});
    if (other && IsGangSatisfied(other->world, search.group, "") &&
        used(other->world) > used(world)) {
      excess.fewest = Evictions(*other);
    }
  }
  found->push_back(excess);
}

// Called for every search that found a solution.
using Observer = std::function<void(const World&, const Search&, const Solution&)>;

// spec 2 R1, after all reasons to skip the job.
std::optional<Solution> TrySolve(const World& world, const std::string& action, int group,
                                 const Observer& observer) {
  const Search search = SearchFor(world, action, group);
  if (action == "consolidation" && !HasRoomAtAll(world, search.tasks)) return std::nullopt;
  if (action == "preempt" && world.settings().Has("proportion") &&
      !FitsQuotas(world, group, SumOfRequests(world, search.tasks, world.kept().largest_gpu_mib))) {
    return std::nullopt;
  }
  std::optional<Solution> solution = Solve(world, search);
  if (solution && observer) observer(world, search, *solution);
  return solution;
}

// The places of a group with required affinity, if it has some without any eviction: beside pods
// that got theirs after its own turn to allocate (spec 2 W11).
std::optional<Simulation> PlacesOf(const World& world, const Search& search) {
  const Settings& settings = world.settings();
  if (!settings.switches.on(Switch::kLeavingPods) || !settings.Has("predicates") ||
      std::all_of(search.tasks.begin(), search.tasks.end(), [&](int pod) {
        return At(world.kept().pods, pod).row->affinity.required.empty();
      }))
    return std::nullopt;
  Simulation trial(world, search.feasible);
  if (!trial.PlaceGroup(search.group) || !IsGangSatisfied(trial.world(), search.group, ""))
    return std::nullopt;
  return trial;
}

std::vector<Decision> MakeRoom(World* world, const std::string& action,
                               const std::vector<std::string>& signatures,
                               const Observer& observer) {
  const Kept& kept = world->kept();
  const Settings& settings = world->settings();
  std::vector<Decision> plan;
  if (action == "consolidation" && world->rows().params.max_consolidation_preemptees == 0) {
    return plan;
  }
  const auto depth = settings.eviction_depths.find(action);
  QueueTree jobs(world, depth == settings.eviction_depths.end() ? -1 : depth->second);
  for (const std::string& name : Candidates(*world)) {
    const int group = kept.GroupIndex(name);
    if (WaitsToEvict(*world, group)) continue;
    if (action == "consolidation" && !At(kept.groups, group).preemptible) continue;
    jobs.Push(name);
  }
  const bool skips = world->rows().params.use_scheduling_signatures &&
                     !settings.switches.on(Switch::kSignatureSkip);
  std::map<std::pair<int, std::string>, int> representatives;  // by queue; by -1 for consolidation
  while (!jobs.empty()) {
    const int group = kept.GroupIndex(jobs.Pop());
    if (action == "reclaim" && !MayStart(*world, group, NextRequestOf(*world, group))) continue;
    // The action itself has taken pods of it, and the rest is not a gang any more (switch
    // whole_gangs).
    if (settings.switches.on(Switch::kWholeGangs) && !IsReady(*world, group, "")) continue;
    const std::pair<int, std::string> key = {
        action == "consolidation" ? -1 : At(kept.groups, group).queue, At(signatures, group)};
    const auto found = representatives.find(key);
    if (skips && found != representatives.end() &&
        !IsEasier(PendingVectors(*world, group), PendingVectors(*world, found->second))) {
      continue;
    }
    const std::vector<int> tasks = Tasks(*world, group);
    if (settings.Has("predicates") &&  // spec 2 R7
        !std::all_of(tasks.begin(), tasks.end(),
                     [&](int pod) { return PassesPodChecks(*world, pod); })) {
      continue;
    }
    if (const auto places = PlacesOf(*world, SearchFor(*world, action, group))) {
      plan.insert(plan.end(), places->pipelined().begin(), places->pipelined().end());
      *world = places->world();
      continue;
    }
    std::optional<Solution> solution = TrySolve(*world, action, group, observer);
    if (!solution) {
      if (found == representatives.end() ||
          IsNotLarger(PendingVectors(*world, group), PendingVectors(*world, found->second))) {
        representatives[key] = group;
      }
      continue;
    }
    plan.insert(plan.end(), solution->decisions.begin(), solution->decisions.end());
    *world = solution->world;
    for (World::PodState& state : *world->mutable_pods()) state.is_virtual = false;  // committed
  }
  return plan;
}

// spec 2 D4-D6
std::vector<Decision> EndStaleGangs(World* world) {
  const Kept& kept = world->kept();
  const Settings& settings = world->settings();
  std::vector<int> groups;
  for (size_t i = 0; i < kept.groups.size(); ++i) groups.push_back(static_cast<int>(i));
  std::sort(groups.begin(), groups.end(), [&](int a, int b) { return GroupFirst(*world, a, b); });
  std::vector<Decision> plan;
  for (const int group : groups) {
    const PodGroupRow& row = *At(kept.groups, group).row;
    const auto has = [&](const auto& test) { return !PodsWith(*world, group, test).empty(); };
    const bool stale = !has([](PodStatus s) { return s == PodStatus::kSucceeded; }) &&
                       has([](PodStatus s) { return IsActiveUsed(s); }) &&
                       !IsGangSatisfied(*world, group, "");
    if (!stale) continue;
    if (settings.switches.on(Switch::kSameCycleEviction) && WasPlacedNow(*world, group)) continue;
    const int64_t grace =
        row.staleness_grace_ns.value_or(world->rows().params.default_staleness_grace_ns);
    const int64_t age = settings.now_ns - row.stale_since_ns.value_or(settings.now_ns);
    if (grace < 0 || age < grace) continue;
    for (const int pod : ActivePods(*world, group)) {
      const std::string name = NameOf(*world, pod);
      world->Evict(name);
      (*world->mutable_pods())[static_cast<size_t>(pod)].is_virtual = false;
      plan.push_back({.kind = Decision::Kind::kEvict, .pod = name, .action = "stalegangeviction"});
    }
  }
  return plan;
}

std::vector<int> IndicesOf(const World& world, const std::vector<std::string>& pods) {
  std::vector<int> indices;
  for (const std::string& pod : pods) indices.push_back(world.kept().PodIndex(pod));
  return indices;
}
std::vector<int> GroupIndicesOf(const World& world, const std::vector<std::string>& names) {
  std::vector<int> groups;
  for (const std::string& name : names) groups.push_back(world.kept().GroupIndex(name));
  std::sort(groups.begin(), groups.end(), [&](int a, int b) { return GroupFirst(world, a, b); });
  return groups;
}

std::vector<Decision> Run(World* world, const std::vector<std::string>& actions,
                          const Observer& observer) {
  std::vector<std::string> signatures;  // of the snapshot (spec 2 H1)
  for (size_t i = 0; i < world->kept().groups.size(); ++i) {
    signatures.push_back(SignatureOf(*world, static_cast<int>(i)));
  }
  std::vector<Decision> plan;
  for (const std::string& action : actions) {
    const std::vector<Decision> more = action == "allocate" ? Allocate(world)
                                       : action == "stalegangeviction"
                                           ? EndStaleGangs(world)
                                           : MakeRoom(world, action, signatures, observer);
    plan.insert(plan.end(), more.begin(), more.end());
  }
  return plan;
}

}  // namespace

// ---- public functions ---------------------------------------------------------------------------

std::vector<Decision> RunCycle(World* world, const std::vector<std::string>& actions) {
  return Run(world, actions, nullptr);
}

std::vector<Excess> ExcessOf(World* world, const std::vector<std::string>& actions,
                             size_t most_pods) {
  std::vector<Excess> found;
  Run(world, actions, [&](const World& before, const Search& search, const Solution& solution) {
    CountExcess(before, search, solution, most_pods, &found);
  });
  return found;
}

std::vector<std::string> NextBatch(const World& world, std::string_view pod_group,
                                   const std::vector<std::string>& pods) {
  const int group = world.kept().GroupIndex(pod_group);
  return NamesOf(
      world,
      Batch(Narrowed(world, group, world.group(group).shape->tree, IndicesOf(world, pods)), group));
}

std::vector<std::string> VictimOrder(const World& world, const std::vector<std::string>& groups) {
  std::vector<std::string> names;
  for (const int group : WholeGroupsInOrder(world, GroupIndicesOf(world, groups))) {
    names.push_back(NameOfGroup(world, group));
  }
  return names;
}

std::vector<std::vector<std::string>> Bases(const World& world,
                                            const std::vector<std::string>& groups,
                                            const std::vector<std::string>& recorded) {
  std::vector<std::vector<std::string>> bases;
  ForEachBase(world, GroupIndicesOf(world, groups), IndicesOf(world, recorded),
              [&](const Batches& batches) {
                bases.push_back(NamesOf(world, Flat(batches)));
                return false;
              });
  return bases;
}

std::vector<size_t> PrefixSizes(const std::vector<double>& capacities, double missing) {
  size_t size = 0;
  for (double sum = 0; sum < missing; ++size) {
    if (size == capacities.size()) return {};
    sum += capacities[size];
  }
  std::vector<size_t> sizes = {size};
  for (size_t step = 1; size < capacities.size(); step *= 2) {
    size = std::min(size + step, capacities.size());
    sizes.push_back(size);
  }
  return sizes;
}

bool MayReclaim(const std::map<std::string, QueueNumbers>& numbers,
                const std::map<std::string, std::string>& parents, const Claim& claim,
                const std::vector<Chunk>& chunks, double multiplier) {
  const auto path_up = [&](const std::string& queue) {
    std::vector<std::string> path;
    for (std::string at = queue; !at.empty(); at = parents.at(at)) path.push_back(at);
    return path;
  };
  std::map<std::string, QuotaCount> remaining;
  const auto remaining_of = [&](const std::string& queue) {
    const auto found = remaining.find(queue);
    return found == remaining.end() ? numbers.at(queue).allocated : found->second;
  };
  const auto without_mig = [](const QuotaCount& amount, double mig_gpus) {
    return Three{amount[0], amount[1], amount[2] - mig_gpus};
  };
  std::map<std::string, std::array<bool, 3>> involved;
  for (const Chunk& chunk : chunks) {
    if (const auto pair = Leveled(path_up(claim.queue), path_up(chunk.queue))) {  // spec 1 F90
      const QueueNumbers& x = numbers.at(pair->first);
      const QueueNumbers& y = numbers.at(pair->second);
      const QuotaCount left = remaining_of(pair->second);
      const bool over_share = Exceeds(left, AllocatableOf(y));
      const bool owed =
          AtMost(x.allocated + claim.request, x.deserved) && Exceeds(left, y.deserved);
      if (!over_share && !owed) return false;
    }
    for (const std::string& queue : path_up(chunk.queue)) {  // spec 1 F91
      remaining[queue] = remaining_of(queue) - chunk.amount;
      const Three generic = without_mig(chunk.amount, chunk.mig_gpus);
      for (size_t r = 0; r < 3; ++r) involved[queue][r] = involved[queue][r] || generic[r] > 0;
    }
  }
  const auto saturation = [](double amount, double share) {
    if (share == 0) return amount > 0 ? std::numeric_limits<double>::infinity() : 0.0;
    return share == -1 ? 0.0 : amount / share;
  };
  for (const std::string& queue : path_up(claim.queue)) {  // spec 1 F92
    const QueueNumbers& mine = numbers.at(queue);
    const QuotaCount with_request = remaining_of(queue) + claim.request;
    for (const auto& [sibling, left] : remaining) {
      if (sibling == queue || parents.at(sibling) != parents.at(queue)) continue;
      const QueueNumbers& its = numbers.at(sibling);
      for (size_t r = 0; r < 3; ++r) {
        if (!involved.at(sibling)[r] && without_mig(claim.request, claim.mig_gpus)[r] <= 0)
          continue;
        if (mine.fair_share[r] == -1 && its.fair_share[r] == -1) continue;
        const double ratio = saturation(with_request[r], mine.fair_share[r]);
        if (ratio > 1 && its.fair_share[r] > 0 &&
            ratio * multiplier >= saturation(left[r], its.fair_share[r])) {
          return false;
        }
      }
    }
    if (!claim.preemptible &&
        !AtMost(mine.allocated_non_preemptible + claim.request, mine.deserved)) {
      return false;
    }
  }
  return true;
}

int64_t MinRuntimeNs(const World& world, const std::string& action, std::string_view waiting,
                     std::string_view victim) {
  return RuntimeOf(world, action, world.kept().QueueIndex(waiting),
                   world.kept().QueueIndex(victim));
}

}  // namespace kai::oracle

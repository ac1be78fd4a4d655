// The oracle's version of topology (spec 4 A1-A12, S1-S3): which node sets a part of a pod group
// tries, the scores of its nodes, and the recursion over the tree of sub-groups. Like
// slow_oracle.h, it is as plain as possible. A tree is built again for every call.
//
//   NodeSets sets = NodeSetsFor(world, {.group = group, .member = "workers", .tasks = tasks},
//                               nodes);
//   for (const std::set<int>& nodes : sets.sets) ...           // the first that works is used
//
//   Attempt attempt{.group = group};
//   if (PlaceMember("", tasks, nodes, &attempt, &trial)) ...   // the whole group (spec 4 R1)
#ifndef KAI_TESTING_ORACLE_SLOW_TOPOLOGY_H_
#define KAI_TESTING_ORACLE_SLOW_TOPOLOGY_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kai/testing/oracle/slow_oracle.h"

namespace kai::oracle::parts {

// The constraint of a member of a group's tree ("" is the root); levels are labels (spec 4 T4, C4).
// Without a topology there is no constraint.
TopologyConstraintRow ConstraintOf(const World& world, int group, const std::string& member);

// The pods of one step below a member.
struct StepBelow {
  int group = -1;
  std::string member;
  std::vector<int> tasks;
};
// In the order in which they are tried (spec 4 N1, A12); empty: it cannot be placed.
struct NodeSets {
  std::vector<std::set<int>> sets;
  std::optional<NodeScores> scores = {};  // spec 4 S1; empty without a preferred level
};
NodeSets NodeSetsFor(const World& world, const StepBelow& step, const std::set<int>& nodes);

// One attempt to place the next pods of a group.
struct Attempt {
  int group = -1;
  std::map<std::string, NodeScores> scores = {};  // by member (spec 4 S3)
  std::vector<std::string> failed = {};  // the member that found no place last, and its ancestors
};
// The scores for the pods of a leaf (spec 4 S3), or null.
const NodeScores* ScoresFor(const World& world, const Attempt& attempt, const std::string& leaf);

std::vector<int> TasksBelow(const World& world, int group, const std::string& member,
                            const std::vector<int>& tasks);

// spec 4 R1 (and spec 2 P1): places the member's pods of this step, all or none. A Trial is a world
// in which pods can be placed and that can be copied:
//
//   const World& world() const;
//   bool PlacePod(int pod, const std::set<int>& nodes, const NodeScores* scores);
template <typename Trial>
bool PlaceMember(const std::string& member, const std::vector<int>& tasks,
                 const std::set<int>& nodes, Attempt* attempt, Trial* trial) {
  if (tasks.empty()) return true;
  const int group = attempt->group;
  const Set set = trial->world().group(group).shape->tree.at(member);
  const NodeSets offered =
      NodeSetsFor(trial->world(), {.group = group, .member = member, .tasks = tasks}, nodes);
  if (offered.scores) attempt->scores[member] = *offered.scores;
  attempt->failed.clear();
  for (const std::set<int>& offer : offered.sets) {
    const Trial before = *trial;
    attempt->failed.clear();
    bool placed = true;
    if (set.is_leaf) {
      for (const int pod : tasks) {
        placed = placed && trial->PlacePod(pod, offer, ScoresFor(before.world(), *attempt, member));
      }
    } else {
      for (const std::string& child : MembersInOrder(before.world(), group, set)) {
        placed = placed && PlaceMember(child, TasksBelow(before.world(), group, child, tasks),
                                       offer, attempt, trial);
      }
    }
    if (placed) return true;
    *trial = before;
  }
  attempt->failed.push_back(member);
  return false;
}

// The filter TopologyAwareIdleGpus (spec 4 F4, F5): true if the sets of the group that require a
// domain may find their GPUs in one. `rooms`: the GPUs of nodes that are idle, releasing or freed
// by victims.
bool DomainsHaveGpus(const World& world, int group, const Shape& part,
                     const std::vector<double>& rooms);

}  // namespace kai::oracle::parts

#endif  // KAI_TESTING_ORACLE_SLOW_TOPOLOGY_H_

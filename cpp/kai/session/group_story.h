// GroupStory: facts about one pod group after a plan, for people: the requests of its pods, where
// they run, the decisions about them, and the groups for which they are evicted.
//
//   const std::vector<PodGroupId> groups = GroupsCalled(cluster, name);
//
// Invariants: stories depend on the plan alone; lists are sorted by the names of pods or, for
// decisions, in the order of decisions. GPUs are devices, or parts of them. Cost: O(pods +
// decisions) for any number of groups; GroupsCalled() is a comparison per group, and per pod if no
// group has the name. Threads: pure functions of a plan that does not change.
#ifndef KAI_SESSION_GROUP_STORY_H_
#define KAI_SESSION_GROUP_STORY_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/session/device_sum.h"
#include "kai/session/plan.h"

namespace kai {

// Pairs of an amount and how many have or request it; ascending.
using Amounts = std::vector<std::pair<double, int64_t>>;

struct GroupStory {
  struct OnNode {
    NodeId node;
    int64_t pods = 0;
  };
  struct Cause {
    std::string_view action;
    PodGroupId for_group;  // invalid: for no group
    int64_t pods = 0;
  };

  int64_t least = 0;                // pods that have to start together
  Amounts pods;                     // GpusOf() of all its pods; 0 for those that have ended
  Amounts waiting;                  // of the pods that waited when the cycle began
  std::vector<PodClassId> classes;  // of the same; ascending, each once
  PodId sharer;                     // the first of those that requests parts of devices, or invalid
  int64_t placed = 0;               // pods that had a node and keep a place
  std::vector<OnNode> running;      // without pods that are evicted
  std::vector<OnNode> bound;
  std::vector<OnNode> promised;
  int64_t evicted = 0;        // pods that are evicted
  int64_t lost = 0;           // evicted pods without a promise
  std::vector<Cause> causes;  // of `evicted`, from the last decision about each pod
  bool moves = false;         // all promises are for evicted pods
};

std::vector<GroupStory> StoriesOf(const Plan& plan, std::span<const PodGroupId> groups);

// Pod groups with this name, "ns/name" or the name alone. If there is none, the groups of pods with
// this name; if there is none, those of workloads.
std::vector<PodGroupId> GroupsCalled(const Cluster& cluster, std::string_view name);
// Pods with this name, also those of no pod group.
std::vector<PodId> PodsCalled(const Cluster& cluster, std::string_view name);

}  // namespace kai

#endif  // KAI_SESSION_GROUP_STORY_H_

// GroupStory: what a person wants to know of one pod group after a plan: how many pods ask for how
// much, where they stand, what was decided about them and what they have to make room for.
//
//   const std::vector<PodGroupId> groups = GroupsCalled(cluster, name);
//
// Invariants: stories depend on the plan alone; lists are in the order of pods' names or, of what
// was decided, of the decisions. GPUs are devices, or parts of them. Cost: O(pods + decisions),
// however many groups are asked about; GroupsCalled() is a comparison per group, and per pod where
// no group has the name. Threads: pure functions of a plan that does not change.
#ifndef KAI_SESSION_GROUP_STORY_H_
#define KAI_SESSION_GROUP_STORY_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/session/plan.h"

namespace kai {

// What a pod asks for; 0 where it asks for memory of a GPU.
double GpusOf(PodId pod, const Cluster& cluster);

// How much, and how many have or ask for as much; the smallest first.
using Amounts = std::vector<std::pair<double, int64_t>>;

struct GroupStory {
  struct OnNode {
    NodeId node;
    int64_t pods = 0;
  };
  struct Cause {
    std::string_view action;
    PodGroupId for_group;  // invalid: for none
    int64_t pods = 0;
  };

  int64_t least = 0;   // pods that must start together
  Amounts pods;        // GpusOf() all its pods
  Amounts waiting;     // of those that waited as the cycle began
  PodId sharer;        // the first of them that asks for parts of devices; invalid: none does
  int64_t placed = 0;  // pods that stood on a node and keep a place
  std::vector<OnNode> running;  // without pods that have to leave
  std::vector<OnNode> bound;
  std::vector<OnNode> promised;
  int64_t evicted = 0;        // pods that have to leave where they are, and of these
  int64_t lost = 0;           // those that are promised nothing
  std::vector<Cause> causes;  // of `evicted`, by the last decision about each
  bool moves = false;         // whatever is promised is for pods that have to leave
};

std::vector<GroupStory> StoriesOf(const Plan& plan, std::span<const PodGroupId> groups);

// Pod groups of that name, "ns/name" or the name alone; else those of pods that have it, else those
// of workloads.
std::vector<PodGroupId> GroupsCalled(const Cluster& cluster, std::string_view name);

}  // namespace kai

#endif  // KAI_SESSION_GROUP_STORY_H_

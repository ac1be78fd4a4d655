// Holders: who holds the GPUs, CPUs or other resources that a waiting group would need, and why
// they are not evicted for it; and how much its nodes would have if all left that nothing protects.
// Computed on request, for explanations.
//
//   HoldersOf(plan, account, config, groups, places)    // for each group, by resource
//   ToPython(WordOf(each.why))
//
// Invariants: it depends on plan and configuration alone; rows are sorted by amount, most first.
// The rules are those of the actions `reclaim` and `preempt` for one group; what they leave open
// counts as if it could leave, so a request for more than `room` has cannot be helped by evictions.
// Cost: O(pods + nodes), and O(groups) for each resource and each different queue, priority and set
// of nodes of the waiting groups. Threads: a pure function of a plan that does not change.
#ifndef KAI_SESSION_HOLDERS_H_
#define KAI_SESSION_HOLDERS_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kai/session/config.h"
#include "kai/session/group_places.h"
#include "kai/session/plan.h"

namespace kai {

// Groups of one queue that stay for the same cause.
struct Holders {
  enum class Why : uint8_t {
    kNonPreemptible,
    kProtected,    // by a minimum run time (spec 1 F102-F104)
    kNotLower,     // of the group's own queue, with the same priority or a higher one
    kWithinShare,  // of a queue below `level`, which holds no more than its fair share
    kMayLeave,     // nothing of these protects them
    kOverShare,    // of other queues: with the request, `level` would exceed its fair share
    kNoGroup,      // pods of no pod group: this scheduler evicts none of them
  };

  Why why = Why::kMayLeave;
  QueueId queue;  // kNoGroup: invalid
  // kWithinShare: the queue itself, or the one above it that is compared; kOverShare: the queue of
  // the group that waits.
  QueueId level;
  int64_t groups = 0;      // kNoGroup: pods
  double amount = 0;       // in units for people
  PodGroupId first;        // by name; kProtected: the one whose protection ends first
  PodId first_pod;         // kNoGroup: by name
  int64_t until_ns = 0;    // kProtected: when that ends
  int64_t runtime_ns = 0;  // kProtected: the minimum run time
};

std::string_view WordOf(Holders::Why why);

// Of one resource. All amounts are in units for people.
struct HeldPlaces {
  ResourceSlot slot = kGpuSlot;
  std::vector<Holders> holders = {};
  // Of the nodes that could take its pods: what is free after the plan, with what pods hold that
  // leave or may leave, and how many nodes have as much. `own_room`: if only its own queue may lose
  // any.
  Amounts room = {};
  Amounts own_room = {};
  // Of a resource other than GPUs: a pod requests `requested`, and `nearest` has the most free of
  // the nodes that have too little.
  double requested = 0;
  NodeId nearest = {};
  double free = 0;
};

// For each group, with where its pods could run: GPUs first, on all these nodes or, if its pods
// must run in one domain, on those of the best one. Then the other resources that are short on some
// of these nodes, each on the nodes that lack nothing else or, if there are none, on all that lack
// it.
std::vector<std::vector<HeldPlaces>> HoldersOf(const Plan& plan, const GpuAccount& account,
                                               const Config& config,
                                               std::span<const PodGroupId> groups,
                                               std::span<const GroupPlaces> places);

}  // namespace kai

#endif  // KAI_SESSION_HOLDERS_H_

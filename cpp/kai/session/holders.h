// Holders: who holds the GPUs that a waiting group would need, and why they are not evicted for it;
// and how many GPUs its nodes would have if all left that nothing protects. Computed on request,
// for explanations.
//
//   HoldersOf(plan, account, config, groups, places)
//   ToPython(WordOf(each.why))
//
// Invariants: it depends on plan and configuration alone; rows are sorted by GPUs, most first. The
// rules are those of the actions `reclaim` and `preempt` for one group; what they leave open counts
// as if it could leave, so a request for more GPUs than `room` has cannot be helped by evictions.
// Cost: O(pods), and O(groups with GPUs) for each different queue, priority and set of nodes of the
// waiting groups. Threads: a pure function of a plan that does not change.
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
  };

  Why why = Why::kMayLeave;
  QueueId queue;
  QueueId level;  // kWithinShare: the queue itself, or the one above it that is compared
  int64_t groups = 0;
  double gpus = 0;
  PodGroupId first;        // by name; kProtected: the one whose protection ends first
  int64_t until_ns = 0;    // kProtected: when that ends
  int64_t runtime_ns = 0;  // kProtected: the minimum run time
};

std::string_view WordOf(Holders::Why why);

struct HeldPlaces {
  std::vector<Holders> holders;
  // Of the nodes that could take its pods: the GPUs that are free after the plan, with those of
  // pods that leave or may leave, and how many nodes have as many. `own_room`: if only its own
  // queue may lose any.
  Amounts room;
  Amounts own_room;
};

// For each group, with where its pods could run.
std::vector<HeldPlaces> HoldersOf(const Plan& plan, const GpuAccount& account, const Config& config,
                                  std::span<const PodGroupId> groups,
                                  std::span<const GroupPlaces> places);

}  // namespace kai

#endif  // KAI_SESSION_HOLDERS_H_

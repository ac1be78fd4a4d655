// JobOrder: orders the pod groups of a queue by a policy from the literature: by age, by remaining
// run time, by received service (docs/howto/job-orders.md has the sources).
//
//   order.emplace(*cluster, *pods, options, *service);                 // of a JobOrder
//   return order->IsBetter(Group(a), Group(b));                        // a's key is below b's
//
// Each group has a key, computed from the cluster and the time at the start of the cycle; the lower
// key goes first. Groups with equal keys keep KAI's order. Keys are fractions of whole numbers, so
// that no comparison rounds.
//
// Invariants: all keys are for one time; decisions of the cycle do not change them. It contains the
// groups that wait, may lose pods or are notable; no other group may be used. Cost: made in
// O(groups · log + pods of running groups); some policies also count the pods of waiting groups.
// Not thread-safe.
#ifndef KAI_ACTIONS_JOB_ORDER_H_
#define KAI_ACTIONS_JOB_ORDER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/actions/cycle_time.h"
#include "kai/placement/attained_service.h"
#include "kai/placement/group_classes.h"
#include "kai/placement/pod_order.h"

namespace kai {

enum class JobPolicy : uint8_t {
  kFifo,               // the oldest first
  kShortest,           // the shortest estimate first
  kShortestRemaining,  // the shortest rest of the estimate first
  kLeastService,       // the least run time first, in levels
  kLeastGpuService,    // the least GPU time first, in levels
  kFinishTime,         // the largest finish-time ratio first (arrival to end / time alone)
  kMultifactor,        // the highest weighted sum of age, size and priority first
};
// The names in configurations, in the order of the enumeration.
inline constexpr std::array<std::string_view, 7> kJobPolicyNames = {
    "fifo", "sjf", "srtf", "las", "2d-las", "finish-time", "multifactor"};
std::optional<JobPolicy> JobPolicyOf(std::string_view name);

struct JobOrderOptions {
  JobPolicy policy = JobPolicy::kFifo;
  bool preempts = false;         // a group with a better key may evict one with a worse key
  bool within_priority = false;  // orders only groups of equal priority
  // The ends of levels, ascending: nanoseconds, or GPU-nanoseconds.
  std::vector<int64_t> thresholds_ns = {};
  int64_t lease_ns = 0;  // time after its start in which a group keeps its position
  // For multifactor.
  int64_t weight_age = 0;
  int64_t weight_size = 0;
  int64_t weight_priority = 0;
  int64_t max_age_ns = 1;
  bool favor_small = false;
};

class JobOrder {
 public:
  // `order` must be in the state before any change of the cycle; keys are for the time of
  // `service`.
  JobOrder(const Cluster& cluster, const PodOrder& order, const JobOrderOptions& options,
           const AttainedService& service);

  const JobOrderOptions& options() const { return options_; }

  bool IsBetter(PodGroupId a, PodGroupId b) const { return rank_[a] < rank_[b]; }
  // True: better than some group of its queue that may lose pods.
  bool IsBetterThanSome(PodGroupId group) const {
    return rank_[group] < worst_[cluster_.pod_groups().queue[group]];
  }
  // The positions of groups that are otherwise equal: by key, then age, then name.
  const IndexVector<PodGroupId, int64_t>& places() const { return place_; }
  // The groups of a class, by their positions. Valid as long as this object.
  std::span<const PodGroupId> GroupsOf(const GroupClasses& classes, GroupClassId id) const;

  // Notes when the order changes. `every`: all changes count; otherwise only changes that give
  // preempt other victims. Changes in the order of attempts of the other actions then do not count.
  void NoteChanges(bool every, CycleTime* time) const;

 private:
  __extension__ using Int128 = __int128;

  struct Job : GroupService {
    PodGroupId group;
    QueueId queue;
    bool waits = false;
    // The key is value / per. It changes by slope / per in a nanosecond, until step_ns.
    Int128 value = 0;
    int64_t per = 1;
    int64_t slope = 0;
    int64_t step_ns = CycleTime::kNever;
  };
  // Values that keys use besides the group itself.
  struct Whole {
    IndexVector<QueueId, int64_t> groups;  // number of groups with pods
    int64_t micro_gpus = 0;                // of all nodes
    int64_t highest_priority = 0;
  };

  void List(const AttainedService& service);
  Whole Count(const PodOrder& order) const;
  void SetKey(const PodOrder& order, const Whole& whole, Job* job) const;
  void SetLevel(Job* job) const;
  void SetFinishTime(const PodOrder& order, const Whole& whole, Job* job) const;
  void SetPriority(const PodOrder& order, const Whole& whole, Job* job) const;
  void Rank();
  static int Compare(const Job& a, const Job& b);
  // The first nanosecond from now on when `later` is no longer worse than `first`, or, with
  // `passes`, is better.
  static int64_t NextMeeting(const Job& first, const Job& later, bool passes);
  // The time until a waiting group may evict a running one.
  int64_t NextGain() const;
  int64_t NextGainOver(const Job& first, const Job& waiting) const;
  int32_t PriorityOf(const Job& job) const { return cluster_.pod_groups().priority[job.group]; }
  int64_t NextOfAll() const;
  int64_t RemainingNs(const Job& job) const;

  const Cluster& cluster_;
  JobOrderOptions options_;
  int64_t now_ns_;
  bool any_waits_ = false;
  std::vector<Job> jobs_;                  // by key, then age, then name
  IndexVector<PodGroupId, int32_t> at_;    // index in jobs_; -1: not in it
  IndexVector<PodGroupId, int32_t> rank_;  // equal for equal keys
  IndexVector<PodGroupId, int64_t> place_;
  IndexVector<QueueId, int32_t> worst_;  // highest rank of groups that may lose pods; -1: none
  mutable absl::flat_hash_map<GroupClassId, std::vector<PodGroupId>> sorted_;
};

}  // namespace kai

#endif  // KAI_ACTIONS_JOB_ORDER_H_

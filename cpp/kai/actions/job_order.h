// JobOrder: the pod groups of a queue in an order of the literature: by age, by what is left of
// their run time, by the service that they have received (docs/howto/job-orders.md has the
// sources).
//
//   order.emplace(*cluster, *pods, options, *service);                 // of a JobOrder
//   return order->IsBetter(Group(a), Group(b));                        // a's key is below b's
//
// Each group has a key, made of the cluster and the time when the cycle begins; the lower one goes
// first. Groups with equal keys keep KAI's order. Keys are fractions of whole numbers, so that no
// comparison rounds.
//
// Invariants: all keys are those of one moment, whatever the cycle decides. It knows the groups
// that wait, may lose pods or are notable; no other is asked for. Cost: made in O(groups · log +
// pods of those that run); for some policies the pods of those that wait are counted as well. Not
// thread-safe.
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
  kFifo,               // the oldest
  kShortest,           // the shortest estimate
  kShortestRemaining,  // the least that is left of the estimate
  kLeastService,       // the least time run, in levels
  kLeastGpuService,    // the least GPU time, in levels
  kFinishTime,         // the longest time from arrival to end, as a multiple of the time alone
  kMultifactor,        // the highest weighted sum of age, size and priority
};
// As configurations spell them, in the order of the enumeration.
inline constexpr std::array<std::string_view, 7> kJobPolicyNames = {
    "fifo", "sjf", "srtf", "las", "2d-las", "finish-time", "multifactor"};
std::optional<JobPolicy> JobPolicyOf(std::string_view name);

struct JobOrderOptions {
  JobPolicy policy = JobPolicy::kFifo;
  bool preempts = false;         // a better key may take the place of a worse one
  bool within_priority = false;  // it orders groups of equal priority only
  // Where levels end, ascending: nanoseconds, or GPU-nanoseconds.
  std::vector<int64_t> thresholds_ns = {};
  int64_t lease_ns = 0;  // so long after its start a group keeps its place
  // Of multifactor.
  int64_t weight_age = 0;
  int64_t weight_size = 0;
  int64_t weight_priority = 0;
  int64_t max_age_ns = 1;
  bool favor_small = false;
};

class JobOrder {
 public:
  // `order` as it is before anything has changed; keys are of the moment of `service`.
  JobOrder(const Cluster& cluster, const PodOrder& order, const JobOrderOptions& options,
           const AttainedService& service);

  const JobOrderOptions& options() const { return options_; }

  bool IsBetter(PodGroupId a, PodGroupId b) const { return rank_[a] < rank_[b]; }
  // Than some group of its queue that may lose pods.
  bool IsBetterThanSome(PodGroupId group) const {
    return rank_[group] < worst_[cluster_.pod_groups().queue[group]];
  }
  // Of groups that are alike in all else: by key, then by age, then by name.
  const IndexVector<PodGroupId, int64_t>& places() const { return place_; }
  // Those of a class by their places. Good as long as this object is.
  std::span<const PodGroupId> GroupsOf(const GroupClasses& classes, GroupClassId id) const;

  // Notes when the order changes. `every`: all changes count; else only those by which preempt
  // finds other victims: what the other actions would try in another order is not waited for.
  void NoteChanges(bool every, CycleTime* time) const;

 private:
  __extension__ using Int128 = __int128;

  struct Job : GroupService {
    PodGroupId group;
    QueueId queue;
    bool waits = false;
    // The key is value / per; it changes by slope / per in a nanosecond, until step_ns.
    Int128 value = 0;
    int64_t per = 1;
    int64_t slope = 0;
    int64_t step_ns = CycleTime::kNever;
  };
  // What keys refer to besides the group itself.
  struct Whole {
    IndexVector<QueueId, int64_t> groups;  // with pods
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
  // The first nanosecond from now on in which `later` is no longer worse than `first`, or, with
  // `passes`, is better.
  static int64_t NextMeeting(const Job& first, const Job& later, bool passes);
  // Until a group that waits may take from one that runs.
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
  IndexVector<PodGroupId, int32_t> at_;    // of jobs_; -1: not listed
  IndexVector<PodGroupId, int32_t> rank_;  // equal for equal keys
  IndexVector<PodGroupId, int64_t> place_;
  IndexVector<QueueId, int32_t> worst_;  // highest rank of those that may lose pods; -1: none
  mutable absl::flat_hash_map<GroupClassId, std::vector<PodGroupId>> sorted_;
};

}  // namespace kai

#endif  // KAI_ACTIONS_JOB_ORDER_H_

#include "kai/actions/job_order.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "kai/base/saturating.h"

namespace kai {
namespace {

__extension__ using Wide = __int128;

constexpr int64_t kNoMoment = std::numeric_limits<int64_t>::min();
constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
constexpr int64_t kMicro = 1'000'000;

int64_t Bounded(Wide value) { return value > kUnknown ? kUnknown : static_cast<int64_t>(value); }

Wide CeilOf(Wide dividend, Wide divisor) { return (dividend + divisor - 1) / divisor; }

// The GPUs of all pods that hold nodes or wait for them.
int64_t RequestedMicroGpus(const Cluster& cluster, const PodOrder& order, PodGroupId group) {
  return MicroGpusOf(cluster, order, group, [](PodStatus status) {
    return IsActiveAllocated(status) || status == PodStatus::kPending ||
           status == PodStatus::kGated;
  });
}

// The time from `from_ns` to `to_ns`; 0 if one of them is unknown.
int64_t Between(int64_t from_ns, int64_t to_ns) {
  return from_ns == kNoMoment || to_ns <= from_ns ? 0 : to_ns - from_ns;
}

}  // namespace

std::optional<JobPolicy> JobPolicyOf(std::string_view name) {
  const auto* const found = std::ranges::find(kJobPolicyNames, name);
  if (found == kJobPolicyNames.end()) return std::nullopt;
  return static_cast<JobPolicy>(found - kJobPolicyNames.begin());
}

JobOrder::JobOrder(const Cluster& cluster, const PodOrder& order, const JobOrderOptions& options,
                   const AttainedService& service)
    : cluster_(cluster),
      options_(options),
      now_ns_(service.now_ns()),
      at_(cluster.pod_groups().size(), -1),
      rank_(cluster.pod_groups().size()),
      place_(cluster.pod_groups().size()),
      worst_(cluster.queues().size(), -1) {
  List(service);
  const Whole whole = Count(order);
  for (Job& job : jobs_) SetKey(order, whole, &job);
  Rank();
}

void JobOrder::List(const AttainedService& service) {
  const PodGroupLists& lists = cluster_.pod_groups().lists;
  for (const auto* list : {&lists.waiting, &lists.may_lose, &lists.notable}) {
    for (const PodGroupId group : *list) {
      if (at_[group] >= 0 || !cluster_.pod_groups().queue[group].valid()) continue;
      at_[group] = static_cast<int32_t>(jobs_.size());
      Job& job = jobs_.emplace_back();
      job.group = group;
      job.queue = cluster_.pod_groups().queue[group];
      job.waits = list == &lists.waiting;
      any_waits_ = any_waits_ || job.waits;
      static_cast<GroupService&>(job) = service.Of(group);
    }
  }
}

JobOrder::Whole JobOrder::Count(const PodOrder& order) const {
  Whole whole;
  if (options_.policy != JobPolicy::kFinishTime && options_.policy != JobPolicy::kMultifactor)
    return whole;
  whole.groups.Resize(cluster_.queues().size());
  const PodGroupColumns& groups = cluster_.pod_groups();
  for (const PodGroupId group : groups.name.ids()) {
    if (!groups.name[group].valid() || !groups.queue[group].valid()) continue;
    whole.groups[groups.queue[group]] += order.Alive(group) > 0 ? 1 : 0;
    whole.highest_priority = std::max<int64_t>(whole.highest_priority, groups.priority[group]);
  }
  double gpus = 0;
  for (const NodeId node : cluster_.nodes().name.ids())
    gpus += cluster_.nodes().allocatable[node][kGpuSlot.index()];
  whole.micro_gpus = std::llround(gpus * kMicro);
  return whole;
}

int64_t JobOrder::RemainingNs(const Job& job) const {
  return std::max<int64_t>(cluster_.pod_groups().estimate_ns[job.group] - job.service.run_ns, 0);
}

void JobOrder::SetKey(const PodOrder& order, const Whole& whole, Job* job) const {
  const PodGroupColumns& groups = cluster_.pod_groups();
  const int64_t estimate_ns = groups.estimate_ns[job->group];
  switch (options_.policy) {
    case JobPolicy::kFifo:
      job->value = groups.created_ns[job->group];
      return;
    case JobPolicy::kShortest:
      job->value = estimate_ns < 0 ? kUnknown : estimate_ns;
      return;
    case JobPolicy::kShortestRemaining:
      job->value = estimate_ns < 0 ? kUnknown : RemainingNs(*job);
      if (estimate_ns < 0 || !job->is_active || job->value == 0) return;
      job->slope = -1;
      job->step_ns = AddSaturating(std::max(job->since_ns, now_ns_), RemainingNs(*job));
      return;
    case JobPolicy::kLeastService:
    case JobPolicy::kLeastGpuService:
      SetLevel(job);
      return;
    case JobPolicy::kFinishTime:
      SetFinishTime(order, whole, job);
      return;
    case JobPolicy::kMultifactor:
      SetPriority(order, whole, job);
      return;
  }
}

void JobOrder::SetLevel(Job* job) const {
  const bool by_gpus = options_.policy == JobPolicy::kLeastGpuService;
  const int64_t attained_ns = by_gpus ? job->service.gpu_ns : job->service.run_ns;
  const auto next = std::ranges::upper_bound(options_.thresholds_ns, attained_ns);
  job->value = next - options_.thresholds_ns.begin();
  if (!job->is_active || next == options_.thresholds_ns.end()) return;
  if (by_gpus && job->micro_gpus == 0) return;
  // The service up to since_ns, without later rounding.
  const ServiceRow& before = cluster_.pod_groups().service[job->group];
  const Wide missing = *next - (by_gpus ? before.gpu_ns : before.run_ns);
  const Wide elapsed = by_gpus ? CeilOf(missing * kMicro, job->micro_gpus) : missing;
  job->step_ns = Bounded(job->since_ns == kNoMoment ? Wide{kUnknown} : job->since_ns + elapsed);
}

void JobOrder::SetFinishTime(const PodOrder& order, const Whole& whole, Job* job) const {
  const PodGroupColumns& groups = cluster_.pod_groups();
  const int64_t estimate_ns = groups.estimate_ns[job->group];
  if (estimate_ns < 0) {
    job->value = kUnknown;
    return;
  }
  // Alone it would have an equal part of the cluster, one part per group; if it requests more, it
  // takes longer in proportion.
  const Wide asked =
      Wide{RequestedMicroGpus(cluster_, order, job->group)} * whole.groups[job->queue];
  Wide alone = estimate_ns;
  if (whole.micro_gpus > 0 && asked > whole.micro_gpus) alone = alone * asked / whole.micro_gpus;
  job->per = std::max<int64_t>(Bounded(alone), 1);
  const int64_t remaining_ns = RemainingNs(*job);
  job->value = -(Wide{Between(groups.created_ns[job->group], now_ns_)} + remaining_ns);
  if (job->is_active && remaining_ns > 0) {
    // Its expected end does not change until it is later than expected.
    job->step_ns = AddSaturating(std::max(job->since_ns, now_ns_), remaining_ns);
  } else if (groups.created_ns[job->group] != kNoMoment) {
    job->slope = -1;
  }
}

void JobOrder::SetPriority(const PodOrder& order, const Whole& whole, Job* job) const {
  const PodGroupColumns& groups = cluster_.pod_groups();
  double size = 0;
  if (options_.weight_size > 0 && whole.micro_gpus > 0) {
    size = std::min(1.0, static_cast<double>(RequestedMicroGpus(cluster_, order, job->group)) /
                             static_cast<double>(whole.micro_gpus));
  }
  if (options_.favor_small) size = 1 - size;
  const double priority = whole.highest_priority <= 0
                              ? 0
                              : std::max(0.0, static_cast<double>(groups.priority[job->group]) /
                                                  static_cast<double>(whole.highest_priority));
  const double fixed = static_cast<double>(options_.weight_size) * size +
                       static_cast<double>(options_.weight_priority) * priority;
  // Its age grows only while it waits.
  const int64_t start_ns = groups.last_start_ns[job->group];
  const int64_t created_ns = groups.created_ns[job->group];
  const int64_t until_ns = job->is_active ? start_ns : now_ns_;
  const int64_t age_ns =
      until_ns == kNoMoment ? 0 : std::min(Between(created_ns, until_ns), options_.max_age_ns);
  job->value = -(Wide{std::llround(fixed * kMicro)} * options_.max_age_ns +
                 Wide{options_.weight_age} * kMicro * age_ns);
  if (job->is_active || created_ns == kNoMoment || age_ns == options_.max_age_ns) return;
  job->slope = -options_.weight_age * kMicro;
  job->step_ns = AddSaturating(created_ns, options_.max_age_ns);
}

int JobOrder::Compare(const Job& a, const Job& b) {
  const Int128 left = a.per == b.per ? a.value : a.value * b.per;
  const Int128 right = a.per == b.per ? b.value : b.value * a.per;
  return left < right ? -1 : left > right ? 1 : 0;
}

void JobOrder::Rank() {
  const PodGroupColumns& groups = cluster_.pod_groups();
  const auto is_before = [&](const Job& a, const Job& b) {
    const int keys = Compare(a, b);
    if (keys != 0) return keys < 0;
    return groups.creation_rank[a.group] < groups.creation_rank[b.group];
  };
  if (!std::ranges::is_sorted(jobs_, is_before)) std::ranges::sort(jobs_, is_before);
  int32_t rank = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (i > 0 && Compare(jobs_[i - 1], jobs_[i]) != 0) ++rank;
    const PodGroupId group = jobs_[i].group;
    at_[group] = static_cast<int32_t>(i);
    rank_[group] = rank;
    place_[group] = static_cast<int64_t>(i);
    if (jobs_[i].is_active && groups.preemptible[group] != 0)
      worst_[jobs_[i].queue] = std::max(worst_[jobs_[i].queue], rank);
  }
}

std::span<const PodGroupId> JobOrder::GroupsOf(const GroupClasses& classes, GroupClassId id) const {
  const std::span<const PodGroupId> groups = classes.GroupsOf(id);
  const auto place = [&](PodGroupId group) { return place_[group]; };
  const auto [sorted, is_new] = sorted_.try_emplace(id);
  if (!is_new) return sorted->second;
  sorted->second.assign(groups.begin(), groups.end());
  if (!std::ranges::is_sorted(sorted->second, {}, place))
    std::ranges::sort(sorted->second, {}, place);
  return sorted->second;
}

// ---- time

int64_t JobOrder::NextMeeting(const Job& first, const Job& later, bool passes) {
  // (v1 + s1 t) / p1 - (v2 + s2 t) / p2, times p1 p2: below 0 now, or 0.
  const Int128 gap = first.value * later.per - later.value * first.per;
  const Int128 rate = Int128{first.slope} * later.per - Int128{later.slope} * first.per;
  if (rate == 0 || (gap != 0 && rate < 0)) return CycleTime::kNever;
  if (gap == 0) return passes && rate < 0 ? CycleTime::kNever : 1;
  return Bounded(passes ? -gap / rate + 1 : CeilOf(-gap, rate));
}

int64_t JobOrder::NextOfAll() const {
  int64_t next_ns = CycleTime::kNever;
  IndexVector<QueueId, int32_t> before(cluster_.queues().size(), -1);
  for (size_t i = 0; i < jobs_.size(); ++i) {
    int32_t& first = before[jobs_[i].queue];
    if (first >= 0)
      next_ns = std::min(next_ns, NextMeeting(jobs_[static_cast<size_t>(first)], jobs_[i], false));
    first = static_cast<int32_t>(i);
  }
  return next_ns;
}

int64_t JobOrder::NextGain() const {
  // Running groups with a constant key and one priority: the first one that a group overtakes is
  // the last one that is not worse. Few keys change with time.
  int64_t next_ns = CycleTime::kNever;
  IndexVector<QueueId, std::map<int32_t, const Job*>> ahead(cluster_.queues().size());
  std::vector<const Job*> moving;
  for (size_t i = 0; i < jobs_.size();) {
    size_t end = i;
    for (; end < jobs_.size() && rank_[jobs_[end].group] == rank_[jobs_[i].group]; ++end) {
      const Job& job = jobs_[end];
      if (!job.is_active) continue;
      if (job.slope == 0) {
        ahead[job.queue][PriorityOf(job)] = &job;
      } else {
        moving.push_back(&job);
      }
    }
    for (; i < end; ++i) {
      if (!jobs_[i].waits) continue;
      for (const auto& [priority, first] : ahead[jobs_[i].queue])
        next_ns = std::min(next_ns, NextGainOver(*first, jobs_[i]));
      for (const Job* first : moving) next_ns = std::min(next_ns, NextGainOver(*first, jobs_[i]));
    }
  }
  // The order in which they become victims.
  for (const Job* one : moving) {
    for (const Job& other : jobs_) {
      if (!other.is_active || other.queue != one->queue || &other == one) continue;
      const bool comes_first = place_[one->group] < place_[other.group];
      next_ns = std::min(
          next_ns, comes_first ? NextMeeting(*one, other, false) : NextMeeting(other, *one, false));
    }
  }
  return next_ns;
}

int64_t JobOrder::NextGainOver(const Job& first, const Job& waiting) const {
  if (first.queue != waiting.queue || first.group == waiting.group) return CycleTime::kNever;
  const int32_t its = PriorityOf(first);
  const int32_t mine = PriorityOf(waiting);
  if (options_.within_priority && its != mine) return CycleTime::kNever;
  // With a higher priority an equal key is enough.
  if (mine > its) return NextMeeting(first, waiting, false);
  return options_.preempts ? NextMeeting(first, waiting, true) : CycleTime::kNever;
}

void JobOrder::NoteChanges(bool every, CycleTime* time) const {
  const JobPolicy policy = options_.policy;
  if (!any_waits_ || policy == JobPolicy::kFifo || policy == JobPolicy::kShortest) return;
  time->HasCome(now_ns_, WakeReason::kJobOrder);  // earlier the order may have been different
  int64_t elapsed_ns = CycleTime::kNever;
  if (every) {
    elapsed_ns = NextOfAll();
  } else if (policy == JobPolicy::kFinishTime || policy == JobPolicy::kMultifactor) {
    // With other policies the order of waiting groups does not change.
    elapsed_ns = NextGain();
  }
  int64_t next_ns = AddSaturating(now_ns_, elapsed_ns);
  for (const Job& job : jobs_) {
    if (every || job.is_active) next_ns = std::min(next_ns, job.step_ns);
  }
  if (next_ns != CycleTime::kNever) time->HasCome(next_ns, WakeReason::kJobOrder);
}

}  // namespace kai

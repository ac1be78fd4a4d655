#include "kai/sim/workload_check.h"

#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kai/base/status_macros.h"
#include "kai/base/text.h"

namespace kai {
namespace {

constexpr int64_t kMostWorkNs = int64_t{1} << 62;

using Names = absl::flat_hash_set<std::string_view>;

absl::Status CheckJob(const SimJob& job, const SimWorkload& workload) {
  const auto wrong = [&](std::string_view what) {
    return absl::InvalidArgumentError(StrCat("job ", job.name, ": ", what));
  };
  if (job.queue < 0 || job.queue >= std::ssize(workload.queues)) return wrong("queue is unknown");
  if (job.models < 0 || job.models >= std::ssize(workload.model_sets))
    return wrong("models are unknown");
  if (job.speeds < 0 || job.speeds >= std::ssize(workload.speed_tables))
    return wrong("speeds are unknown");
  if (job.arrival_ns < 0) return wrong("it arrives before the start");
  if (job.duration_ns < 0) return wrong("its duration is negative");
  if (job.pods < 1) return wrong("it has no pods");
  if (job.min_pods < 1 || job.min_pods > job.pods)
    return wrong(StrCat("min_pods is ", job.min_pods, ", and pods ", job.pods));
  if (job.duration_ns != SimJob::kForever && job.duration_ns > kMostWorkNs / job.pods)
    return wrong("its pods together run longer than 146 years");
  if (job.micro_gpus < 0 ||
      (job.micro_gpus > kMicroGpusOfOne && job.micro_gpus % kMicroGpusOfOne != 0))
    return wrong("its GPUs are neither whole nor a part of one");
  if (job.restart_ns < 0 || job.checkpoint_ns < SimJob::kNeverSaved)
    return wrong("a time is negative");
  for (const SimResize& resize : job.resizes) {
    if (resize.after_ns < 0) return wrong("a resize comes before its arrival");
    if (resize.pods < 1) return wrong("a resize leaves it no pods");
    if (resize.min_pods < 1 || resize.min_pods > resize.pods)
      return wrong(StrCat("a resize has min_pods ", resize.min_pods, ", and pods ", resize.pods));
  }
  return absl::OkStatus();
}

// Collects names, and reports duplicates: "two nodes have this name".
template <typename T>
absl::Status CollectNames(const std::vector<T>& all, std::string_view kind, Names* names) {
  for (const T& each : all) {
    if (!names->insert(each.name).second) {
      return absl::InvalidArgumentError(
          StrCat(kind, " ", each.name, ": two ", kind, "s have this name"));
    }
  }
  return absl::OkStatus();
}

// Outages and maintenance windows.
template <typename T>
absl::Status CheckAbsences(const std::vector<T>& all, std::string_view what, const Names& nodes) {
  for (const T& each : all) {
    if (!nodes.contains(each.node)) {
      return absl::InvalidArgumentError(StrCat(what, ": node ", each.node, " does not exist"));
    }
    if (each.from_ns < 0 || each.until_ns <= each.from_ns) {
      return absl::InvalidArgumentError(
          StrCat(what, " of node ", each.node, ": it ends before it begins"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPools(const SimWorkload& workload, const Names& nodes) {
  Names names, taken;
  KAI_RETURN_IF_ERROR(CollectNames(workload.pools, "node pool", &names));
  for (const SimNodePool& pool : workload.pools) {
    const auto wrong = [&](std::string_view what) {
      return absl::InvalidArgumentError(StrCat("node pool ", pool.name, ": ", what));
    };
    for (const std::string& node : pool.nodes) {
      if (!nodes.contains(node)) return wrong(StrCat("node ", node, " does not exist"));
      if (!taken.insert(node).second) return wrong(StrCat("node ", node, " is in it twice"));
    }
    if (pool.least < 0 || pool.first < pool.least || pool.first > std::ssize(pool.nodes)) {
      return wrong(StrCat("it starts with ", pool.first, " nodes instead of ", pool.least, " to ",
                          pool.nodes.size()));
    }
    if (pool.ready_ns < 0 || pool.idle_ns < 0) return wrong("a time is negative");
    if (!(pool.price >= 0)) return wrong("its price is negative");
  }
  return absl::OkStatus();
}

absl::Status CheckQueues(const SimWorkload& workload) {
  Names names;
  KAI_RETURN_IF_ERROR(CollectNames(workload.queues, "queue", &names));
  for (const QueueRow& queue : workload.queues) {
    // The engine checks the queues of a first moment itself.
    if (workload.first == nullptr && !queue.parent.empty() && !names.contains(queue.parent))
      return absl::InvalidArgumentError(
          StrCat("queue ", queue.name, ": parent ", queue.parent, " does not exist"));
  }
  for (const SimQueueChange& change : workload.queue_changes) {
    if (!names.contains(change.queue.name))
      return absl::InvalidArgumentError(
          StrCat("change of queue ", change.queue.name, ": it does not exist"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckWorkload(const SimWorkload& workload) {
  for (const SimJob& job : workload.jobs) KAI_RETURN_IF_ERROR(CheckJob(job, workload));
  Names jobs, nodes;
  KAI_RETURN_IF_ERROR(CollectNames(workload.jobs, "job", &jobs));
  KAI_RETURN_IF_ERROR(CollectNames(workload.nodes, "node", &nodes));
  KAI_RETURN_IF_ERROR(CheckAbsences(workload.outages, "outage", nodes));
  KAI_RETURN_IF_ERROR(CheckAbsences(workload.windows, "maintenance", nodes));
  KAI_RETURN_IF_ERROR(CheckPools(workload, nodes));
  return CheckQueues(workload);
}

}  // namespace kai

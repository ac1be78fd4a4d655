// Simulation: the state at the start.
#include <algorithm>
#include <string_view>
#include <utility>

#include "kai/base/status_macros.h"
#include "kai/sim/simulation.h"

namespace kai {

absl::Status Simulation::Fill() {
  for (const PriorityClassRow& row : workload_.priority_classes)
    if (!store_.Has(Kind::kPriorityClass, row.name)) store_.Upsert(row);
  FillQueues();
  FillNodes();
  FillJobs();
  if (workload_.first == nullptr) return absl::OkStatus();
  decides_first_ = true;
  ScheduleCycle(0);
  if (workload_.first->memory().empty()) return absl::OkStatus();
  return engine_.ImportMemory(workload_.first->memory());
}

void Simulation::FillQueues() {
  uses_.resize(workload_.queues.size());
  for (size_t i = 0; i < workload_.queues.size(); ++i) {
    QueueRow& queue = workload_.queues[i];
    if (!queue.created_ns) queue.created_ns = options_.start_ns;
    queue_of_.emplace(queue.name, static_cast<int32_t>(i));
    timeline_.queue_names.push_back(queue.name);
    if (const QueueRow* known = store_.Find<QueueRow>(queue.name)) queue = *known;
    store_.Upsert(queue);
  }
  for (size_t i = 0; i < workload_.queues.size(); ++i) {
    const auto parent = queue_of_.find(workload_.queues[i].parent);
    if (parent != queue_of_.end()) uses_[i].parent = parent->second;
  }
  for (Use& use : uses_) {  // a queue of the first moment may be its own ancestor
    int32_t above = use.parent;
    for (size_t steps = 0; above >= 0 && steps < uses_.size(); ++steps)
      above = uses_[At(above)].parent;
    if (above >= 0) use.parent = -1;
  }
  if (options_.usage) {
    std::vector<UsageHistory::Queue> queues;
    for (size_t i = 0; i < uses_.size(); ++i)
      queues.push_back({.name = timeline_.queue_names[i], .parent = uses_[i].parent});
    history_.emplace(*options_.usage, std::move(queues));
    next_fetch_ns_ = options_.usage->fetch_ns;
    fetched_.resize(uses_.size());
  }
  for (size_t i = 0; i < workload_.queue_changes.size(); ++i) {
    agenda_.Add({.at_ns = workload_.queue_changes[i].at_ns,
                 .kind = Occasion::kQueueChanges,
                 .job = static_cast<int32_t>(i)});
  }
}

void Simulation::FillNodes() {
  for (NodeRow& node : workload_.nodes)
    if (const NodeRow* known = store_.Find<NodeRow>(node.name)) node = *known;
  std::vector<uint8_t> absent(workload_.nodes.size());
  const auto place = [&](std::string_view name) {
    return std::ranges::lower_bound(
               workload_.nodes, name, {},
               [](const NodeRow& node) { return std::string_view(node.name); }) -
           workload_.nodes.begin();
  };
  for (const SimNodePool& pool : workload_.pools)
    for (size_t i = At(pool.first); i < pool.nodes.size(); ++i)
      absent[static_cast<size_t>(place(pool.nodes[i]))] = 1;
  fleet_.Fill(absent);
  stays_on_.resize(workload_.nodes.size());
  empty_since_ns_.assign(workload_.nodes.size(), 0);
  if (!workload_.pools.empty()) {
    scaler_.emplace(workload_.pools, workload_.nodes);
    for (const NodeRow& node : workload_.nodes) rooms_.push_back(SpareRoom::Of(node));
    ScheduleLook(0);
  }
  for (const SimOutage& outage : workload_.outages) {
    const int32_t node = fleet_.Find(outage.node);
    agenda_.Add({.at_ns = outage.from_ns, .kind = Occasion::kNodeGoes, .job = node});
    if (outage.until_ns != Timeline::kNever)
      agenda_.Add({.at_ns = outage.until_ns, .kind = Occasion::kNodeComes, .job = node});
  }
  for (size_t i = 0; i < workload_.windows.size(); ++i) {
    const SimWindow& window = workload_.windows[i];
    const int32_t node = fleet_.Find(window.node);
    agenda_.Add({.at_ns = window.from_ns,
                 .kind = Occasion::kWindowBegins,
                 .job = node,
                 .pod = static_cast<int32_t>(i)});
    if (window.until_ns != Timeline::kNever)
      agenda_.Add({.at_ns = window.until_ns, .kind = Occasion::kWindowEnds, .job = node});
  }
}

void Simulation::FillJobs() {
  const size_t count = workload_.jobs.size();
  timeline_.jobs.first_start_ns.assign(count, Timeline::kNever);
  timeline_.jobs.end_ns.assign(count, Timeline::kNever);
  timeline_.jobs.evictions.assign(count, 0);
  jobs_.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const SimJob& job = workload_.jobs[i];
    const auto row = static_cast<int32_t>(i);
    job_of_.emplace(job.name, row);
    const bool ends = job.duration_ns != SimJob::kForever;
    jobs_.emplace_back(
        JobProgress::Spec{.work_ns = ends ? job.duration_ns * job.pods : JobProgress::kNever,
                          .min_pods = job.min_pods,
                          .checkpoint_ns = job.checkpoint_ns,
                          .restart_ns = job.restart_ns});
    if (job.given >= 0) {
      Adopt(row);
    } else {
      agenda_.Add({.at_ns = job.arrival_ns, .kind = Occasion::kArrival, .job = row});
    }
    for (size_t resize = 0; resize < job.resizes.size(); ++resize) {
      agenda_.Add({.at_ns = job.arrival_ns + job.resizes[resize].after_ns,
                   .kind = Occasion::kResize,
                   .job = row,
                   .pod = static_cast<int32_t>(resize)});
    }
  }
  UpdateProgress();
}

// ---- objects at the start -----------------------------------------------------------------------

void Simulation::Adopt(int32_t row) {
  const SimJob& spec = workload_.jobs[At(row)];
  const PodGroupRow& group = workload_.first->groups()[At(spec.given)].row;
  const auto since_start = [&](std::optional<int64_t> at_ns) {
    return at_ns ? std::optional(*at_ns - options_.start_ns) : std::nullopt;
  };
  Job& job = jobs_[At(row)];
  job.last_start_ns = since_start(group.last_start_ns);
  job.stale_since_ns = since_start(group.stale_since_ns);
  job.last_eviction_ns = since_start(group.last_eviction_ns);
  job.service = group.service;
  job.pods.resize(At(spec.pods));
  for (int32_t pod = 0; pod < spec.pods; ++pod) AdoptPod(row, pod);
}

void Simulation::AdoptPod(int32_t row, int32_t number) {
  const SimJob& spec = workload_.jobs[At(row)];
  const FirstMoment::Pod& given = workload_.first->groups()[At(spec.given)].pods[At(number)];
  given_places_.emplace(objects_.PodName(spec, number), PodPlace{.job = row, .pod = number});
  Pod& pod = jobs_[At(row)].pods[At(number)];
  pod.stage = Pod::Stage::kWaiting;
  CountPod(row, number, 0, 1);
  const auto node = std::ranges::find(timeline_.node_names, given.node);
  if (given.node.empty() || node == timeline_.node_names.end()) return;
  pod.node = static_cast<int32_t>(node - timeline_.node_names.begin());
  pod.gpu_groups = given.gpu_groups;
  pod.bind_request = given.bind_request;
  stays_on_[At(pod.node)].push_back({.job = row, .pod = number});
  CountPod(row, number, 1, 0);
  Note(row);
  AgendaEntry next{.job = row, .pod = number, .stamp = pod.generation};
  if (given.row.deletion_ns) {
    pod.stage = Pod::Stage::kLeaving;
    pod.leaves_for = StayEnd::kWasLeaving;
    pod.deletion_ns = *given.row.deletion_ns - options_.start_ns;
    next.kind = Occasion::kPodIsGone;
    next.at_ns = options_.terminate_ns;
  } else if (given.row.phase == Phase::kRunning && given.bind_request.empty()) {
    pod.stage = Pod::Stage::kRunning;
    pod.runs_ns = 0;
    return;
  } else {
    pod.stage = Pod::Stage::kBound;
    next.kind = Occasion::kPodRuns;
    next.at_ns = options_.bind_ns + options_.startup_ns;
  }
  agenda_.Add(next);
}

}  // namespace kai

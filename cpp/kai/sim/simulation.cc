#include "kai/sim/simulation.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "kai/api/keys.h"
#include "kai/base/check.h"
#include "kai/base/status_macros.h"
#include "kai/base/text.h"

namespace kai {
namespace {

constexpr int64_t kMostWorkNs = int64_t{1} << 62;
// With a period of 0: so many cycles at one moment, then the next one comes a second later.
constexpr int64_t kMostCyclesAtOnce = 100;

size_t At(int32_t row) { return static_cast<size_t>(row); }

StayEnd EndOf(EvictionNote note) {
  switch (note) {
    case EvictionNote::kReclaimed:
      return StayEnd::kReclaimed;
    case EvictionNote::kPreempted:
      return StayEnd::kPreempted;
    case EvictionNote::kConsolidated:
      return StayEnd::kConsolidated;
    case EvictionNote::kStale:
    case EvictionNote::kNone:
      break;
  }
  return StayEnd::kStale;
}

QuotaVector OfferedBy(const NodeRow& node) {
  QuotaVector offered = {};
  for (const auto& [resource, amount] : node.allocatable) {
    const auto its = static_cast<double>(amount);
    if (resource == "cpu") offered[kQuotaCpu] = its;
    if (resource == "memory") offered[kQuotaMemory] = its;
    if (resource == keys::kNvidiaGpu) offered[kQuotaGpu] = its * kMicroGpusOfOne;
  }
  return offered;
}

std::string_view ModelOf(const NodeRow& node) {
  for (const auto& [key, value] : node.labels)
    if (key == keys::kGpuProduct) return value;
  return "";
}

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
  if (job.duration_ns > kMostWorkNs / job.pods)
    return wrong("its pods together run longer than 146 years");
  if (job.micro_gpus < 0 ||
      (job.micro_gpus > kMicroGpusOfOne && job.micro_gpus % kMicroGpusOfOne != 0))
    return wrong("its GPUs are neither whole nor a part of one");
  if (job.restart_ns < 0 || job.checkpoint_ns < SimJob::kNeverSaved)
    return wrong("a time is negative");
  return absl::OkStatus();
}

// So that the order of the input makes no difference.
std::vector<int32_t> SortJobs(std::vector<SimJob>* jobs) {
  std::vector<int32_t> input(jobs->size());
  std::iota(input.begin(), input.end(), 0);
  std::ranges::sort(input, [&](int32_t a, int32_t b) {
    const SimJob& one = (*jobs)[At(a)];
    const SimJob& other = (*jobs)[At(b)];
    return std::tie(one.arrival_ns, one.name) < std::tie(other.arrival_ns, other.name);
  });
  std::vector<SimJob> sorted;
  sorted.reserve(jobs->size());
  for (const int32_t row : input) sorted.push_back(std::move((*jobs)[At(row)]));
  *jobs = std::move(sorted);
  return input;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Simulation>> Simulation::Make(SimWorkload workload, Config config,
                                                             ShardParams params,
                                                             SimOptions options) {
  std::unique_ptr<Simulation> made(
      new Simulation(std::move(workload), std::move(config), std::move(params), options));
  KAI_RETURN_IF_ERROR(made->Check());
  made->Fill();
  return made;
}

Simulation::Simulation(SimWorkload workload, Config config, ShardParams params,
                       const SimOptions& options)
    : workload_(std::move(workload)),
      options_(options),
      objects_(workload_, params.scheduler_name, options.start_ns),
      engine_(&store_, std::move(config), std::move(params)) {
  timeline_.jobs.input = SortJobs(&workload_.jobs);
  std::ranges::sort(workload_.nodes, {}, &NodeRow::name);
}

absl::Status Simulation::Check() const {
  if (options_.period_ns < 0 || options_.bind_ns < 0 || options_.startup_ns < 0 ||
      options_.terminate_ns < 0)
    return absl::InvalidArgumentError("options: a time is negative");
  if (options_.usage) KAI_RETURN_IF_ERROR(options_.usage->Check());
  absl::flat_hash_map<std::string_view, int32_t> names;
  for (const SimJob& job : workload_.jobs) {
    KAI_RETURN_IF_ERROR(CheckJob(job, workload_));
    if (++names[job.name] > 1)
      return absl::InvalidArgumentError(StrCat("job ", job.name, ": two jobs have this name"));
  }
  names.clear();
  for (const NodeRow& node : workload_.nodes) {
    if (++names[node.name] > 1)
      return absl::InvalidArgumentError(StrCat("node ", node.name, ": two nodes have this name"));
  }
  for (const SimOutage& outage : workload_.outages) {
    if (!names.contains(outage.node))
      return absl::InvalidArgumentError(StrCat("outage: node ", outage.node, " does not exist"));
    if (outage.from_ns < 0 || outage.until_ns <= outage.from_ns)
      return absl::InvalidArgumentError(
          StrCat("outage of node ", outage.node, ": it ends before it begins"));
  }
  names.clear();
  for (const QueueRow& queue : workload_.queues) {
    if (++names[queue.name] > 1)
      return absl::InvalidArgumentError(
          StrCat("queue ", queue.name, ": two queues have this name"));
  }
  for (const QueueRow& queue : workload_.queues) {
    if (!queue.parent.empty() && !names.contains(queue.parent))
      return absl::InvalidArgumentError(
          StrCat("queue ", queue.name, ": parent ", queue.parent, " does not exist"));
  }
  for (const SimQueueChange& change : workload_.queue_changes) {
    if (!names.contains(change.queue.name))
      return absl::InvalidArgumentError(
          StrCat("change of queue ", change.queue.name, ": it does not exist"));
  }
  return absl::OkStatus();
}

void Simulation::Fill() {
  for (const PriorityClassRow& row : workload_.priority_classes) store_.Upsert(row);
  uses_.resize(workload_.queues.size());
  for (size_t i = 0; i < workload_.queues.size(); ++i) {
    QueueRow& queue = workload_.queues[i];
    if (!queue.created_ns) queue.created_ns = options_.start_ns;
    queue_of_.emplace(queue.name, static_cast<int32_t>(i));
    timeline_.queue_names.push_back(queue.name);
    store_.Upsert(queue);
  }
  for (size_t i = 0; i < workload_.queues.size(); ++i) {
    const std::string& parent = workload_.queues[i].parent;
    if (!parent.empty()) uses_[i].parent = queue_of_.at(parent);
  }
  if (options_.usage) {
    std::vector<UsageHistory::Queue> queues;
    for (size_t i = 0; i < uses_.size(); ++i)
      queues.push_back({.name = timeline_.queue_names[i], .parent = uses_[i].parent});
    history_.emplace(*options_.usage, std::move(queues));
    next_fetch_ns_ = options_.usage->fetch_ns;
    fetched_.resize(uses_.size());
  }
  for (const NodeRow& node : workload_.nodes) {
    node_of_.emplace(node.name, static_cast<int32_t>(timeline_.node_names.size()));
    timeline_.node_names.push_back(node.name);
    store_.Upsert(node);
    CountNode(node_of_.at(node.name), true);
  }
  stays_on_.resize(workload_.nodes.size());
  is_node_there_.assign(workload_.nodes.size(), 1);
  jobs_.reserve(workload_.jobs.size());
  for (size_t i = 0; i < workload_.jobs.size(); ++i) {
    const SimJob& job = workload_.jobs[i];
    job_of_.emplace(job.name, static_cast<int32_t>(i));
    jobs_.emplace_back(JobProgress::Spec{.work_ns = job.duration_ns * job.pods,
                                         .min_pods = job.min_pods,
                                         .checkpoint_ns = job.checkpoint_ns,
                                         .restart_ns = job.restart_ns});
    agenda_.Add(
        {.at_ns = job.arrival_ns, .kind = Occasion::kArrival, .job = static_cast<int32_t>(i)});
  }
  const size_t count = jobs_.size();
  timeline_.jobs.first_start_ns.assign(count, Timeline::kNever);
  timeline_.jobs.end_ns.assign(count, Timeline::kNever);
  timeline_.jobs.evictions.assign(count, 0);
  for (size_t i = 0; i < workload_.outages.size(); ++i) {
    const SimOutage& outage = workload_.outages[i];
    const auto place = static_cast<int32_t>(i);
    agenda_.Add({.at_ns = outage.from_ns, .kind = Occasion::kNodeGoes, .job = place});
    if (outage.until_ns != Timeline::kNever)
      agenda_.Add({.at_ns = outage.until_ns, .kind = Occasion::kNodeComes, .job = place});
  }
  for (size_t i = 0; i < workload_.queue_changes.size(); ++i) {
    agenda_.Add({.at_ns = workload_.queue_changes[i].at_ns,
                 .kind = Occasion::kQueueChanges,
                 .job = static_cast<int32_t>(i)});
  }
}

// ---- time ---------------------------------------------------------------------------------------

absl::StatusOr<bool> Simulation::Run(int64_t steps) {
  while (!has_ended_ && steps-- > 0) {
    const bool is_done = jobs_ended_ == std::ssize(jobs_) && !jobs_.empty();
    int64_t next_ns = NextNs();
    // Fetches alone keep no simulation going.
    const std::optional<int64_t> fetch_ns =
        is_done || next_ns == Timeline::kNever ? std::nullopt : DueFetchNs(next_ns);
    if (fetch_ns) next_ns = *fetch_ns;
    if (is_done || next_ns == Timeline::kNever || next_ns > options_.until_ns) {
      if (!is_done && options_.until_ns != Timeline::kNever && next_ns != Timeline::kNever)
        now_ns_ = options_.until_ns;
      Stop();
      break;
    }
    if (next_ns > now_ns_) cycles_now_ = 0;
    now_ns_ = next_ns;
    if (fetch_ns) {
      FetchUsage();
      continue;
    }
    if (IsCycleNext()) {
      KAI_RETURN_IF_ERROR(Cycle());
      continue;
    }
    while (!agenda_.empty() && agenda_.NextNs() == now_ns_) Happen(agenda_.Take());
    UpdateProgress();
    if (engine_.has_changed()) WantCycle(now_ns_);
  }
  return has_ended_;
}

bool Simulation::IsCycleNext() const {
  return next_cycle_ns_ != Timeline::kNever &&
         (agenda_.empty() || next_cycle_ns_ < agenda_.NextNs());
}

int64_t Simulation::NextNs() const {
  return IsCycleNext() ? next_cycle_ns_ : !agenda_.empty() ? agenda_.NextNs() : Timeline::kNever;
}

std::optional<int64_t> Simulation::DueFetchNs(int64_t next_ns) const {
  if (!history_ || next_fetch_ns_ > next_ns) return std::nullopt;
  if (waiting_pods_ > 0) return next_fetch_ns_;
  // Nothing depends on those before.
  return next_ns / options_.usage->fetch_ns * options_.usage->fetch_ns;
}

void Simulation::FetchUsage() {
  next_fetch_ns_ = now_ns_ + options_.usage->fetch_ns;
  PastUsages usages = history_->At(now_ns_);
  Timeline::Usage& rows = timeline_.usage;
  for (const auto& [name, used] : usages) {
    const int32_t queue = queue_of_.at(name);
    if (used == fetched_[At(queue)]) continue;
    fetched_[At(queue)] = used;
    rows.at_ns.push_back(now_ns_);
    rows.queue.push_back(queue);
    rows.gpu.push_back(used[kQuotaGpu]);
    rows.cpu.push_back(used[kQuotaCpu]);
    rows.memory.push_back(used[kQuotaMemory]);
  }
  store_.SetPastUsages(std::move(usages));
  if (waiting_pods_ > 0 && engine_.has_changed()) WantCycle(now_ns_);
}

void Simulation::WantCycle(int64_t at_ns) {
  const int64_t period_ns = options_.period_ns;
  if (period_ns > 0) at_ns = (at_ns + period_ns - 1) / period_ns * period_ns;
  next_cycle_ns_ = std::min(next_cycle_ns_, at_ns);
}

void Simulation::Happen(const AgendaEntry& entry) {
  switch (entry.kind) {
    case Occasion::kJobEnds:
      if (jobs_[At(entry.job)].stamp == entry.stamp) End(entry.job);
      return;
    case Occasion::kPodIsGone: {
      std::vector<Pod>& pods = jobs_[At(entry.job)].pods;
      if (pods.empty()) return;
      Pod& pod = pods[At(entry.pod)];
      if (pod.generation != entry.stamp || pod.stage != Pod::Stage::kLeaving) return;
      EndStay(entry.job, entry.pod, pod.leaves_for);
      MakeAgain(entry.job, entry.pod);
      return;
    }
    case Occasion::kNodeGoes:
      TakeNode(entry.job);
      return;
    case Occasion::kNodeComes: {
      const int32_t node = node_of_.at(workload_.outages[At(entry.job)].node);
      if (is_node_there_[At(node)]++ != 0) return;
      store_.Upsert(workload_.nodes[At(node)]);
      RecordNode(node, true);
      return;
    }
    case Occasion::kQueueChanges: {
      QueueRow queue = workload_.queue_changes[At(entry.job)].queue;
      const QueueRow& before = workload_.queues[At(queue_of_.at(queue.name))];
      queue.created_ns = before.created_ns;
      queue.parent = before.parent;
      store_.Upsert(std::move(queue));
      return;
    }
    case Occasion::kPodRuns: {
      const std::vector<Pod>& pods = jobs_[At(entry.job)].pods;
      if (pods.empty()) return;
      const Pod& pod = pods[At(entry.pod)];
      if (pod.generation == entry.stamp && pod.stage == Pod::Stage::kBound)
        StartPod(entry.job, entry.pod);
      return;
    }
    case Occasion::kArrival:
      Arrive(entry.job);
      return;
  }
}

void Simulation::Stop() {
  if (has_ended_) return;
  has_ended_ = true;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    Job& job = jobs_[i];
    if (job.pods.empty()) continue;
    job.progress.Finish(now_ns_);
    for (size_t pod = 0; pod < job.pods.size(); ++pod) {
      const Pod::Stage stage = job.pods[pod].stage;
      if (stage != Pod::Stage::kAbsent && stage != Pod::Stage::kWaiting)
        EndStay(static_cast<int32_t>(i), static_cast<int32_t>(pod), StayEnd::kSimulationEnds);
    }
  }
  Complete();
}

void Simulation::Complete() {
  timeline_.end_ns = now_ns_;
  timeline_.repeated_cycles = engine_.counts().repeated;
  Timeline::Jobs& jobs = timeline_.jobs;
  for (const Job& job : jobs_) {
    jobs.working_ns.push_back(job.progress.working_ns());
    jobs.restarts.push_back(job.progress.restarts());
    jobs.held_ns.push_back(job.progress.held_ns());
    jobs.kept_ns.push_back(job.progress.kept_ns());
    jobs.lost_ns.push_back(job.progress.lost_ns());
    jobs.idle_ns.push_back(job.progress.idle_ns());
  }
}

// ---- the scheduler ------------------------------------------------------------------------------

absl::Status Simulation::Cycle() {
  next_cycle_ns_ = Timeline::kNever;
  ++timeline_.cycles;
  ++cycles_now_;
  const int64_t began_ns = stopwatch_.NowNs();
  absl::StatusOr<Engine::PlanPtr> plan = engine_.Plan(options_.start_ns + now_ns_, nullptr);
  timeline_.engine_ns += stopwatch_.NowNs() - began_ns;
  KAI_RETURN_IF_ERROR(plan.status());
  CarryOut(**plan);
  WriteStamps(**plan);
  UpdateProgress();
  RecordQueues(**plan);
  if (engine_.has_changed()) {
    const int64_t step_ns = options_.period_ns > 0            ? options_.period_ns
                            : cycles_now_ < kMostCyclesAtOnce ? 0
                                                              : kSecondNs;
    WantCycle(now_ns_ + step_ns);
  } else if (const std::optional<Engine::Wake> wake = engine_.NextWake()) {
    WantCycle(std::max(wake->at_ns - options_.start_ns, now_ns_ + 1));
  }
  return absl::OkStatus();
}

Simulation::PodPlace Simulation::PlaceOf(std::string_view pod) const {
  const size_t dash = pod.rfind('-');
  PodPlace place{.job = job_of_.at(pod.substr(0, dash))};
  std::from_chars(pod.data() + dash + 1, pod.data() + pod.size(), place.pod);
  return place;
}

void Simulation::CarryOut(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  for (const CycleLog::Decision& decision : plan.decisions) {
    if (decision.kind == CycleLog::Decision::Kind::kPipeline) continue;
    const PodPlace place = PlaceOf(cluster.Text(cluster.pods().name[decision.pod]));
    if (decision.kind == CycleLog::Decision::Kind::kEvict) {
      Evict(place.job, place.pod, EndOf(decision.note));
    } else {
      const int32_t node = node_of_.at(cluster.Text(cluster.nodes().name[decision.node]));
      Bind(place.job, place.pod, node, plan.GpuGroupsOf(decision));
    }
  }
}

void Simulation::WriteStamps(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  for (const PodGroupId group : plan.stamped) {
    const int32_t row = job_of_.at(cluster.Text(cluster.pod_groups().name[group]));
    const GroupOutcome outcome = plan.OutcomeOf(group);
    Job& job = jobs_[At(row)];
    if (outcome.writes_last_start) job.last_start_ns = now_ns_;
    if (outcome.writes_last_eviction) job.last_eviction_ns = now_ns_;
    if (outcome.writes_stale_since == StampWrite::kNow) job.stale_since_ns = now_ns_;
    if (outcome.writes_stale_since == StampWrite::kRemove) job.stale_since_ns.reset();
    WriteGroup(row);
  }
}

// ---- jobs and pods ------------------------------------------------------------------------------

void Simulation::WriteGroup(int32_t row) {
  const Job& job = jobs_[At(row)];
  store_.Upsert(
      objects_.GroupRow(workload_.jobs[At(row)], {.last_start_ns = job.last_start_ns,
                                                  .stale_since_ns = job.stale_since_ns,
                                                  .last_eviction_ns = job.last_eviction_ns}));
}

void Simulation::WritePod(int32_t row, int32_t number) {
  const Pod& pod = jobs_[At(row)].pods[At(number)];
  SimObjects::PodState state{.number = number,
                             .generation = pod.generation,
                             .created_ns = pod.created_ns,
                             .deletion_ns = {},
                             .node = pod.node < 0 ? "" : timeline_.node_names[At(pod.node)],
                             .runs = pod.runs_ns != Timeline::kNever,
                             .gpu_groups = pod.gpu_groups};
  if (pod.stage == Pod::Stage::kLeaving) state.deletion_ns = pod.deletion_ns;
  store_.Upsert(objects_.PodRowOf(workload_.jobs[At(row)], std::move(state)));
}

void Simulation::CountPods(int32_t row, int64_t held, int64_t there) {
  const SimJob& job = workload_.jobs[At(row)];
  for (int32_t queue = job.queue; queue >= 0; queue = uses_[At(queue)].parent) {
    uses_[At(queue)].allocated += job.micro_gpus * held;
    uses_[At(queue)].requested += job.micro_gpus * there;
  }
  waiting_pods_ += there - held;
  if (!history_ || held == 0) return;
  const auto pods = static_cast<double>(held);
  QuotaVector amounts = {};
  amounts[kQuotaGpu] = pods * static_cast<double>(job.micro_gpus);
  amounts[kQuotaCpu] = pods * static_cast<double>(job.millicpu);
  amounts[kQuotaMemory] = pods * static_cast<double>(job.memory_bytes);
  history_->Add(job.queue, amounts, now_ns_);
}

void Simulation::CountNode(int32_t node, bool is_there) {
  if (!history_) return;
  QuotaVector amounts = OfferedBy(workload_.nodes[At(node)]);
  for (double& amount : amounts) amount = is_there ? amount : -amount;
  history_->AddCapacity(amounts, now_ns_);
}

void Simulation::RecordNode(int32_t node, bool is_there) {
  timeline_.nodes.at_ns.push_back(now_ns_);
  timeline_.nodes.node.push_back(node);
  timeline_.nodes.is_there.push_back(is_there ? 1 : 0);
  CountNode(node, is_there);
}

void Simulation::Note(int32_t job) {
  if (jobs_[At(job)].has_changed) return;
  jobs_[At(job)].has_changed = true;
  changed_jobs_.push_back(job);
}

JobProgress::Pods Simulation::PodsOf(int32_t row) const {
  const auto& speeds = workload_.speed_tables[At(workload_.jobs[At(row)].speeds)];
  JobProgress::Pods pods;
  bool is_first = true;
  for (const Pod& pod : jobs_[At(row)].pods) {
    if (pod.node < 0) continue;
    ++pods.held;
    if (pod.stage != Pod::Stage::kRunning) continue;
    ++pods.running;
    if (speeds.empty()) continue;
    double speed = 1;
    const std::string_view model = ModelOf(workload_.nodes[At(pod.node)]);
    for (const auto& [name, its_speed] : speeds)
      if (name == model) speed = its_speed;
    pods.speed = is_first ? speed : std::min(pods.speed, speed);
    is_first = false;
  }
  return pods;
}

void Simulation::UpdateProgress() {
  for (const int32_t row : changed_jobs_) {
    Job& job = jobs_[At(row)];
    job.has_changed = false;
    if (job.pods.empty()) continue;  // it has ended
    job.progress.SetPods(PodsOf(row), now_ns_);
    ++job.stamp;
    if (job.progress.IsWorking() && timeline_.jobs.first_start_ns[At(row)] == Timeline::kNever)
      timeline_.jobs.first_start_ns[At(row)] = now_ns_;
    const int64_t end_ns = job.progress.EndNs();
    if (end_ns != JobProgress::kNever)
      agenda_.Add({.at_ns = end_ns, .kind = Occasion::kJobEnds, .job = row, .stamp = job.stamp});
  }
  changed_jobs_.clear();
}

void Simulation::Arrive(int32_t row) {
  const SimJob& spec = workload_.jobs[At(row)];
  jobs_[At(row)].pods.resize(At(spec.pods));
  WriteGroup(row);
  for (int32_t pod = 0; pod < spec.pods; ++pod) {
    jobs_[At(row)].pods[At(pod)].stage = Pod::Stage::kWaiting;
    jobs_[At(row)].pods[At(pod)].created_ns = now_ns_;
    WritePod(row, pod);
  }
  CountPods(row, 0, spec.pods);
}

void Simulation::End(int32_t row) {
  const SimJob& spec = workload_.jobs[At(row)];
  Job& job = jobs_[At(row)];
  job.progress.Finish(now_ns_);
  for (int32_t pod = 0; pod < spec.pods; ++pod) {
    if (job.pods[At(pod)].node >= 0) EndStay(row, pod, StayEnd::kFinished);
    const std::string name = StrCat(SimObjects::kNamespace, "/", SimObjects::PodName(spec, pod));
    store_.Delete(Kind::kPod, name);
  }
  store_.Delete(Kind::kPodGroup, StrCat(SimObjects::kNamespace, "/", spec.name));
  CountPods(row, 0, -spec.pods);
  job.pods = {};
  ++job.stamp;
  timeline_.jobs.end_ns[At(row)] = now_ns_;
  ++jobs_ended_;
}

void Simulation::Bind(int32_t row, int32_t number, int32_t node,
                      std::vector<std::string> gpu_groups) {
  Pod& pod = jobs_[At(row)].pods[At(number)];
  KAI_CHECK(pod.stage == Pod::Stage::kWaiting) << workload_.jobs[At(row)].name;
  pod.stage = Pod::Stage::kBound;
  pod.node = node;
  pod.from_ns = now_ns_;
  pod.gpu_groups = std::move(gpu_groups);
  stays_on_[At(node)].push_back({.job = row, .pod = number});
  CountPods(row, 1, 0);
  Note(row);
  const int64_t runs_ns = now_ns_ + options_.bind_ns + options_.startup_ns;
  if (runs_ns == now_ns_) {
    StartPod(row, number);
    return;
  }
  WritePod(row, number);
  agenda_.Add({.at_ns = runs_ns,
               .kind = Occasion::kPodRuns,
               .job = row,
               .pod = number,
               .stamp = pod.generation});
}

void Simulation::StartPod(int32_t row, int32_t number) {
  Pod& pod = jobs_[At(row)].pods[At(number)];
  pod.stage = Pod::Stage::kRunning;
  pod.runs_ns = now_ns_;
  WritePod(row, number);
  Note(row);
}

void Simulation::Evict(int32_t row, int32_t number, StayEnd why) {
  Pod& pod = jobs_[At(row)].pods[At(number)];
  if (pod.node < 0 || pod.stage == Pod::Stage::kLeaving) return;
  ++timeline_.jobs.evictions[At(row)];
  Note(row);
  if (options_.terminate_ns == 0) {
    EndStay(row, number, why);
    MakeAgain(row, number);
    return;
  }
  pod.stage = Pod::Stage::kLeaving;
  pod.leaves_for = why;
  pod.deletion_ns = now_ns_;
  WritePod(row, number);
  agenda_.Add({.at_ns = now_ns_ + options_.terminate_ns,
               .kind = Occasion::kPodIsGone,
               .job = row,
               .pod = number,
               .stamp = pod.generation});
}

void Simulation::EndStay(int32_t row, int32_t number, StayEnd why) {
  Pod& pod = jobs_[At(row)].pods[At(number)];
  Timeline::Stays& stays = timeline_.stays;
  stays.job.push_back(row);
  stays.pod.push_back(number);
  stays.node.push_back(pod.node);
  stays.shared_card.push_back(
      pod.gpu_groups.empty()
          ? -1
          : shared_cards_.try_emplace(pod.gpu_groups[0], static_cast<int32_t>(shared_cards_.size()))
                .first->second);
  stays.from_ns.push_back(pod.from_ns);
  stays.runs_ns.push_back(pod.runs_ns);
  stays.to_ns.push_back(now_ns_);
  stays.end.push_back(static_cast<uint8_t>(why));
  std::erase_if(stays_on_[At(pod.node)],
                [&](const PodPlace& place) { return place.job == row && place.pod == number; });
  CountPods(row, -1, 0);
  pod.node = -1;
  Note(row);
}

void Simulation::MakeAgain(int32_t row, int32_t number) {
  Pod& pod = jobs_[At(row)].pods[At(number)];
  pod = {.stage = Pod::Stage::kWaiting,
         .leaves_for = {},
         .generation = pod.generation + 1,
         .created_ns = now_ns_,
         .gpu_groups = {}};
  WritePod(row, number);
}

void Simulation::TakeNode(int32_t outage) {
  const std::string& name = workload_.outages[At(outage)].node;
  const int32_t node = node_of_.at(name);
  if (is_node_there_[At(node)]-- != 1) return;  // two outages overlap
  RecordNode(node, false);
  store_.Delete(Kind::kNode, name);
  std::vector<PodPlace> pods = stays_on_[At(node)];
  std::ranges::sort(pods, {}, [](const PodPlace& place) { return std::tie(place.job, place.pod); });
  for (const PodPlace& place : pods) {
    EndStay(place.job, place.pod, StayEnd::kNodeGone);
    MakeAgain(place.job, place.pod);
  }
}

void Simulation::RecordQueues(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  Timeline::Queues& rows = timeline_.queues;
  for (const QueueId queue : cluster.queues().name.ids()) {
    const auto found = queue_of_.find(cluster.Text(cluster.queues().name[queue]));
    if (found == queue_of_.end()) continue;
    Use& use = uses_[At(found->second)];
    const double fair_share = plan.has_queue_numbers ? plan.queues[queue][kQuotaGpu].fair_share : 0;
    if (use.allocated == use.told_allocated && use.requested == use.told_requested &&
        fair_share == use.told_fair_share)
      continue;
    use.told_allocated = use.allocated;
    use.told_requested = use.requested;
    use.told_fair_share = fair_share;
    rows.at_ns.push_back(now_ns_);
    rows.queue.push_back(found->second);
    rows.allocated.push_back(use.allocated);
    rows.requested.push_back(use.requested);
    rows.fair_share.push_back(fair_share);
  }
}

}  // namespace kai

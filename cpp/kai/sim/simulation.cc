#include "kai/sim/simulation.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "kai/base/check.h"
#include "kai/base/status_macros.h"
#include "kai/base/text.h"
#include "kai/sim/given_claims.h"
#include "kai/sim/workload_check.h"

namespace kai {
namespace {

// With a period of 0: after this many cycles at one time, the next cycle comes a second later.
constexpr int64_t kMostCyclesAtOnce = 100;

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
  const SpareRoom room = SpareRoom::Of(node);
  QuotaVector offered = {};
  offered[kQuotaGpu] = static_cast<double>(room.cards) * kMicroGpusOfOne;
  offered[kQuotaCpu] = static_cast<double>(room.millicpu);
  offered[kQuotaMemory] = static_cast<double>(room.memory_bytes);
  return offered;
}

// Sorted, so that the order of the input has no effect.
std::vector<int32_t> SortJobs(std::vector<SimJob>* jobs) {
  std::vector<int32_t> input(jobs->size());
  std::iota(input.begin(), input.end(), 0);
  std::ranges::sort(input, [&](int32_t a, int32_t b) {
    const SimJob& one = (*jobs)[static_cast<size_t>(a)];
    const SimJob& other = (*jobs)[static_cast<size_t>(b)];
    return std::tie(one.arrival_ns, one.name) < std::tie(other.arrival_ns, other.name);
  });
  std::vector<SimJob> sorted;
  sorted.reserve(jobs->size());
  for (const int32_t row : input) sorted.push_back(std::move((*jobs)[static_cast<size_t>(row)]));
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
  KAI_RETURN_IF_ERROR(made->Fill());
  return made;
}

Simulation::Simulation(SimWorkload workload, Config config, ShardParams params,
                       const SimOptions& options)
    : workload_(std::move(workload)),
      options_(options),
      objects_(workload_, params.scheduler_name, options.start_ns),
      store_(workload_.first == nullptr ? Store() : Store(workload_.first->store())),
      // The autoscaler reads the reasons why groups wait.
      engine_(&store_, std::move(config), std::move(params),
              {.explains = !workload_.pools.empty()}),
      fleet_(workload_.nodes, &store_, &timeline_,
             [this](int32_t node, bool is_there) { CountNode(node, is_there); }) {
  timeline_.jobs.input = SortJobs(&workload_.jobs);
  std::ranges::sort(workload_.nodes, {}, &NodeRow::name);
  const auto by_time = [](const auto& each) {
    return std::tie(each.from_ns, each.node, each.until_ns);
  };
  std::ranges::sort(workload_.outages, {}, by_time);
  std::ranges::sort(workload_.windows, [&](const SimWindow& a, const SimWindow& b) {
    return std::tuple(by_time(a), a.drains) < std::tuple(by_time(b), b.drains);
  });
  std::ranges::stable_sort(workload_.queue_changes, [](const auto& a, const auto& b) {
    return std::tie(a.at_ns, a.queue.name) < std::tie(b.at_ns, b.queue.name);
  });
}

absl::Status Simulation::Check() const {
  if (options_.period_ns < 0 || options_.bind_ns < 0 || options_.startup_ns < 0 ||
      options_.terminate_ns < 0 || options_.scale_ns < 1)
    return absl::InvalidArgumentError("options: a time is negative");
  if (options_.usage) KAI_RETURN_IF_ERROR(options_.usage->Check());
  KAI_RETURN_IF_ERROR(CheckWorkload(workload_));
  if (workload_.first == nullptr) return absl::OkStatus();
  for (const SimJob& job : workload_.jobs) {
    if (job.given < 0 && store_.Has(Kind::kPodGroup, SimObjects::GroupName(job)))
      return absl::InvalidArgumentError(
          StrCat("job ", job.name, ": the cluster has a pod group ", SimObjects::GroupName(job)));
  }
  return absl::OkStatus();
}

// ---- time ---------------------------------------------------------------------------------------

absl::StatusOr<bool> Simulation::Run(int64_t steps) {
  while (!has_ended_ && steps-- > 0) {
    const bool is_done = jobs_ended_ == std::ssize(jobs_) && !jobs_.empty();
    int64_t next_ns = NextNs();
    // Fetches of usage alone do not keep a simulation running.
    const std::optional<int64_t> fetch_ns =
        is_done || next_ns == Timeline::kNever ? std::nullopt : DueFetchNs(next_ns);
    if (fetch_ns) next_ns = *fetch_ns;
    if (is_done || next_ns == Timeline::kNever || next_ns > options_.until_ns) {
      // Jobs without an end go on although no event is left.
      const bool goes_on =
          next_ns != Timeline::kNever || std::ranges::any_of(workload_.jobs, [](const SimJob& job) {
            return job.duration_ns == SimJob::kForever;
          });
      if (!is_done && options_.until_ns != Timeline::kNever && goes_on) now_ns_ = options_.until_ns;
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
    if (engine_.has_changed()) ScheduleCycle(now_ns_);
  }
  return has_ended_;
}

bool Simulation::IsCycleNext() const {
  return next_cycle_ns_ != Timeline::kNever &&
         (decides_first_ || agenda_.empty() || next_cycle_ns_ < agenda_.NextNs());
}

int64_t Simulation::NextNs() const {
  return IsCycleNext() ? next_cycle_ns_ : !agenda_.empty() ? agenda_.NextNs() : Timeline::kNever;
}

std::optional<int64_t> Simulation::DueFetchNs(int64_t next_ns) const {
  if (!history_ || next_fetch_ns_ > next_ns) return std::nullopt;
  if (waiting_pods_ > 0) return next_fetch_ns_;
  // Earlier fetches have no effect.
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
  if (waiting_pods_ > 0 && engine_.has_changed()) ScheduleCycle(now_ns_);
}

void Simulation::ScheduleCycle(int64_t at_ns) {
  const int64_t period_ns = options_.period_ns;
  // At the first moment there is only the cycle that decides about it.
  if (workload_.first != nullptr && timeline_.cycles > 0) at_ns = std::max<int64_t>(at_ns, 1);
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
    case Occasion::kNodeComes:
      fleet_.Comes(entry.job, now_ns_);
      empty_since_ns_[At(entry.job)] = now_ns_;  // its idle time begins when it takes pods
      return;
    case Occasion::kWindowBegins:
      BeginWindow(entry.pod);
      return;
    case Occasion::kWindowEnds:
      fleet_.Open(entry.job, now_ns_);
      empty_since_ns_[At(entry.job)] = now_ns_;
      return;
    case Occasion::kPoolNodeReady:
      fleet_.MakeReady(entry.job, now_ns_);
      empty_since_ns_[At(entry.job)] = now_ns_;
      return;
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
    case Occasion::kResize:
      Resize(entry.job, entry.pod);
      return;
    case Occasion::kScalerLooks:
      if (entry.at_ns == next_look_ns_) LookForNodes();
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
  decides_first_ = false;
  ++timeline_.cycles;
  ++cycles_now_;
  const int64_t began_ns = stopwatch_.NowNs();
  absl::StatusOr<Engine::PlanPtr> plan = engine_.Plan(date_ns(), nullptr);
  timeline_.engine_ns += stopwatch_.NowNs() - began_ns;
  KAI_RETURN_IF_ERROR(plan.status());
  CarryOut(**plan);
  WriteStamps(**plan);
  UpdateProgress();
  RecordQueues(**plan);
  if (scaler_) NoteStarved(**plan);
  if (engine_.has_changed()) {
    const int64_t step_ns = options_.period_ns > 0            ? options_.period_ns
                            : cycles_now_ < kMostCyclesAtOnce ? 0
                                                              : kSecondNs;
    ScheduleCycle(now_ns_ + step_ns);
  } else if (const std::optional<Engine::Wake> wake = engine_.NextWake()) {
    ScheduleCycle(std::max(wake->at_ns - options_.start_ns, now_ns_ + 1));
  }
  return absl::OkStatus();
}

Simulation::PodPlace Simulation::PlaceOf(const Cluster& cluster, PodId id) const {
  const std::string_view pod = cluster.Text(cluster.pods().name[id]);
  if (!given_places_.empty()) {
    const auto given = given_places_.find(cluster.PodName(id));
    if (given != given_places_.end()) return given->second;
    if (cluster.Text(cluster.pods().namespace_name[id]) != SimObjects::kNamespace) return {};
  }
  const size_t dash = pod.rfind('-');
  PodPlace place{.job = job_of_.at(pod.substr(0, dash))};
  std::from_chars(pod.data() + dash + 1, pod.data() + pod.size(), place.pod);
  return place;
}

int32_t Simulation::JobOf(const Cluster& cluster, PodGroupId group) const {
  const std::string_view name = cluster.Text(cluster.pod_groups().name[group]);
  if (workload_.first == nullptr) return job_of_.at(name);
  const std::string whole = cluster.PodGroupName(group);
  const bool is_given = workload_.first->store().Has(Kind::kPodGroup, whole);
  const auto found = job_of_.find(is_given ? std::string_view(whole) : name);
  return found == job_of_.end() ? -1 : found->second;
}

void Simulation::CarryOut(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  for (const CycleLog::Decision& decision : plan.decisions) {
    if (decision.kind == CycleLog::Decision::Kind::kPipeline) continue;
    const PodPlace place = PlaceOf(cluster, decision.pod);
    if (place.job < 0) continue;  // not a job of the simulation
    if (decision.kind == CycleLog::Decision::Kind::kEvict) {
      Evict(place.job, place.pod, EndOf(decision.note));
    } else {
      const int32_t node = fleet_.Find(cluster.Text(cluster.nodes().name[decision.node]));
      std::optional<BindRequestRow> request = RequestOf(plan, decision);
      if (request) {
        jobs_[At(place.job)].pods[At(place.pod)].bind_request = NameInTable(*request);
        store_.Upsert(*std::move(request));
      }
      Bind(place.job, place.pod, node, plan.GpuGroupsOf(decision));
    }
  }
}

void Simulation::WriteStamps(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  for (const auto& [group, writes] : plan.stamped) {
    const int32_t row = JobOf(cluster, group);
    if (row < 0) continue;
    Job& job = jobs_[At(row)];
    if (writes.last_start) job.last_start_ns = now_ns_;
    if (writes.last_eviction) job.last_eviction_ns = now_ns_;
    if (writes.stale_since == StampWrite::kNow) job.stale_since_ns = now_ns_;
    if (writes.stale_since == StampWrite::kRemove) job.stale_since_ns.reset();
    if (writes.service) job.service = *writes.service;
    WriteGroup(row);
  }
}

// ---- jobs and pods ------------------------------------------------------------------------------

void Simulation::WriteGroup(int32_t row) {
  const Job& job = jobs_[At(row)];
  store_.Upsert(
      objects_.GroupRow(workload_.jobs[At(row)], {.last_start_ns = job.last_start_ns,
                                                  .stale_since_ns = job.stale_since_ns,
                                                  .last_eviction_ns = job.last_eviction_ns,
                                                  .service = job.service}));
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

int64_t Simulation::MicroGpusOf(int32_t row, int32_t pod) const {
  const SimJob& job = workload_.jobs[At(row)];
  if (job.given < 0) return job.micro_gpus;
  return workload_.first->groups()[At(job.given)].pods[At(pod)].micro_gpus;
}

void Simulation::CountPod(int32_t row, int32_t pod, int32_t held, int32_t there) {
  const PodNeeds needs = NeedsOf(row, pod);
  const int32_t leaf = workload_.jobs[At(row)].queue;
  for (int32_t queue = leaf; queue >= 0; queue = uses_[At(queue)].parent) {
    uses_[At(queue)].allocated += needs.micro_gpus * held;
    uses_[At(queue)].requested += needs.micro_gpus * there;
  }
  waiting_pods_ += there - held;
  if (!history_ || held == 0) return;
  QuotaVector amounts = {};
  amounts[kQuotaGpu] = static_cast<double>(held * needs.micro_gpus);
  amounts[kQuotaCpu] = static_cast<double>(held * needs.millicpu);
  amounts[kQuotaMemory] = static_cast<double>(held * needs.memory_bytes);
  history_->Add(leaf, amounts, now_ns_);
}

void Simulation::CountNode(int32_t node, bool is_there) {
  if (!history_) return;
  QuotaVector amounts = OfferedBy(workload_.nodes[At(node)]);
  for (double& amount : amounts) amount = is_there ? amount : -amount;
  history_->AddCapacity(amounts, now_ns_);
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
    job.progress.SetMinPods(workload_.jobs[At(row)].min_pods);
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

void Simulation::MakePod(int32_t row, int32_t number) {
  Pod& pod = jobs_[At(row)].pods[At(number)];
  pod = {.stage = Pod::Stage::kWaiting,
         .leaves_for = {},
         .generation = pod.generation,
         .created_ns = now_ns_,
         .gpu_groups = {},
         .bind_request = {}};
  WritePod(row, number);
}

void Simulation::DeletePod(int32_t row, int32_t number) {
  jobs_[At(row)].pods[At(number)].stage = Pod::Stage::kAbsent;
  ++jobs_[At(row)].pods[At(number)].generation;
  store_.Delete(Kind::kPod, objects_.PodName(workload_.jobs[At(row)], number));
  CountPod(row, number, 0, -1);
}

void Simulation::Arrive(int32_t row) {
  const SimJob& spec = workload_.jobs[At(row)];
  jobs_[At(row)].pods.resize(At(spec.pods));
  WriteGroup(row);
  for (int32_t pod = 0; pod < spec.pods; ++pod) {
    MakePod(row, pod);
    CountPod(row, pod, 0, 1);
  }
}

void Simulation::End(int32_t row) {
  const SimJob& spec = workload_.jobs[At(row)];
  Job& job = jobs_[At(row)];
  job.progress.Finish(now_ns_);
  for (int32_t pod = 0; pod < std::ssize(job.pods); ++pod) {
    if (job.pods[At(pod)].stage == Pod::Stage::kAbsent) continue;
    if (job.pods[At(pod)].node >= 0) EndStay(row, pod, StayEnd::kFinished);
    DeletePod(row, pod);
  }
  store_.Delete(Kind::kPodGroup, SimObjects::GroupName(spec));
  job.pods = {};
  ++job.stamp;
  timeline_.jobs.end_ns[At(row)] = now_ns_;
  ++jobs_ended_;
}

void Simulation::Resize(int32_t row, int32_t place) {
  Job& job = jobs_[At(row)];
  if (job.pods.empty()) return;  // it has ended
  SimJob& spec = workload_.jobs[At(row)];
  const SimResize& resize = spec.resizes[At(place)];
  const int32_t before = spec.pods;
  spec.pods = resize.pods;
  spec.min_pods = resize.min_pods;
  WriteGroup(row);
  Note(row);
  for (int32_t pod = spec.pods; pod < before; ++pod) {
    if (job.pods[At(pod)].node >= 0) {
      Evict(row, pod, StayEnd::kResized);
    } else if (job.pods[At(pod)].stage == Pod::Stage::kWaiting) {
      DeletePod(row, pod);
    }
  }
  if (std::ssize(job.pods) < spec.pods) job.pods.resize(At(spec.pods));
  for (int32_t pod = before; pod < spec.pods; ++pod) {
    if (job.pods[At(pod)].stage != Pod::Stage::kAbsent) continue;  // still leaving
    MakePod(row, pod);
    CountPod(row, pod, 0, 1);
  }
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
  CountPod(row, number, 1, 0);
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
  if (why != StayEnd::kResized) ++timeline_.jobs.evictions[At(row)];
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
  if (stays_on_[At(pod.node)].empty()) empty_since_ns_[At(pod.node)] = now_ns_;
  CountPod(row, number, -1, 0);
  pod.node = -1;
  if (!pod.bind_request.empty()) store_.Delete(Kind::kBindRequest, pod.bind_request);
  pod.bind_request.clear();
  if (const SimJob& job = workload_.jobs[At(row)]; job.given >= 0) {
    const FirstMoment::Group& group = workload_.first->groups()[At(job.given)];
    ReleaseClaims(group.pods[At(number)].row, &store_);
  }
  Note(row);
}

void Simulation::MakeAgain(int32_t row, int32_t number) {
  if (number >= workload_.jobs[At(row)].pods) {
    DeletePod(row, number);
    return;
  }
  ++jobs_[At(row)].pods[At(number)].generation;
  MakePod(row, number);
}

void Simulation::RecordQueues(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  Timeline::Queues& rows = timeline_.queues;
  for (const QueueId queue : cluster.queues().name.ids()) {
    const auto found = queue_of_.find(cluster.Text(cluster.queues().name[queue]));
    if (found == queue_of_.end()) continue;
    Use& use = uses_[At(found->second)];
    const double fair_share = plan.has_queue_numbers ? plan.queues[queue][kQuotaGpu].fair_share : 0;
    if (use.allocated == use.recorded_allocated && use.requested == use.recorded_requested &&
        fair_share == use.recorded_fair_share)
      continue;
    use.recorded_allocated = use.allocated;
    use.recorded_requested = use.requested;
    use.recorded_fair_share = fair_share;
    rows.at_ns.push_back(now_ns_);
    rows.queue.push_back(found->second);
    rows.allocated.push_back(use.allocated);
    rows.requested.push_back(use.requested);
    rows.fair_share.push_back(fair_share);
  }
}

}  // namespace kai

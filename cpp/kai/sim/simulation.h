// Simulation: a cluster in virtual time, with the scheduler of production: a Store, an Engine that
// follows it, and decisions that become changes of the store's objects. Time jumps from one event
// to the next. A cycle runs at the next multiple of the period after something changed, after the
// time at which the last plan would change, and after a fetch of different past usage while pods
// wait.
//
//   while (ended.ok() && !*ended) ended = (*simulation)->Run(1000);
//
// It starts empty, or from a first moment; then the first cycle plans that state unchanged.
//
// Around the scheduler: a binding puts a pod on its node, where it runs after the delays of
// SimOptions. An evicted pod leaves after a delay; then the controller of its workload creates it
// again with the same name and another UID. When a job's work is done, its pods and its pod group
// are deleted. Nodes fail, are maintained (node_fleet.h), and come and go with demand
// (autoscaler.h). The order of the workload's objects has no effect.
//
// Invariants: the same workload, configuration and options give the same timeline. Cost: O(log) and
// a few rows of the store for each event, plus the cycles. Not thread-safe.
#ifndef KAI_SIM_SIMULATION_H_
#define KAI_SIM_SIMULATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kai/engine/engine.h"
#include "kai/sim/agenda.h"
#include "kai/sim/autoscaler.h"
#include "kai/sim/job_progress.h"
#include "kai/sim/node_fleet.h"
#include "kai/sim/sim_objects.h"
#include "kai/sim/timeline.h"
#include "kai/sim/usage_history.h"
#include "kai/sim/workload.h"

namespace kai {

class Simulation {
 public:
  // InvalidArgument: "job a: min_pods is 3, and pods 2".
  static absl::StatusOr<std::unique_ptr<Simulation>> Make(SimWorkload workload, Config config,
                                                          ShardParams params, SimOptions options);

  // Processes this many events and cycles. True: the simulation has ended, and the timeline is
  // complete.
  absl::StatusOr<bool> Run(int64_t steps);
  // Ends the simulation now; stays that have not ended are recorded with that reason.
  void Stop();

  // All objects as they are now, for a plan that explains why jobs wait.
  ClusterRows State() { return engine_.Rows(); }

  int64_t now_ns() const { return now_ns_; }
  int64_t date_ns() const { return options_.start_ns + now_ns_; }  // since 1970
  int64_t jobs_ended() const { return jobs_ended_; }
  // Complete after the end or Stop().
  const Timeline& timeline() const { return timeline_; }
  const Store& store() const { return store_; }

 private:
  struct Pod {
    enum class Stage : uint8_t { kAbsent, kWaiting, kBound, kRunning, kLeaving };
    Stage stage = Stage::kAbsent;
    StayEnd leaves_for{};
    int32_t node = -1;
    int32_t generation = 0;  // how often it was created again
    int64_t created_ns = 0;
    int64_t from_ns = 0;
    int64_t runs_ns = Timeline::kNever;
    int64_t deletion_ns = 0;
    std::vector<std::string> gpu_groups;
    std::string bind_request;  // that holds the claims of its stay, if any
  };
  struct PodPlace {
    int32_t job = -1;
    int32_t pod = 0;
  };
  struct Job {
    explicit Job(const JobProgress::Spec& spec) : progress(spec) {}

    std::vector<Pod> pods;  // empty: not arrived, or ended; pods beyond the job's size are leaving
    JobProgress progress;
    int64_t stamp = 0;         // of its end on the agenda
    bool has_changed = false;  // pods came or went since the last update of its progress
    std::optional<int64_t> last_start_ns;
    std::optional<int64_t> stale_since_ns;
    std::optional<int64_t> last_eviction_ns;
    ServiceRow service;  // as the scheduler wrote it
  };

  static size_t At(int32_t place) { return static_cast<size_t>(place); }

  Simulation(SimWorkload workload, Config config, ShardParams params, const SimOptions& options);
  absl::Status Check() const;
  absl::Status Fill();
  void FillQueues();
  void FillNodes();
  void FillJobs();
  // Creates a job that exists from the start.
  void Adopt(int32_t job);
  void AdoptPod(int32_t job, int32_t pod);

  // When the next event or cycle is; kNever if there is none.
  int64_t NextNs() const;
  bool IsCycleNext() const;
  // The last fetch that is due before the next event or, if pods wait, the first one.
  std::optional<int64_t> DueFetchNs(int64_t next_ns) const;
  void FetchUsage();
  void Happen(const AgendaEntry& entry);
  absl::Status Cycle();
  void CarryOut(const Plan& plan);
  void WriteStamps(const Plan& plan);

  void Arrive(int32_t job);
  void MakePod(int32_t job, int32_t pod);
  void DeletePod(int32_t job, int32_t pod);
  void End(int32_t job);
  void Resize(int32_t job, int32_t resize);
  void Bind(int32_t job, int32_t pod, int32_t node, std::vector<std::string> gpu_groups);
  void StartPod(int32_t job, int32_t pod);
  void Evict(int32_t job, int32_t pod, StayEnd why);
  // The pod has left: its job creates it again, unless the job has fewer pods now.
  void MakeAgain(int32_t job, int32_t pod);
  void TakeNode(int32_t node);
  void BeginWindow(int32_t window);
  std::vector<PodPlace> PodsOn(int32_t node) const;
  void LookForNodes();
  SpareRoom RoomOf(int32_t node) const;
  PodNeeds NeedsOf(int32_t job, int32_t pod) const;
  // The pod leaves its node.
  void EndStay(int32_t job, int32_t pod, StayEnd why);

  void Note(int32_t job);
  void UpdateProgress();
  JobProgress::Pods PodsOf(int32_t job) const;
  void WritePod(int32_t job, int32_t pod);
  void WriteGroup(int32_t job);
  int64_t MicroGpusOf(int32_t job, int32_t pod) const;
  // Changes the counts of pods on nodes (`held`) and of existing pods (`there`) by 1, 0 or -1.
  void CountPod(int32_t job, int32_t pod, int32_t held, int32_t there);
  // Adds or removes the capacity of a node.
  void CountNode(int32_t node, bool is_there);
  void RecordQueues(const Plan& plan);
  void NoteStarved(const Plan& plan);
  void ScheduleCycle(int64_t at_ns);
  void ScheduleLook(int64_t at_ns);
  void Complete();

  // Without a job: the pod is not part of the simulation.
  PodPlace PlaceOf(const Cluster& cluster, PodId pod) const;
  int32_t JobOf(const Cluster& cluster, PodGroupId group) const;  // -1: not a job of the simulation

  SimWorkload workload_;
  SimOptions options_;
  SimObjects objects_;
  Store store_;
  Engine engine_;
  SystemClock stopwatch_;
  Agenda agenda_;
  std::vector<Job> jobs_;
  absl::flat_hash_map<std::string_view, int32_t> job_of_;    // by name
  absl::flat_hash_map<std::string, PodPlace> given_places_;  // pods of the first moment, by name
  NodeFleet fleet_;
  // By node: the pods on it, and since when it is empty.
  std::vector<std::vector<PodPlace>> stays_on_;
  std::vector<int64_t> empty_since_ns_;
  std::optional<Autoscaler> scaler_;  // empty: no node is ordered or removed
  std::vector<SpareRoom> rooms_;      // of empty nodes; for the autoscaler
  std::vector<int32_t> starved_;      // jobs with pods that did not fit in the last plan
  int64_t next_look_ns_ = Timeline::kNever;
  absl::flat_hash_map<std::string, int32_t> shared_cards_;  // by GPU group
  std::vector<int32_t> changed_jobs_;                       // jobs with has_changed

  // By queue, including all queues below it: millionths of GPUs.
  struct Use {
    int32_t parent = -1;
    int64_t allocated = 0;
    int64_t requested = 0;
    int64_t recorded_allocated = -1;
    int64_t recorded_requested = -1;
    double recorded_fair_share = -1;
  };
  std::vector<Use> uses_;
  absl::flat_hash_map<std::string_view, int32_t> queue_of_;

  std::optional<UsageHistory> history_;
  int64_t next_fetch_ns_ = 0;
  int64_t waiting_pods_ = 0;
  std::vector<QuotaVector> fetched_;  // by queue

  int64_t now_ns_ = 0;
  int64_t next_cycle_ns_ = Timeline::kNever;
  bool decides_first_ = false;  // the next cycle comes before all events
  int64_t cycles_now_ = 0;      // at the current time
  int64_t jobs_ended_ = 0;
  bool has_ended_ = false;
  Timeline timeline_;
};

}  // namespace kai

#endif  // KAI_SIM_SIMULATION_H_

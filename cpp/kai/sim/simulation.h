// Simulation: a cluster in virtual time. The scheduler is the one of production: a Store, an Engine
// that follows it, and decisions that become changes of the store's objects. Time jumps from one
// event to the next; a cycle runs at the next multiple of the period after something changed or a
// moment has come that the last plan waits for, and when other usage of the past is fetched while
// pods wait.
//
//   while (ended.ok() && !*ended) ended = (*simulation)->Run(1000);
//
// It starts empty, or from a first moment: then the first cycle decides about it as it stands.
//
// Around the scheduler: a binding puts the pod on its node, and after the delays of SimOptions it
// runs. An evicted pod leaves after a while, and its workload's controller then makes it again
// under the same name, with another UID. When the work of a job is done its pods and its pod group
// go. Nodes fail, are maintained (node_fleet.h), and come and go with demand (autoscaler.h).
// Nothing here depends on the order of the workload's objects.
//
// Invariants: the same workload, configuration and options give the same timeline. Cost: O(log) and
// a few rows of the store for each event, and the cycles. Not thread-safe.
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

  // So many events and cycles more. True: it has ended, and the timeline is complete.
  absl::StatusOr<bool> Run(int64_t steps);
  // It ends here: what still runs is recorded as such.
  void Stop();

  int64_t now_ns() const { return now_ns_; }
  int64_t jobs_ended() const { return jobs_ended_; }
  // Complete once it has ended or was stopped.
  const Timeline& timeline() const { return timeline_; }
  const Store& store() const { return store_; }

 private:
  struct Pod {
    enum class Stage : uint8_t { kAbsent, kWaiting, kBound, kRunning, kLeaving };
    Stage stage = Stage::kAbsent;
    StayEnd leaves_for{};
    int32_t node = -1;
    int32_t generation = 0;  // how often it was made again
    int64_t created_ns = 0;
    int64_t from_ns = 0;
    int64_t runs_ns = Timeline::kNever;
    int64_t deletion_ns = 0;
    std::vector<std::string> gpu_groups;
    std::string bind_request;  // of its stay, where there is one: it holds claims
  };
  struct PodPlace {
    int32_t job = -1;
    int32_t pod = 0;
  };
  struct Job {
    explicit Job(const JobProgress::Spec& spec) : progress(spec) {}

    std::vector<Pod> pods;  // empty: not there yet, or gone; those beyond the job's are leaving
    JobProgress progress;
    int64_t stamp = 0;         // of its end on the agenda
    bool has_changed = false;  // pods came or went since its progress heard of it
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
  // A job that is there from the start.
  void Adopt(int32_t job);
  void AdoptPod(int32_t job, int32_t pod);

  // Of the events and cycles: when the next one is; kNever: nothing is left to happen.
  int64_t NextNs() const;
  bool IsCycleNext() const;
  // The last fetch that is due by the moment of the next event, or the first one if pods wait.
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
  // It has left: its job makes it again, unless it has fewer pods by now.
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
  // So many times more is the pod on a node, and there at all: 1, 0 or -1.
  void CountPod(int32_t job, int32_t pod, int32_t held, int32_t there);
  // What a node offers counts from now on, or no longer.
  void CountNode(int32_t node, bool is_there);
  void RecordQueues(const Plan& plan);
  void NoteStarved(const Plan& plan);
  void WantCycle(int64_t at_ns);
  void WantLook(int64_t at_ns);
  void Complete();

  // Without a job: it is of no job of the simulation.
  PodPlace PlaceOf(const Cluster& cluster, PodId pod) const;
  int32_t JobOf(const Cluster& cluster, PodGroupId group) const;  // -1: no job of the simulation

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
  // By node: pods on it, and since when there is none.
  std::vector<std::vector<PodPlace>> stays_on_;
  std::vector<int64_t> empty_since_ns_;
  std::optional<Autoscaler> scaler_;  // nothing: no node is ordered or removed
  std::vector<SpareRoom> rooms_;      // of empty nodes; for the autoscaler
  std::vector<int32_t> starved_;      // jobs with pods for which the last plan had no room
  int64_t next_look_ns_ = Timeline::kNever;
  absl::flat_hash_map<std::string, int32_t> shared_cards_;  // by GPU group
  std::vector<int32_t> changed_jobs_;                       // of which has_changed

  // By queue, with all below it: millionths of GPUs.
  struct Use {
    int32_t parent = -1;
    int64_t allocated = 0;
    int64_t requested = 0;
    int64_t told_allocated = -1;
    int64_t told_requested = -1;
    double told_fair_share = -1;
  };
  std::vector<Use> uses_;
  absl::flat_hash_map<std::string_view, int32_t> queue_of_;

  std::optional<UsageHistory> history_;
  int64_t next_fetch_ns_ = 0;
  int64_t waiting_pods_ = 0;
  std::vector<QuotaVector> fetched_;  // by queue

  int64_t now_ns_ = 0;
  int64_t next_cycle_ns_ = Timeline::kNever;
  bool decides_first_ = false;  // the next cycle comes before all that happens
  int64_t cycles_now_ = 0;      // at this moment
  int64_t jobs_ended_ = 0;
  bool has_ended_ = false;
  Timeline timeline_;
};

}  // namespace kai

#endif  // KAI_SIM_SIMULATION_H_

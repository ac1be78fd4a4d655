// What Python holds: a cluster that was read from a snapshot and may live on, and the plans made of
// it.
//
// A cluster that nothing happens to is planned as it was read. With its first event it gets a
// store, and each session an engine of its own that follows it (docs/internals/bindings.md).
//
// Threads: one mutex per cluster for everything that reads or changes what lives on. A thread gives
// the GIL back while it waits for the mutex: where one has both, it took the mutex first.
#ifndef KAI_BINDINGS_LIVE_CLUSTER_H_
#define KAI_BINDINGS_LIVE_CLUSTER_H_

#include <pybind11/pybind11.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "held_plan.h"
#include "kai/base/memory_report.h"
#include "kai/engine/engine.h"
#include "kai/ingest/json_document.h"
#include "kai/ingest/snapshot_reader.h"
#include "kai/session/session.h"
#include "kai/store/history.h"

namespace kai::bindings {

class LiveCluster : public std::enable_shared_from_this<LiveCluster> {
 public:
  // Throws what Python raises for bytes that are no snapshot.
  static std::shared_ptr<LiveCluster> Load(const pybind11::bytes& data);

  // One that starts empty; `params_json` as schedulerParams of a snapshot. Throws for what is none.
  static std::shared_ptr<LiveCluster> Live(const std::string& params_json);
  const std::string& scheduler_name() const { return params_.scheduler_name; }
  const ShardParams& params() const { return params_; }

  // An event, or why it is none.
  struct Event {
    std::string kind;
    std::string name;
    bool was_there = false;
    bool is_late = false;  // and changed nothing
  };
  Event Upsert(std::string_view json);
  // Whether it was there.
  bool Delete(std::string_view kind, const std::string& name);
  bool Has(std::string_view kind, const std::string& name);

  // As those of the store. Nothing: the server has an object of that name.
  std::optional<std::string> UpsertPlanned(std::string_view json);
  bool Withdraw(std::string_view kind, const std::string& name);
  bool Assign(const std::string& pod, const std::string& uid, const std::string& group,
              const std::string& subgroup);
  void Avoid(const std::string& group, const std::vector<std::string>& nodes);
  void HoldOff(const std::string& group, int64_t since_ns, int64_t delay_ns);
  // Throws for a part that is no number from 0 on.
  void SetPastUsages(PastUsages usages);
  PastUsages past_usages();                                   // of queues that have used something
  std::map<std::string, std::pair<int64_t, int64_t>> Ages();  // created and planned, by group
  void ServeClaims(bool serves);
  // Calls use(store) with it; throws where the file names an object twice.
  template <typename Use>
  auto WithStore(const Use& use) {
    const Turn turn = TakeTurn(*mutex_);
    MustFollow();
    return use(store_.get());
  }

  // Another one with the same objects, and without what sessions remember of this one. Null:
  // nothing has happened to this one, so that it is what its bytes say.
  std::shared_ptr<LiveCluster> Copy();

  // False: the file names an object twice, so that no store can hold it.
  bool CanFollow();

  // Throws BusyError when another plan is being made.
  std::shared_ptr<HeldPlan> Plan(const std::shared_ptr<Session>& session, int64_t now_ns);

  // What a scheduler is about to do, and what it remembers (kai/engine/engine.h). Throw
  // InvalidClusterError where the file names an object twice, and for JSON that is no BindRequest
  // or no memory.
  using SessionPtr = std::shared_ptr<Session>;
  std::optional<AssumptionId> AssumeBound(const SessionPtr& session, std::string_view json);
  std::optional<AssumptionId> AssumeEvicted(const SessionPtr& session, const std::string& pod,
                                            int64_t now_ns);
  std::optional<AssumptionId> AssumeBoundTo(const SessionPtr& session, const std::string& pod,
                                            std::string_view uid, const std::string& node);
  // One for each decision: nothing for a place that is promised.
  std::vector<std::optional<AssumptionId>> AssumePlan(const SessionPtr& session,
                                                      const DecisionTable& decisions,
                                                      int64_t now_ns);
  bool Forget(const SessionPtr& session, AssumptionId id);
  // As Engine::Broken(); plans end as by the next plan.
  std::vector<AssumptionId> Broken(const SessionPtr& session, const std::vector<AssumptionId>& ids);
  // Whether the next plan has anything to take in.
  bool HasChanged(const SessionPtr& session);
  std::string ExportMemory(const SessionPtr& session);
  void ImportMemory(const SessionPtr& session, std::string_view json);
  // Nothing: no plan of the cluster as it is ends with time.
  std::optional<Engine::Wake> NextWake(const SessionPtr& session);

  // Calls read(cluster) with the cluster as it is.
  template <typename Read>
  auto Look(const Read& read) {
    const Turn turn = TakeTurn(*mutex_);
    return read(*Current());
  }

  // What it holds as one that lives on: objects, history, and what each session keeps.
  MemoryReport Memory();

  const std::string& config_json() const { return config_json_; }
  int64_t load_ns() const { return load_ns_; }

 private:
  // The engine of a session, and the plans that Python may still hold of it.
  struct Follower {
    std::weak_ptr<Session> session;
    std::shared_ptr<const Config> config;
    std::unique_ptr<Engine> engine;
    std::vector<std::weak_ptr<HeldPlan>> plans;
  };

  LiveCluster(SnapshotFile file, pybind11::bytes data, int64_t load_ns);
  LiveCluster(const LiveCluster& other, std::unique_ptr<Store> store);

  bool StartFollowing();
  void MustFollow();
  std::shared_ptr<const Cluster> Current();
  Follower& FollowerOf(const std::shared_ptr<Session>& session);
  absl::StatusOr<HeldPlan::PlanPtr> PlanAsLoaded(const std::shared_ptr<Session>& session,
                                                 int64_t now_ns, Numbers* timing_ns);
  static absl::StatusOr<HeldPlan::PlanPtr> PlanAsItIs(Engine* engine, int64_t now_ns,
                                                      Numbers* timing_ns);
  // Before the engine takes events in.
  static void LetPlansGo(Follower* follower);
  // What a plan depends on beside objects and the time.
  struct Circumstances {
    std::shared_ptr<const Assumptions::All> assumed;
    Promises promises;
  };
  // How the plan that was just made is made again.
  HeldPlan::Again AgainFor(const Session& session, const Follower* follower, int64_t now_ns);
  // An object that is no JSON is an error of the caller.
  JsonObject Parse(std::string_view json);
  // With the turn taken.
  Engine& EngineOf(const std::shared_ptr<Session>& session);

  std::shared_ptr<Mutex> mutex_ = std::make_shared<Mutex>();
  std::atomic<bool> is_planning_ = false;
  std::string config_json_;
  ShardParams params_;
  std::vector<std::string> warnings_;  // of every plan
  int64_t load_ns_ = 0;

  // Until the first event.
  std::shared_ptr<Cluster> loaded_;
  pybind11::object data_;  // bytes
  // By session: the last plan of it, and then what it has promised, for its engine.
  struct FirstPlan {
    std::weak_ptr<Session> session;
    HeldPlan::PlanPtr plan;
    Promises promises;
  };
  std::vector<FirstPlan> first_plans_;

  // From then on.
  std::unique_ptr<Store> store_;
  std::unique_ptr<History> history_;
  JsonDocument document_;
  std::vector<Follower> followers_;
  std::shared_ptr<Session> spare_session_;  // of an engine that only looks
};

}  // namespace kai::bindings

#endif  // KAI_BINDINGS_LIVE_CLUSTER_H_

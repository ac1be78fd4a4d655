// The objects that Python holds: a cluster that was read from a snapshot and may change, and the
// plans made of it.
//
// A cluster without events is planned as it was read. The first event creates a store, and each
// session then gets its own engine that follows the store (docs/internals/bindings.md).
//
// Threads: one mutex per cluster protects everything that changes. A thread releases the GIL while
// it waits for the mutex; to hold both, it takes the mutex first.
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
  // Throws a Python exception for bytes that are not a snapshot.
  static std::shared_ptr<LiveCluster> Load(const pybind11::bytes& data);

  // A cluster with these objects, which no event changes.
  static std::shared_ptr<LiveCluster> Fixed(ClusterRows rows);

  // An empty cluster; `params_json` has the format of a snapshot's schedulerParams. Throws if it is
  // invalid.
  static std::shared_ptr<LiveCluster> Live(const std::string& params_json);
  const std::string& scheduler_name() const { return params_.scheduler_name; }
  const ShardParams& params() const { return params_; }

  // An event, or why it is invalid.
  struct Event {
    std::string kind;
    std::string name;
    bool was_there = false;
    bool is_late = false;  // the event changed nothing
  };
  Event Upsert(std::string_view json);
  // True if it existed.
  bool Delete(std::string_view kind, const std::string& name);
  bool Has(std::string_view kind, const std::string& name);

  // As in Store. Empty if the server has an object of that name.
  std::optional<std::string> UpsertPlanned(std::string_view json);
  bool Withdraw(std::string_view kind, const std::string& name);
  bool Assign(const std::string& pod, const std::string& uid, const std::string& group,
              const std::string& subgroup);
  void Avoid(const std::string& group, const std::vector<std::string>& nodes);
  void HoldOff(const std::string& group, int64_t since_ns, int64_t delay_ns);
  // Throws if a part is not a number from 0 on.
  void SetPastUsages(PastUsages usages);
  PastUsages past_usages();                                   // of queues with past usage
  std::map<std::string, std::pair<int64_t, int64_t>> Ages();  // created and planned, by group
  void ServeClaims(bool serves);
  // Calls use(store); throws if the file names an object twice.
  template <typename Use>
  auto WithStore(const Use& use) {
    const Turn turn = TakeTurn(*mutex_);
    MustFollow();
    return use(store_.get());
  }

  // Another cluster with the same objects, but without the memory of sessions. Null: no event has
  // happened, so the original bytes describe it.
  std::shared_ptr<LiveCluster> Copy();

  // False if the file names an object twice, which a store cannot represent.
  bool CanFollow();

  // Throws BusyError while another plan is being made.
  std::shared_ptr<HeldPlan> Plan(const std::shared_ptr<Session>& session, int64_t now_ns);

  // Assumptions and memory of a scheduler (kai/engine/engine.h). They throw InvalidClusterError if
  // the file names an object twice, and for JSON that is not a BindRequest or not a memory.
  using SessionPtr = std::shared_ptr<Session>;
  std::optional<AssumptionId> AssumeBound(const SessionPtr& session, std::string_view json);
  std::optional<AssumptionId> AssumeEvicted(const SessionPtr& session, const std::string& pod,
                                            int64_t now_ns);
  std::optional<AssumptionId> AssumeBoundTo(const SessionPtr& session, const std::string& pod,
                                            std::string_view uid, const std::string& node);
  // One entry per decision; empty for a promise.
  std::vector<std::optional<AssumptionId>> AssumePlan(const SessionPtr& session,
                                                      const DecisionTable& decisions,
                                                      int64_t now_ns);
  void Trust(const SessionPtr& session, const TrustedTime& trusted);
  bool Forget(const SessionPtr& session, AssumptionId id);
  // As Engine::Broken(); invalidates plans as the next plan does.
  std::vector<AssumptionId> Broken(const SessionPtr& session, const std::vector<AssumptionId>& ids);
  // True if there are changes that no plan contains yet.
  bool HasChanged(const SessionPtr& session);
  std::string ExportMemory(const SessionPtr& session);
  void ImportMemory(const SessionPtr& session, std::string_view json);
  // Empty if no plan of the current cluster changes with time.
  std::optional<Engine::Wake> NextWake(const SessionPtr& session);

  // Calls read(cluster) with the current cluster.
  template <typename Read>
  auto Look(const Read& read) {
    const Turn turn = TakeTurn(*mutex_);
    return read(*Current());
  }

  // Memory of a cluster with a store: objects, history, and the data of each session.
  MemoryReport Memory();

  const std::string& config_json() const { return config_json_; }
  // Members of the snapshot that it was read from; empty if absent, and in a copy.
  const std::string& memory_json() const { return memory_json_; }
  const std::string& now() const { return now_; }
  int64_t load_ns() const { return load_ns_; }

 private:
  // The engine of a session, and its plans that Python may still hold.
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
  // Called before the engine processes events.
  static void ReleasePlans(Follower* follower);
  // The input of a plan besides objects and time.
  struct Circumstances {
    std::shared_ptr<const Assumptions::All> assumed;
    Promises promises;
    TrustedTime trusted;
  };
  // A function that makes the last plan again.
  HeldPlan::Again AgainFor(std::shared_ptr<const Config> config, const Follower* follower,
                           int64_t now_ns);
  // Throws if the JSON is invalid.
  JsonObject Parse(std::string_view json);
  // Called with the mutex held.
  Engine& EngineOf(const std::shared_ptr<Session>& session);

  std::shared_ptr<Mutex> mutex_ = std::make_shared<Mutex>();
  std::atomic<bool> is_planning_ = false;
  std::string config_json_;
  std::string memory_json_;
  std::string now_;
  ShardParams params_;
  std::vector<std::string> warnings_;  // for every plan
  int64_t load_ns_ = 0;

  // Used until the first event.
  std::shared_ptr<Cluster> loaded_;
  pybind11::object data_;  // bytes
  // By session: its last plan, and later the promises of that plan, for the session's engine.
  struct FirstPlan {
    std::weak_ptr<Session> session;
    HeldPlan::PlanPtr plan;
    Promises promises;
  };
  std::vector<FirstPlan> first_plans_;

  // Used from the first event on.
  std::unique_ptr<Store> store_;
  std::unique_ptr<History> history_;
  JsonDocument document_;
  std::vector<Follower> followers_;
  std::shared_ptr<Session> spare_session_;  // of an engine for reading only
};

}  // namespace kai::bindings

#endif  // KAI_BINDINGS_LIVE_CLUSTER_H_

// Engine: makes plans for a cluster that changes over time, with one configuration. It follows a
// Store, and each plan includes all changes of the store before it.
//
//   Engine engine_{&store_, ParseConfig("{}"), ShardParams()};
//   store_.Delete(Kind::kPod, "q/a-0");
//   engine_.Plan(now_ns_, nullptr)   // an absl::StatusOr<std::shared_ptr<const Plan>>
//
// Several engines may follow one store, each with its own configuration.
//
// Later plans keep the promises of a plan (promises.h), from the first event or assumption after
// it: a second plan of the same objects is the same plan.
//
// Invariants: a plan equals the plan of a cluster built from scratch, of the same objects,
// assumptions and promises. Cost: that of Session::Run, and of the changes: kinds of objects that
// ClusterUpdater supports cost what they touch; a change of any other kind rebuilds the cluster. If
// no object has changed (except ConfigMaps that no pod needs) and the time at which the last plan
// would change has not come, the last plan is returned without a search. Threads: that of the
// store's writer; report() is for any thread.
#ifndef KAI_ENGINE_ENGINE_H_
#define KAI_ENGINE_ENGINE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kai/actions/cycle_time.h"
#include "kai/base/memory_report.h"
#include "kai/dra/device_selector.h"
#include "kai/engine/assumptions.h"
#include "kai/engine/promises.h"
#include "kai/engine/report.h"
#include "kai/model/building/cluster_updater.h"
#include "kai/session/session.h"
#include "kai/store/store.h"

namespace kai {

class Engine final : private Follower {
 public:
  // `store` must outlive the engine. `options`: with explains = false plans have no outcomes, and
  // report() stays null.
  Engine(Store* store, Config config, ShardParams params, const Session::Options& options = {});
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() override;

  // A plan refers to the current cluster, so it can be read until the engine processes the next
  // event. `stopwatch` may be null.
  using PlanPtr = std::shared_ptr<const kai::Plan>;
  absl::StatusOr<PlanPtr> Plan(int64_t now_ns, const Clock* stopwatch);

  // Counts an action of the caller as done from the next plan on (assumptions.h). `request`: the
  // BindRequest that the caller creates; `pod`: "namespace/name" of the pod that it deletes. Empty
  // if the store has no such pod.
  std::optional<AssumptionId> AssumeBound(BindRequestRow request);
  std::optional<AssumptionId> AssumeEvicted(std::string_view pod, int64_t now_ns);
  // Bound to whole devices of the node, without a BindRequest. Empty if no pod of this name and UID
  // waits.
  std::optional<AssumptionId> AssumeBoundTo(std::string_view pod, std::string_view uid,
                                            std::string_view node);
  // When durations count, from the next plan on (actions/cycle_time.h): always, until this is
  // called.
  void Trust(const TrustedTime& trusted);
  const TrustedTime& trusted() const { return trusted_; }
  // Withdraws an assumption. False: it was confirmed before, or is unknown.
  bool Forget(AssumptionId id);
  // The bindings among these, not carried out yet, that have to be withdrawn (broken_bindings.h),
  // in ascending order; includes those that are not assumed any more. Processes changes of the
  // store first, as Plan() does.
  std::vector<AssumptionId> Broken(std::span<const AssumptionId> ids);
  // Assumptions, promises and trusted time as JSON (memory.h). An engine that imports them after
  // the store is filled makes the same plans as this one; they replace its own. InvalidArgument:
  // the text is invalid, and nothing was changed.
  std::string ExportMemory();
  absl::Status ImportMemory(std::string_view json);
  // The promises of a plan that was made of the same objects without this engine.
  void Keep(Promises promises) { promises_ = std::move(promises); }
  // The store's objects with the assumptions applied.
  ClusterRows Rows();

  // A copy of the last searched plan, for other threads. The first call makes the engine write
  // reports. Null: no plan was made since the first call.
  std::shared_ptr<const Report> report() const;

  // The bytes of the cluster and of the data kept beside it, without the objects of the store.
  // Loops over all of them.
  MemoryReport Memory() const;

  // True if something changed since the last plan. The next plan will process it, and earlier plans
  // become invalid.
  bool has_changed() const { return has_changed_ || !is_planned_; }

  // The current cluster. Processes changes of the store first, as Plan() does.
  std::shared_ptr<const Cluster> Settled();

  // When a plan of the same objects would differ from the last one, and why. Empty: never, or there
  // is not a plan of the current objects.
  struct Wake {
    int64_t at_ns = 0;
    WakeReason reason{};
  };
  std::optional<Wake> NextWake() const;
  // The same for any plan, if nothing changes.
  static std::optional<Wake> WakeOf(const kai::Plan& plan);

  // The input of the last plan besides objects and time.
  std::shared_ptr<const Assumptions::All> assumed() const { return assumptions_.all(); }
  const Promises& promises() const { return promises_; }

  // How often the cluster was rebuilt, how often it was changed in place, how often the rooms could
  // be updated with it, and how often the last plan was returned again.
  struct Counts {
    int64_t built = 0;
    int64_t updated = 0;
    int64_t followed = 0;
    int64_t repeated = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  // The cluster, and the classes that update it.
  struct Live;

  void Changed(Kind kind, std::string_view name) override;
  bool Matters(Kind kind, std::string_view name) const;  // for the next plan
  // True if a policy uses the time and it has changed. RepeatPlan() returns the last plan, which
  // still holds.
  bool DependsOnTime(int64_t now_ns) const;
  PlanPtr RepeatPlan(int64_t now_ns);
  void Settle();
  // Records the promises of the last plan.
  void TakePromises();
  void Build();
  bool Update();
  // Without this extra, no decision depends on how many volumes a node may attach. Then CSINodes,
  // which every node has, are ignored, and the cluster can still be changed in place.
  bool CountsVolumes() const { return session_.config().extras.on(Extra::kVolumeLimits); }

  void Note(const Assumptions::Changes& changes);
  // Makes a report of `plan`, if reports are wanted and it has none yet.
  void Publish(const kai::Plan& plan);

  Store& store_;
  Session session_;
  ShardParams params_;
  std::unique_ptr<Live> live_;  // null: none was built yet
  // Of resource claims: those of one cluster serve the next.
  std::shared_ptr<SelectorCache> selectors_ = std::make_shared<SelectorCache>();
  std::unique_ptr<CycleRooms> rooms_;  // of live_, from the last cycle; null: none could be kept
  std::array<absl::flat_hash_set<std::string>, kKinds> changed_;
  Assumptions assumptions_;
  bool has_changed_ = true;
  bool is_planned_ = false;  // there is a plan of the current state
  Promises promises_;
  TrustedTime trusted_;
  Promises::Open open_;  // the promises in the last plan's input
  PlanPtr made_;         // the last plan; null: none was made of the current objects
  PlanPtr last_;         // of the current objects; null: none can be returned again
  Counts counts_;

  bool is_reported_ = false;  // report_ is about the last plan
  // Used by any thread:
  mutable std::atomic<bool> is_report_requested_ = false;
  mutable std::mutex report_mutex_;  // of report_, held only while it is copied
  std::shared_ptr<const Report> report_;
};

}  // namespace kai

#endif  // KAI_ENGINE_ENGINE_H_

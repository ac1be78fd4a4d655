// Engine: plans for a cluster that lives on, for one configuration. It follows a Store and has what
// changed there in place by the time of the next plan.
//
//   Engine engine_{&store_, ParseConfig("{}"), ShardParams()};
//   store_.Delete(Kind::kPod, "q/a-0");
//   engine_.Plan(now_ns_, nullptr)   // an absl::StatusOr<std::shared_ptr<const Plan>>
//
// Several engines may follow one store, each with its own configuration.
//
// What a plan promises is kept by the plans after it (promises.h). It counts from the first event
// or assumption on: a plan that is made again of the same objects is the same plan.
//
// Invariants: a plan is that of a cluster built anew of the same objects, and of the same
// assumptions and promises. Cost: that of Session::Run, and of what changed: objects that
// ClusterUpdater knows cost what they touch, all others a cluster built anew. Where no object has
// changed, but for ConfigMaps that no pod needs, and no moment has come that the last plan waits
// for, the last plan is the next one, and nothing is searched. Threads: that of the store's writer;
// report() is for any thread.
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
#include "kai/base/memory_report.h"
#include "kai/engine/assumptions.h"
#include "kai/engine/promises.h"
#include "kai/engine/report.h"
#include "kai/model/building/cluster_updater.h"
#include "kai/session/session.h"
#include "kai/store/store.h"

namespace kai {

class Engine final : private Follower {
 public:
  // `store` has to outlive the engine.
  // `options`: with explains = false plans have no outcomes, and report() stays null.
  Engine(Store* store, Config config, ShardParams params, const Session::Options& options = {});
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() override;

  // The plan speaks of the cluster as it is: it can be read until the next event that the engine
  // takes in. `stopwatch` may be null.
  using PlanPtr = std::shared_ptr<const kai::Plan>;
  absl::StatusOr<PlanPtr> Plan(int64_t now_ns, const Clock* stopwatch);

  // What the caller is about to do counts as done from the next plan on (assumptions.h). `request`:
  // the BindRequest that it creates; `pod`: "namespace/name" of the one that it deletes. Nothing:
  // the store has no such pod.
  std::optional<AssumptionId> AssumeBound(BindRequestRow request);
  std::optional<AssumptionId> AssumeEvicted(std::string_view pod, int64_t now_ns);
  // Bound to whole devices of the node, without a request. Nothing: no such pod of this UID waits.
  std::optional<AssumptionId> AssumeBoundTo(std::string_view pod, std::string_view uid,
                                            std::string_view node);
  // It was not done after all. False: it was confirmed before, or is not known.
  bool Forget(AssumptionId id);
  // Which of these bindings, that are not carried out yet, have to be taken back
  // (broken_bindings.h), ascending; those that are not assumed any more are among them. What
  // changed is taken in as for a plan.
  std::vector<AssumptionId> Broken(std::span<const AssumptionId> ids);
  // Assumptions and promises as JSON (memory.h). An engine that imports them, once the store is
  // filled, plans as this one does; they take the place of its own. InvalidArgument: the text makes
  // no sense, and nothing was changed.
  std::string ExportMemory();
  absl::Status ImportMemory(std::string_view json);
  // Promises of a plan that was made of the same objects without this engine.
  void Keep(Promises promises) { promises_ = std::move(promises); }
  // The store's objects as they are assumed to be.
  ClusterRows Rows();

  // The last plan that was searched, as far as any thread may read it while this one goes on. Null:
  // none was made since the first call, which is what makes engines report.
  std::shared_ptr<const Report> report() const;

  // What the cluster, and what is kept beside it, hold; without the objects of the store. Looks at
  // all of them.
  MemoryReport Memory() const;

  // Something changed since the last plan: the next one takes it in, which ends the plans before.
  bool has_changed() const { return has_changed_ || !is_planned_; }

  // The cluster as it is; what changed is taken in as for a plan.
  std::shared_ptr<const Cluster> Settled();

  // When a plan of the same objects would differ from the last one, and why. Nothing: never, or no
  // plan was made of the objects as they are.
  struct Wake {
    int64_t at_ns = 0;
    WakeReason reason{};
  };
  std::optional<Wake> NextWake() const;
  // The same of any plan, while nothing changes.
  static std::optional<Wake> WakeOf(const kai::Plan& plan);

  // With what the last plan was made, beside objects and time.
  std::shared_ptr<const Assumptions::All> assumed() const { return assumptions_.all(); }
  const Promises& promises() const { return promises_; }

  // How often the cluster was built anew, how often it was changed in place, and in how many of
  // these its rooms could follow; and how often the last plan was the next one.
  struct Counts {
    int64_t built = 0;
    int64_t updated = 0;
    int64_t followed = 0;
    int64_t repeated = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  // The cluster, and what keeps it up to date.
  struct Live;

  void Changed(Kind kind, std::string_view name) override;
  bool Matters(Kind kind, std::string_view name) const;  // to the next plan
  // The last plan, which holds now as well.
  bool LooksAtTime(int64_t now_ns) const;
  PlanPtr Again(int64_t now_ns);
  void Settle();
  // What the last plan promised counts from now on.
  void TakePromises();
  void Build();
  bool Update();
  // Else nothing depends on how many volumes a node may have attached, and CSINodes, which every
  // node has, do not keep a cluster from being changed in place.
  bool CountsVolumes() const { return session_.config().extras.on(Extra::kVolumeLimits); }

  void Note(const Assumptions::Changes& changes);
  // `plan` becomes the report, if reports are wanted and it is not the last one.
  void Publish(const kai::Plan& plan);

  Store& store_;
  Session session_;
  ShardParams params_;
  std::unique_ptr<Live> live_;         // null: none was built yet
  std::unique_ptr<CycleRooms> rooms_;  // of live_, from the last cycle; null: none could be kept
  std::array<absl::flat_hash_set<std::string>, kKinds> changed_;
  Assumptions assumptions_;
  bool has_changed_ = true;
  bool is_planned_ = false;  // what was taken in
  Promises promises_;
  Promises::Open open_;  // what the last plan was made with
  PlanPtr made_;         // the last plan; null: none was made of the objects as they are
  PlanPtr last_;  // of the objects as they are; null: there is none that holds for other times
  Counts counts_;

  bool is_reported_ = false;  // the last plan is what report_ says
  // For any thread:
  mutable std::atomic<bool> wants_report_ = false;
  mutable std::mutex report_mutex_;  // of report_, for as long as it takes to copy it
  std::shared_ptr<const Report> report_;
};

}  // namespace kai

#endif  // KAI_ENGINE_ENGINE_H_

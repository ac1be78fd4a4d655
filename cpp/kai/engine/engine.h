// Engine: plans for a cluster that lives on, for one configuration. It follows a Store and has what
// changed there in place by the time of the next plan.
//
//   Engine engine_{&store_, ParseConfig("{}"), ShardParams()};
//   store_.Delete(Kind::kPod, "q/a-0");
//   engine_.Plan(kTestNowNs, nullptr)          // an absl::StatusOr<Plan>
//
// Several engines may follow one store, each with its own configuration.
//
// Invariants: a plan is that of a cluster built anew of the same objects. Cost: that of
// Session::Run, and of what changed: objects that ClusterUpdater knows cost what they touch, all
// others a cluster built anew. Threads: that of the store's writer.
#ifndef KAI_ENGINE_ENGINE_H_
#define KAI_ENGINE_ENGINE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "kai/model/building/cluster_updater.h"
#include "kai/session/session.h"
#include "kai/store/store.h"

namespace kai {

class Engine final : private Follower {
 public:
  // `store` has to outlive the engine.
  Engine(Store* store, Config config, ShardParams params);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() override;

  // The plan speaks of the cluster as it is: it can be read until the next event that the engine
  // takes in. `stopwatch` may be null.
  absl::StatusOr<kai::Plan> Plan(int64_t now_ns, const Clock* stopwatch);

  // Takes in what has changed, as the next Plan() would.
  void Settle();

  // How often the cluster was built anew, and how often it was changed in place.
  struct Counts {
    int64_t built = 0;
    int64_t updated = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  // The cluster, and what keeps it up to date.
  struct Live;

  void Changed(Kind kind, std::string_view name) override;
  void Build();
  bool Update();

  Store& store_;
  Session session_;
  ShardParams params_;
  std::unique_ptr<Live> live_;  // null: none was built yet
  std::array<absl::flat_hash_set<std::string>, kKinds> changed_;
  bool has_changed_ = true;
  Counts counts_;
};

}  // namespace kai

#endif  // KAI_ENGINE_ENGINE_H_

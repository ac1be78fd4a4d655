// A plan that Python holds; its members are converted on request. The cluster may change
// afterwards: then members that were not converted yet are read from the same plan, made again.
#ifndef KAI_BINDINGS_HELD_PLAN_H_
#define KAI_BINDINGS_HELD_PLAN_H_

#include <pybind11/pybind11.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/placement/score_sheet.h"
#include "kai/session/aftermath.h"
#include "kai/session/config.h"
#include "kai/session/decision_table.h"
#include "kai/session/gpu_account.h"
#include "kai/session/plan.h"

namespace kai::bindings {

using Mutex = std::recursive_mutex;  // recursive: a finalizer may read a plan during another read
using Turn = std::unique_lock<Mutex>;
// Waits without the GIL; afterwards the thread holds both.
Turn TakeTurn(Mutex& mutex);

using Numbers = std::vector<std::pair<std::string, int64_t>>;

class HeldPlan {
 public:
  // A change for making a plan again.
  struct Change {
    std::shared_ptr<const Config> config;           // null: the original one
    std::pair<std::string, std::string> new_names;  // two nodes that swap names; or empty
  };
  // What to compute in the cycle while the plan is made again.
  struct Looks {
    Aftermath* after = nullptr;  // null: it is not needed
    std::string pod = {};        // whose scores are needed; empty: of none
    std::optional<ScoreWatch>* scores = nullptr;
  };
  // Makes the plan again, for a copy of the cluster that does not change. Null: the change is not
  // possible.
  using PlanPtr = std::shared_ptr<const Plan>;
  using Again = std::function<PlanPtr(const Change& change, const Numbers& spent_searches,
                                      const Looks& looks)>;

  // `timing_ns`: by stage; "total" is the last. `goes_on`: the cluster of the plan may change.
  HeldPlan(PlanPtr plan, std::shared_ptr<const Config> config, bool goes_on,
           std::shared_ptr<Mutex> mutex, std::vector<std::string> warnings, Numbers timing_ns,
           Again again);

  const Config& config() const { return *config_; }

  const std::vector<std::string>& warnings() const { return warnings_; }
  const std::vector<Rejection>& rejections() const { return rejections_; }
  const Numbers& spent_searches() const { return spent_searches_; }
  int64_t score_keys() const { return score_keys_; }
  const Numbers& timing_ns() const { return timing_ns_; }

  size_t size() const { return size_; }
  const DecisionTable& decisions();
  // For a reader in Look(): of the plan that it reads.
  const GpuAccount& account();
  // A member by name, one of MembersOfPlans().
  pybind11::object Member(std::string_view name);
  std::string ToJson(std::string_view stamp);
  // Calls read(plan).
  template <typename Reader>
  auto Look(const Reader& read) {
    const Turn turn = TakeTurn(*mutex_);
    return read(Read());
  }
  // Calls read(plan, aftermath). The first such call runs the cycle again.
  template <typename Reader>
  auto ReadAftermath(const Reader& read) {
    const Turn turn = TakeTurn(*mutex_);
    if (after_ == nullptr) MakeAgain();
    return read(*plan_, *after_);
  }

  // The plan of the same objects, promises and time with this change. Null: the change is not
  // possible.
  std::shared_ptr<HeldPlan> With(const Change& change);
  // The same plan, made again, and the scores of nodes for one pod, "namespace/name". Empty: there
  // is no such pod.
  std::pair<PlanPtr, std::optional<ScoreWatch>> ScoresOf(const std::string& pod);

  // Called before the cluster changes. The decisions are kept, as most callers compare them.
  void Release();

 private:
  const Plan& Read();
  void MakeAgain();

  PlanPtr plan_;  // null: its cluster has changed
  std::shared_ptr<const Config> config_;
  std::unique_ptr<Aftermath> after_;  // of plan_; null: not computed yet
  bool goes_on_;
  std::shared_ptr<Mutex> mutex_;
  const Again again_;
  std::vector<std::string> warnings_;
  std::vector<Rejection> rejections_;
  Numbers spent_searches_;
  int64_t score_keys_ = 0;
  Numbers timing_ns_;
  size_t size_ = 0;
  std::unique_ptr<DecisionTable> decisions_;  // null: not made yet
  std::unique_ptr<GpuAccount> account_;       // of plan_; null: not made yet
};

}  // namespace kai::bindings

#endif  // KAI_BINDINGS_HELD_PLAN_H_

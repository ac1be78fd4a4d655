// A plan as Python holds it: converted member by member when asked. Its names and numbers are those
// of a cluster that may go on; what is read of it afterwards is that of the same plan, made again.
#ifndef KAI_BINDINGS_HELD_PLAN_H_
#define KAI_BINDINGS_HELD_PLAN_H_

#include <pybind11/pybind11.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/session/aftermath.h"
#include "kai/session/config.h"
#include "kai/session/decision_table.h"
#include "kai/session/plan.h"

namespace kai::bindings {

using Mutex = std::recursive_mutex;  // a finalizer may read a plan while another is read
using Turn = std::unique_lock<Mutex>;
// Waits without the GIL, and has both in the end.
Turn TakeTurn(Mutex& mutex);

using Numbers = std::vector<std::pair<std::string, int64_t>>;

class HeldPlan {
 public:
  // What is different when a plan is made again.
  struct Change {
    std::shared_ptr<const Config> config;           // null: the one that it was made with
    std::pair<std::string, std::string> new_names;  // nodes that take each other's name; or empty
  };
  // Makes the plan again, of a cluster that does not go on, and fills in what its cycle leaves.
  // Null: the change cannot be made.
  using PlanPtr = std::shared_ptr<const Plan>;
  using Again =
      std::function<PlanPtr(const Change& change, const Numbers& spent_searches, Aftermath* after)>;

  // `timing_ns`: by stage; "total" is the last. `goes_on`: the cluster of the plan may.
  HeldPlan(PlanPtr plan, bool goes_on, std::shared_ptr<Mutex> mutex,
           std::vector<std::string> warnings, Numbers timing_ns, Again again);

  const std::vector<std::string>& warnings() const { return warnings_; }
  const std::vector<Rejection>& rejections() const { return rejections_; }
  const Numbers& spent_searches() const { return spent_searches_; }
  int64_t score_keys() const { return score_keys_; }
  const Numbers& timing_ns() const { return timing_ns_; }

  size_t size() const { return size_; }
  const DecisionTable& decisions();
  // One of MembersOfPlans().
  pybind11::object Member(std::string_view name);
  std::string ToJson(std::string_view stamp);
  // Calls read(plan).
  template <typename Reader>
  auto Look(const Reader& read) {
    const Turn turn = TakeTurn(*mutex_);
    return read(Read());
  }
  // Calls read(plan, aftermath); the cycle is run once more for the first of these calls.
  template <typename Reader>
  auto LookAfter(const Reader& read) {
    const Turn turn = TakeTurn(*mutex_);
    if (after_ == nullptr) MakeAgain();
    return read(*plan_, *after_);
  }

  // The plan of the same objects, promises and time with that change. Null: it was made again
  // already, or the change cannot be made.
  std::shared_ptr<HeldPlan> With(const Change& change);

  // Its cluster goes on. The decisions are kept, as they are what most want to compare.
  void LetGo();

 private:
  const Plan& Read();
  void MakeAgain();

  PlanPtr plan_;                      // null: its cluster went on
  std::unique_ptr<Aftermath> after_;  // of plan_; null: not asked for yet
  bool goes_on_;
  std::shared_ptr<Mutex> mutex_;
  Again again_;  // null: it was made again
  std::vector<std::string> warnings_;
  std::vector<Rejection> rejections_;
  Numbers spent_searches_;
  int64_t score_keys_ = 0;
  Numbers timing_ns_;
  size_t size_ = 0;
  std::unique_ptr<DecisionTable> decisions_;  // null: not made yet
};

}  // namespace kai::bindings

#endif  // KAI_BINDINGS_HELD_PLAN_H_

#include "held_plan.h"

#include "kai/session/plan_json.h"
#include "plan_members.h"

namespace kai::bindings {

namespace py = pybind11;

Turn TakeTurn(Mutex& mutex) {
  Turn turn(mutex, std::try_to_lock);
  if (!turn.owns_lock()) {
    const py::gil_scoped_release release;
    turn.lock();
  }
  return turn;
}

HeldPlan::HeldPlan(PlanPtr plan, std::shared_ptr<const Config> config, bool goes_on,
                   std::shared_ptr<Mutex> mutex, std::vector<std::string> warnings,
                   Numbers timing_ns, Again again)
    : plan_(std::move(plan)),
      config_(std::move(config)),
      goes_on_(goes_on),
      mutex_(std::move(mutex)),
      again_(std::move(again)),
      warnings_(std::move(warnings)),
      rejections_(plan_->cluster->rejections()),
      spent_searches_(plan_->spent_searches),
      score_keys_(plan_->score_keys),
      timing_ns_(std::move(timing_ns)),
      size_(plan_->decisions.size()) {}

const Plan& HeldPlan::Read() {
  if (plan_ == nullptr) MakeAgain();
  return *plan_;
}

void HeldPlan::MakeAgain() {
  const py::gil_scoped_release release;
  auto after = std::make_unique<Aftermath>();
  plan_ = again_({}, spent_searches_, {.after = after.get()});
  account_ = nullptr;  // its nodes are those of another copy of the cluster
  after_ = std::move(after);
  goes_on_ = false;
}

std::shared_ptr<HeldPlan> HeldPlan::With(const Change& change) {
  PlanPtr plan;
  {
    const py::gil_scoped_release release;
    plan = again_(change, {}, {});
  }
  if (plan == nullptr) return nullptr;
  const auto as_changed = [again = again_, change](const Change&, const Numbers& spent_searches,
                                                   const Looks& looks) {
    return again(change, spent_searches, looks);
  };
  return std::make_shared<HeldPlan>(std::move(plan),
                                    change.config != nullptr ? change.config : config_,
                                    /*goes_on=*/false, mutex_, warnings_, Numbers{}, as_changed);
}

std::pair<HeldPlan::PlanPtr, std::optional<ScoreWatch>> HeldPlan::ScoresOf(const std::string& pod) {
  std::optional<ScoreWatch> scores;
  const py::gil_scoped_release release;
  PlanPtr plan = again_({}, spent_searches_, {.pod = pod, .scores = &scores});
  return {std::move(plan), std::move(scores)};
}

const DecisionTable& HeldPlan::decisions() {
  const Turn turn = TakeTurn(*mutex_);
  if (decisions_ == nullptr) decisions_ = std::make_unique<DecisionTable>(TableOf(*plan_));
  return *decisions_;
}

const GpuAccount& HeldPlan::account() {
  if (account_ == nullptr) account_ = std::make_unique<GpuAccount>(AccountOf(Read(), decisions()));
  return *account_;
}

py::object HeldPlan::Member(std::string_view name) {
  const Turn turn = TakeTurn(*mutex_);
  return MembersOfPlans().at(name)(Read());
}

std::string HeldPlan::ToJson(std::string_view stamp) {
  const Turn turn = TakeTurn(*mutex_);
  const Plan& plan = Read();
  const DecisionTable& table = decisions();
  const py::gil_scoped_release release;
  return PlanJson(plan, table, stamp);
}

void HeldPlan::Release() {
  if (!goes_on_) return;
  decisions();
  plan_ = nullptr;
  account_ = nullptr;
}

}  // namespace kai::bindings

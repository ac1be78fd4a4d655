#include "live_cluster.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "kai/base/clock.h"
#include "kai/base/text.h"
#include "kai/engine/engine_bytes.h"
#include "kai/ingest/bind_request_reader.h"
#include "kai/session/group_story.h"
#include "kai/store/fill_store.h"
#include "status.h"

namespace kai::bindings {
namespace {

namespace py = pybind11;

// The member `kind`; empty if it is missing or not a text.
std::string KindOf(JsonObject object) {
  std::string kind;
  const FieldStatus status = ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    return key == "kind" ? ReadString(value, &kind) : Skip();
  });
  return status.ok() ? kind : "";
}

kai::Kind KindOrThrow(std::string_view name) {
  const std::optional<kai::Kind> kind = KindNamed(name);
  if (!kind) {
    std::string what = StrCat("plans do not use the kind ", name);
    if (name.empty()) what = "the object has no kind";
    if (name.ends_with("List")) what += "; give its items one by one";
    ThrowIfError(absl::InvalidArgumentError(what), WhenInvalid::kCluster);
  }
  return *kind;
}

Numbers TimingOf(int64_t load_ns, const Plan& plan) {
  Numbers timing_ns = {{"load", load_ns}};
  for (const auto& [stage, ns] : plan.timing_ns)
    timing_ns.emplace_back(stage, stage == "total" ? ns + load_ns : ns);
  return timing_ns;
}

// Sets a flag during its lifetime.
class Flag {
 public:
  explicit Flag(std::atomic<bool>* flag) : flag_(*flag), was_free_(!flag_.exchange(true)) {}
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;
  ~Flag() {
    if (was_free_) flag_ = false;
  }
  bool was_free() const { return was_free_; }

 private:
  std::atomic<bool>& flag_;
  bool was_free_;
};

}  // namespace

LiveCluster::LiveCluster(SnapshotFile file, py::bytes data, int64_t load_ns)
    : config_json_(std::move(file.config_json)),
      memory_json_(std::move(file.memory_json)),
      now_(std::move(file.now)),
      params_(std::move(file.params)),
      warnings_(std::move(file.warnings)),
      load_ns_(load_ns),
      loaded_(std::move(file.cluster)),
      data_(std::move(data)) {}

std::shared_ptr<LiveCluster> LiveCluster::Load(const py::bytes& data) {
  const std::string_view json = data;  // valid: the caller holds the bytes
  absl::StatusOr<SnapshotFile> file;
  int64_t load_ns = 0;
  {
    const py::gil_scoped_release release;
    const SystemClock clock;
    const int64_t start_ns = clock.NowNs();
    file = ReadSnapshot(json);
    load_ns = clock.NowNs() - start_ns;
  }
  SnapshotFile snapshot = ValueOrThrow(std::move(file), WhenInvalid::kInput);
  return std::shared_ptr<LiveCluster>(new LiveCluster(std::move(snapshot), data, load_ns));
}

std::shared_ptr<LiveCluster> LiveCluster::Fixed(ClusterRows rows) {
  SnapshotFile file;
  file.params = rows.params;
  file.cluster = std::move(rows).Build();
  return std::shared_ptr<LiveCluster>(new LiveCluster(std::move(file), py::bytes(), 0));
}

LiveCluster::LiveCluster(const LiveCluster& other, std::unique_ptr<Store> store)
    : config_json_(other.config_json_),
      params_(other.params_),
      warnings_(other.warnings_),
      load_ns_(other.load_ns_),
      data_(py::none()),
      store_(std::move(store)),
      history_(std::make_unique<History>(store_.get())) {}

std::shared_ptr<LiveCluster> LiveCluster::Copy() {
  const Turn turn = TakeTurn(*mutex_);
  if (store_ == nullptr) return nullptr;
  std::unique_ptr<Store> store;
  {
    const py::gil_scoped_release release;
    store = std::make_unique<Store>(*store_);
  }
  return std::shared_ptr<LiveCluster>(new LiveCluster(*this, std::move(store)));
}

std::shared_ptr<LiveCluster> LiveCluster::Live(const std::string& params_json) {
  const std::string params =
      params_json.empty() ? "" : StrCat("\"schedulerParams\": ", params_json, ", ");
  std::shared_ptr<LiveCluster> live = Load(py::bytes(StrCat("{", params, "\"rawObjects\": {}}")));
  live->CanFollow();
  return live;
}

bool LiveCluster::CanFollow() {
  const Turn turn = TakeTurn(*mutex_);
  return StartFollowing();
}

bool LiveCluster::StartFollowing() {
  if (store_ != nullptr) return true;
  if (data_.is_none()) return false;
  const std::string_view json = py::reinterpret_borrow<py::bytes>(data_);
  {
    const py::gil_scoped_release release;
    absl::StatusOr<SnapshotRows> rows = ReadSnapshotRows(json);
    auto store = std::make_unique<Store>();
    if (rows.ok() && FillStore(&*rows, store.get())) store_ = std::move(store);
  }
  data_ = py::none();
  if (store_ == nullptr) return false;
  history_ = std::make_unique<History>(store_.get());
  for (FirstPlan& each : first_plans_) {
    const SessionPtr session = each.session.lock();
    if (session != nullptr && session->KeepsPromises()) each.promises.TakeOver(*each.plan, {});
    each.plan = nullptr;
  }
  loaded_ = nullptr;
  return true;
}

JsonObject LiveCluster::Parse(std::string_view json) {
  const absl::StatusOr<JsonObject> parsed = document_.Parse(json);
  if (!parsed.ok()) {
    ThrowIfError(
        absl::InvalidArgumentError(StrCat("the object ", std::string(parsed.status().message()))),
        WhenInvalid::kCluster);
  }
  return *parsed;
}

LiveCluster::Event LiveCluster::Upsert(std::string_view json) {
  const Turn turn = TakeTurn(*mutex_);
  JsonObject object = Parse(json);
  Event event;
  event.kind = KindOf(object);
  const kai::Kind kind = KindOrThrow(event.kind);
  event.name = NameOf(object);
  if (event.name.empty()) {
    ThrowIfError(absl::InvalidArgumentError(StrCat("the ", event.kind, " has no metadata.name")),
                 WhenInvalid::kCluster);
  }
  if (!StartFollowing()) return event;
  // Its existence shows that ConfigMaps are known.
  if (kind == kai::Kind::kConfigMap) store_->Synced(kind);
  event.was_there = store_->Has(kind, event.name);
  event.is_late = store_->Upsert(kind, object) == Store::Outcome::kStale;
  return event;
}

bool LiveCluster::Delete(std::string_view kind_name, const std::string& name) {
  const kai::Kind kind = KindOrThrow(kind_name);
  const Turn turn = TakeTurn(*mutex_);
  if (!StartFollowing()) return false;
  return store_->Delete(kind, name);
}

bool LiveCluster::Has(std::string_view kind_name, const std::string& name) {
  const kai::Kind kind = KindOrThrow(kind_name);
  const Turn turn = TakeTurn(*mutex_);
  return StartFollowing() && store_->Has(kind, name);
}

std::optional<std::string> LiveCluster::UpsertPlanned(std::string_view json) {
  const Turn turn = TakeTurn(*mutex_);
  JsonObject object = Parse(json);
  const std::string kind_name = KindOf(object);
  const kai::Kind kind = KindOrThrow(kind_name);
  std::string name = NameOf(object);
  if (name.empty()) {
    ThrowIfError(absl::InvalidArgumentError(StrCat("the ", kind_name, " has no metadata.name")),
                 WhenInvalid::kCluster);
  }
  MustFollow();
  if (store_->UpsertPlanned(kind, object) == Store::Outcome::kStale) return std::nullopt;
  return name;
}

bool LiveCluster::Withdraw(std::string_view kind_name, const std::string& name) {
  const kai::Kind kind = KindOrThrow(kind_name);
  return WithStore([&](Store* store) { return store->Withdraw(kind, name); });
}

bool LiveCluster::Assign(const std::string& pod, const std::string& uid, const std::string& group,
                         const std::string& subgroup) {
  return WithStore([&](Store* store) { return store->Assign(pod, uid, group, subgroup); });
}

void LiveCluster::Avoid(const std::string& group, const std::vector<std::string>& nodes) {
  WithStore([&](Store* store) { store->Avoid(group, nodes); });
}

void LiveCluster::HoldOff(const std::string& group, int64_t since_ns, int64_t delay_ns) {
  WithStore([&](Store* store) { store->HoldOff(group, since_ns, delay_ns); });
}

void LiveCluster::SetPastUsages(PastUsages usages) {
  for (const auto& [queue, parts] : usages) {
    if (std::ranges::all_of(parts, IsPastUsage)) continue;
    ThrowIfError(absl::InvalidArgumentError(StrCat("the usage of queue ", queue,
                                                   " must consist of numbers of at least 0")),
                 WhenInvalid::kCluster);
  }
  WithStore([&](Store* store) { store->SetPastUsages(std::move(usages)); });
}

PastUsages LiveCluster::past_usages() {
  return Look([](const Cluster& cluster) {
    PastUsages usages;
    const QueueColumns& queues = cluster.queues();
    for (const QueueId queue : queues.name.ids()) {
      if (queues.past_usage[queue] != QuotaVector{})
        usages.emplace(cluster.Text(queues.name[queue]), queues.past_usage[queue]);
    }
    return usages;
  });
}

std::map<std::string, std::pair<int64_t, int64_t>> LiveCluster::Ages() {
  return WithStore([&](const Store* store) {
    std::map<std::string, std::pair<int64_t, int64_t>> ages;
    for (const auto& [group, age] : store->Ages())
      ages.emplace(group, std::pair(age.created_ns, age.planned_ns));
    return ages;
  });
}

void LiveCluster::ServeClaims(bool serves) {
  WithStore([&](Store* store) { store->ServeClaims(serves); });
}

MemoryReport LiveCluster::Memory() {
  const Turn turn = TakeTurn(*mutex_);
  MemoryReport report;
  if (!StartFollowing()) {
    AddMemoryOf(*loaded_, &report);
    return report;
  }
  const auto add = [&](MemoryReport more) {
    std::ranges::move(more.columns, std::back_inserter(report.columns));
  };
  add(store_->Memory());
  add(history_->Memory());
  for (const Follower& each : followers_) add(each.engine->Memory());
  return report;
}

std::shared_ptr<HeldPlan> LiveCluster::Plan(const std::shared_ptr<Session>& session,
                                            int64_t now_ns) {
  const Flag planning(&is_planning_);
  if (!planning.was_free()) ThrowIfError(ClusterIsPlanned(), WhenInvalid::kInput);
  const Turn turn = TakeTurn(*mutex_);
  Follower* follower = store_ == nullptr ? nullptr : &FollowerOf(session);
  if (follower != nullptr) ReleasePlans(follower);
  absl::StatusOr<HeldPlan::PlanPtr> plan;
  Numbers timing_ns;
  {
    const py::gil_scoped_release release;
    plan = follower == nullptr ? PlanAsLoaded(session, now_ns, &timing_ns)
                               : PlanAsItIs(follower->engine.get(), now_ns, &timing_ns);
  }
  HeldPlan::PlanPtr made = ValueOrThrow(std::move(plan), WhenInvalid::kInput);
  std::vector<std::string> warnings = session->config().WarningTexts();
  warnings.insert(warnings.end(), warnings_.begin(), warnings_.end());
  const auto config =
      follower != nullptr ? follower->config : std::make_shared<const Config>(session->config());
  const auto held = std::make_shared<HeldPlan>(
      std::move(made), config, /*goes_on=*/follower != nullptr, mutex_, std::move(warnings),
      std::move(timing_ns), AgainFor(config, follower, now_ns));
  if (follower != nullptr) follower->plans.push_back(held);
  return held;
}

absl::StatusOr<HeldPlan::PlanPtr> LiveCluster::PlanAsLoaded(const std::shared_ptr<Session>& session,
                                                            int64_t now_ns, Numbers* timing_ns) {
  const SystemClock clock;
  absl::StatusOr<kai::Plan> plan = session->Run(loaded_, now_ns, &clock);
  if (!plan.ok()) return plan.status();
  *timing_ns = TimingOf(load_ns_, *plan);
  auto made = std::make_shared<const kai::Plan>(*std::move(plan));
  std::erase_if(first_plans_, [&](const FirstPlan& each) {
    return each.session.expired() || each.session.lock() == session;
  });
  first_plans_.push_back({.session = session, .plan = made, .promises = {}});
  return made;
}

absl::StatusOr<HeldPlan::PlanPtr> LiveCluster::PlanAsItIs(Engine* engine, int64_t now_ns,
                                                          Numbers* timing_ns) {
  const SystemClock clock;
  const int64_t start_ns = clock.NowNs();
  engine->Settled();
  const int64_t settled_ns = clock.NowNs();
  const int64_t repeated = engine->counts().repeated;
  absl::StatusOr<HeldPlan::PlanPtr> plan = engine->Plan(now_ns, &clock);
  if (!plan.ok()) return plan;
  if (engine->counts().repeated == repeated) {
    *timing_ns = TimingOf(settled_ns - start_ns, **plan);
  } else {  // a repeated plan has the timings of the original
    *timing_ns = {{"load", settled_ns - start_ns}, {"total", clock.NowNs() - start_ns}};
  }
  return plan;
}

HeldPlan::Again LiveCluster::AgainFor(std::shared_ptr<const Config> config,
                                      const Follower* follower, int64_t now_ns) {
  const auto run = [config, now_ns](const HeldPlan::Change& change,
                                    std::shared_ptr<Cluster> cluster, Promised promised,
                                    const TrustedTime& trusted, const Numbers& spent_searches,
                                    const HeldPlan::Looks& looks) {
    Config replay = change.config != nullptr ? *change.config : *config;
    if (change.config == nullptr)
      replay.budgets.searches.emplace(spent_searches.begin(), spent_searches.end());
    std::optional<ScoreWatch> watch;
    if (!looks.pod.empty()) {
      const std::vector<PodId> pods = PodsCalled(*cluster, looks.pod);
      if (!pods.empty()) watch.emplace(pods.front());
    }
    const auto inspect = [&](const CycleView& cycle) {
      if (looks.after != nullptr) *looks.after = AftermathOf(cycle);
      if (looks.scores != nullptr) *looks.scores = watch;
    };
    const Session again(std::move(replay),
                        {.inspect = inspect, .watch = watch ? &*watch : nullptr});
    if (!again.KeepsPromises()) promised = {};
    return std::make_shared<const kai::Plan>(ValueOrThrow(
        again.Run(std::move(cluster), CycleTime(now_ns, trusted), nullptr, nullptr, promised),
        WhenInvalid::kInput));
  };
  if (follower == nullptr) {
    return [run, self = shared_from_this(), cluster = loaded_](
               const HeldPlan::Change& change, const Numbers& spent_searches,
               const HeldPlan::Looks& looks) -> HeldPlan::PlanPtr {
      if (!change.new_names.first.empty()) return nullptr;
      const Turn turn(*self->mutex_);
      return run(change, cluster, {}, {}, spent_searches, looks);
    };
  }
  const Engine& engine = *follower->engine;
  const auto circumstances = std::make_shared<const Circumstances>(Circumstances{
      .assumed = engine.assumed(), .promises = engine.promises(), .trusted = engine.trusted()});
  return [run, circumstances, self = shared_from_this(), moment = history_->Now()](
             const HeldPlan::Change& change, const Numbers& spent_searches,
             const HeldPlan::Looks& looks) {
    ClusterRows rows;
    {
      const Turn turn(*self->mutex_);
      rows = self->history_->RowsAt(moment);
    }
    rows.params = self->params_;
    Assumptions::Apply(*circumstances->assumed, &rows);
    if (!change.new_names.first.empty())
      rows.SwapNodeNames(change.new_names.first, change.new_names.second);
    std::shared_ptr<Cluster> cluster = std::move(rows).Build();
    const Promises::Open open = circumstances->promises.In(*cluster, nullptr);
    return run(change, std::move(cluster), open.promised(), circumstances->trusted, spent_searches,
               looks);
  };
}

void LiveCluster::MustFollow() {
  if (!StartFollowing()) {
    ThrowIfError(absl::InvalidArgumentError("the cluster has an object twice, so kai cannot "
                                            "remember decisions about it"),
                 WhenInvalid::kCluster);
  }
}

Engine& LiveCluster::EngineOf(const std::shared_ptr<Session>& session) {
  MustFollow();
  return *FollowerOf(session).engine;
}

std::optional<AssumptionId> LiveCluster::AssumeBound(const SessionPtr& session,
                                                     std::string_view json) {
  const Turn turn = TakeTurn(*mutex_);
  JsonObject parsed = Parse(json);
  BindRequestRow request;
  if (const std::optional<Rejection> bad = ReadBindRequest(parsed, &request)) {
    ThrowIfError(absl::InvalidArgumentError(StrCat("the BindRequest: ", bad->field,
                                                   bad->field.empty() ? "" : ": ", bad->message)),
                 WhenInvalid::kCluster);
  }
  return EngineOf(session).AssumeBound(std::move(request));
}

std::optional<AssumptionId> LiveCluster::AssumeEvicted(const SessionPtr& session,
                                                       const std::string& pod, int64_t now_ns) {
  const Turn turn = TakeTurn(*mutex_);
  return EngineOf(session).AssumeEvicted(pod, now_ns);
}

void LiveCluster::Trust(const SessionPtr& session, const TrustedTime& trusted) {
  const Turn turn = TakeTurn(*mutex_);
  EngineOf(session).Trust(trusted);
}

std::optional<AssumptionId> LiveCluster::AssumeBoundTo(const SessionPtr& session,
                                                       const std::string& pod, std::string_view uid,
                                                       const std::string& node) {
  const Turn turn = TakeTurn(*mutex_);
  return EngineOf(session).AssumeBoundTo(pod, uid, node);
}

std::vector<std::optional<AssumptionId>> LiveCluster::AssumePlan(const SessionPtr& session,
                                                                 const DecisionTable& decisions,
                                                                 int64_t now_ns) {
  const Turn turn = TakeTurn(*mutex_);
  Engine& engine = EngineOf(session);
  const py::gil_scoped_release release;
  std::vector<std::optional<AssumptionId>> ids;
  for (size_t row = 0; row < decisions.size(); ++row) {
    std::optional<AssumptionId>& id = ids.emplace_back();
    const std::string pod(decisions.pod[row]);
    if (decisions.IsEviction(row)) {
      id = engine.AssumeEvicted(pod, now_ns);
    } else if (decisions.Kind(row) == "bind") {
      BindRequestRow request;
      request.namespace_name = pod.substr(0, pod.find('/'));
      request.name = request.pod = pod.substr(pod.find('/') + 1);
      request.node = decisions.node.Text(row).value_or("");
      request.received_type = "Regular";
      if (const auto groups = decisions.gpu_groups.find(row);
          groups != decisions.gpu_groups.end()) {
        request.received_type = "Fraction";
        request.gpu_groups = groups->second;
      }
      id = engine.AssumeBound(std::move(request));
    }
  }
  return ids;
}

bool LiveCluster::HasChanged(const SessionPtr& session) {
  const Turn turn = TakeTurn(*mutex_);
  return EngineOf(session).has_changed();
}

std::vector<AssumptionId> LiveCluster::Broken(const SessionPtr& session,
                                              const std::vector<AssumptionId>& ids) {
  const Turn turn = TakeTurn(*mutex_);
  MustFollow();
  Follower& follower = FollowerOf(session);
  ReleasePlans(&follower);
  const py::gil_scoped_release release;
  return follower.engine->Broken(ids);
}

bool LiveCluster::Forget(const SessionPtr& session, AssumptionId id) {
  const Turn turn = TakeTurn(*mutex_);
  return EngineOf(session).Forget(id);
}

std::string LiveCluster::ExportMemory(const SessionPtr& session) {
  const Turn turn = TakeTurn(*mutex_);
  return EngineOf(session).ExportMemory();
}

void LiveCluster::ImportMemory(const SessionPtr& session, std::string_view json) {
  const Turn turn = TakeTurn(*mutex_);
  ThrowIfError(EngineOf(session).ImportMemory(json), WhenInvalid::kCluster);
}

std::optional<Engine::Wake> LiveCluster::NextWake(const SessionPtr& session) {
  const Turn turn = TakeTurn(*mutex_);
  if (store_ != nullptr) return FollowerOf(session).engine->NextWake();
  for (const FirstPlan& each : first_plans_) {
    if (each.session.lock() == session) return Engine::WakeOf(*each.plan);
  }
  return std::nullopt;
}

std::shared_ptr<const Cluster> LiveCluster::Current() {
  if (store_ == nullptr) return loaded_;
  if (followers_.empty()) {
    spare_session_ = std::make_shared<Session>(Config::Parse("", {}).value());
    FollowerOf(spare_session_);
  }
  Follower& follower = followers_.front();
  ReleasePlans(&follower);
  const py::gil_scoped_release release;
  return follower.engine->Settled();
}

LiveCluster::Follower& LiveCluster::FollowerOf(const std::shared_ptr<Session>& session) {
  if (session != spare_session_) spare_session_ = nullptr;
  std::erase_if(followers_, [](const Follower& each) { return each.session.expired(); });
  for (Follower& each : followers_) {
    if (each.session.lock() == session) return each;
  }
  Follower& follower = followers_.emplace_back(
      Follower{.session = session,
               .config = std::make_shared<const Config>(session->config()),
               .engine = std::make_unique<Engine>(store_.get(), session->config(), params_),
               .plans = {}});
  const auto first = std::ranges::find_if(
      first_plans_, [&](const FirstPlan& each) { return each.session.lock() == session; });
  if (first != first_plans_.end()) {
    follower.engine->Keep(std::move(first->promises));
    first_plans_.erase(first);
  }
  return follower;
}

void LiveCluster::ReleasePlans(Follower* follower) {
  std::erase_if(follower->plans, [](const auto& each) { return each.expired(); });
  if (!follower->engine->has_changed()) return;
  for (const std::weak_ptr<HeldPlan>& each : follower->plans) {
    if (const std::shared_ptr<HeldPlan> plan = each.lock()) plan->Release();
  }
  follower->plans.clear();
}

}  // namespace kai::bindings

#include "kai/session/session.h"

#include <algorithm>
#include <optional>

#include "kai/base/text.h"
#include "kai/session/arguments.h"
#include "kai/session/outcome.h"
#include "kai/session/overdue.h"
#include "kai/session/ranks.h"

namespace kai {
namespace {

// Laps of a stopwatch, with names.
class Laps {
 public:
  explicit Laps(const Clock* clock) : clock_(clock), start_ns_(Now()), lap_ns_(start_ns_) {
    laps_.reserve(16);
  }

  void Lap(std::string name) {
    const int64_t now_ns = Now();
    laps_.emplace_back(std::move(name), now_ns - lap_ns_);
    lap_ns_ = now_ns;
  }
  std::vector<std::pair<std::string, int64_t>> Finish() {
    laps_.emplace_back("total", Now() - start_ns_);
    return std::move(laps_);
  }

 private:
  int64_t Now() const { return clock_ == nullptr ? 0 : clock_->NowNs(); }

  const Clock* clock_;
  int64_t start_ns_;
  int64_t lap_ns_;
  std::vector<std::pair<std::string, int64_t>> laps_;
};

// Pods that should be gone by now: what they hold does not count as being released (spec 2 S2).
void MarkOverduePods(const Cluster& cluster, CycleTime* time, Statement* statement) {
  for (const PodId pod : cluster.pods().leaving) {
    const int64_t overdue_ns = time->EndOf(OverdueNs(cluster, pod), OverdueAfterNs(cluster));
    if (time->HasCome(overdue_ns, WakeReason::kPodOverdue)) statement->MarkStuck(pod);
  }
}

void Listen(Statement* statement, QueueUsage* usage, CycleRooms* rooms, ScoreWatch* watch) {
  std::vector<Listener*> listeners = {usage, &rooms->order, &rooms->search};
  if (rooms->domains != nullptr) listeners.push_back(rooms->domains.get());
  if (watch != nullptr) listeners.push_back(watch);
  statement->Listen(std::move(listeners));
  rooms->search.Watch(watch);
}

// How the statement counts and undoes changes, and when a place is the same as before.
void SetRules(const Config& config, const CycleRules& rules, bool keeps_traces, Cluster* cluster,
              Statement* statement) {
  statement->CountReservations(rules.counts_reservations);
  if (keeps_traces) statement->UndoWith(MakeCountingUndo(cluster, rules.counts_reservations));
  statement->Recognize({.in_any_order = config.switches.on(Switch::kDeviceOrder),
                        .all = config.switches.on(Switch::kPassedDevices)});
}

// Called before and after promised places are kept: for a pod with a promise the first one counts,
// and for other pods the second one, as the promised places are taken.
void ReportStart(const GroupPlacer& placer, ScoreWatch* watch) {
  if (watch != nullptr && watch->placed() == nullptr) watch->Start(placer.ScoresOf(watch->pod()));
}

// Aborted if a policy that is a function has failed.
absl::Status PolicyStatus(const CycleRooms& rooms) {
  return rooms.tables == nullptr ? absl::OkStatus() : rooms.tables->status();
}

// Orders of pod groups beside KAI's, and what they are made of; null: the configuration has none.
struct GroupOrders {
  GroupOrders(const Config& config, const Cluster& cluster, const CycleRooms& rooms, int64_t now_ns)
      : service(MakeAttainedService(config, cluster, rooms.order, rooms.tables.get(), now_ns)),
        job_order(MakeJobOrder(config, cluster, rooms.order, service.get())) {}
  Worklist::Options OptionsFor(const Config& config, const CycleRules& rules) const {
    return job_order == nullptr ? rules.worklist : WorklistOptions(config, job_order.get());
  }

  std::unique_ptr<AttainedService> service;
  std::unique_ptr<JobOrder> job_order;
};

GroupKeys KeysOfGroups(const CycleRooms& rooms, const AttainedService* service) {
  return rooms.tables == nullptr || service == nullptr ? GroupKeys()
                                                       : rooms.tables->OrderGroups(*service);
}

// Runs the actions in order, until a policy fails.
absl::Status RunActions(const CycleRules& rules, const CycleRooms& rooms, CycleView* cycle,
                        Laps* laps) {
  for (const auto& [name, make] : rules.actions) {
    if (absl::Status status = PolicyStatus(rooms); !status.ok()) return status;
    make()->Run(*cycle);
    laps->Lap(name);
  }
  if (cycle->job_order() != nullptr)
    cycle->job_order()->NoteChanges(!cycle->log->decisions.empty() || rules.has_depths,
                                    cycle->time);
  return PolicyStatus(rooms);
}

void TakeFrom(const CycleView& cycle, const CycleRules& rules, Plan* plan) {
  CycleLog* log = cycle.log;
  plan->holds = cycle.time->holds();
  plan->has_queue_numbers = rules.has_queue_numbers;
  plan->queues = cycle.shares->table().shares;
  if (rules.gives_claims) plan->claims = std::move(log->claims);
  plan->decisions = std::move(log->decisions);
  if (cycle.unkept != nullptr) plan->unkept_promises = cycle.unkept->All();
  plan->queue_uses = std::move(log->queue_uses);
  plan->shared_gpus = std::move(log->shared_gpus);
  plan->bare_groups = std::move(log->bare_groups);
  plan->spent_searches = std::move(log->spent_searches);
}

void ReportZones(const ZoneLedger& zones, const Cluster& cluster, Plan* plan) {
  plan->zones = zones.records();
  for (const NodeId node : cluster.nodes().name.ids()) {
    if (cluster.numa().Find(node) == nullptr) continue;
    const std::span<const double> left = zones.AvailableOf(node);
    plan->zones_available.emplace_back(node, std::vector<double>(left.begin(), left.end()));
  }
}

// Takes the requests of the waiting pods of all other groups out of the sums of queues. Invalid:
// there is no such group, and nothing is taken out.
void LeaveOutOthers(PodGroupId alone, const Cluster& cluster, QueueUsage* usage) {
  if (!alone.valid()) return;
  for (const PodGroupId group : cluster.pod_groups().lists.waiting) {
    if (group != alone) usage->LeaveOutWaiting(group);
  }
}

}  // namespace

absl::Status ClusterIsPlanned() {
  return absl::FailedPreconditionError(
      "this cluster is already being planned: plan a copy, or wait");
}

absl::StatusOr<Plan> Session::Run(std::shared_ptr<Cluster> cluster, int64_t now_ns,
                                  const Clock* stopwatch) const {
  return Run(std::move(cluster), CycleTime(now_ns), stopwatch, nullptr, {});
}

absl::StatusOr<Plan> Session::Run(std::shared_ptr<Cluster> cluster, CycleTime time,
                                  const Clock* stopwatch, std::unique_ptr<CycleRooms>* kept,
                                  const Promised& promised) const {
  Laps laps(stopwatch);
  Plan plan;
  plan.cluster = cluster;
  plan.now_ns = time.now_ns();
  // Declared first: listeners must outlive the statement, whose rollback notifies them.
  std::optional<QueueUsage> usage;
  std::unique_ptr<CycleRooms> rooms = kept == nullptr ? nullptr : std::move(*kept);
  std::unique_ptr<Statement> statement = Statement::Open(cluster.get(), {});
  if (statement == nullptr) return ClusterIsPlanned();
  usage.emplace(*cluster);
  LeaveOutOthers(options_.alone, *cluster, &*usage);
  const FairShares shares(*cluster, *usage, rules_.fair_shares);
  laps.Lap("fair_share");

  const bool keeps_traces = !config_.switches.on(Switch::kExactRollback) && cluster->shares_gpus();
  const auto sharing =
      keeps_traces || options_.plain_search ? GroupClasses::Sharing::kNo : rules_.sharing;
  if (rooms == nullptr)
    rooms = std::make_unique<CycleRooms>(config_, *cluster, options_.always_scan, sharing);
  rooms->order.Begin();
  const GroupOrders orders(config_, *cluster, *rooms, time.now_ns());
  Listen(statement.get(), &*usage, rooms.get(), options_.watch);
  SetRules(config_, rules_, keeps_traces, cluster.get(), statement.get());
  MarkOverduePods(*cluster, &time, statement.get());
  statement->Settle();  // this part is not an attempt

  const GroupKeys keys = KeysOfGroups(*rooms, orders.service.get());
  GroupPlacer placer(*cluster, &rooms->order, &shares, &rooms->search, rules_.placer,
                     rooms->domains.get());
  CycleLog log(*cluster);
  UnkeptPromises unkept(promised.unkept);
  CycleView cycle{.cluster = cluster.get(),
                  .time = &time,
                  .statement = statement.get(),
                  .shares = &shares,
                  .order = &rooms->order,
                  .classes = &rooms->classes,
                  .search = &rooms->search,
                  .room = &rooms->room,
                  .placer = &placer,
                  .zones = rooms->zones.get(),
                  .service = orders.service.get(),
                  .worklist = orders.OptionsFor(config_, rules_),
                  .generators = rules_.generators,
                  .budgets = &config_.budgets,
                  .stopwatch = stopwatch,
                  .switches = &config_.switches,
                  .unkept = rules_.minds_unkept_promises ? &unkept : nullptr,
                  // A search that skips scenarios would leave other traces than KAI's.
                  .plain_search = options_.plain_search || keeps_traces,
                  .explains = options_.explains,
                  .alone = options_.alone,
                  .log = &log};
  cycle.worklist.keys = keys.raw();
  ReportStart(placer, options_.watch);
  if (rules_.keeps_promises) KeepPromises(cycle, promised.places, &plan.kept_promises);
  ReportStart(placer, options_.watch);
  laps.Lap("open");
  if (absl::Status status = RunActions(rules_, *rooms, &cycle, &laps); !status.ok()) return status;

  if (options_.inspect) options_.inspect(cycle);
  DescribeOutcomes(cycle, &plan);
  RankPods(cycle, &plan);
  if (absl::Status status = PolicyStatus(*rooms); !status.ok()) return status;
  TakeFrom(cycle, rules_, &plan);
  if (rooms->zones != nullptr) ReportZones(*rooms->zones, *cluster, &plan);
  plan.score_keys = rooms->nodes.CountKeys();
  // Rooms that are kept have to follow the rollback; others are dropped.
  rooms->order.ForgetParts();
  const bool keeps_rooms = kept != nullptr && !keeps_traces && rooms->CanFollow();
  if (!keeps_rooms) statement->RemoveListeners();
  statement.reset();  // rolls back: the cluster is as before
  if (keeps_rooms) *kept = std::move(rooms);
  laps.Lap("close");
  plan.timing_ns = laps.Finish();
  return plan;
}

bool Session::GroupsTakeTurns(const Cluster& cluster) const {
  if (config_.policies != nullptr && config_.policies->orders_groups()) return true;
  if (config_.HasPlugin("joborder") && JobOrderOptionsOf(config_).preempts) return true;
  const auto is_used = [](const QuotaVector& used) {
    return std::ranges::any_of(used, [](double part) { return part > 0; });
  };
  return std::ranges::any_of(cluster.queues().past_usage.raw(), is_used);
}

}  // namespace kai

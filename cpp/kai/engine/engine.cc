#include "kai/engine/engine.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kai/base/heap_bytes.h"
#include "kai/engine/broken_bindings.h"
#include "kai/engine/engine_bytes.h"
#include "kai/engine/memory.h"
#include "kai/model/building/cluster_assembler.h"

namespace kai {

struct Engine::Live {
  Live(ClusterRows its_rows, RowsInPlace many, std::shared_ptr<SelectorCache> selectors)
      : rows(std::move(its_rows)), writers(cluster.get()) {
    writers.selectors = std::move(selectors);
    for (const NodeRow& row : rows.nodes) many.nodes.push_back(&row);
    ClusterAssembler(&writers).Assemble(rows, std::move(many));
  }

  ClusterRows rows;  // from the time of the build, without pods and pod groups
  std::shared_ptr<Cluster> cluster = std::make_shared<Cluster>();
  ClusterWriters writers;
  std::unique_ptr<ClusterUpdater> updater;  // null: no change so far
};

Engine::Engine(Store* store, Config config, ShardParams params, const Session::Options& options)
    : store_(*store),
      session_(std::move(config), options),
      params_(std::move(params)),
      assumptions_(store) {
  store_.Follow(this);
}

Engine::~Engine() { store_.Unfollow(this); }

void Engine::Changed(Kind kind, std::string_view name) {
  if (kind == Kind::kCsiNode && !CountsVolumes()) return;
  has_changed_ = has_changed_ || Matters(kind, name);
  if (live_ != nullptr) changed_[static_cast<size_t>(kind)].emplace(name);
  if (assumptions_.empty()) return;
  Assumptions::Changes changes;
  assumptions_.Review(kind, name, &changes);
  Note(changes);
}

// A change of a ConfigMap that no pod needs, such as those of pods that share GPUs, waits until
// another change matters.
bool Engine::Matters(Kind kind, std::string_view name) const {
  if (kind != Kind::kConfigMap || live_ == nullptr || name.empty() || !store_.IsSynced(kind))
    return true;
  const ConfigMaps& known = *live_->writers.config_maps;
  const size_t slash = name.find('/');
  return !known.are_known() || slash == std::string_view::npos ||
         known.IsNeeded(name.substr(0, slash), name.substr(slash + 1)) ||
         store_.FindRejection(kind, name) != nullptr ||
         std::ranges::any_of(live_->cluster->rejections(), [&](const Rejection& each) {
           return each.kind == NameOf(kind) && each.name == name;
         });
}

void Engine::Note(const Assumptions::Changes& changes) {
  for (const auto& [kind, name] : changes) {
    has_changed_ = true;
    if (live_ != nullptr) changed_[static_cast<size_t>(kind)].insert(name);
  }
}

std::optional<AssumptionId> Engine::AssumeBound(BindRequestRow request) {
  Assumptions::Changes changes;
  const auto id = assumptions_.Bind(std::move(request), &changes);
  Note(changes);
  return id;
}

std::optional<AssumptionId> Engine::AssumeEvicted(std::string_view pod, int64_t now_ns) {
  Assumptions::Changes changes;
  const auto id = assumptions_.Evict(pod, now_ns, &changes);
  Note(changes);
  return id;
}

std::optional<AssumptionId> Engine::AssumeBoundTo(std::string_view pod, std::string_view uid,
                                                  std::string_view node) {
  const CompactPod* row = store_.Find<PodRow>(pod);
  if (row == nullptr || row->uid != uid || !row->node_name.empty()) return std::nullopt;
  BindRequestRow request;
  request.namespace_name = row->namespace_name;
  request.name = request.pod = row->name;
  request.node = node;
  request.received_type = "Regular";
  return AssumeBound(std::move(request));
}

void Engine::Trust(const TrustedTime& trusted) {
  // A change of the end alone matters once the last plan does not hold any more.
  has_changed_ = has_changed_ || trusted.from_ns != trusted_.from_ns;
  trusted_ = trusted;
}

bool Engine::Forget(AssumptionId id) {
  Assumptions::Changes changes;
  const bool was_known = assumptions_.Forget(id, &changes);
  Note(changes);
  return was_known;
}

std::vector<AssumptionId> Engine::Broken(std::span<const AssumptionId> ids) {
  Settle();
  const std::vector<Assumptions::Bound> bound = assumptions_.BoundBy(ids);
  std::vector<AssumptionId> broken =
      BrokenBindings(*live_->cluster, live_->writers.directory, session_.config(), bound);
  for (const AssumptionId id : ids) {
    if (!std::ranges::binary_search(bound, id, {}, &Assumptions::Bound::id)) broken.push_back(id);
  }
  std::ranges::sort(broken);
  return broken;
}

ClusterRows Engine::Rows() {
  ClusterRows rows = store_.Rows();
  rows.params = params_;
  assumptions_.Apply(&rows.bind_requests);
  for (PodRow& pod : rows.pods) {
    if (const CompactPod* assumed = assumptions_.FindPod(NameInTable(pod))) pod = assumed->Row();
  }
  return rows;
}

absl::StatusOr<Engine::PlanPtr> Engine::Plan(int64_t now_ns, const Clock* stopwatch) {
  Settle();
  if (last_ != nullptr && last_->holds.Covers(trusted_.Reached(now_ns)) && !DependsOnTime(now_ns))
    return RepeatPlan(now_ns);
  if (session_.KeepsPromises()) open_ = promises_.In(*live_->cluster, &live_->writers.directory);
  absl::StatusOr<kai::Plan> plan = session_.Run(live_->cluster, CycleTime(now_ns, trusted_),
                                                stopwatch, &rooms_, open_.promised());
  if (!plan.ok()) return plan.status();
  promises_.TakeLosses(*plan, open_);
  auto made = std::make_shared<const kai::Plan>(*std::move(plan));
  made_ = made;
  is_planned_ = true;
  // If a time budget ended a search, the next plan might find more.
  last_ = made->spent_searches.empty() ? made : nullptr;
  is_reported_ = false;
  Publish(*made);
  return made;
}

// A policy that orders groups reads how long they have waited.
bool Engine::DependsOnTime(int64_t now_ns) const {
  const TablePolicies* policies = session_.config().policies.get();
  return policies != nullptr && policies->orders_groups() && last_->now_ns != now_ns;
}

void Engine::Publish(const kai::Plan& plan) {
  if (is_reported_ || !is_report_requested_ || plan.outcomes == nullptr) return;
  auto report = std::make_shared<const Report>(ReportOf(plan));
  is_reported_ = true;
  const std::lock_guard lock(report_mutex_);
  report_.swap(report);
}

std::shared_ptr<const Report> Engine::report() const {
  is_report_requested_ = true;
  const std::lock_guard lock(report_mutex_);
  return report_;
}

MemoryReport Engine::Memory() const {
  MemoryReport report;
  if (live_ != nullptr) {
    AddMemoryOf(*live_->cluster, &report);
    const ClusterWriters& writers = live_->writers;
    report.Add("building", "names", 0, writers.directory.HeapBytes());
    report.Add("building", "rows", writers.pod_rows.size() + writers.node_rows.size(),
               HeapBytesOfAll(writers.pod_rows, writers.node_rows, writers.is_foreign));
    report.Add("building", "updates", 0, HeapBytes(live_->updater));
    report.Add("building", "nodes", live_->rows.nodes.size(), HeapBytes(live_->rows.nodes));
    report.Add("building", "queues", live_->rows.queues.size(), HeapBytes(live_->rows.queues));
  }
  if (rooms_ != nullptr) AddMemoryOf(*rooms_, &report);
  report.Add("engine", "assumptions", assumptions_.size(), assumptions_.HeapBytes());
  report.Add("engine", "changed names", 0, HeapBytes(changed_));
  if (last_ != nullptr) {
    report.Add("engine", "last plan", last_->decisions.size(),
               HeapBytesOfAll(last_->decisions, last_->queues, last_->evictions));
  }
  return report;
}

Engine::PlanPtr Engine::RepeatPlan(int64_t now_ns) {
  ++counts_.repeated;
  Publish(*last_);
  if (last_->now_ns == now_ns) return last_;
  auto again = std::make_shared<kai::Plan>(*last_);
  again->now_ns = now_ns;
  again->timing_ns = {{"total", 0}};
  return made_ = last_ = std::move(again);
}

std::optional<Engine::Wake> Engine::NextWake() const {
  return has_changed_ || last_ == nullptr ? std::nullopt : WakeOf(*last_);
}

std::optional<Engine::Wake> Engine::WakeOf(const kai::Plan& plan) {
  if (plan.holds.until_ns == CycleTime::kNever) return std::nullopt;
  return Wake{.at_ns = plan.holds.until_ns, .reason = plan.holds.then};
}

std::shared_ptr<const Cluster> Engine::Settled() {
  Settle();
  return live_->cluster;
}

void Engine::Settle() {
  if (!has_changed_) return;
  TakePromises();
  last_ = nullptr;  // must be dropped before its cluster changes
  if (live_ == nullptr || !Update()) Build();
  for (absl::flat_hash_set<std::string>& names : changed_) names.clear();
  has_changed_ = is_planned_ = false;
}

std::string Engine::ExportMemory() {
  if (has_changed_) TakePromises();
  return MemoryJson({.assumed = *assumptions_.all(),
                     .promises = promises_.all(),
                     .evictors = promises_.evictors(),
                     .trusted = trusted_});
}

absl::Status Engine::ImportMemory(std::string_view json) {
  absl::StatusOr<EngineMemory> memory = ReadMemory(json);
  if (!memory.ok()) return memory.status();
  Assumptions::Changes changes;
  assumptions_.Set(memory->assumed, &changes);
  Note(changes);
  promises_.Set(std::move(memory->promises), std::move(memory->evictors));
  trusted_ = memory->trusted;
  made_ = last_ = nullptr;
  has_changed_ = true;
  return absl::OkStatus();
}

void Engine::TakePromises() {
  if (made_ != nullptr && session_.KeepsPromises()) {
    const bool take_turns = session_.GroupsTakeTurns(*made_->cluster);
    promises_.TakeOver(*made_, open_, take_turns);
  }
  made_ = nullptr;
}

void Engine::Build() {
  rooms_ = nullptr;
  live_ = nullptr;
  ClusterRows rows = store_.RowsOfFew();
  rows.params = params_;
  if (!CountsVolumes()) rows.storage.nodes.clear();
  assumptions_.Apply(&rows.bind_requests);
  RowsInPlace many = store_.RowsOfMany();
  assumptions_.Apply(&many.pods);
  live_ = std::make_unique<Live>(std::move(rows), std::move(many), selectors_);
  ++counts_.built;
}

bool Engine::Update() {
  ClusterChanges changes;
  bool can_update = true;
  AnyKind([&]<typename Row>(const KindEntry<Row>& kind) {
    const auto list = [&](std::vector<ClusterChanges::Change<KeptAs<Row>>>* out) {
      for (const std::string& name : changed_[static_cast<size_t>(kind.kind)]) {
        const KeptAs<Row>* row = store_.Find<Row>(name);
        if constexpr (std::is_same_v<Row, PodRow>) {
          if (const CompactPod* assumed = assumptions_.FindPod(name)) row = assumed;
        } else if constexpr (std::is_same_v<Row, BindRequestRow>) {
          if (const BindRequestRow* assumed = assumptions_.FindRequest(name)) row = assumed;
        }
        const std::string_view text = name;
        const size_t slash = text.find('/');
        const bool has_namespace = slash != text.npos;
        out->push_back({.namespace_name = text.substr(0, has_namespace ? slash : 0),
                        .name = text.substr(has_namespace ? slash + 1 : 0),
                        .row = row});
      }
    };
    if constexpr (std::is_same_v<Row, NodeRow>) {
      list(&changes.nodes);
    } else if constexpr (std::is_same_v<Row, PodRow>) {
      list(&changes.pods);
    } else if constexpr (std::is_same_v<Row, PodGroupRow>) {
      list(&changes.pod_groups);
    } else if constexpr (std::is_same_v<Row, BindRequestRow>) {
      list(&changes.bind_requests);
    } else if constexpr (std::is_same_v<Row, QueueRow>) {
      list(&changes.queues);
    } else if constexpr (std::is_same_v<Row, NodeZonesRow>) {
      list(&changes.zones);
    } else if constexpr (std::is_same_v<Row, ConfigMapRow>) {
      list(&changes.config_maps);
    } else if constexpr (std::is_same_v<Row, NamespaceRow>) {
      list(&changes.namespaces);
    } else {
      can_update = can_update && changed_[static_cast<size_t>(kind.kind)].empty();
    }
    return !can_update;
  });
  if (!can_update) return false;
  changes.rejections = store_.rejections();
  if (live_->updater == nullptr) {
    // Changed pods are in `changes`; their previous state is in the columns.
    absl::flat_hash_set<const CompactPod*> changed;
    for (const std::string& name : changed_[static_cast<size_t>(Kind::kPod)])
      changed.insert(store_.Find<PodRow>(name));
    RowsInPlace many = store_.RowsOfMany();
    std::erase_if(many.pods, [&](const CompactPod* pod) { return changed.contains(pod); });
    assumptions_.Apply(&many.pods);
    live_->updater = std::make_unique<ClusterUpdater>(&live_->writers, many.pods);
  }
  if (!live_->updater->Update(changes)) return false;
  if (rooms_ != nullptr && !rooms_->Follow(live_->updater->delta())) rooms_ = nullptr;
  ++counts_.updated;
  counts_.followed += rooms_ != nullptr ? 1 : 0;
  return true;
}

}  // namespace kai

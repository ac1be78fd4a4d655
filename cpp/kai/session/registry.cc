#include "kai/session/registry.h"

#include <algorithm>
#include <optional>

#include "kai/actions/allocate.h"
#include "kai/actions/consolidation.h"
#include "kai/actions/preempt.h"
#include "kai/actions/reclaim.h"
#include "kai/actions/stale_gang_eviction.h"
#include "kai/placement/filters/filters.h"
#include "kai/placement/scorers/scorers.h"
#include "kai/session/arguments.h"
#include "kai/session/known_names.h"

namespace kai {

std::shared_ptr<ZoneLedger> MakeZoneLedger(const Config& config, const Cluster& cluster) {
  if (!config.HasPlugin("numa") || cluster.numa().empty()) return nullptr;
  return std::make_shared<ZoneLedger>(cluster, NumaOptions(config));
}

std::shared_ptr<PolicyTables> MakePolicyTables(const Config& config, const Cluster& cluster) {
  return config.policies == nullptr ? nullptr
                                    : std::make_shared<PolicyTables>(cluster, config.policies);
}

namespace {

ClaimBudgets BudgetsOf(const Config& config) {
  return config.switches.on(Switch::kClaimBudgets) ? ClaimBudgets::kSmall
                                                   : ClaimBudgets::kOfKubernetes;
}

void AddPredicates(const Config& config, const Cluster& cluster,
                   std::vector<std::unique_ptr<Filter>>* out) {
  std::vector<std::unique_ptr<Filter>>& filters = *out;
  filters.push_back(MakeResourceTypeFilter(cluster, !config.switches.on(Switch::kClaimsOnlyNodes)));
  filters.push_back(MakeGpuMemoryFilter(cluster));
  filters.push_back(MakeNodeStateFilter(cluster));
  filters.push_back(MakeTaintFilter(cluster));
  const Leaving leaving =
      config.switches.on(Switch::kLeavingPods) ? Leaving::kMakeRoom : Leaving::kStillCount;
  filters.push_back(MakeNodeAffinityFilter(cluster));
  filters.push_back(MakeHostPortFilter(cluster, leaving));
  filters.push_back(MakeVolumeFilter(cluster));
  if (config.extras.on(Extra::kVolumeZones)) filters.push_back(MakeVolumeZoneFilter(cluster));
  if (config.extras.on(Extra::kVolumeLimits)) filters.push_back(MakeVolumeLimitFilter(cluster));
  filters.push_back(MakeInterPodAffinityFilter(cluster, leaving));
  if (config.extras.on(Extra::kTopologySpread))
    filters.push_back(MakeTopologySpreadFilter(cluster));
  filters.push_back(MakeWorkerNodeFilter(cluster));
}

}  // namespace

std::vector<std::unique_ptr<Filter>> MakeFilters(const Config& config, const Cluster& cluster,
                                                 const std::shared_ptr<ZoneLedger>& zones,
                                                 const std::shared_ptr<PolicyTables>& tables) {
  std::vector<std::unique_ptr<Filter>> filters;
  if (cluster.storage().any_need) filters.push_back(MakeStorageFilter(cluster));
  if (config.HasPlugin("predicates")) AddPredicates(config, cluster, &filters);
  if (zones != nullptr) filters.push_back(MakeNumaFilter(zones));
  if (config.HasPlugin("dynamicresources"))
    filters.push_back(MakeResourceClaimFilter(cluster, BudgetsOf(config)));
  for (size_t i = 0; tables != nullptr && i < tables->policies().filters().size(); ++i)
    filters.push_back(MakeTableFilter(cluster, tables, i, /*listens=*/i == 0));
  return filters;
}

std::vector<std::unique_ptr<Filter>> MakeNodeFilters(const Config& config, const Cluster& cluster) {
  std::vector<std::unique_ptr<Filter>> filters;
  if (!config.HasPlugin("predicates")) return filters;
  filters.push_back(MakeNodeStateFilter(cluster));
  filters.push_back(MakeTaintFilter(cluster));
  filters.push_back(MakeNodeAffinityFilter(cluster));
  filters.push_back(MakeWorkerNodeFilter(cluster));
  return filters;
}

std::vector<std::unique_ptr<PodCheck>> MakePodChecks(const Config& config, const Cluster& cluster) {
  std::vector<std::unique_ptr<PodCheck>> checks;
  if (config.HasPlugin("predicates")) {
    checks.push_back(MakeVolumeClaimCheck(cluster));
    checks.push_back(MakeConfigMapCheck(cluster));
    checks.push_back(MakeLargestNodeCheck(cluster));
  }
  if (config.HasPlugin("dynamicresources"))
    checks.push_back(MakeResourceClaimCheck(cluster, BudgetsOf(config)));
  return checks;
}

namespace {

// Plugins whose scores would outweigh a placement policy, or decide the same.
constexpr std::array<std::string_view, 3> kReplacedByPolicy = {"nodeplacement", "gpusharingorder",
                                                               "resourcetype"};

}  // namespace

std::vector<NamedScorer> MakeScorers(const Config& config, const Cluster& cluster,
                                     const std::shared_ptr<ZoneLedger>& zones,
                                     const std::shared_ptr<PolicyTables>& tables) {
  std::vector<NamedScorer> scorers;
  const auto add = [&](std::string_view name, std::unique_ptr<Scorer> scorer) {
    scorers.push_back({.name = name, .scorer = std::move(scorer)});
  };
  const Strategies strategies = StrategiesOf(config);
  const size_t functions = tables == nullptr ? 0 : tables->policies().scores().size();
  const bool has_policy = config.HasPlugin("placementpolicy") || functions > 0;
  for (const PluginConfig& plugin : config.plugins) {
    if (has_policy && Contains(kReplacedByPolicy, plugin.name)) continue;
    if (plugin.name == "placementpolicy" && functions == 0) {
      add(plugin.name, MakePolicyScorer(cluster, PolicyOptionsOf(config)));
    } else if (plugin.name == "nodeplacement") {
      add(plugin.name, MakeNodePlacementScorer(cluster, strategies.gpu, strategies.cpu));
    } else if (plugin.name == "nodeavailability") {
      add(plugin.name, MakeNodeAvailabilityScorer());
    } else if (plugin.name == "resourcetype") {
      add(plugin.name, MakeResourceTypeScorer(cluster));
    } else if (plugin.name == "gpusharingorder") {
      add(plugin.name, MakeGpuSharingScorer());
    } else if (plugin.name == "podaffinity") {
      add(plugin.name, MakePodAffinityScorer(cluster));
    } else if (plugin.name == "nominatednode") {
      add(plugin.name, MakeNominatedNodeScorer(cluster));
    } else if (plugin.name == "topology" && !cluster.topology_constraints().empty()) {
      add(plugin.name, MakeDomainScorer());
    } else if (plugin.name == "numa" && zones != nullptr) {
      add(plugin.name, MakeNumaScorer(zones));
    }
  }
  if (config.extras.on(Extra::kPreferredNodeAffinity)) {
    add(kExtraNames[static_cast<size_t>(Extra::kPreferredNodeAffinity)],
        MakePreferredNodesScorer(cluster));
  }
  for (size_t i = 0; i < functions; ++i) {
    const bool listens = i == 0 && tables->policies().filters().empty();
    add(tables->policies().scores()[i].name, MakeTableScorer(tables, i, listens));
  }
  return scorers;
}

NodeSearch::Options SearchOptions(const Config& config, bool always_scan) {
  return {.always_scan = always_scan,
          .room = {.devices = {.pack = config.HasPlugin("gpupack"),
                               .spread = config.HasPlugin("gpuspread"),
                               .start_on_idle = config.extras.on(Extra::kStartOnIdleGpu),
                               .bind_held = !config.switches.on(Switch::kHeldGpus),
                               .slot_to_join = !config.switches.on(Switch::kReservationSlots)},
                   .pod_slots = config.HasPlugin("predicates")}};
}

PlacingOrder::Options PlacingOrderOptions(const Config& config) {
  PlacingOrder::Options options{.comparators = {},
                                .count_completed = config.switches.on(Switch::kCompletedPods)};
  for (const PluginConfig& plugin : config.plugins) {
    if (plugin.name == "kubeflow") options.comparators.push_back(PodComparator::kKubeflow);
    if (plugin.name == "ray") options.comparators.push_back(PodComparator::kRay);
    if (plugin.name == "taskorder") options.comparators.push_back(PodComparator::kTaskPriority);
  }
  return options;
}

PodOrder::Options PodOrderOptions(const Config& config) {
  return {.by_satisfaction = config.HasPlugin("subgrouporder"),
          .satisfy_tree = config.switches.on(Switch::kMinSubGroup),
          .choose_members = config.switches.on(Switch::kOptionalMembers),
          .spare_new = config.switches.on(Switch::kSameCycleEviction)};
}

std::unique_ptr<AttainedService> MakeAttainedService(const Config& config, const Cluster& cluster,
                                                     const PodOrder& order,
                                                     const PolicyTables* tables, int64_t now_ns) {
  const bool policy_orders = tables != nullptr && tables->policies().orders_groups();
  if (!policy_orders && !config.HasPlugin("joborder")) return nullptr;
  return std::make_unique<AttainedService>(cluster, order, now_ns);
}

std::unique_ptr<JobOrder> MakeJobOrder(const Config& config, const Cluster& cluster,
                                       const PodOrder& order, const AttainedService* service) {
  if (!config.HasPlugin("joborder")) return nullptr;
  return std::make_unique<JobOrder>(cluster, order, JobOrderOptionsOf(config), *service);
}

Worklist::Options WorklistOptions(const Config& config, const JobOrder* job_order) {
  Worklist::Options options{.comparators = {},
                            .job_order = job_order,
                            .by_fair_share = config.HasPlugin("proportion"),
                            .depth = -1,
                            .keep_first = config.switches.on(Switch::kQueueDepth)};
  // It comes before KAI's orders, which then decide between equal groups.
  if (job_order != nullptr) {
    if (job_order->options().within_priority)
      options.comparators.push_back(GroupComparator::kPriority);
    options.comparators.push_back(GroupComparator::kJobOrder);
  }
  for (const PluginConfig& plugin : config.plugins) {
    if (plugin.name == "priority") options.comparators.push_back(GroupComparator::kPriority);
    if (plugin.name == "elastic") options.comparators.push_back(GroupComparator::kElastic);
  }
  return options;
}

FairShares::Options FairShareOptions(const Config& config) {
  return {.k_value = KValue(config), .divide = config.HasPlugin("proportion")};
}

std::vector<ScenarioGenerator> GeneratorsOf(const Config& config) {
  std::vector<ScenarioGenerator> generators;
  for (const PluginConfig& plugin : config.plugins) {
    if (plugin.name == "sg-nodelocalgreedy")
      generators.push_back(ScenarioGenerator::kNodeLocalGreedy);
    if (plugin.name == "sg-multinodegang") generators.push_back(ScenarioGenerator::kMultiNodeGang);
  }
  return generators;
}

namespace {

GroupPlacer::Options PlacerOptions(const Config& config) {
  return {.check_capacity = config.HasPlugin("proportion"),
          .check_nodes = config.HasPlugin("predicates"),
          .pin_siblings = config.switches.on(Switch::kPinnedSiblings),
          .level_free = config.switches.on(Switch::kTopologyLevels),
          .best_fit = PlacesByBestFit(config),
          .adding = config.switches.on(Switch::kQuotaEpsilon) ? Adding::kExact : Adding::kAsKai};
}

// True if an action tries only a number of groups per queue: then each group counts.
bool HasDepths(const Config& config) {
  const auto is_bound = [](const auto& depth) { return depth.second >= 0; };
  return std::ranges::any_of(config.queue_depth, is_bound);
}

// If a policy orders groups, groups with equal requests may not be adjacent.
GroupClasses::Sharing SharingOf(const Config& config) {
  const bool orders = config.policies != nullptr && config.policies->orders_groups();
  return orders || HasDepths(config) ? GroupClasses::Sharing::kNo : GroupClasses::Sharing::kYes;
}

std::function<std::unique_ptr<Action>()> MakerOf(const std::string& name, const Config& config) {
  const auto found = config.queue_depth.find(name);
  const int64_t depth = found == config.queue_depth.end() ? -1 : found->second;
  std::optional<MinRuntime::Options> min_runtime;
  if (config.HasPlugin("minruntime")) min_runtime = MinRuntimeOptions(config);
  const bool has_shares = config.HasPlugin("proportion");
  if (name == "allocate") return [depth] { return MakeAllocate(depth); };
  if (name == "consolidation") return [depth] { return MakeConsolidation(depth); };
  if (name == "reclaim") {
    ReclaimOptions options{.depth = depth, .rule = {}, .min_runtime = min_runtime};
    if (has_shares) options.rule = {.saturation_multiplier = SaturationMultiplier(config)};
    return [options] { return MakeReclaim(options); };
  }
  if (name == "preempt") {
    const PreemptOptions options{
        .depth = depth, .check_capacity = has_shares, .min_runtime = min_runtime};
    return [options] { return MakePreempt(options); };
  }
  if (name == "stalegangeviction") return [] { return MakeStaleGangEviction(); };
  KAI_CHECK(false) << "action " << name << " passed the configuration but is not built";
  return nullptr;
}

}  // namespace

CycleRules::CycleRules(const Config& config)
    : fair_shares(FairShareOptions(config)),
      placer(PlacerOptions(config)),
      sharing(SharingOf(config)),
      has_depths(HasDepths(config)),
      worklist(WorklistOptions(config, nullptr)),
      generators(GeneratorsOf(config)),
      has_queue_numbers(config.HasPlugin("proportion")),
      gives_claims(config.HasPlugin("dynamicresources")),
      counts_reservations(config.switches.on(Switch::kReservationSlots) &&
                          config.HasPlugin("predicates")),
      keeps_promises(config.switches.on(Switch::kPromises) && Contains(config.actions, "allocate")),
      minds_unkept_promises(keeps_promises && config.switches.on(Switch::kUnkeptPromises)) {
  for (const std::string& name : config.actions) actions.emplace_back(name, MakerOf(name, config));
}

}  // namespace kai

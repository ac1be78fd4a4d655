#include "kai/placement/rooms_for_test.h"

#include "kai/texts/reason_text.h"

namespace kai {

std::vector<std::unique_ptr<Filter>> AllFilters(const Cluster& cluster,
                                                const RoomsOptions& options) {
  std::vector<std::unique_ptr<Filter>> filters;
  if (cluster.storage().any_need) filters.push_back(MakeStorageFilter(cluster));
  filters.push_back(MakeResourceTypeFilter(cluster));
  filters.push_back(MakeNodeStateFilter(cluster));
  filters.push_back(MakeTaintFilter(cluster));
  filters.push_back(MakeNodeAffinityFilter(cluster));
  filters.push_back(MakeHostPortFilter(cluster, options.leaving));
  filters.push_back(MakeVolumeFilter(cluster));
  if (options.volume_limits) filters.push_back(MakeVolumeLimitFilter(cluster));
  filters.push_back(MakeInterPodAffinityFilter(cluster, options.leaving));
  if (options.spread) filters.push_back(MakeTopologySpreadFilter(cluster));
  filters.push_back(MakeWorkerNodeFilter(cluster));
  filters.push_back(MakeResourceClaimFilter(cluster));
  return filters;
}

std::vector<std::unique_ptr<PodCheck>> AllPodChecks(const Cluster& cluster) {
  std::vector<std::unique_ptr<PodCheck>> checks;
  checks.push_back(MakeVolumeClaimCheck(cluster));
  checks.push_back(MakeConfigMapCheck(cluster));
  checks.push_back(MakeLargestNodeCheck(cluster));
  checks.push_back(MakeResourceClaimCheck(cluster));
  return checks;
}

std::vector<NamedScorer> AllScorers(const Cluster& cluster, const RoomsOptions& options) {
  std::vector<NamedScorer> scorers;
  const auto add = [&](std::string_view name, std::unique_ptr<Scorer> scorer) {
    scorers.push_back({.name = name, .scorer = std::move(scorer)});
  };
  if (options.availability) add("nodeavailability", MakeNodeAvailabilityScorer());
  add("resourcetype", MakeResourceTypeScorer(cluster));
  if (options.pod_affinity) add("podaffinity", MakePodAffinityScorer(cluster));
  add("nominatednode", MakeNominatedNodeScorer(cluster));
  add("nodeplacement", MakeNodePlacementScorer(cluster, options.gpu, options.cpu));
  add("topology", MakeDomainScorer());
  if (options.preferred_nodes) add("preferred_node_affinity", MakePreferredNodesScorer(cluster));
  return scorers;
}

std::unique_ptr<SearchRooms> MakeSearch(const Cluster& cluster, const RoomsOptions& options) {
  PlacementRules rules;
  if (options.filters) {
    rules.checks = AllPodChecks(cluster);
    rules.filters = AllFilters(cluster, options);
  }
  rules.scorers = AllScorers(cluster, options);
  return std::make_unique<SearchRooms>(
      cluster, std::move(rules), Strategies{.gpu = options.gpu, .cpu = options.cpu},
      NodeSearch::Options{.always_scan = options.always_scan,
                          .room = {.devices = {.pack = true}, .pod_slots = options.filters}});
}

std::vector<std::string> Names(const Cluster& cluster, std::span<const PodId> pods) {
  std::vector<std::string> names;
  for (const PodId pod : pods) names.emplace_back(cluster.Text(cluster.pods().name[pod]));
  return names;
}

SubGroupRow Leaf(std::string name, std::optional<int64_t> minimum, std::string parent) {
  SubGroupRow row;
  row.name = std::move(name);
  row.min_member = minimum;
  if (!parent.empty()) row.parent = std::move(parent);
  return row;
}
SubGroupRow Set(std::string name, std::optional<int64_t> minimum, std::string parent) {
  SubGroupRow row = Leaf(std::move(name), std::nullopt, std::move(parent));
  row.min_sub_group = minimum;
  return row;
}

ClusterMaker GroupOf(std::vector<SubGroupRow> sub_groups, std::optional<int64_t> min_sub_group) {
  PodGroupRow group;
  group.namespace_name = "ns";
  group.name = "g";
  group.min_sub_group = min_sub_group;
  group.sub_groups = std::move(sub_groups);
  return MakeCluster().Node("n", {.millicpu = 1'000'000}).Add(std::move(group));
}

std::string FoundText(const Cluster& cluster, const NodeSearch::Found& found) {
  if (!found.node.valid()) return "nowhere";
  return std::string(cluster.Text(cluster.nodes().name[found.node])) + (found.now ? "" : " later");
}

namespace {

DomainSearch::Options DomainOptions(const RoomsOptions& options) {
  DomainSearch::Options domains = options.domains;
  domains.best_fit = options.best_fit;
  return domains;
}

}  // namespace

Rooms::Rooms(std::unique_ptr<Cluster> cluster, const RoomsOptions& options)
    : cluster_(std::move(cluster)),
      usage_(*cluster_),
      shares_(*cluster_, usage_, {}),
      placing_(*cluster_, {.comparators = options.comparators}),
      order_(placing_, {.by_satisfaction = options.by_satisfaction,
                        .satisfy_tree = options.satisfy_tree,
                        .choose_members = options.choose_members}),
      search_(MakeSearch(*cluster_, options)),
      domains_(*cluster_, DomainOptions(options)),
      placer_(*cluster_, &order_, &shares_, &search_->search,
              {.check_capacity = options.check_capacity,
               .pin_siblings = options.pin_siblings,
               .best_fit = options.best_fit},
              &domains_),
      statement_(Statement::Open(cluster_.get(), {&usage_, &order_, &search_->search, &domains_})) {
}

Rooms::~Rooms() = default;

PodId Rooms::Pod(std::string_view name) const { return PodNamed(*cluster_, name); }
NodeId Rooms::Node(std::string_view name) const { return NodeNamed(*cluster_, name); }
PodGroupId Rooms::Group(std::string_view name) const { return PodGroupNamed(*cluster_, name); }

std::string Rooms::Find(std::string_view pod) {
  return FoundText(*cluster_, search_->search.Find(cluster_->pods().pod_class[Pod(pod)]));
}
std::string Rooms::Explain(std::string_view pod) {
  return TextOf(*search_->search.Explain(Pod(pod)), Pod(pod), *cluster_);
}
void Rooms::Place(std::string_view pod, std::string_view node) {
  statement_->Place(Pod(pod), Node(node));
}
void Rooms::Pipeline(std::string_view pod, std::string_view node) {
  statement_->Pipeline(Pod(pod), Node(node));
}
void Rooms::Evict(std::string_view pod) { statement_->Evict(Pod(pod)); }

std::vector<std::string> Rooms::Placements() const {
  std::vector<std::string> placements;
  for (const Change& change : statement_->ChangesSince(0)) {
    placements.push_back(
        cluster_->PodName(change.pod) + " " +
        FoundText(*cluster_,
                  {.node = change.to_node, .now = change.to == PodStatus::kAllocated, .gpus = {}}));
  }
  return placements;
}

}  // namespace kai

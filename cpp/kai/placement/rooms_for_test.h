// The rooms of placement put together as a cycle has them, with words to ask them: for tests.
//
//   Rooms rooms(MakeCluster().Node("n1", {.gpus = 8}).Pending("ns/p", {.gpus = 1}).Build());
//   EXPECT_EQ(rooms.Find("ns/p-0"), "n1");       // or "n1 later", or "nowhere"
//   rooms.Place("ns/p-0", "n1");
#ifndef KAI_PLACEMENT_ROOMS_FOR_TEST_H_
#define KAI_PLACEMENT_ROOMS_FOR_TEST_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/fairshare/usage.h"
#include "kai/model/cluster.h"
#include "kai/model/statement.h"
#include "kai/placement/filters/filters.h"
#include "kai/placement/group_placer.h"
#include "kai/placement/node_search.h"
#include "kai/placement/pod_order.h"
#include "kai/placement/scorers/scorers.h"
#include "kai/testing/cluster_maker.h"

namespace kai {

struct RoomsOptions {
  Strategy gpu = Strategy::kBinpack;
  Strategy cpu = Strategy::kBinpack;
  bool filters = true;          // plugin predicates
  bool pod_affinity = true;     // plugin podaffinity
  bool availability = true;     // plugin nodeavailability
  bool check_capacity = true;   // plugin proportion
  bool by_satisfaction = true;  // plugin subgrouporder
  bool satisfy_tree = true;     // mend min_sub_group
  bool always_scan = false;
  Leaving leaving = Leaving::kMakeRoom;  // mend leaving_pods
  bool spread = false;                   // extra topology_spread
  bool preferred_nodes = false;          // extra preferred_node_affinity
  DomainSearch::Options domains = {};    // mends common_domain, partial_labels
  bool pin_siblings = true;              // mend pinned_siblings
  bool best_fit = false;                 // argument placement of plugin topology
  bool choose_members = true;            // mend optional_members
  bool volume_limits = false;            // extra volume_limits
  std::vector<PodComparator> comparators = {PodComparator::kKubeflow, PodComparator::kRay,
                                            PodComparator::kTaskPriority};
};

// All filters, in the order of session/registry.cc.
inline std::vector<std::unique_ptr<Filter>> AllFilters(const Cluster& cluster,
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

inline std::vector<std::unique_ptr<PodCheck>> AllPodChecks(const Cluster& cluster) {
  std::vector<std::unique_ptr<PodCheck>> checks;
  checks.push_back(MakeVolumeClaimCheck(cluster));
  checks.push_back(MakeConfigMapCheck(cluster));
  checks.push_back(MakeLargestNodeCheck(cluster));
  checks.push_back(MakeResourceClaimCheck(cluster));
  return checks;
}

// All scorers, in the order of the operator's default (spec 2 C8).
inline std::vector<std::unique_ptr<Scorer>> AllScorers(const Cluster& cluster,
                                                       const RoomsOptions& options) {
  std::vector<std::unique_ptr<Scorer>> scorers;
  if (options.availability) scorers.push_back(MakeNodeAvailabilityScorer());
  scorers.push_back(MakeResourceTypeScorer(cluster));
  if (options.pod_affinity) scorers.push_back(MakePodAffinityScorer(cluster));
  scorers.push_back(MakeNominatedNodeScorer(cluster));
  scorers.push_back(MakeNodePlacementScorer(cluster, options.gpu, options.cpu));
  scorers.push_back(MakeDomainScorer());
  if (options.preferred_nodes) scorers.push_back(MakePreferredNodesScorer(cluster));
  return scorers;
}

inline std::unique_ptr<NodeSearch> MakeSearch(const Cluster& cluster, const RoomsOptions& options) {
  NodeSearch::Rules rules;
  if (options.filters) {
    rules.checks = AllPodChecks(cluster);
    rules.filters = AllFilters(cluster, options);
  }
  rules.scorers = AllScorers(cluster, options);
  return std::make_unique<NodeSearch>(cluster, std::move(rules),
                                      NodeSearch::Options{.gpu = options.gpu,
                                                          .cpu = options.cpu,
                                                          .always_scan = options.always_scan,
                                                          .devices = {.pack = true},
                                                          .pod_slots = options.filters});
}

// Names of pods without their namespace.
inline std::vector<std::string> Names(const Cluster& cluster, std::span<const PodId> pods) {
  std::vector<std::string> names;
  for (const PodId pod : pods) names.emplace_back(cluster.Text(cluster.pods().name[pod]));
  return names;
}

// Trees of sub-groups: GroupOf({Set("s", 1), Leaf("a", 2, "s"), Leaf("b", 1)}).
inline SubGroupRow Leaf(std::string name, std::optional<int64_t> minimum, std::string parent = "") {
  SubGroupRow row;
  row.name = std::move(name);
  row.min_member = minimum;
  if (!parent.empty()) row.parent = std::move(parent);
  return row;
}
inline SubGroupRow Set(std::string name, std::optional<int64_t> minimum, std::string parent = "") {
  SubGroupRow row = Leaf(std::move(name), std::nullopt, std::move(parent));
  row.min_sub_group = minimum;
  return row;
}

// A cluster with the pod group ns/g of such sub-groups, and room for all of it.
inline ClusterMaker GroupOf(std::vector<SubGroupRow> sub_groups,
                            std::optional<int64_t> min_sub_group = {}) {
  PodGroupRow group;
  group.namespace_name = "ns";
  group.name = "g";
  group.min_sub_group = min_sub_group;
  group.sub_groups = std::move(sub_groups);
  return MakeCluster().Node("n", {.millicpu = 1'000'000}).Add(std::move(group));
}

inline std::string FoundText(const Cluster& cluster, const NodeSearch::Found& found) {
  if (!found.node.valid()) return "nowhere";
  return std::string(cluster.Text(cluster.nodes().name[found.node])) + (found.now ? "" : " later");
}

class Rooms {
 public:
  explicit Rooms(std::unique_ptr<Cluster> cluster, const RoomsOptions& options = {})
      : cluster_(std::move(cluster)),
        usage_(*cluster_, {.k_value = 1}),
        order_(*cluster_, {.comparators = options.comparators,
                           .by_satisfaction = options.by_satisfaction,
                           .satisfy_tree = options.satisfy_tree,
                           .choose_members = options.choose_members}),
        search_(MakeSearch(*cluster_, options)),
        domains_(*cluster_, DomainOptions(options)),
        placer_(*cluster_, &order_, &usage_, search_.get(),
                {.check_capacity = options.check_capacity,
                 .pin_siblings = options.pin_siblings,
                 .best_fit = options.best_fit},
                &domains_),
        statement_(Statement::Open(cluster_.get(), {&usage_, &order_, search_.get(), &domains_})) {}

  static DomainSearch::Options DomainOptions(const RoomsOptions& options) {
    DomainSearch::Options domains = options.domains;
    domains.best_fit = options.best_fit;
    return domains;
  }

  Cluster& cluster() { return *cluster_; }
  QueueUsage& usage() { return usage_; }
  PodOrder& order() { return order_; }
  NodeSearch& search() { return *search_; }
  GroupPlacer& placer() { return placer_; }
  Statement& statement() { return *statement_; }

  PodId Pod(std::string_view name) const { return PodNamed(*cluster_, name); }
  NodeId Node(std::string_view name) const { return NodeNamed(*cluster_, name); }
  PodGroupId Group(std::string_view name) const { return PodGroupNamed(*cluster_, name); }

  std::string Find(std::string_view pod) {
    return FoundText(*cluster_, search_->Find(cluster_->pods().pod_class[Pod(pod)]));
  }
  std::string Explain(std::string_view pod) { return search_->Explain(Pod(pod)); }
  void Place(std::string_view pod, std::string_view node) {
    statement_->Place(Pod(pod), Node(node));
  }
  void Pipeline(std::string_view pod, std::string_view node) {
    statement_->Pipeline(Pod(pod), Node(node));
  }
  void Evict(std::string_view pod) { statement_->Evict(Pod(pod)); }

  // "ns/p-0 n1" for every pod that a change of the statement gave a node.
  std::vector<std::string> Placements() const {
    std::vector<std::string> placements;
    for (const Change& change : statement_->ChangesSince(0)) {
      placements.push_back(cluster_->PodName(change.pod) + " " +
                           FoundText(*cluster_, {.node = change.to_node,
                                                 .now = change.to == PodStatus::kAllocated,
                                                 .gpus = {}}));
    }
    return placements;
  }

 private:
  std::unique_ptr<Cluster> cluster_;
  QueueUsage usage_;
  PodOrder order_;
  std::unique_ptr<NodeSearch> search_;
  DomainSearch domains_;
  GroupPlacer placer_;
  std::unique_ptr<Statement> statement_;  // last: tells the others of its rollback when it goes
};

}  // namespace kai

#endif  // KAI_PLACEMENT_ROOMS_FOR_TEST_H_

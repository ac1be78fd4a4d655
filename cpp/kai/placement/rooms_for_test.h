// All objects of placement, connected as in a cycle, with short functions to use them: for tests.
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

#include "kai/fairshare/fair_shares.h"
#include "kai/model/changes/statement.h"
#include "kai/model/columns/cluster.h"
#include "kai/placement/domain_search.h"
#include "kai/placement/filters/filters.h"
#include "kai/placement/group_placer.h"
#include "kai/placement/node_search.h"
#include "kai/placement/pod_order.h"
#include "kai/placement/scorers/scorers.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai {

struct RoomsOptions {
  Strategy gpu = Strategy::kBinpack;
  Strategy cpu = Strategy::kBinpack;
  bool filters = true;          // plugin predicates
  bool pod_affinity = true;     // plugin podaffinity
  bool availability = true;     // plugin nodeavailability
  bool check_capacity = true;   // plugin proportion
  bool by_satisfaction = true;  // plugin subgrouporder
  bool satisfy_tree = true;     // switch min_sub_group
  bool always_scan = false;
  Leaving leaving = Leaving::kMakeRoom;  // switch leaving_pods
  bool spread = false;                   // extra topology_spread
  bool preferred_nodes = false;          // extra preferred_node_affinity
  DomainSearch::Options domains = {};    // switches common_domain, partial_labels
  bool pin_siblings = true;              // switch pinned_siblings
  bool best_fit = false;                 // argument placement of plugin topology
  bool choose_members = true;            // switch optional_members
  bool volume_limits = false;            // extra volume_limits
  std::vector<PodComparator> comparators = {PodComparator::kKubeflow, PodComparator::kRay,
                                            PodComparator::kTaskPriority};
};

// All filters, in the order of session/registry.cc.
std::vector<std::unique_ptr<Filter>> AllFilters(const Cluster& cluster,
                                                const RoomsOptions& options);
std::vector<std::unique_ptr<PodCheck>> AllPodChecks(const Cluster& cluster);
// All scorers, in the order of the operator's default (spec 2 C8).
std::vector<NamedScorer> AllScorers(const Cluster& cluster, const RoomsOptions& options);
// The search, with the plans and the order of nodes that it reads.
struct SearchRooms {
  SearchRooms(const Cluster& cluster, PlacementRules rules, const Strategies& strategies,
              const NodeSearch::Options& options)
      : plans(cluster, std::move(rules)),
        nodes(cluster, strategies),
        search(&plans, &nodes, options) {}

  ClassPlans plans;
  OrderedNodes nodes;
  NodeSearch search;
};
std::unique_ptr<SearchRooms> MakeSearch(const Cluster& cluster, const RoomsOptions& options);

// Names of pods without their namespace.
std::vector<std::string> Names(const Cluster& cluster, std::span<const PodId> pods);

// Trees of sub-groups: GroupOf({Set("s", 1), Leaf("a", 2, "s"), Leaf("b", 1)}).
SubGroupRow Leaf(std::string name, std::optional<int64_t> minimum, std::string parent = "");
SubGroupRow Set(std::string name, std::optional<int64_t> minimum, std::string parent = "");
// A cluster with the pod group ns/g with these sub-groups, and room for all of it.
ClusterMaker GroupOf(std::vector<SubGroupRow> sub_groups,
                     std::optional<int64_t> min_sub_group = {});

// "n1", "n1 later" or "nowhere"
std::string FoundText(const Cluster& cluster, const NodeSearch::Found& found);

class Rooms {
 public:
  explicit Rooms(std::unique_ptr<Cluster> cluster, const RoomsOptions& options = {});
  ~Rooms();

  Cluster& cluster() { return *cluster_; }
  QueueUsage& usage() { return usage_; }
  const FairShares& shares() const { return shares_; }
  PodOrder& order() { return order_; }
  NodeSearch& search() { return search_->search; }
  GroupPlacer& placer() { return placer_; }
  Statement& statement() { return *statement_; }

  PodId Pod(std::string_view name) const;
  NodeId Node(std::string_view name) const;
  PodGroupId Group(std::string_view name) const;

  std::string Find(std::string_view pod);
  std::string Explain(std::string_view pod);
  void Place(std::string_view pod, std::string_view node);
  void Pipeline(std::string_view pod, std::string_view node);
  void Evict(std::string_view pod);

  // "ns/p-0 n1" for every pod that got a node in the statement.
  std::vector<std::string> Placements() const;

 private:
  std::unique_ptr<Cluster> cluster_;
  QueueUsage usage_;
  FairShares shares_;
  PlacingOrder placing_;
  PodOrder order_;
  std::unique_ptr<SearchRooms> search_;
  DomainSearch domains_;
  GroupPlacer placer_;
  std::unique_ptr<Statement> statement_;  // last: its destructor rolls back and calls the others
};

}  // namespace kai

#endif  // KAI_PLACEMENT_ROOMS_FOR_TEST_H_

// CycleRooms: the data of a cycle that the next cycle can use again: the order of pods, the plans
// of pod classes, the order of nodes, and cached results of node checks.
//
//   rooms = std::make_unique<CycleRooms>(config_, *cluster, options_.always_scan, sharing);
//   keeps_rooms = kept != nullptr && !keeps_traces && rooms->CanFollow();
//
// Invariants: between cycles the rooms equal newly built ones, provided that they follow the
// changes of the cluster. They cannot follow if a part of them counts pods: then CanFollow() is
// false, and they are built again. Cost: O(pod groups + nodes) to build, O(what changed) to follow.
// Not thread-safe.
#ifndef KAI_SESSION_CYCLE_ROOMS_H_
#define KAI_SESSION_CYCLE_ROOMS_H_

#include <memory>

#include "kai/model/building/cluster_delta.h"
#include "kai/model/columns/cluster.h"
#include "kai/placement/class_plans.h"
#include "kai/placement/domain_search.h"
#include "kai/placement/group_classes.h"
#include "kai/placement/node_search.h"
#include "kai/placement/numa/zone_ledger.h"
#include "kai/placement/ordered_nodes.h"
#include "kai/placement/placing_order.h"
#include "kai/placement/pod_order.h"
#include "kai/placement/policy_tables.h"
#include "kai/placement/room_count.h"
#include "kai/session/config.h"

namespace kai {

class CycleRooms {
 public:
  CycleRooms(const Config& config, const Cluster& cluster, bool always_scan,
             GroupClasses::Sharing sharing);

  // True if nothing in them depends on pods on nodes, except the parts that follow changes.
  bool CanFollow() const;
  // False if they have to be built again.
  bool Follow(const ClusterDelta& delta);

 private:
  const Cluster& cluster_;
  bool shares_gpus_;

 public:
  std::shared_ptr<ZoneLedger> zones;     // null: NUMA zones are ignored
  std::shared_ptr<PolicyTables> tables;  // null: no policy is a function
  PlacingOrder placing;
  ClassPlans plans;
  OrderedNodes nodes;
  PodOrder order;
  GroupClasses classes;
  NodeSearch search;
  RoomCount room;
  std::unique_ptr<DomainSearch> domains;  // null: no group has a topology constraint
};

}  // namespace kai

#endif  // KAI_SESSION_CYCLE_ROOMS_H_

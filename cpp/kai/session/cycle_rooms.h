// CycleRooms: what a cycle works with and the next one can work with as well: the order of pods,
// the plans of classes of pods, the order of nodes, what nodes answer.
//
//   rooms = std::make_unique<CycleRooms>(config_, *cluster, options_.always_scan, sharing);
//   keeps_rooms = kept != nullptr && !keeps_traces && rooms->CanFollow();
//
// Invariants: between cycles they are those that would be made anew, provided that they follow what
// happens to the cluster. Where some part of them counts pods, they cannot follow: CanFollow() is
// false, and they are made anew. Cost: made in O(pod groups + nodes); following is O(what changed).
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

  // Nothing in them depends on pods that stand on nodes, but for what follows.
  bool CanFollow() const;
  // False: they have to be made anew.
  bool Follow(const ClusterDelta& delta);

 private:
  const Cluster& cluster_;
  bool shares_gpus_;

 public:
  std::shared_ptr<ZoneLedger> zones;     // null: NUMA zones are not looked at
  std::shared_ptr<PolicyTables> tables;  // null: no policy is a function
  PlacingOrder placing;
  ClassPlans plans;
  OrderedNodes nodes;
  PodOrder order;
  GroupClasses classes;
  NodeSearch search;
  RoomCount room;
  std::unique_ptr<DomainSearch> domains;  // null: no group asks for a domain
};

}  // namespace kai

#endif  // KAI_SESSION_CYCLE_ROOMS_H_

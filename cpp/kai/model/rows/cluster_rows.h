// ClusterRows: a whole input as rows that are not checked yet. They can be read, changed, and built
// more than once. Build() makes a valid Cluster and a list of the objects that it left out.
//
//   const ClusterRows rows = MakeRandomCluster(seed, {.sub_groups = true});
//   const auto cluster = rows.Build();     // copies the rows; std::move(rows).Build() uses them up
//
// Invariants: Build() succeeds for any rows; objects that it cannot use are in the cluster's
// rejections. Cost: O(objects log objects) to build. Threads: many may build from const rows.
#ifndef KAI_MODEL_ROWS_CLUSTER_ROWS_H_
#define KAI_MODEL_ROWS_CLUSTER_ROWS_H_

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "kai/model/rows/rows.h"

namespace kai {

class Cluster;

struct ClusterRows {
  ClusterRows();
  ClusterRows(const ClusterRows&);
  ClusterRows(ClusterRows&&) noexcept;
  ClusterRows& operator=(const ClusterRows&);
  ClusterRows& operator=(ClusterRows&&) noexcept;
  ~ClusterRows();

  std::unique_ptr<Cluster> Build() const&;
  std::unique_ptr<Cluster> Build() &&;
  // With these instead of `pods` and `pod_groups`.
  std::unique_ptr<Cluster> BuildWith(const CompactRows& compact) const;

  // Swaps the names of two nodes. The pods and objects on each node, or that belong to it, move
  // with it. Node names in the restrictions of pods and volumes do not change.
  void SwapNodeNames(std::string_view one, std::string_view other);

  ShardParams params;
  // For tests: objects get random ids, to show that no decision depends on an id. 0: by name.
  uint64_t numbering_seed = 0;
  std::vector<NodeRow> nodes;
  std::vector<QueueRow> queues;
  std::vector<PriorityClassRow> priority_classes;
  std::vector<PodGroupRow> pod_groups;
  std::vector<PodRow> pods;
  std::vector<BindRequestRow> bind_requests;
  std::vector<ResourceClaimRow> claims;
  std::vector<ResourceSliceRow> slices;
  std::vector<DeviceClassRow> device_classes;
  // Whether the cluster serves the API of the last three. Absent: it does if there is any such
  // object (spec 3 D1).
  std::optional<bool> serves_claims;
  bool ServesClaims() const {
    return serves_claims.value_or(!claims.empty() || !slices.empty() || !device_classes.empty());
  }
  std::vector<NodeZonesRow> zones;
  std::vector<TopologyRow> topologies;
  std::optional<std::vector<ConfigMapRow>> config_maps;  // absent: not known
  std::vector<NamespaceRow> namespaces;                  // never in KAI's own snapshots
  StorageRows storage;
  std::vector<Rejection> rejections;  // of objects that could not be read
};

}  // namespace kai

#endif  // KAI_MODEL_ROWS_CLUSTER_ROWS_H_

// ClusterRows: a whole input as untrusted rows, which can be looked at, changed, and built more
// than once: a valid Cluster, and a list of what had to be left out, is what comes of them.
//
//   const ClusterRows rows = MakeRandomCluster(seed, {.sub_groups = true});
//   const auto cluster = rows.Build();     // copies the rows; std::move(rows).Build() uses them up
//
// Invariants: Build() succeeds for any rows; what it cannot use is among the cluster's rejections.
// Cost: O(objects log objects) to build. Threads: many may build from const rows.
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
  // With these in place of `pods` and `pod_groups`.
  std::unique_ptr<Cluster> BuildWith(const CompactRows& compact) const;

  // Each of two nodes gets the name of the other one, and so does what stands on them or belongs to
  // them. What pods and volumes say of nodes by their names stays.
  void SwapNodeNames(std::string_view one, std::string_view other);

  ShardParams params;
  // Of tests: objects get their ids at random, as no decision depends on an id. 0: by name.
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
  // Whether the cluster has the API of the last three; nothing: it has if it has any of them (spec
  // 3 D1).
  std::optional<bool> serves_claims;
  bool ServesClaims() const {
    return serves_claims.value_or(!claims.empty() || !slices.empty() || !device_classes.empty());
  }
  std::vector<NodeZonesRow> zones;
  std::vector<TopologyRow> topologies;
  std::optional<std::vector<ConfigMapRow>> config_maps;  // nothing: not known which there are
  std::vector<NamespaceRow> namespaces;                  // never in a snapshot of KAI's
  StorageRows storage;
  std::vector<Rejection> rejections;  // of objects that could not be read
};

}  // namespace kai

#endif  // KAI_MODEL_ROWS_CLUSTER_ROWS_H_

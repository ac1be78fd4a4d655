// ClusterBuilder: untrusted rows in; a valid Cluster, and a list of what had to be left out, out.
//
//   ClusterBuilder builder(params);
//   builder.Add(std::move(node_row));
//   builder.Add(std::move(pod_row));
//   builder.Reject({.kind = "Pod", .name = "ns/p", .field = "spec", .message = "is no object"});
//   std::unique_ptr<Cluster> cluster = std::move(builder).Build();
//   cluster->rejections();
//
// Everything about the input is checked here, once: beyond, code trusts the columns. The order of
// the rows is of no consequence: ids follow names. A row that makes no sense is left out with one
// sentence; the rest is built.
#ifndef KAI_MODEL_CLUSTER_BUILDER_H_
#define KAI_MODEL_CLUSTER_BUILDER_H_

#include <memory>
#include <optional>
#include <vector>

#include "kai/model/cluster.h"
#include "kai/model/rows.h"

namespace kai {

class ClusterBuilder {
 public:
  explicit ClusterBuilder(ShardParams params) : params_(std::move(params)) {}

  void Add(NodeRow row) { nodes_.push_back(std::move(row)); }
  void Add(PodRow row) { pods_.push_back(std::move(row)); }
  void Add(PodGroupRow row) { pod_groups_.push_back(std::move(row)); }
  void Add(QueueRow row) { queues_.push_back(std::move(row)); }
  void Add(PriorityClassRow row) { priority_classes_.push_back(std::move(row)); }
  void Add(BindRequestRow row) { bind_requests_.push_back(std::move(row)); }
  void Add(ResourceClaimRow row) { claims_.claims.push_back(std::move(row)); }
  void Add(ResourceSliceRow row) { claims_.slices.push_back(std::move(row)); }
  void Add(DeviceClassRow row) { claims_.classes.push_back(std::move(row)); }
  // Whether the cluster has the API of these three; not said: it has if there are any.
  void ServesClaims(bool yes) { claims_.are_served = yes; }
  void Add(TopologyRow row) { topologies_.push_back(std::move(row)); }
  void Add(NodeZonesRow row) { zones_.push_back(std::move(row)); }
  // What was never added is not known, and nobody asks; an empty list says that there is none.
  void Add(std::vector<ConfigMapRow> rows) { config_maps_ = std::move(rows); }
  void Add(std::vector<NamespaceRow> rows) { namespaces_ = std::move(rows); }
  void Add(StorageRows rows) { storage_ = std::move(rows); }
  void Reject(Rejection rejection) { rejections_.push_back(std::move(rejection)); }

  const ShardParams& params() const { return params_; }

  std::unique_ptr<Cluster> Build() &&;

 private:
  ShardParams params_;
  std::vector<NodeRow> nodes_;
  std::vector<PodRow> pods_;
  std::vector<PodGroupRow> pod_groups_;
  std::vector<QueueRow> queues_;
  std::vector<PriorityClassRow> priority_classes_;
  std::vector<BindRequestRow> bind_requests_;
  ClaimRows claims_;
  std::vector<TopologyRow> topologies_;
  std::vector<NodeZonesRow> zones_;
  std::optional<std::vector<ConfigMapRow>> config_maps_;
  std::vector<NamespaceRow> namespaces_;
  StorageRows storage_;
  std::vector<Rejection> rejections_;
};

}  // namespace kai

#endif  // KAI_MODEL_CLUSTER_BUILDER_H_

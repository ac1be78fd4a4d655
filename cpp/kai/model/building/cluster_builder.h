// ClusterBuilder: untrusted rows in; a valid Cluster, and a list of what had to be left out, out.
//
//   ClusterBuilder builder(params);
//   builder.Add(std::move(node_row));
//   builder.Add(std::move(pod_row));
//   builder.Reject({.kind = "Pod", .name = "ns/p", .field = "spec", .message = "is no object"});
//   std::unique_ptr<Cluster> cluster = std::move(builder).Build();
//   ClusterBuilder(std::move(rows)).Build();   // a whole input; ClusterRows::Build() is the same
//   cluster->rejections();
//
// Everything about the input is checked here, once: beyond, code trusts the columns. The order of
// the rows is of no consequence: ids follow names. A row that makes no sense is left out with one
// sentence; the rest is built.
#ifndef KAI_MODEL_BUILDING_CLUSTER_BUILDER_H_
#define KAI_MODEL_BUILDING_CLUSTER_BUILDER_H_

#include <memory>
#include <utility>

#include "kai/model/columns/cluster.h"
#include "kai/model/rows/cluster_rows.h"

namespace kai {

class ClusterBuilder {
 public:
  explicit ClusterBuilder(ShardParams params);
  explicit ClusterBuilder(ClusterRows rows) : rows_(std::move(rows)) {}

  void Add(NodeRow row);
  void Add(PodRow row);
  void Add(PodGroupRow row);
  void Add(QueueRow row);
  void Add(PriorityClassRow row);
  void Add(TopologyRow row);
  void Reject(Rejection rejection);

  std::unique_ptr<Cluster> Build() &&;

 private:
  ClusterRows rows_;
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_CLUSTER_BUILDER_H_

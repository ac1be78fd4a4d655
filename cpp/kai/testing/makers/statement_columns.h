// StatementColumns: a copy of every column that a Statement may change.
//
//   const StatementColumns before(*cluster);
//   EXPECT_TRUE(StatementColumns(*cluster) == before);
#ifndef KAI_TESTING_MAKERS_STATEMENT_COLUMNS_H_
#define KAI_TESTING_MAKERS_STATEMENT_COLUMNS_H_

#include <vector>

#include "kai/model/columns/cluster.h"

namespace kai {

struct StatementColumns {
  explicit StatementColumns(const Cluster& cluster)
      : idle(cluster.nodes().idle),
        releasing(cluster.nodes().releasing),
        used(cluster.nodes().used),
        shared_gpus(cluster.nodes().shared_gpus),
        status(cluster.pods().status),
        node(cluster.pods().node),
        gpus(cluster.pods().gpus),
        is_virtual(cluster.pods().is_virtual),
        counts(cluster.sub_groups().counts),
        affinity(cluster.affinity()) {}

  ResourceTable<NodeId> idle, releasing, used;
  IndexVector<NodeId, std::vector<SharedGpu>> shared_gpus;
  IndexVector<PodId, PodStatus> status;
  IndexVector<PodId, NodeId> node;
  IndexVector<PodId, GpuList> gpus;
  IndexVector<PodId, uint8_t> is_virtual;
  IndexVector<SubGroupId, StatusCounts> counts;
  AffinityIndex affinity;

  friend bool operator==(const StatementColumns&, const StatementColumns&) = default;
};

}  // namespace kai

#endif  // KAI_TESTING_MAKERS_STATEMENT_COLUMNS_H_

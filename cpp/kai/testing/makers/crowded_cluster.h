// Crowded clusters for property tests of evictions: most capacity is in use, and waiting groups
// have a right to some of it, or a higher priority. A seed gives the same cluster on every machine.
//
//   const CrowdedCluster crowded = MakeCrowdedCluster(17);
//   std::unique_ptr<Cluster> cluster = crowded.rows.Build();
//   Config::Parse(crowded.config_json, {.as_kai = true});
//
// There are few queues, nodes and pods, so that searches for victims end soon and a failure is
// readable; all amounts are whole numbers.
#ifndef KAI_TESTING_MAKERS_CROWDED_CLUSTER_H_
#define KAI_TESTING_MAKERS_CROWDED_CLUSTER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "kai/testing/makers/cluster_maker.h"
#include "kai/testing/makers/random_sharers.h"
#include "kai/testing/makers/random_terms.h"
#include "kai/testing/makers/random_topology.h"

namespace kai {

struct CrowdedClusterOptions {
  int max_nodes = 5;
  int max_node_gpus = 4;
  int max_running_groups = 9;
  int max_waiting_groups = 5;
  int max_pods = 4;  // per group
  bool sub_groups = true;
  bool pod_affinity = true;
  bool few_pod_slots = false;  // 2 to 10 on each node
  bool tight_limits = false;   // half of the queues have limits, departments as well as leaves
  std::optional<RandomSharersOptions> sharers = {};  // pods that share GPUs, and plugins for them
  std::optional<RandomTermsOptions> terms = RandomTermsOptions();
  std::optional<RandomTopologyOptions> topology = {};  // also enables its plugin
};

struct CrowdedCluster {
  ClusterRows rows;
  std::string config_json;  // all actions; a strategy, depths and arguments of plugins
};

CrowdedCluster MakeCrowdedCluster(uint64_t seed, const CrowdedClusterOptions& options = {});

}  // namespace kai

#endif  // KAI_TESTING_MAKERS_CROWDED_CLUSTER_H_

// Crowded clusters for property tests of what evicts: most of what there is runs something, and
// groups that wait are owed it, or come before it. The same for a seed on every machine.
//
//   const CrowdedCluster crowded = MakeCrowdedCluster(17);
//   std::unique_ptr<Cluster> cluster = crowded.rows.Build();
//   Config::Parse(crowded.config_json, {.as_kai = true});
//
// Few queues, nodes and pods, so that searches for victims end soon and a failure can be read; all
// amounts are whole numbers.
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
  int max_pods = 4;  // of a group
  bool sub_groups = true;
  bool pod_affinity = true;
  std::optional<RandomSharersOptions> sharers = {};  // pods that share GPUs, and plugins for them
  std::optional<RandomTermsOptions> terms = RandomTermsOptions();
  std::optional<RandomTopologyOptions> topology = {};  // and the plugin for it
};

struct CrowdedCluster {
  ClusterRows rows;
  std::string config_json;  // all actions, and a strategy, depths and arguments of plugins
};

CrowdedCluster MakeCrowdedCluster(uint64_t seed, const CrowdedClusterOptions& options = {});

}  // namespace kai

#endif  // KAI_TESTING_MAKERS_CROWDED_CLUSTER_H_

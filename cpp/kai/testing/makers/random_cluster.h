// Random clusters for property tests: a seed gives the same cluster on every machine.
//
//   for (uint64_t seed = 0; seed < 200; ++seed) {
//     SCOPED_TRACE(SeedTrace(seed));
//     const ClusterRows rows = MakeRandomCluster(seed, {.max_nodes = 8});
//     std::unique_ptr<Cluster> cluster = rows.Build();
//     ...
//   }
//
// Clusters are small and have many ties, as these cases reveal differences. All amounts are whole
// numbers or quarters, so that their sums are exact in any order.
#ifndef KAI_TESTING_MAKERS_RANDOM_CLUSTER_H_
#define KAI_TESTING_MAKERS_RANDOM_CLUSTER_H_

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kai/testing/makers/cluster_maker.h"
#include "kai/testing/makers/random_sharers.h"
#include "kai/testing/makers/random_terms.h"
#include "kai/testing/makers/random_topology.h"

namespace kai {

// Random numbers from a seed. std::mt19937_64 is the same everywhere, but the distributions of the
// standard library are not, so they are implemented here.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  int64_t Below(int64_t end) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(end));
  }
  int64_t Between(int64_t first, int64_t last) { return first + Below(last - first + 1); }
  bool OneIn(int64_t n) { return Below(n) == 0; }
  bool Coin() { return OneIn(2); }
  template <typename T>
  const T& Pick(const std::vector<T>& values) {
    return values[static_cast<size_t>(Below(static_cast<int64_t>(values.size())))];
  }
  template <typename T>
  void Shuffle(std::vector<T>* values) {
    for (size_t i = values->size(); i > 1; --i)
      std::swap((*values)[i - 1], (*values)[static_cast<size_t>(Below(static_cast<int64_t>(i)))]);
  }

 private:
  std::mt19937_64 engine_;
};

// A resource beyond cpu, memory and GPUs.
inline constexpr const char* kScalar = "example.com/licence";

struct RandomClusterOptions {
  // Size.
  int min_nodes = 1;
  int max_nodes = 12;
  int max_queue_levels = 4;  // of the queue tree
  int max_children = 4;      // of a queue, and top-level queues
  int max_groups = 16;       // pod groups with waiting pods
  int max_pods = 5;          // per group
  int max_running_groups = 8;

  // Features; all that the engine supports are on by default.
  bool limits = true;     // queue limits and quotas that have an effect
  bool bad_nodes = true;  // cordoned, not ready, under pressure
  bool taints = true;
  bool labels = true;        // node labels and selectors, node affinity
  bool pod_affinity = true;  // required, preferred and anti-affinity, in both directions
  bool scalars = true;       // a resource beyond cpu, memory and GPUs; small pod slots
  bool releasing = true;     // leaving pods, some overdue at kTestNowNs
  bool foreign = true;       // pods of other schedulers
  bool bind_requests = true;
  bool non_preemptible = true;
  bool gangs = true;
  bool elastic = true;  // groups with more pods than their minimum, some running
  bool cpu_only = true;
  bool nominated = true;    // status.nominatedNodeName
  bool shared_gpus = true;  // sometimes a pod on part of a GPU
  bool mig = true;          // nodes with MIG slices, and pods that run on them
  bool bare = true;         // groups of pods that no controller would create again
  bool bad_queues = true;   // groups in inner queues or in none; queues without their parent
  // Ports, volumes and so on; empty: none of them.
  std::optional<RandomTermsOptions> terms = RandomTermsOptions();
  std::optional<RandomSharersOptions> sharers = {};  // many pods on parts of GPUs
  bool sub_groups = false;                           // trees of sub-groups
  std::optional<RandomTopologyOptions> topology = {};
};

ClusterRows MakeRandomCluster(uint64_t seed, const RandomClusterOptions& options = {});

// Some groups become groups of bare pods.
void MakeSomeBare(uint64_t seed, ClusterRows* rows);
// The keys of a map are unique, but those of rows need not be: of equal label keys, this keeps the
// first.
void MakeLabelsUnique(ClusterRows* rows);
// Changes amounts so that sums are not exact, and subtracting an added amount leaves a difference.
void MakeAmountsInexact(ClusterRows* rows);

// "seed 17", for SCOPED_TRACE.
std::string SeedTrace(uint64_t seed);

}  // namespace kai

#endif  // KAI_TESTING_MAKERS_RANDOM_CLUSTER_H_

// Fill: an empty cluster that pods fill one after the other, the experiment of Weng et al. (FGD,
// USENIX ATC 2023) as its public simulator runs it: no queues, no departures, each pod tried once.
//
//   const FillResult result = RunFill(input, options);
//   result.node[i]
//
// The pods, sorted by name, are shuffled. Copies of random ones are appended until they
// request `demand` times the GPUs of the cluster, or random ones are removed. The nodes get a
// random order, in which the first of equally good ones wins. All random numbers come from Go's
// generator for the seed, so that pods arrive as they did for the published figures. F is measured,
// and FGD uses it, with the most frequent pods of the whole list.
//
// Invariants: the same input gives the same result, here and in the engine with the plugin
// `placementpolicy`: Rater scores for both. Cost: for each pod O(nodes), and a score for each node
// that changed since the last pod that was alike. Threads: a pure function.
#ifndef KAI_PACKING_FILL_H_
#define KAI_PACKING_FILL_H_

#include <cstdint>
#include <vector>

#include "kai/packing/policies.h"
#include "kai/packing/shapes.h"

namespace kai::packing {

struct FillNode {
  int64_t cpu_milli = 0;
  int64_t memory_mib = 0;
  int32_t gpus = 0;
  int32_t kind = 0;
};

struct FillPod {
  PodShape shape;
  int64_t memory_mib = 0;
  int32_t constraint = 0;  // of FillInput::constraints
};

struct FillInput {
  std::vector<FillNode> nodes;  // sorted by name
  std::vector<FillPod> pods;    // sorted by name
  // By constraint: the kinds of nodes that it allows; empty: all. Sorted by what they ask for.
  std::vector<std::vector<uint8_t>> constraints;
};

enum class Ties : uint8_t {
  kName,    // the first in the order of nodes
  kRandom,  // any of them, drawn
};

struct FillOptions {
  Rater::Options rating = {};
  Ties ties = Ties::kName;
  int64_t seed = 0;
  double demand = 1.3;  // of the GPUs of all nodes; 0: the pods as they are
  int typical_percent = kTypicalPercent;
  // Above 0: the policy knows the pods that have arrived, and not the whole list; it looks at them
  // again each time pods have asked for so much more of the GPUs of all nodes.
  double learn_every = 0;
  // If no node has room for a pod, one other pod may be moved to another node.
  bool migrate = false;
};

// A row per pod that arrived.
struct FillResult {
  std::vector<int32_t> pod;   // of FillInput::pods
  std::vector<int32_t> node;  // of FillInput::nodes; -1: none had room
  // After it: what all pods up to it asked for, what those that were placed hold, and F of all
  // nodes, in thousandths of a GPU.
  std::vector<int64_t> arrived_milli;
  std::vector<int64_t> used_milli;
  std::vector<double> fragment_milli;
  std::vector<int32_t> node_order;  // the nodes in the order in which ties were broken
};

FillResult RunFill(const FillInput& input, const FillOptions& options);

// The most frequent pods of the list, which F is measured with.
PodMix TypicalPods(const FillInput& input, int percent);

}  // namespace kai::packing

#endif  // KAI_PACKING_FILL_H_

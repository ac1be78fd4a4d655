// The scorers, one file per reason to prefer a node.
//
//   add("nodeplacement", MakeNodePlacementScorer(cluster, options.gpu, options.cpu));
//   add("topology", MakeDomainScorer());
//
// Invariants: those of scorer.h; a scorer keeps a reference to the cluster, which must live longer.
// Cost: most are O(1) per node, those with affinity terms O(terms of the class), that of NUMA zones
// an alignment if the zones have changed. Threads: those of scorer.h.
#ifndef KAI_PLACEMENT_SCORERS_SCORERS_H_
#define KAI_PLACEMENT_SCORERS_SCORERS_H_

#include <memory>
#include <optional>

#include "kai/packing/policies.h"
#include "kai/placement/node_index.h"
#include "kai/placement/policy_tables.h"
#include "kai/placement/scorer.h"

namespace kai {

std::unique_ptr<Scorer> MakeNodePlacementScorer(const Cluster& cluster, Strategy gpu,
                                                Strategy cpu);           // spec 3 W3, W4
std::unique_ptr<Scorer> MakeNodeAvailabilityScorer();                    // fits without waiting
std::unique_ptr<Scorer> MakeResourceTypeScorer(const Cluster& cluster);  // CPU pods to CPU nodes
std::unique_ptr<Scorer> MakeGpuSharingScorer();                          // joins other pods
std::unique_ptr<Scorer> MakePodAffinityScorer(
    const Cluster& cluster);  // raw InterPodAffinity score
std::unique_ptr<Scorer> MakeNominatedNodeScorer(
    const Cluster& cluster);  // status.nominatedNodeName

class ZoneLedger;
std::unique_ptr<Scorer> MakeNumaScorer(
    std::shared_ptr<const ZoneLedger> ledger);  // fewer NUMA zones
// Not in KAI.
std::unique_ptr<Scorer> MakeDomainScorer();
std::unique_ptr<Scorer> MakePreferredNodesScorer(
    const Cluster& cluster);  // preferred node affinity

// A placement policy from the literature, instead of packing by one resource.
struct PolicyOptions {
  packing::Policy policy = packing::Policy::kFgd;
  bool exact = false;  // scores are not rounded down to whole numbers
  uint64_t seed = 0;   // for a random policy
  // The pods that F is measured with; none: the most frequent pods of the cluster, up to this
  // percentage of all pods.
  std::optional<packing::PodMix> typical_pods = {};
  int typical_percent = packing::kTypicalPercent;
};
std::unique_ptr<Scorer> MakePolicyScorer(const Cluster& cluster, const PolicyOptions& options);
// One of policies().scores(). `listens`: the tables get the changes of the statement through this
// scorer; exactly one filter or scorer must do so.
std::unique_ptr<Scorer> MakeTableScorer(std::shared_ptr<PolicyTables> tables, size_t function,
                                        bool listens);

// The pure functions of spec 3 W3 and W4, also used to compare strategies.
double BinpackScore(double room, double least_room, double most_room, double allocatable);
double SpreadScore(double room, double count);

}  // namespace kai

#endif  // KAI_PLACEMENT_SCORERS_SCORERS_H_

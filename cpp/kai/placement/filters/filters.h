// The filters, one file per reason to refuse a node. They check a node in the order of
// session/registry.cc; after the first refusal the others are not called.
//
//   filters.push_back(MakeTaintFilter(cluster));
//   filters.push_back(MakeHostPortFilter(cluster, options.leaving));
//
// Invariants: those of filter.h; a filter keeps a reference to the cluster, which must live longer.
// Cost: the constructors read the classes of pods and nodes; those of filters that count also read
// every pod. Threads: those of filter.h.
#ifndef KAI_PLACEMENT_FILTERS_FILTERS_H_
#define KAI_PLACEMENT_FILTERS_FILTERS_H_

#include <memory>

#include "kai/model/claims/claim_answers.h"
#include "kai/placement/filter.h"

namespace kai {

// `plugin_gpus_anywhere`: GPUs of device plugins may be on nodes that only claims get GPUs of, as
// in KAI (spec 3 P4).
std::unique_ptr<Filter> MakeResourceTypeFilter(const Cluster& cluster,
                                               bool plugin_gpus_anywhere = false);  // spec 3 P4
std::unique_ptr<Filter> MakeGpuMemoryFilter(const Cluster& cluster);                // spec 3 P5
std::unique_ptr<Filter> MakeNodeStateFilter(
    const Cluster& cluster);  // spec 3 P7: cordons and conditions
std::unique_ptr<Filter> MakeTaintFilter(const Cluster& cluster);  // spec 3 P8
std::unique_ptr<Filter> MakeNodeAffinityFilter(
    const Cluster& cluster);  // spec 3 P8: node selector and required node affinity
// kStillCount: leaving pods still hold their ports and still count for anti-affinity, as in KAI.
// kMakeRoom: they do not, and a pod that takes their place waits until they are gone (spec 2 W11).
// In both cases they count for affinity.
enum class Leaving : uint8_t { kStillCount, kMakeRoom };

std::unique_ptr<Filter> MakeHostPortFilter(const Cluster& cluster, Leaving leaving);  // spec 3 P8
std::unique_ptr<Filter> MakeVolumeFilter(const Cluster& cluster);                     // spec 3 P8
std::unique_ptr<Filter> MakeInterPodAffinityFilter(
    const Cluster& cluster, Leaving leaving);  // spec 3 P8: in both directions
std::unique_ptr<Filter> MakeWorkerNodeFilter(const Cluster& cluster);  // spec 3 P10
// Belongs to the plugin dynamicresources; comes after those of predicates.
std::unique_ptr<Filter> MakeResourceClaimFilter(
    const Cluster& cluster,
    ClaimBudgets budgets = ClaimBudgets::kSmall);  // spec 3 D7

// The storage that CSI drivers have left for the claims of pods. It belongs to no plugin and is
// checked before them.
std::unique_ptr<Filter> MakeStorageFilter(const Cluster& cluster);  // spec 3 P12

class ZoneLedger;
std::unique_ptr<Filter> MakeNumaFilter(std::shared_ptr<ZoneLedger> ledger);  // spec 3 U15

// Not in KAI.
std::unique_ptr<Filter> MakeTopologySpreadFilter(const Cluster& cluster);
std::unique_ptr<Filter> MakeVolumeLimitFilter(const Cluster& cluster);
std::unique_ptr<Filter> MakeVolumeZoneFilter(const Cluster& cluster);
class PolicyTables;
// One of policies().filters(). `listens`: the tables get the changes of the statement through this
// filter; exactly one filter or scorer must do so.
std::unique_ptr<Filter> MakeTableFilter(const Cluster& cluster,
                                        std::shared_ptr<PolicyTables> tables, size_t function,
                                        bool listens);

}  // namespace kai

#endif  // KAI_PLACEMENT_FILTERS_FILTERS_H_

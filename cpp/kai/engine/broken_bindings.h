// Checks bindings that a plan decided and that are not carried out yet: meanwhile nodes may go, be
// cordoned, or get pods of other schedulers.
//
//   BrokenBindings(*live_->cluster, live_->writers.directory, session_.config(), bound)
//
// Invariants: a binding is broken if its node is gone or no longer accepts the pod, or if the pods
// of the node exceed what it has; then the latest bindings are broken, as many as necessary. Ports,
// volumes and pod affinity are not checked; the kubelet does that. Cost: O(pods), and the filters
// of each pod. Threads: reads the cluster.
#ifndef KAI_ENGINE_BROKEN_BINDINGS_H_
#define KAI_ENGINE_BROKEN_BINDINGS_H_

#include <span>
#include <vector>

#include "kai/engine/assumptions.h"
#include "kai/model/building/directory.h"
#include "kai/model/columns/cluster.h"
#include "kai/session/config.h"

namespace kai {

// `bound`: in the order of their numbers, as the cluster has them.
std::vector<AssumptionId> BrokenBindings(const Cluster& cluster, const Directory& directory,
                                         const Config& config,
                                         std::span<const Assumptions::Bound> bound);

}  // namespace kai

#endif  // KAI_ENGINE_BROKEN_BINDINGS_H_

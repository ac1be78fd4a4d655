// Bindings that a plan decided and that are not carried out yet, looked at once more: nodes go, are
// cordoned, and get pods of other schedulers meanwhile.
//
//   BrokenBindings(*live_->cluster, live_->writers.directory, session_.config(), bound)
//
// Invariants: a binding is broken where its node is gone, takes no such pod any more, or holds more
// than it has to give: then the later ones go, as many as have to. Ports, volumes and other pods'
// wishes are for the kubelet to see. Cost: O(pods), and the filters of each pod. Threads: reads the
// cluster.
#ifndef KAI_ENGINE_BROKEN_BINDINGS_H_
#define KAI_ENGINE_BROKEN_BINDINGS_H_

#include <span>
#include <vector>

#include "kai/engine/assumptions.h"
#include "kai/model/building/directory.h"
#include "kai/model/columns/cluster.h"
#include "kai/session/config.h"

namespace kai {

// `bound`: in the order of their numbers, and as the cluster has them.
std::vector<AssumptionId> BrokenBindings(const Cluster& cluster, const Directory& directory,
                                         const Config& config,
                                         std::span<const Assumptions::Bound> bound);

}  // namespace kai

#endif  // KAI_ENGINE_BROKEN_BINDINGS_H_

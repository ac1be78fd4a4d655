// The oracle's rules for a pod and a node besides selectors, taints and pod affinity: host ports,
// volumes, ConfigMaps, spread, preferred nodes. Like slow_oracle.h, it computes everything from the
// rows, as plainly as possible.
#ifndef KAI_TESTING_ORACLE_SLOW_FILTERS_H_
#define KAI_TESTING_ORACLE_SLOW_FILTERS_H_

#include <string>

#include "kai/testing/oracle/slow_oracle.h"

namespace kai::oracle::parts {

// A node's answer that depends on the pods there, including leaving ones.
struct NeighbourAnswer {
  bool may = true;
  bool must_wait = false;  // until the conflicting pods are gone (spec 2 W11)
  bool lasts = true;       // `may` will be true once the leaving pods are gone
};
NeighbourAnswer PortsAnswer(const World& world, int pod, int node);
bool IsSpreadEvenly(const World& world, int pod, int node);

// True if the pod's volumes are usable on the node (kube-scheduler's VolumeBinding).
bool VolumesAllow(const World& world, int pod, int node);
bool VolumesAllowOn(const World& world, const PodRow& pod, const NodeRow& node);
// True if no node is possible: claims or ConfigMaps do not exist (spec 3 P13, P16).
bool IsRefused(const World& world, int pod);

double PreferredPoints(const PodRow& pod, const NodeRow& node);

// Equal for two pods with the same requirements on nodes by ports, volumes, spread and preferences.
std::string NodeRequirementsOf(const World& world, const PodRow& pod);

// Replaces the namespace selectors of affinity terms by the names that they select.
void ResolveNamespaces(ClusterRows* rows);
// True if a term of the pod selects namespaces by labels, and the input has no namespaces.
bool NeedsNamespaces(const ClusterRows& rows, const PodRow& pod);

}  // namespace kai::oracle::parts

#endif  // KAI_TESTING_ORACLE_SLOW_FILTERS_H_

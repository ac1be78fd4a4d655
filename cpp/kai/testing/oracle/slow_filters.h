// The oracle's rules about one pod and one node beyond selectors, taints and pod affinity: ports of
// the node, volumes, ConfigMaps, spread, preferred nodes. As slow_oracle.h: from the rows, from
// scratch, for nothing but being plain.
#ifndef KAI_TESTING_ORACLE_SLOW_FILTERS_H_
#define KAI_TESTING_ORACLE_SLOW_FILTERS_H_

#include <string>

#include "kai/testing/oracle/slow_oracle.h"

namespace kai::oracle::parts {

// What a node says to a pod because of the pods there, and of those that are leaving.
struct NeighbourAnswer {
  bool may = true;
  bool must_wait = false;  // until those in the way are gone (spec 2 W11)
};
NeighbourAnswer PortsAnswer(const World& world, int pod, int node);
bool IsSpreadEvenly(const World& world, int pod, int node);

// Whether the volumes of the pod can be had on the node (kube-scheduler's VolumeBinding).
bool VolumesAllow(const World& world, int pod, int node);
bool VolumesAllowOn(const World& world, const PodRow& pod, const NodeRow& node);
// What no node can help: claims and ConfigMaps that are not there (spec 3 P13, P16).
bool IsRefused(const World& world, int pod);

double PreferredPoints(const PodRow& pod, const NodeRow& node);

// Two pods with the same text ask the same of nodes by ports, volumes, spread and preferences.
std::string AsksOfNodes(const World& world, const PodRow& pod);

// Names the namespaces that the selectors of affinity terms find, so that they are looked up once.
void ResolveNamespaces(ClusterRows* rows);
// A term of the pod selects namespaces by labels, and there are no namespaces in the input.
bool NeedsNamespaces(const ClusterRows& rows, const PodRow& pod);

}  // namespace kai::oracle::parts

#endif  // KAI_TESTING_ORACLE_SLOW_FILTERS_H_

// Makes KAI's sentences from reasons; no other file does (spec 2 M2-M10, spec 3 E1-E6, spec 4
// M1-M5).
//
//   MessageOf(reason, group, cluster)               // "Queue 'vison' does not exist"
//   EventErrorOf(each.reason, group, cluster)
//
// Invariants: a reason contains everything for its text except names, which are in the cluster.
// Cost: one string per call. Threads: pure functions of a cluster that does not change.
#ifndef KAI_TEXTS_REASON_TEXT_H_
#define KAI_TEXTS_REASON_TEXT_H_

#include <string>
#include <string_view>

#include "kai/model/columns/cluster.h"
#include "kai/model/reasons/reason.h"

namespace kai {

// `group` is the pod group that has the reason.
std::string MessageOf(const Reason& reason, PodGroupId group, const Cluster& cluster);

// The reason as one of the errors in KAI's event for the pod group (spec 2 M5, M10).
struct EventError {
  std::string_view name;
  std::string message;
};
EventError EventErrorOf(const Reason& reason, PodGroupId group, const Cluster& cluster);

// Why the pod found no node (spec 2 M6); empty if neither nodes nor checks gave a cause.
std::string TextOf(const NoNodeCause& cause, PodId pod, const Cluster& cluster);

// A cause that is counted over nodes: "node(s) had untolerated taint(s)". It depends on `pod`.
std::string TextOf(Refusal refusal, PodId pod, const Cluster& cluster);
std::string TextOf(const NamedRefusal& refusal, const Cluster& cluster);

}  // namespace kai

#endif  // KAI_TEXTS_REASON_TEXT_H_

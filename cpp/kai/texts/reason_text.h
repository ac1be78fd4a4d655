// KAI's sentences for reasons: the one place where they are made (spec 2 M2-M10, spec 3 E1-E6, spec
// 4 M1-M5).
//
//   MessageOf(reason, group, cluster)               // "Queue 'vison' does not exist"
//   EventErrorOf(each.reason, group, cluster)
//
// Invariants: a reason has all that its text needs, besides names in the cluster. Cost: a string
// each time. Threads: pure functions of a cluster that does not change.
#ifndef KAI_TEXTS_REASON_TEXT_H_
#define KAI_TEXTS_REASON_TEXT_H_

#include <string>
#include <string_view>

#include "kai/model/columns/cluster.h"
#include "kai/model/reasons/reason.h"

namespace kai {

// `group` is the pod group that has the reason.
std::string MessageOf(const Reason& reason, PodGroupId group, const Cluster& cluster);

// The same as one of the errors that KAI's event for the pod group lists (spec 2 M5, M10).
struct EventError {
  std::string_view name;
  std::string message;
};
EventError EventErrorOf(const Reason& reason, PodGroupId group, const Cluster& cluster);

// Why the pod found no node (spec 2 M6); empty when neither nodes nor checks gave a cause.
std::string TextOf(const NoNodeCause& cause, PodId pod, const Cluster& cluster);

// What counts over nodes: "node(s) had untolerated taint(s)". `pod` needs it.
std::string TextOf(Refusal refusal, PodId pod, const Cluster& cluster);
std::string TextOf(const NamedRefusal& refusal, const Cluster& cluster);

}  // namespace kai

#endif  // KAI_TEXTS_REASON_TEXT_H_

// Writes the members of a plan that grow with the cluster as JSON, as Python's json.dumps would.
//
//   PlanJson(plan, TableOf(plan), "2026-01-01T00:00:00Z")
//   // "decisions": [...], "pod_groups": {...}, "pods": {...}, "queues": {...}
//
// docs/reference/plan.md describes them.
//
// Invariants: numbers are written as in Python, and read back as the same double; names are UTF-8
// and written unchanged. Cost: linear in the text. Threads: pure functions of a plan that does not
// change.
#ifndef KAI_SESSION_PLAN_JSON_H_
#define KAI_SESSION_PLAN_JSON_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/session/decision_table.h"
#include "kai/session/plan.h"

namespace kai {

// `stamp`: the time of the cycle, in the format of annotations.
std::string PlanJson(const Plan& plan, const DecisionTable& decisions, std::string_view stamp);

// The numbers of a queue by name: cores, bytes, devices; empty: unlimited.
using QueueNumbers = std::array<std::pair<std::string_view, std::optional<double>>, 8>;
QueueNumbers QueueNumbersOf(const Plan& plan, QueueId queue, QuotaResource resource);

// An operator in Kubernetes' spelling: "NotIn".
std::string_view NameOf(SelectorOp op);

// A requirement on nodes, in Kubernetes' spelling.
struct NamedRequirement {
  std::string key;
  std::string op;
  std::vector<std::string> values;

  friend auto operator<=>(const NamedRequirement&, const NamedRequirement&) = default;
};
// Sorted by their texts.
std::vector<NamedRequirement> RequirementsOf(const std::vector<Requirement>& requirements,
                                             const Cluster& cluster);

}  // namespace kai

#endif  // KAI_SESSION_PLAN_JSON_H_

// Parts of rows of several kinds: names with values, amounts, selectors, taints, affinity.
//
//   LabelSelector{{.key = "app", .op = SelectorOp::kIn, .values = {"web"}}}
//
// Invariants: nothing is checked yet. Cost: plain data. Threads: plain data.
#ifndef KAI_MODEL_ROWS_TERMS_H_
#define KAI_MODEL_ROWS_TERMS_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kai {

// Names with values, in the order of the input.
using StringPairs = std::vector<std::pair<std::string, std::string>>;

// Amounts by resource name in internal units (spec 3 R5): cpu in millicores, memory and
// (ephemeral-)storage in bytes, GPUs, MIG slices and pods in units, every other resource in
// milli-units. Each name appears once.
using ResourceAmounts = std::vector<std::pair<std::string, int64_t>>;

// An invalid object, or invalid part of one, that was left out.
struct Rejection {
  std::string kind;     // "Pod", "Queue", ...
  std::string name;     // "ns/name", or the name of a cluster-scoped object; "": it has none
  std::string field;    // "spec.parentQueue"
  std::string message;  // lower case, no full stop: "parent queue \"x\" does not exist"

  friend auto operator<=>(const Rejection&, const Rejection&) = default;
};

enum class SelectorOp : uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };

struct SelectorRequirement {
  std::string key;
  SelectorOp op = SelectorOp::kIn;
  std::vector<std::string> values;

  friend auto operator<=>(const SelectorRequirement&, const SelectorRequirement&) = default;
};

// A Kubernetes LabelSelector. matchLabels are stored as In requirements. An empty list matches
// everything.
using LabelSelector = std::vector<SelectorRequirement>;

// One nodeSelectorTerm: all its expressions and fields must match. The only key of `fields` is
// metadata.name.
struct NodeSelectorTerm {
  std::vector<SelectorRequirement> expressions;
  std::vector<SelectorRequirement> fields;

  friend auto operator<=>(const NodeSelectorTerm&, const NodeSelectorTerm&) = default;
};

enum class TaintEffect : uint8_t { kNone, kNoSchedule, kPreferNoSchedule, kNoExecute };

struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::kNone;

  friend auto operator<=>(const Taint&, const Taint&) = default;
};

struct Toleration {
  std::string key;      // empty with `exists`: tolerates every taint
  bool exists = false;  // operator Exists; else Equal
  std::string value;
  TaintEffect effect = TaintEffect::kNone;  // kNone: every effect

  friend auto operator<=>(const Toleration&, const Toleration&) = default;
};

struct PodAffinityTerm {
  std::optional<LabelSelector> selector;  // absent: matches no pod
  std::vector<std::string> namespaces;    // empty and no namespace selector: the pod's own
  bool all_namespaces = false;            // an empty namespaceSelector was given
  LabelSelector namespace_selector = {};  // empty: none with requirements was given
  std::string topology_key;

  friend auto operator<=>(const PodAffinityTerm&, const PodAffinityTerm&) = default;
};

struct WeightedPodAffinityTerm {
  PodAffinityTerm term;
  int32_t weight = 0;

  friend auto operator<=>(const WeightedPodAffinityTerm&, const WeightedPodAffinityTerm&) = default;
};

struct PodAffinityRow {
  std::vector<PodAffinityTerm> required;
  std::vector<PodAffinityTerm> required_anti;
  std::vector<WeightedPodAffinityTerm> preferred;
  std::vector<WeightedPodAffinityTerm> preferred_anti;

  bool empty() const {
    return required.empty() && required_anti.empty() && preferred.empty() && preferred_anti.empty();
  }
  friend bool operator==(const PodAffinityRow&, const PodAffinityRow&) = default;
};

// A preferred node selector term.
struct WeightedNodeTerm {
  NodeSelectorTerm term;
  int32_t weight = 0;

  friend auto operator<=>(const WeightedNodeTerm&, const WeightedNodeTerm&) = default;
};

// One of topologySpreadConstraints: the pods in the pod's namespace that the selector matches must
// spread evenly over the domains of the topology key: their numbers differ by at most `max_skew`.
struct SpreadConstraintRow {
  std::optional<LabelSelector> selector;  // absent: matches no pod
  std::string topology_key;
  int64_t max_skew = 1;
  int64_t min_domains = 1;          // with fewer domains, the minimum counts as 0
  bool required = true;             // DoNotSchedule; else ScheduleAnyway
  bool honor_node_affinity = true;  // count only nodes that the pod's selector and affinity allow
  bool honor_taints = false;        // count only nodes with tolerated taints

  friend auto operator<=>(const SpreadConstraintRow&, const SpreadConstraintRow&) = default;
};

}  // namespace kai

#endif  // KAI_MODEL_ROWS_TERMS_H_

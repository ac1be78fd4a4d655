// Labels, selectors, taints and tolerations with interned texts, and the functions that match them.
//
//   MatchesNode(constraint, Labels(labels), names_.Intern("n1"), names_)
//   FindLabel(labels, names_.Intern("zone"))
//   Tolerates(tolerations, taint)
//
// Invariants: labels are sorted by key, the values of In and NotIn by id. Cost: O(log labels) per
// requirement; Gt and Lt parse the value. Threads: pure functions; InternRequirement() writes to
// the Interner.
#ifndef KAI_MODEL_COLUMNS_LABELS_H_
#define KAI_MODEL_COLUMNS_LABELS_H_

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kai/base/interner.h"
#include "kai/model/columns/ids.h"
#include "kai/model/rows/rows.h"

namespace kai {

struct Label {
  NameId key;
  NameId value;

  friend auto operator<=>(const Label&, const Label&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Label& label) {
    return H::combine(std::move(h), label.key, label.value);
  }
};

// Sorted by key; at most one label per key.
using LabelSet = std::vector<Label>;

// The value of `key`, or an invalid id.
NameId FindLabel(std::span<const Label> labels, NameId key);

// A selector requirement with interned texts. Values of In and NotIn are sorted. `bound` is the
// number of Gt and Lt; if the text is not a number, it is absent, and nothing matches.
struct Requirement {
  NameId key;
  SelectorOp op = SelectorOp::kIn;
  std::vector<NameId> values;
  std::optional<int64_t> bound;

  friend auto operator<=>(const Requirement&, const Requirement&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Requirement& each) {
    return H::combine(std::move(h), each.key, each.op, each.values, each.bound);
  }
};

Requirement InternRequirement(const SelectorRequirement& row, Interner* names);

// Whether a label value (invalid: no such key) meets the requirement.
bool Matches(const Requirement& requirement, NameId value, const Interner& names);
bool MatchesAll(std::span<const Requirement> requirements, std::span<const Label> labels,
                const Interner& names);

// One node selector term. A term without expressions and fields matches nothing, as in Kubernetes.
struct NodeTerm {
  std::vector<Requirement> expressions;
  std::vector<Requirement> fields;  // metadata.name only

  friend auto operator<=>(const NodeTerm&, const NodeTerm&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const NodeTerm& term) {
    return H::combine(std::move(h), term.expressions, term.fields);
  }
};

struct InternedTaint {
  NameId key;
  NameId value;
  TaintEffect effect = TaintEffect::kNone;

  friend auto operator<=>(const InternedTaint&, const InternedTaint&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const InternedTaint& taint) {
    return H::combine(std::move(h), taint.key, taint.value, taint.effect);
  }
};

struct InternedToleration {
  NameId key;  // invalid: every key
  bool exists = false;
  NameId value;
  TaintEffect effect = TaintEffect::kNone;

  friend auto operator<=>(const InternedToleration&, const InternedToleration&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const InternedToleration& each) {
    return H::combine(std::move(h), each.key, each.exists, each.value, each.effect);
  }
};

bool Tolerates(std::span<const InternedToleration> tolerations, const InternedTaint& taint);

struct PreferredNodes {
  NodeTerm term;
  int32_t weight = 0;

  friend auto operator<=>(const PreferredNodes&, const PreferredNodes&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const PreferredNodes& each) {
    return H::combine(std::move(h), each.term, each.weight);
  }
};

// One required topology spread constraint.
struct Spread {
  AffinityTermId term;  // which pods are counted, in which domains
  int32_t max_skew = 1;
  int32_t min_domains = 1;
  bool honor_node_affinity = true;
  bool honor_taints = false;

  friend auto operator<=>(const Spread&, const Spread&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Spread& spread) {
    return H::combine(std::move(h), spread.term, spread.max_skew, spread.min_domains);
  }
};

// Where a pod may run and prefers to run, from the pod itself: node selector, node affinity,
// tolerations, host ports, volumes, spread.
struct NodeConstraint {
  std::vector<Requirement> selector;  // all must hold
  bool has_affinity = false;
  std::vector<NodeTerm> affinity;  // any may hold
  std::vector<InternedToleration> tolerations;
  std::vector<PreferredNodes> preferred;
  std::vector<HostPortId> host_ports;  // sorted, each once
  VolumeNeedsId volumes;               // invalid: none that restricts the node
  std::vector<Spread> spread;

  friend auto operator<=>(const NodeConstraint&, const NodeConstraint&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const NodeConstraint& each) {
    return H::combine(std::move(h), each.selector, each.affinity, each.tolerations, each.preferred,
                      each.host_ports, each.volumes, each.spread);
  }
};

// Whether any of the terms matches; `node_name` is the value of metadata.name fields.
bool MatchesAny(std::span<const NodeTerm> terms, std::span<const Label> labels, NameId node_name,
                const Interner& names);
bool MatchesTerm(const NodeTerm& term, std::span<const Label> labels, NameId node_name,
                 const Interner& names);

// Whether the node selector and the required node affinity match.
bool MatchesNode(const NodeConstraint& constraint, std::span<const Label> labels, NameId node_name,
                 const Interner& names);

}  // namespace kai

#endif  // KAI_MODEL_COLUMNS_LABELS_H_

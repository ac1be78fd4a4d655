// The parts of pod and node specs that restrict which pods run where: selectors, affinity, taints,
// tolerations.
//
//   if (key == "tolerations") return ReadTolerations(value, &row->tolerations);
//
// Invariants: terms are in the order of the input; label keys are resolved when the pod's labels
// are known. Cost: one walk over the terms. Threads: functions of their own document and row.
#ifndef KAI_INGEST_SCHEDULING_TERMS_H_
#define KAI_INGEST_SCHEDULING_TERMS_H_

#include <vector>

#include "kai/ingest/json_reader.h"
#include "kai/model/rows/rows.h"

namespace kai {

FieldStatus ReadTaints(JsonValue& list, std::vector<Taint>* out);
FieldStatus ReadTolerations(JsonValue& list, std::vector<Toleration>* out);

// Reads spec.affinity. The keys of matchLabelKeys and mismatchLabelKeys refer to the pod's labels,
// which may come later, so `label_keys` gets an entry for each term that has such keys.
struct TermLabelKeys {
  enum class List : uint8_t { kRequired, kPreferred, kRequiredAnti, kPreferredAnti };
  List list = List::kRequired;
  size_t term = 0;
  std::vector<std::string> same;   // matchLabelKeys
  std::vector<std::string> other;  // mismatchLabelKeys
};
FieldStatus ReadAffinity(JsonValue& affinity, PodRow* row, std::vector<TermLabelKeys>* label_keys);
// Adds In (or NotIn) with the pod's own value to the selector, as the API server does.
void SettleLabelKeys(const std::vector<TermLabelKeys>& label_keys, PodRow* row);

// Reads spec.topologySpreadConstraints, with the keys of matchLabelKeys by constraint.
FieldStatus ReadSpread(JsonValue& list, std::vector<SpreadConstraintRow>* out,
                       std::vector<std::vector<std::string>>* label_keys);
void SettleSpreadLabelKeys(const std::vector<std::vector<std::string>>& label_keys, PodRow* row);

// Read a LabelSelector, and a list of node selector terms.
FieldStatus ReadLabelSelector(JsonValue& selector, LabelSelector* out);
FieldStatus ReadNodeSelectorTerms(JsonValue& list, std::vector<NodeSelectorTerm>* out);

}  // namespace kai

#endif  // KAI_INGEST_SCHEDULING_TERMS_H_

// Namespaces: the namespaces of the cluster, and those that a selector selects.
//
//   w_.namespaces->Add(draft.row->namespace_name);    // also those that only pods mention
// and, as long as no selector gets another result, later:
//
//   return each.name.empty() || w_.namespaces->Change(each.name, each.row);
//
// Invariants: each namespace has its name as a label, because the API server sets it. Cost:
// Matching() is O(namespaces) for a new selector; a namespace that is added or changed is matched
// with each selector. Not thread-safe.
#ifndef KAI_MODEL_BUILDING_NAMESPACES_H_
#define KAI_MODEL_BUILDING_NAMESPACES_H_

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "kai/base/interner.h"
#include "kai/model/columns/labels.h"
#include "kai/model/rows/rows.h"

namespace kai {

class Namespaces {
 public:
  // No rows: KAI's own snapshots contain no namespaces, so their labels are not known.
  Namespaces(const std::vector<NamespaceRow>& rows, Interner* names);

  // False, for both: a selector that was given to Matching() or CanEvaluate() now has another
  // result.
  bool Add(std::string_view name);
  // `row`: null: the namespace is gone. Pods may still use its name.
  bool Change(std::string_view name, const NamespaceRow* row);

  bool CanEvaluate(const LabelSelector& selector);
  std::vector<NameId> Matching(const LabelSelector& selector);

 private:
  LabelSet LabelsOf(NameId name, const NamespaceRow* row);

  Interner& names_;
  std::map<NameId, LabelSet> labels_;
  std::set<NameId> described_;  // those with a row
  std::set<std::vector<Requirement>> selectors_;
  bool needs_labels_ = false;  // a selector uses other labels than the name
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_NAMESPACES_H_

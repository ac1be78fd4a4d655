// Namespaces: which there are, and which of them a selector finds.
//
//   w_.namespaces->Add(draft.row->namespace_name);    // also those that only pods mention
// and, as long as no selector has another answer, later:
//
//   return each.name.empty() || w_.namespaces->Change(each.name, each.row);
//
// Invariants: each has its name as a label, which the API server sees to. Cost: That() is
// O(namespaces), of a selector that is new; a namespace that comes or changes is looked at by each
// selector. Not thread-safe.
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
  // No rows: a snapshot of KAI's, in which there are none, so that their labels are not known.
  Namespaces(const std::vector<NamespaceRow>& rows, Interner* names);

  // Both, false: a selector that That() or Know() was called with has another answer now.
  bool Add(std::string_view name);
  // `row`: null: it is gone. Pods may still mention it.
  bool Change(std::string_view name, const NamespaceRow* row);

  bool Know(const LabelSelector& selector);
  std::vector<NameId> That(const LabelSelector& selector);

 private:
  LabelSet LabelsOf(NameId name, const NamespaceRow* row);

  Interner& names_;
  std::map<NameId, LabelSet> labels_;
  std::set<NameId> described_;  // those with a row
  std::set<std::vector<Requirement>> selectors_;
  bool needs_labels_ = false;  // a selector asks for other labels than the name
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_NAMESPACES_H_

// Namespaces: which there are, and which of them a selector finds.
//
//   w_.namespaces->Add(draft.row->namespace_name);    // also those that only pods mention
//
// Invariants: each has its name as a label, which the API server sees to. Cost: That() is
// O(namespaces). Not thread-safe.
#ifndef KAI_MODEL_BUILDING_NAMESPACES_H_
#define KAI_MODEL_BUILDING_NAMESPACES_H_

#include <map>
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

  void Add(std::string_view name);
  bool Has(std::string_view name) const { return labels_.contains(names_.Find(name)); }
  bool Know(const LabelSelector& selector) const;
  std::vector<NameId> That(const LabelSelector& selector) const;

 private:
  Interner& names_;
  bool know_labels_;
  std::map<NameId, LabelSet> labels_;
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_NAMESPACES_H_

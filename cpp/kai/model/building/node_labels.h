// NodeLabels: the node labels that constraints, volumes and claims use, and those among them with a
// different value on nearly every node ("telling" labels).
//
//   NodeLabels& labels = w_.labels;
//   labels.Mention(constraint);    // of every pod, volume and claim
//   nodes.labels[node] = labels.Pick(*w_.node_rows[node.index()], &c_.names_);    // of every node
//   labels.FindDistinguishingKeys(nodes.size());
//   labels.IsCheckedPerNode(constraint)
//
// Only labels that are not telling are part of a class of nodes: otherwise there would be as many
// classes as nodes.
//
// Invariants: a label that no object uses is not picked. Cost: O(labels) per object. Not
// thread-safe.
#ifndef KAI_MODEL_BUILDING_NODE_LABELS_H_
#define KAI_MODEL_BUILDING_NODE_LABELS_H_

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kai/base/interner.h"
#include "kai/model/claims/volumes.h"
#include "kai/model/columns/labels.h"
#include "kai/model/rows/rows.h"

namespace kai {

class NodeLabels {
 public:
  void Mention(const NodeConstraint& constraint);
  void Mention(const VolumeNeeds& needs);
  void Mention(const NodeTerm& term);

  // True: the constraint uses only labels that were mentioned before.
  bool Contains(const NodeConstraint& constraint) const;

  LabelSet Pick(const NodeRow& row, Interner* names);
  void FindDistinguishingKeys(size_t nodes);

  // The labels that are part of the class.
  LabelSet OfClass(const LabelSet& picked) const;
  // True: the answer can differ between nodes of one class.
  bool IsCheckedPerNode(const NodeConstraint& constraint) const;
  bool IsCheckedPerNode(const VolumeNeeds& needs) const;

 private:
  bool IsDistinguishing(const Requirement& requirement) const {
    return distinguishing_.contains(requirement.key);
  }
  bool IsCheckedPerNode(const NodeTerm& term) const;

  absl::flat_hash_map<NameId, absl::flat_hash_set<NameId>> values_;  // by key
  absl::flat_hash_set<NameId> distinguishing_;
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_NODE_LABELS_H_

// NodeLabels: the labels of nodes that constraints, volumes and claims mention, and those of them
// that nearly tell every node apart.
//
//   NodeLabels& labels = w_.labels;
//   labels.Mention(constraint);    // of every pod, volume and claim
//   nodes.labels[node] = labels.Pick(*w_.node_rows[node.index()], &c_.names_);    // of every node
//   labels.FindTelling(nodes.size());
//   labels.AskPerNode(constraint)
//
// A class of nodes is made of the labels that do not tell: with the others there
// would be as many classes as nodes.
//
// Invariants: a label that is not mentioned is not picked. Cost: O(labels) per object. Not
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

  // No other label is mentioned there.
  bool Knows(const NodeConstraint& constraint) const;

  LabelSet Pick(const NodeRow& row, Interner* names);
  void FindTelling(size_t nodes);

  // The labels that make a class.
  LabelSet OfClass(const LabelSet& picked) const;
  // The answer can differ between nodes of one class.
  bool AskPerNode(const NodeConstraint& constraint) const;
  bool AskPerNode(const VolumeNeeds& needs) const;

 private:
  bool Tells(const Requirement& requirement) const { return telling_.contains(requirement.key); }
  bool AskPerNode(const NodeTerm& term) const;

  absl::flat_hash_map<NameId, absl::flat_hash_set<NameId>> values_;  // by mentioned key
  absl::flat_hash_set<NameId> telling_;
};

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_NODE_LABELS_H_

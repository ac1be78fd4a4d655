// Explanations: why no node takes a pod in the current state, counted over the nodes (spec 3
// E1-E6).
//
//   explanations_(plans, room_, &touched_)
//   touched_.Touch(change.to_node);       // its ledger changed
//
//   EXPECT_EQ(rooms.Explain("ns/p-0"),
//             "no nodes with enough resources were found: 1 node is unschedulable.");
//
// Invariants: the answer equals the result of a walk over all nodes. It is meant for pods that
// found no node; for others it counts the nodes that refuse.
//
// Cost: the first answer for a class of pods checks all nodes; a later one checks only the nodes
// that were touched since. One node is checked for all nodes that are alike. Answers that are valid
// for only one pod, one queue or one domain are not cached, nor are those of classes that depend on
// pods on other nodes. Threads: one.
#ifndef KAI_PLACEMENT_EXPLANATION_H_
#define KAI_PLACEMENT_EXPLANATION_H_

#include <memory>
#include <vector>

#include "kai/model/columns/cluster.h"
#include "kai/placement/class_plans.h"
#include "kai/placement/fit_report.h"
#include "kai/placement/node_room.h"
#include "kai/placement/node_states.h"
#include "kai/placement/ordered_nodes.h"
#include "kai/placement/queue_allowance.h"
#include "kai/placement/touched_nodes.h"

namespace kai {

class Explanations {
 public:
  // All three must live longer than this object.
  Explanations(ClassPlans* plans, const NodeRoom& room, const TouchedNodes* touched)
      : cluster_(plans->cluster()),
        plans_(*plans),
        room_(room),
        touched_(*touched),
        kept_(cluster_.pod_classes().size()),
        states_(plans->cluster(), touched) {}

  // The cluster has new classes of pods.
  void Grow() { kept_.Resize(cluster_.pod_classes().size()); }
  size_t HeapBytes() const;

  // `nodes`: the nodes that were searched. `allowance`: for pods that share GPUs; null: no limit.
  NoNodeCausePtr Of(PodId pod, const OrderedNodes& nodes, const QueueAllowance* allowance);

 private:
  // The answers of nodes for a class of pods.
  struct Answers {
    TouchedNodes::Version version = TouchedNodes::kNone;  // kNone: nodes were not checked
    std::vector<FitReport::Answer> answers;               // each once
    std::vector<int64_t> nodes_with;                      // by position in `answers`
    IndexVector<NodeId, int32_t> of_node;  // position in `answers`; -1: the node was not checked
    // Caches for plain questions; -1 or beyond the end: not known. By the resources that a node
    // lacks, a bit each; and by the class of a node with room, while the nodes of one call are
    // checked.
    std::vector<int32_t> of_lacking;
    std::vector<int32_t> of_class;
    // The same by state of nodes, valid for that generation.
    std::vector<int32_t> of_state;
    int64_t generation = 0;
    NoNodeCausePtr cause;
  };
  // A class of pods and its limits.
  struct Question {
    PodClassId pod_class;
    const ClassPlan& plan;
    const QueueAllowance* allowance;
    bool is_plain;  // depends only on amounts and classes of nodes
  };

  NoNodeCausePtr RefusalOf(PodId pod) const;
  void Refresh(const Question& question, const OrderedNodes& nodes, Answers* answers);
  void CheckAllNodes(const Question& question, const OrderedNodes& nodes, Answers* answers);
  void CheckNode(const Question& question, NodeId node, Answers* answers);
  void RemoveAnswer(NodeId node, Answers* answers);
  bool IsPlain(PodClassId pod_class, const ClassPlan& plan) const;
  // Called before the nodes of one call are checked.
  void Prepare(const Question& question, Answers* answers);
  int32_t AnswerInState(const Question& question, NodeId node, Answers* answers);
  // The result of WhyNot(), as a position in `answers`.
  int32_t WhyNotPlainly(const Question& question, NodeId node, Answers* answers);
  // The position of an answer; adds it if it is new.
  static int32_t PlaceOf(FitReport::Answer answer, Answers* answers);
  // Sums up the answers.
  void Conclude(Answers* answers) const;
  // Empty: the node refuses without a reason, or does not refuse.
  FitReport::Answer WhyNot(const Question& question, NodeId node);
  // For a node with room.
  void ReportRefusal(const Question& question, NodeId node);
  // For a node that lacks idle room.
  FitReport::Answer ShortagesOn(const Question& question, NodeId node) const;
  bool WouldFitWithoutOverhead(const Question& question, NodeId node) const;

  const Cluster& cluster_;
  ClassPlans& plans_;
  const NodeRoom& room_;
  const TouchedNodes& touched_;
  IndexVector<PodClassId, std::unique_ptr<Answers>> kept_;  // null: not used
  Answers passing_;                                         // an answer that is not cached
  NodeStates states_;
  // Numbering states costs more than one or two classes save, and saves nothing if no two nodes are
  // alike.
  enum class Alike : uint8_t { kUnknown, kYes, kNo } nodes_alike_ = Alike::kUnknown;
  int classes_checked_ = 0;  // plain questions over all nodes
  FitReport node_report_;    // scratch
};

}  // namespace kai

#endif  // KAI_PLACEMENT_EXPLANATION_H_

// Explanations: why no node takes a pod as the cluster stands, counted over the nodes (spec 3
// E1-E6).
//
//   explanations_(plans, room_, &touched_)
//   touched_.Touch(change.to_node);       // its ledger changed
//
//   EXPECT_EQ(rooms.Explain("ns/p-0"),
//             "no nodes with enough resources were found: 1 node is unschedulable.");
//
// Invariants: the answer is the one that a walk over all nodes would give. It is meant for pods
// that found no node; for others it counts the nodes that refuse.
//
// Cost: the first answer for a class of pods asks all nodes, a later one only the nodes that were
// touched since; of nodes that are alike one is asked for all. Answers that hold for one pod, one
// queue or one domain are not kept, and neither are those of classes that look at pods on other
// nodes. Threads: one.
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
  // All three have to outlive it.
  Explanations(ClassPlans* plans, const NodeRoom& room, const TouchedNodes* touched)
      : cluster_(plans->cluster()),
        plans_(*plans),
        room_(room),
        touched_(*touched),
        kept_(cluster_.pod_classes().size()),
        states_(plans->cluster(), touched) {}

  // The cluster has more classes of pods.
  void Grow() { kept_.Resize(cluster_.pod_classes().size()); }
  size_t HeapBytes() const;

  // `nodes`: those that were searched. `allowance`: for pods that share GPUs; null: no limit.
  NoNodeCausePtr Of(PodId pod, const OrderedNodes& nodes, const QueueAllowance* allowance);

 private:
  // What nodes answer to a class of pods.
  struct Answers {
    TouchedNodes::Version version = TouchedNodes::kNone;  // kNone: nodes have not been asked
    std::vector<FitReport::Answer> answers;               // each once
    std::vector<int64_t> nodes_with;                      // by answer
    IndexVector<NodeId, int32_t> of_node;  // an answer; -1: the node has not been asked
    // Of plain questions, -1 or beyond the end: not known. By which resources a node lacks, a bit
    // each; by the class of a node with room, while the nodes of one call are asked.
    std::vector<int32_t> of_lacking;
    std::vector<int32_t> of_class;
    // And by state of nodes, of that generation.
    std::vector<int32_t> of_state;
    int64_t generation = 0;
    NoNodeCausePtr cause;
  };
  // A class of pods, and what limits it.
  struct Question {
    PodClassId pod_class;
    const ClassPlan& plan;
    const QueueAllowance* allowance;
    bool is_plain;  // only amounts and classes of nodes matter
  };

  NoNodeCausePtr RefusalOf(PodId pod) const;
  void Refresh(const Question& question, const OrderedNodes& nodes, Answers* answers);
  void AskAll(const Question& question, const OrderedNodes& nodes, Answers* answers);
  void AskNode(const Question& question, NodeId node, Answers* answers);
  void Unask(NodeId node, Answers* answers);
  bool IsPlain(PodClassId pod_class, const ClassPlan& plan) const;
  // Before the nodes of one call are asked.
  void Prepare(const Question& question, Answers* answers);
  int32_t AnswerInState(const Question& question, NodeId node, Answers* answers);
  // What WhyNot() says, as the place of an answer.
  int32_t WhyNotPlainly(const Question& question, NodeId node, Answers* answers);
  // The place of an answer that may be new.
  static int32_t PlaceOf(FitReport::Answer answer, Answers* answers);
  // Sums the answers up.
  void Conclude(Answers* answers) const;
  // Empty where the node refuses without a reason, or does not refuse.
  FitReport::Answer WhyNot(const Question& question, NodeId node);
  // Of a node with room.
  void ReportRefusal(const Question& question, NodeId node);
  // Of a node that lacks idle room.
  FitReport::Answer ShortagesOn(const Question& question, NodeId node) const;
  bool WouldFitWithoutOverhead(const Question& question, NodeId node) const;

  const Cluster& cluster_;
  ClassPlans& plans_;
  const NodeRoom& room_;
  const TouchedNodes& touched_;
  IndexVector<PodClassId, std::unique_ptr<Answers>> kept_;  // null: not asked for
  Answers passing_;                                         // those that are not kept
  NodeStates states_;
  // Numbering states takes longer than a class or two save, and saves nothing where no two nodes
  // are alike.
  enum class Alike : uint8_t { kUnknown, kYes, kNo } nodes_alike_ = Alike::kUnknown;
  int classes_asked_ = 0;  // plainly, from all nodes
  FitReport node_report_;  // scratch
};

}  // namespace kai

#endif  // KAI_PLACEMENT_EXPLANATION_H_

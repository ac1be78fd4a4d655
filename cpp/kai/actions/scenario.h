// Scenario: a list of pods to evict. ScenarioBase: the victims that scenarios are made of; it grows
// by one batch of victims at a time (spec 2 V8-V12).
//
//   base.emplace(cycle.view, pods, cycle.Victims(recorded), &*pool, ...
//   while (base->Grow()) {
//   base->batches().back()
//
// Invariants: batches keep their order and are never removed; the base reads the cluster in the
// state in which it was made. Equal keys mean equal scenarios of one search. Cost: a walk over all
// nodes to make one, O(victims of the batch) to grow; a scenario costs O(its victims). Not
// thread-safe.
#ifndef KAI_ACTIONS_SCENARIO_H_
#define KAI_ACTIONS_SCENARIO_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kai/actions/action.h"
#include "kai/actions/domain_filter.h"
#include "kai/actions/victim.h"
#include "kai/actions/victim_queue.h"

namespace kai {

// Two scenarios of one search with equal keys have the same result (spec 2 V15).
struct ScenarioKey {
  uint64_t pods = 0;  // to place
  uint64_t recorded = 0;
  uint64_t potential[2] = {0, 0};
  auto operator<=>(const ScenarioKey&) const = default;
};

struct Scenario {
  std::vector<Victim> victims;  // recorded ones first; as in KAI, some twice (spec 2 W8)
  ScenarioKey key;
};

class ScenarioBase {
 public:
  struct Batch {
    PodGroupId group;
    size_t begin = 0;  // index in victims()
    size_t end = 0;
    int32_t previous = -1;  // the earlier batch of the group
  };

  // `offered`: the nodes that may be used (spec 2 V3); null: all.
  ScenarioBase(const CycleView& cycle, std::span<const PodId> pods,
               std::span<const Victim> recorded, VictimPool* pool,
               const IndexVector<NodeId, uint8_t>* offered);

  // Adds the next batch; false: there is none.
  bool Grow();
  // KAI's conditions for a base before it simulates anything (spec 2 V10, V12).
  bool IsWorthwhile() const;

  std::span<const Victim> recorded() const { return recorded_; }
  const std::vector<Victim>& victims() const { return victims_; }
  const std::vector<Batch>& batches() const { return batches_; }
  // All batches of groups with a batch that has a pod on the node, ascending.
  std::vector<int32_t> BatchesOfGroupsOn(NodeId node) const;
  // Indices of batches with a pod on one of the nodes, ascending; `with_earlier`: also earlier
  // batches of their groups.
  std::vector<int32_t> BatchesOn(std::span<const NodeId> nodes, bool with_earlier) const;
  // Nodes with victims, in the order of their first victims.
  std::span<const NodeId> nodes() const { return nodes_; }
  // GPUs of a node: idle, being freed, and freed by recorded victims and by those of batches.
  double GpusWithVictims(NodeId node) const { return before_[node] + freed_[node]; }
  // The sum over offered nodes without victims.
  double GpusElsewhere() const { return elsewhere_gpus_; }
  // The sum over nodes with victims that could hold the smallest pod.
  double GpusOfUsefulNodes() const { return useful_gpus_; }
  bool IsUseful(NodeId node) const { return IsUsefulWith(GpusWithVictims(node)); }
  // GPUs that the pods request.
  double RequestedGpus() const { return requested_gpus_; }
  bool IsOffered(NodeId node) const { return offered_ == nullptr || (*offered_)[node] != 0; }

  // The victims in the batches of this sorted list.
  std::vector<Victim> VictimsOf(std::span<const int32_t> batches) const;
  // A scenario of the recorded victims and these.
  Scenario Make(std::span<const Victim> added) const;

 private:
  void CountRoom(double before, double after);
  void FreeInDomains(const Victim& victim);
  // False: the node could not hold the smallest pod (spec 2 V9).
  bool IsUsefulWith(double gpus) const { return requests_.back() <= 0 || gpus >= requests_.back(); }
  std::optional<VictimBatch> NextBatch();
  bool FindsHolders() const;
  bool FindsMatchingNodes() const;

  const CycleView& cycle_;
  std::vector<PodId> pods_;
  std::vector<Victim> recorded_;
  VictimPool& pool_;
  size_t next_batch_ = 0;             // index in the pool's sequence
  std::optional<VictimQueue> queue_;  // used if the sequence is not valid
  PodMarks is_recorded_;
  const IndexVector<NodeId, uint8_t>* offered_;
  std::vector<Victim> victims_;
  std::vector<Batch> batches_;
  // The batches on a node form a chain, the last one first: most nodes have few.
  struct Link {
    int32_t batch = 0;
    int32_t previous = -1;
  };
  std::vector<Link> links_;
  IndexVector<NodeId, int32_t> last_on_;  // index in links_; -1: none
  std::vector<NodeId> nodes_;
  IndexVector<NodeId, double> before_;
  IndexVector<NodeId, double> freed_;
  IndexVector<PodGroupId, int32_t> last_batch_;  // -1: none
  ScenarioKey key_;                              // the part that all its scenarios share
  double elsewhere_gpus_ = 0;
  double useful_gpus_ = 0;
  double requested_gpus_ = 0;
  std::vector<double> requests_;  // GPUs per pod, largest first
  double holders_ = 0;            // pods that nodes could hold, if all request the same
  std::vector<NodeConstraint const*> constraints_;  // of pods_ with constraints on nodes
  std::optional<DomainFilter> domains_;             // only as in KAI
};

}  // namespace kai

#endif  // KAI_ACTIONS_SCENARIO_H_

// PolicyTables: fills the tables of policies (table_policy.h) in a cycle, calls the policies, and
// remembers whether one has failed.
//
//   tables_->ScoreNodes(function_, pod_class, &to_update_);
//   const PolicyColumns& columns = tables_->columns();    // the answers
//
// The content of a row has a number: equal rows have equal numbers, also after changes that were
// undone. After a failure, no function is called any more, and all answers are zero; the cycle ends
// with status().
//
// Invariants: rows are sorted by name, so that no answer depends on ids. Cost: O(GPUs of the node)
// per row. Threads: one.
#ifndef KAI_PLACEMENT_POLICY_TABLES_H_
#define KAI_PLACEMENT_POLICY_TABLES_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "kai/model/changes/listener.h"
#include "kai/model/columns/cluster.h"
#include "kai/placement/attained_service.h"
#include "kai/placement/node_shapes.h"
#include "kai/placement/table_policy.h"

namespace kai {

// By group, for Worklist::Options. Groups without a key come last.
using GroupKeys = IndexVector<PodGroupId, double>;

class PolicyTables final : public Listener {
 public:
  PolicyTables(const Cluster& cluster, std::shared_ptr<const TablePolicies> policies);

  const TablePolicies& policies() const { return *policies_; }
  const PolicyColumns& columns() const { return *columns_; }
  const absl::Status& status() const { return status_; }
  // Increases with each change.
  int64_t version() const { return version_; }
  // Numbers start at 1. They are dropped and start again when generation() increases.
  int64_t ContentOf(NodeId node) const;
  int64_t generation() const { return generation_; }
  // Drops all content numbers if there are too many. Call it only while none is in use.
  void Trim();

  // Sorts the nodes and fills the tables in that order; the answers are in columns().
  void ScoreNodes(size_t function, PodClassId pod_class, std::vector<NodeId>* nodes);
  void FilterNodes(size_t function, PodClassId pod_class, std::vector<NodeId>* nodes);
  // Keys of all waiting groups, at the time of `service`; empty: no policy orders them, or it
  // failed.
  GroupKeys OrderGroups(const AttainedService& service);
  // The position of the GPU in that column in the node's list of shared GPUs, or behind its end.
  int32_t PlaceOf(NodeId node, int32_t gpu) const { return shapes_.PlaceOf(node, gpu); }

  void Applied(const Change& change) override { Note(change); }
  void Undone(const Change& change) override { Note(change); }

 private:
  // The parts of a node's row that can change within a cycle: its shape and its idle memory.
  using Content = std::pair<packing::NodeShape, int64_t>;
  static constexpr size_t kMostContents = 500'000;

  void FindKinds();
  void Note(const Change& change);
  Content ReadContent(NodeId node) const;
  PolicyPod PodOf(PodClassId pod_class) const;
  void FillNodes(PodClassId pod_class, std::vector<NodeId>* nodes);
  void FillGroups(const AttainedService& service);

  const Cluster& cluster_;
  std::shared_ptr<const TablePolicies> policies_;
  NodeShapes shapes_;
  std::shared_ptr<PolicyColumns> columns_ = std::make_shared<PolicyColumns>();
  std::unique_ptr<PolicyRun> run_;
  absl::Status status_;
  IndexVector<NodeClassId, int64_t> kinds_;  // kinds in the tables; -1: no node has the class
  int64_t version_ = 1;
  int64_t generation_ = 1;
  mutable IndexVector<NodeId, int64_t> content_;  // 0: not known
  mutable absl::flat_hash_map<Content, int64_t> contents_;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_POLICY_TABLES_H_

// PolicyTables: what a cycle knows of policies over tables (table_policy.h): it fills the tables,
// and remembers whether a policy has failed.
//
//   tables_->ScoreNodes(function_, pod_class, &asked_);
//   const PolicyColumns& columns = tables_->columns();    // the answers
//
// A row's content has a number: it is the same when the row is, also after changes that were
// undone. After a failure no function is called any more, and all answers are zero; the cycle ends
// with status().
//
// Invariants: rows are sorted by name, so that no answer depends on ids. Cost: O(GPUs of the node)
// a row. Threads: one.
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
  const PolicyColumns& columns() const { return columns_; }
  const absl::Status& status() const { return status_; }
  // Grows with each change.
  int64_t version() const { return version_; }
  // Numbers from 1 on. They are forgotten, and begin anew, when generation() grows.
  int64_t ContentOf(NodeId node) const;
  int64_t generation() const { return generation_; }
  // Between uses of contents, so that there are not ever more of them.
  void Trim();

  // Sorts the nodes, which are in the tables then and whose answers are in columns().
  void ScoreNodes(size_t function, PodClassId pod_class, std::vector<NodeId>* nodes);
  void FilterNodes(size_t function, PodClassId pod_class, std::vector<NodeId>* nodes);
  // Of all groups that wait, at the moment of `service`; empty: no policy orders them, or it
  // failed.
  GroupKeys OrderGroups(const AttainedService& service);
  // The place in the node's list of shared GPUs, or behind it, of the GPU in that column.
  int32_t PlaceOf(NodeId node, int32_t gpu) const { return shapes_.PlaceOf(node, gpu); }

  void Applied(const Change& change) override { Note(change); }
  void Undone(const Change& change) override { Note(change); }

 private:
  // What can differ of a node within a cycle: its shape, and its idle memory.
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
  PolicyColumns columns_;
  std::unique_ptr<PolicyRun> run_;
  absl::Status status_;
  IndexVector<NodeClassId, int64_t> kinds_;  // as tables have them; -1: no node is of the class
  int64_t version_ = 1;
  int64_t generation_ = 1;
  mutable IndexVector<NodeId, int64_t> content_;  // 0: to be read
  mutable absl::flat_hash_map<Content, int64_t> contents_;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_POLICY_TABLES_H_

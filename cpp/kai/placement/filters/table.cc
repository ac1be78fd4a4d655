// A policy over tables (table_policy.h) that says which nodes a pod may have.
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/placement/filters/filters.h"
#include "kai/placement/policy_tables.h"

namespace kai {
namespace {

class TableFilter final : public Filter {
 public:
  TableFilter(const Cluster& cluster, std::shared_ptr<PolicyTables> tables, size_t function,
              bool listens)
      : cluster_(cluster),
        tables_(std::move(tables)),
        function_(function),
        is_whole_(tables_->policies().filters()[function].whole),
        listens_(listens) {}

  Scope ScopeFor(PodClassId) const override { return Scope::kNode; }
  bool LooksBeyondNode(PodClassId) const override { return is_whole_; }
  Listener* listener() override { return listens_ ? tables_.get() : nullptr; }

  bool Check(PodClassId pod_class, NodeId node, FitReport* report) const override {
    const bool allows = IsAllowed(pod_class, node);
    if (!allows && report != nullptr) report->Count(Refusal::kRefusedByPolicy);
    return allows;
  }

 private:
  struct Entry {
    int64_t content = 0;
    bool allowed = false;
  };
  struct Row {
    int64_t version = 0;  // of whole tables: in which all nodes were asked about
    std::vector<Entry> of_node;
  };

  bool IsAllowed(PodClassId pod_class, NodeId node) const {
    tables_->Trim();
    if (std::exchange(generation_, tables_->generation()) != tables_->generation()) rows_.clear();
    Row& row = rows_[pod_class];
    row.of_node.resize(cluster_.nodes().size());
    const bool is_stale = is_whole_ ? row.version != tables_->version() : IsStale(row, node);
    if (is_stale) Refresh(pod_class, &row);
    return row.of_node[node.index()].allowed;
  }

  bool IsStale(const Row& row, NodeId node) const {
    return row.of_node[node.index()].content != tables_->ContentOf(node);
  }

  // One call for all nodes that differ: the others will be asked about as well.
  void Refresh(PodClassId pod_class, Row* row) const {
    asked_.clear();
    for (const NodeId node : cluster_.nodes().name.ids()) {
      if (cluster_.nodes().name[node].valid() && (is_whole_ || IsStale(*row, node)))
        asked_.push_back(node);
    }
    tables_->FilterNodes(function_, pod_class, &asked_);
    for (size_t i = 0; i < asked_.size(); ++i) {
      row->of_node[asked_[i].index()] = {.content = tables_->ContentOf(asked_[i]),
                                         .allowed = tables_->columns().allowed[i] != 0};
    }
    row->version = tables_->version();
  }

  const Cluster& cluster_;
  std::shared_ptr<PolicyTables> tables_;
  size_t function_;
  bool is_whole_;
  bool listens_;
  mutable int64_t generation_ = 0;
  mutable absl::flat_hash_map<PodClassId, Row> rows_;
  mutable std::vector<NodeId> asked_;
};

}  // namespace

std::unique_ptr<Filter> MakeTableFilter(const Cluster& cluster,
                                        std::shared_ptr<PolicyTables> tables, size_t function,
                                        bool listens) {
  return std::make_unique<TableFilter>(cluster, std::move(tables), function, listens);
}

}  // namespace kai

// A policy over tables (table_policy.h) that decides which nodes a pod may use.
#include <utility>
#include <vector>

#include "kai/placement/filters/filters.h"
#include "kai/placement/policy_tables.h"
#include "kai/placement/table_answers.h"

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
        listens_(listens),
        answers_(tables_) {}

  Scope ScopeFor(PodClassId) const override { return Scope::kNode; }
  bool LooksBeyondNode(PodClassId) const override { return is_whole_; }
  Listener* listener() override { return listens_ ? tables_.get() : nullptr; }

  bool Check(PodClassId pod_class, NodeId node, FitReport* report) const override {
    const bool allows = IsAllowed(pod_class, node);
    if (!allows && report != nullptr) report->Count(Refusal::kRefusedByPolicy);
    return allows;
  }

 private:
  using Row = TableAnswers<bool>::Row;

  bool IsAllowed(PodClassId pod_class, NodeId node) const {
    Row& row = answers_.RowOf(pod_class);
    const bool is_stale =
        is_whole_ ? row.version != tables_->version() : answers_.IsStale(row, node);
    if (is_stale) Refresh(pod_class, &row);
    return row[node];
  }

  // One call for all changed nodes, because all of them will be checked.
  void Refresh(PodClassId pod_class, Row* row) const {
    to_update_.clear();
    for (const NodeId node : cluster_.nodes().name.ids()) {
      if (cluster_.nodes().name[node].valid() && (is_whole_ || answers_.IsStale(*row, node)))
        to_update_.push_back(node);
    }
    tables_->FilterNodes(function_, pod_class, &to_update_);
    answers_.Take(to_update_, row, [&](size_t i) { return tables_->columns().allowed[i] != 0; });
  }

  const Cluster& cluster_;
  std::shared_ptr<PolicyTables> tables_;
  size_t function_;
  bool is_whole_;
  bool listens_;
  mutable TableAnswers<bool> answers_;
  mutable std::vector<NodeId> to_update_;
};

}  // namespace

std::unique_ptr<Filter> MakeTableFilter(const Cluster& cluster,
                                        std::shared_ptr<PolicyTables> tables, size_t function,
                                        bool listens) {
  return std::make_unique<TableFilter>(cluster, std::move(tables), function, listens);
}

}  // namespace kai

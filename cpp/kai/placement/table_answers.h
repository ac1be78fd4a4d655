// TableAnswers: caches the answers of a function over tables (table_policy.h) for nodes, by class
// of pods.
//
//   Row& row = answers_.RowOf(pod_class);
//
// An answer is valid as long as the node's row has the same content; answers for other contents are
// stale.
//
// Invariants: at most kMostEntries answers are kept; then all are dropped. Cost: O(1) for an
// answer, and the memory of all nodes for each class. Threads: one.
#ifndef KAI_PLACEMENT_TABLE_ANSWERS_H_
#define KAI_PLACEMENT_TABLE_ANSWERS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/placement/policy_tables.h"

namespace kai {

template <typename Answer>
class TableAnswers {
 public:
  struct Entry {
    int64_t content = 0;  // of the node's row for this answer
    Answer answer = {};
  };
  struct Row {
    int64_t version = 0;  // for whole tables: the version of all answers
    std::vector<Entry> of_node;
    const Answer& operator[](NodeId node) const { return of_node[node.index()].answer; }
  };

  explicit TableAnswers(std::shared_ptr<PolicyTables> tables) : tables_(std::move(tables)) {}

  // Valid until the next call.
  Row& RowOf(PodClassId pod_class) {
    tables_->Trim();
    const size_t nodes = tables_->columns().nodes.node.size();
    if (std::exchange(generation_, tables_->generation()) != tables_->generation() ||
        rows_.size() * nodes > kMostEntries)
      rows_.clear();
    Row& row = rows_[pod_class];
    row.of_node.resize(nodes);
    return row;
  }

  bool IsStale(const Row& row, NodeId node) const {
    return row.of_node[node.index()].content != tables_->ContentOf(node);
  }

  // `answer_at`: the answer for the node at that position of `asked`.
  template <typename AnswerAt>
  void Take(const std::vector<NodeId>& asked, Row* row, const AnswerAt& answer_at) const {
    for (size_t i = 0; i < asked.size(); ++i) {
      row->of_node[asked[i].index()] = {.content = tables_->ContentOf(asked[i]),
                                        .answer = answer_at(i)};
    }
    row->version = tables_->version();
  }

 private:
  static constexpr size_t kMostEntries = 4'000'000;

  std::shared_ptr<PolicyTables> tables_;
  int64_t generation_ = 0;
  absl::flat_hash_map<PodClassId, Row> rows_;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_TABLE_ANSWERS_H_

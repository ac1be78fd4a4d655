// A policy over tables (table_policy.h): its function gives the score of a node, and the GPU for a
// pod that shares one.
#include <utility>
#include <vector>

#include "kai/placement/scorers/scorers.h"
#include "kai/placement/table_answers.h"

namespace kai {
namespace {

class TableScorer final : public Scorer, public GpuChooser {
 public:
  TableScorer(std::shared_ptr<PolicyTables> tables, size_t function, bool listens)
      : tables_(std::move(tables)),
        function_(function),
        is_whole_(tables_->policies().scores()[function].whole),
        listens_(listens),
        answers_(tables_) {}

  Dependence DependsOn(PodClassId) const override { return Dependence::kNode; }
  Listener* listener() override { return listens_ ? tables_.get() : nullptr; }
  const GpuChooser* gpu_chooser() const override { return this; }

  void Prepare(PodClassId pod_class, std::span<const NodeId> nodes) const override {
    to_update_.clear();
    Row& row = answers_.RowOf(pod_class);
    for (const NodeId node : nodes)
      if (is_whole_ || answers_.IsStale(row, node)) to_update_.push_back(node);
    ScoreNodes(pod_class, &row);
  }

  double Score(PodClassId pod_class, NodeId node, const ScoreView&) const override {
    return AnswerOn(pod_class, node).score;
  }

  int32_t ChooseGpu(PodClassId pod_class, NodeId node, PodId,
                    std::span<const int32_t>) const override {
    const int32_t gpu = AnswerOn(pod_class, node).gpu;
    return gpu < 0 ? kNoChoice : tables_->PlaceOf(node, gpu);
  }

 private:
  struct Answer {
    double score = 0;
    int32_t gpu = -1;
  };
  using Row = TableAnswers<Answer>::Row;

  // Scores the nodes in to_update_.
  void ScoreNodes(PodClassId pod_class, Row* row) const {
    if (to_update_.empty()) return;
    tables_->ScoreNodes(function_, pod_class, &to_update_);
    const PolicyColumns& columns = tables_->columns();
    answers_.Take(to_update_, row, [&](size_t i) {
      return Answer{.score = columns.score[i], .gpu = static_cast<int32_t>(columns.gpu[i])};
    });
  }

  // Only Prepare() scores a whole table.
  const Answer& AnswerOn(PodClassId pod_class, NodeId node) const {
    Row& row = answers_.RowOf(pod_class);
    if (!is_whole_ && answers_.IsStale(row, node)) {
      to_update_.assign(1, node);
      ScoreNodes(pod_class, &row);
    }
    return row[node];
  }

  std::shared_ptr<PolicyTables> tables_;
  size_t function_;
  bool is_whole_;
  bool listens_;
  mutable TableAnswers<Answer> answers_;
  mutable std::vector<NodeId> to_update_;
};

}  // namespace

std::unique_ptr<Scorer> MakeTableScorer(std::shared_ptr<PolicyTables> tables, size_t function,
                                        bool listens) {
  return std::make_unique<TableScorer>(std::move(tables), function, listens);
}

}  // namespace kai

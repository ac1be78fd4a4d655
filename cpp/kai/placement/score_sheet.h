// ScoreSheet: the scores of all nodes that one pod may use, plugin by plugin, in one state of the
// cluster. ScoreWatch: the sheets of one pod in a cycle: before the plan, and at the search that
// found its place. Both answer a question after a plan; a cycle that schedules makes neither.
//
//   ScoreWatch watch(pod);
//   rooms->search.Watch(&watch);
//   const auto statement = Statement::Open(cluster.get(), {&rooms->search, &watch});
//   ASSERT_NE(watch.placed(), nullptr);     // the pod got a place
//
// Invariants: a sheet has what the search compares: the scorers that the search calls, with the
// same arguments, added in the same order (spec 3 W1). Rows are sorted by falling sum, then by name
// of the node, so the first row is the node that a search finds. A watch changes no decision.
//
// Cost: O(nodes * scorers) per sheet; a watched cycle makes one at its start, and one for each
// search for the pod. Threads: those of the search.
#ifndef KAI_PLACEMENT_SCORE_SHEET_H_
#define KAI_PLACEMENT_SCORE_SHEET_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kai/model/changes/listener.h"
#include "kai/model/columns/ids.h"

namespace kai {

struct ScoreSheet {
  struct Row {
    NodeId node;
    double sum = 0;
    bool now = false;            // the pod fits without waiting for releasing resources
    std::vector<double> scores;  // by plugin
  };
  // Names as in the configuration: of plugins and extras, and of functions that are policies.
  std::vector<std::string> plugins;
  std::vector<Row> rows;
  int64_t searched =
      0;  // nodes among which the pod was searched a place, also those that refuse it
};

class ScoreWatch final : public Listener {
 public:
  explicit ScoreWatch(PodId pod) : pod_(pod) {}

  PodId pod() const { return pod_; }
  const ScoreSheet& start() const { return start_; }
  // Where the pod got its place, and the sheet of that search; an invalid id and null if it has
  // got none. Valid until the cycle rolls back.
  NodeId node() const { return places_.empty() ? NodeId() : places_.back().first; }
  const ScoreSheet* placed() const {
    return places_.empty() ? nullptr : places_.back().second.get();
  }

  void Start(ScoreSheet sheet) { start_ = std::move(sheet); }
  // A search for the pod begins in this state.
  void Search(ScoreSheet sheet) { latest_ = std::make_shared<const ScoreSheet>(std::move(sheet)); }

  void Applied(const Change& change) override {
    if (change.pod != pod_) return;
    const bool gets_place =
        change.to == PodStatus::kAllocated || change.to == PodStatus::kPipelined;
    places_.emplace_back(gets_place ? change.to_node : NodeId(), gets_place ? latest_ : nullptr);
  }
  void Undone(const Change& change) override {
    if (change.pod == pod_) places_.pop_back();
  }

 private:
  PodId pod_;
  ScoreSheet start_;
  std::shared_ptr<const ScoreSheet> latest_;
  // One entry for each change of the pod that was not undone.
  std::vector<std::pair<NodeId, std::shared_ptr<const ScoreSheet>>> places_;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_SCORE_SHEET_H_

// FitReport: why nodes refuse a pod, counted over nodes and attempts (spec 2 M6).
//
//   FitReport report;
//   report.Count(Refusal::NotEnough(kCpuSlot), 4);
//   report.cause().refusals       // (refusal, times)
//
// Invariants: counts of one refusal add up, and an answer can be taken back with a negative number;
// a refusal that names its node is counted by what it names. Cost: a count is an addition; one that
// names its node is compared with those before it. Not thread-safe.
#ifndef KAI_PLACEMENT_FIT_REPORT_H_
#define KAI_PLACEMENT_FIT_REPORT_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "kai/model/reasons/refusal.h"

namespace kai {

class FitReport {
 public:
  // What one node answers: mostly one refusal, or two.
  struct Answer {
    absl::InlinedVector<uint16_t, 4> refusals;  // Refusal::index(), ascending
    std::optional<NamedRefusal> named;
    friend bool operator==(const Answer&, const Answer&) = default;
  };

  void Count(Refusal refusal, int64_t times = 1) { At(refusal.index()) += times; }
  void Count(NamedRefusal refusal, int64_t times = 1);
  void Add(const Answer& answer, int64_t times);
  void Clear() {
    counts_.clear();
    named_.clear();
  }

  // Those with a count; of several named ones the first.
  Answer answer() const;
  NoNodeCause cause() const;
  bool empty() const { return cause().empty(); }

 private:
  int64_t& At(size_t index) {
    if (index >= counts_.size()) counts_.resize(index + 1);
    return counts_[index];
  }

  std::vector<int64_t> counts_;  // by Refusal::index()
  std::vector<std::pair<NamedRefusal, int64_t>> named_;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_FIT_REPORT_H_

// FitReport: why nodes refuse a pod, counted over nodes and attempts (spec 2 M6).
//
//   FitReport report;
//   report.Count(Refusal::NotEnough(kCpuSlot), 4);
//   report.cause().refusals       // (refusal, times)
//
// Invariants: counts of one refusal are added, and a negative number removes an answer; refusals
// that name a node are equal if their names are equal. Cost: a count is an addition; a refusal that
// names a node is compared with the earlier ones. Not thread-safe.
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
  // The answer of one node: usually one or two refusals.
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

  // The counted refusals; of several named ones only the first.
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

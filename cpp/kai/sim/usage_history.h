// UsageHistory: the usage of each queue in a window of the past, as a part of the cluster's
// capacity (spec 1 F119): the integral of what it held divided by the integral of the capacity,
// both weighted by 0.5 ^ (age / half-life).
//
//   UsageHistory history({.size_ns = 100, .fetch_ns = 1}, {{.name = "a"}});
//   history.AddCapacity({8, 0, 0}, 0);
//   history.Add(0, {4, 0, 0}, 50);
//   EXPECT_EQ(history.At(100).at("a")[0], 0.25);
//
// The integrals are exact, whereas a usage database adds up samples and can miss what happens
// between two of them. If each sample is valid until the next one, both give the same number.
//
// Each queue has two integrals: one up to the last change, and one up to the beginning of the
// window. The usage in the window is their difference. The changes inside the window are stored, so
// that the second integral can apply them later.
//
// Invariants: times never decrease. Cost: O(depth of the queue) per change, twice; O(queues) per
// answer; 40 bytes for each change in the window. Not thread-safe.
#ifndef KAI_SIM_USAGE_HISTORY_H_
#define KAI_SIM_USAGE_HISTORY_H_

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "kai/model/rows/rows.h"
#include "kai/sim/usage_window.h"

namespace kai {

class UsageHistory {
 public:
  struct Queue {
    std::string name;
    int32_t parent = -1;  // an index; usage also counts for the parent
  };
  UsageHistory(UsageWindow window, std::vector<Queue> queues);

  // From now on a queue holds this much more (less if negative), or the cluster has this much more.
  // Whole numbers, in the same units for both.
  void Add(int32_t queue, const QuotaVector& amounts, int64_t now_ns);
  void AddCapacity(const QuotaVector& amounts, int64_t now_ns);

  // The usage of queues in the window that ends now. The usage of a resource that the cluster did
  // not have is 0.
  PastUsages At(int64_t now_ns);

 private:
  static constexpr int32_t kCapacity = -1;

  struct Change {
    int64_t at_ns = 0;
    int32_t queue = kCapacity;
    QuotaVector amounts = {};
  };
  struct Integral {
    QuotaVector held = {};
    QuotaVector sum = {};
    int64_t at_ns = 0;
  };
  // Of all queues, in their order, and of the capacity.
  using Integrals = std::vector<Integral>;

  double DecayIn(int64_t elapsed_ns) const;
  // The weighted usage, at the end of this time, of one unit that was held for all of it.
  double WeightOf(int64_t elapsed_ns) const;
  QuotaVector SumAt(const Integral& integral, int64_t now_ns) const;
  void Apply(const Change& change, Integrals* integrals) const;
  void ApplyTo(Integral* integral, const Change& change) const;

  WindowBegin begin_;
  std::vector<Queue> queues_;
  Integrals leading_;
  Integrals trailing_;
  std::deque<Change> between_;  // not yet applied to `trailing_`
};

}  // namespace kai

#endif  // KAI_SIM_USAGE_HISTORY_H_

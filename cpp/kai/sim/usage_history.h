// UsageHistory: what each queue has used in a window of the past, as a part of what the cluster had
// in that time (spec 1 F119): the integral of what it held over the integral of what there was,
// both weighted by 0.5 ^ (age / half-life).
//
//   UsageHistory history({.size_ns = 100, .fetch_ns = 1}, {{.name = "a"}});
//   history.AddCapacity({8, 0, 0}, 0);
//   history.Add(0, {4, 0, 0}, 50);
//   EXPECT_EQ(history.At(100).at("a")[0], 0.25);
//
// The integrals are exact, where a usage database adds up samples: there is nothing to lose between
// two of them. Of samples that are each valid until the next one both are the same number.
//
// There are two integrals of each queue: one up to the last change, and one that follows it to
// where the window begins. The window's is what the first one has beyond the second one. Changes
// inside of the window are kept for the second.
//
// Invariants: moments never decrease. Cost: O(depth of the queue) a change, twice; O(queues) an
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
    int32_t parent = -1;  // a place in the list; it counts there as well
  };
  UsageHistory(UsageWindow window, std::vector<Queue> queues);

  // From now on a queue holds that much more, or less where it is negative; the cluster has it.
  // Whole numbers, in any units that are the same in both.
  void Add(int32_t queue, const QuotaVector& amounts, int64_t now_ns);
  void AddCapacity(const QuotaVector& amounts, int64_t now_ns);

  // What queues have used in the window that ends now. A resource that the cluster did not have was
  // not used.
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
  // Of one thing that is held for so long, as of the end of that time.
  double WeightOf(int64_t elapsed_ns) const;
  QuotaVector SumAt(const Integral& integral, int64_t now_ns) const;
  void Apply(const Change& change, Integrals* integrals) const;
  void ApplyTo(Integral* integral, const Change& change) const;

  WindowBegin begin_;
  std::vector<Queue> queues_;
  Integrals leading_;
  Integrals trailing_;
  std::deque<Change> between_;  // applied to the leading ones only
};

}  // namespace kai

#endif  // KAI_SIM_USAGE_HISTORY_H_

// Sums of untrusted integers: they saturate instead of overflowing.
//
//   AddSaturating(kMost, 1)     // kMost
//
// Invariants: the sum is exact, or the end of the range that it would pass. Cost: one addition.
// Threads: a pure function, thread-safe.
#ifndef KAI_BASE_SATURATING_H_
#define KAI_BASE_SATURATING_H_

#include <cstdint>
#include <limits>

namespace kai {

inline int64_t AddSaturating(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

}  // namespace kai

#endif  // KAI_BASE_SATURATING_H_

// GoRandom: the numbers that Go's math/rand gives for a seed, as the order of pods in a published
// experiment was drawn from them.
//
//   GoRandom one(1);
//   one.Int63()    // 5577006791947779410
//
// It is an additive lagged Fibonacci generator, x[n] = x[n-607] + x[n-273] modulo 2^64, whose 607
// start values come from the seed by Lehmer's generator 48271 x mod (2^31 - 1), each combined with
// one of 607 constants: the state of the same recurrence after 7.8e12 steps from seed 1. These are
// computed here, by the power of the recurrence's polynomial, once for a process.
//
// Invariants: the same seed gives the same numbers, those of Go. Cost: 20 ms for the constants,
// then a few nanoseconds a number. Threads: one per object.
#ifndef KAI_PACKING_GO_RANDOM_H_
#define KAI_PACKING_GO_RANDOM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace kai::packing {

class GoRandom {
 public:
  explicit GoRandom(int64_t seed);

  uint64_t Uint64();
  int64_t Int63() { return static_cast<int64_t>(Uint64() & ~(uint64_t{1} << 63)); }
  // 0 to n-1, by rejection; n > 0 (Go: Intn, of at most 31 bits).
  int32_t Below(int32_t n);
  // A permutation of 0 to n-1 (Go: Perm).
  std::vector<int32_t> Permutation(int32_t n);
  // Go: Shuffle.
  template <typename T>
  void Shuffle(std::vector<T>* items) {
    for (size_t i = items->size(); i > 1; --i)
      std::swap((*items)[i - 1],
                (*items)[static_cast<size_t>(BelowByProduct(static_cast<uint32_t>(i)))]);
  }

 private:
  static constexpr size_t kLength = 607;
  static constexpr size_t kTap = 273;
  using State = std::array<uint64_t, kLength>;

  static const State& Constants();
  uint32_t BelowByProduct(uint32_t n);

  State state_;
  size_t tap_ = 0;
  size_t feed_ = kLength - kTap;
};

}  // namespace kai::packing

#endif  // KAI_PACKING_GO_RANDOM_H_

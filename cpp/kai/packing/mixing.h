// Mixed: a number from which its origin cannot be seen, for choices that look like chance and are
// the same in every run.
//
//   std::swap(drawn[i - 1], drawn[Mixed(i) % i])
//
// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), applied after its increment.
// Invariants: a bijection. Cost: a few nanoseconds. Threads: a pure function.
#ifndef KAI_PACKING_MIXING_H_
#define KAI_PACKING_MIXING_H_

#include <cstdint>

namespace kai::packing {

inline uint64_t Mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace kai::packing

#endif  // KAI_PACKING_MIXING_H_

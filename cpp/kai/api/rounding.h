// Rounding and printing of numbers, all in this file.
//
//   GpusOfPortions(0.333, 3)           // 0.99
//   PortionOfMemory(4096, 15300)       // 0.27
//
// Invariants: equal numbers give equal texts on every machine; where decisions depend on KAI's
// floating-point errors, the results have the same errors (spec 3 G2). Cost: a few operations, or
// one short string. Threads: pure functions, thread-safe.
#ifndef KAI_API_ROUNDING_H_
#define KAI_API_ROUNDING_H_

#include <cstdint>
#include <string>

namespace kai {

// The GPUs of a pod that gets `portion` of each of `count` devices: two decimals per device (spec 1
// F23, spec 3 R7). (3, 0.333) -> 0.99.
double GpusOfPortions(double portion, double count);

// `memory_mib` as a part of a device of `capacity_mib`, in hundredths, rounded up (spec 3 G2). 4096
// of 15300 -> 0.27.
double PortionOfMemory(double memory_mib, double capacity_mib);

// The memory of a portion of a device, in MiB, rounded down (spec 3 G4). 0.333 of 15300 -> 5094.
int64_t MemoryOfPortion(double portion, double capacity_mib);

// At most three decimals, cut and not rounded; trailing zeros are dropped (spec 1 F78, spec 2 M8).
// 0.4196 -> "0.419", 2 -> "2".
std::string CutToThreeDecimals(double value);

// The shortest decimal text that reads back as the same double, as Go prints with %v: an exponent
// only for very small and very large numbers.
std::string ShortestDecimal(double value);

// A Kubernetes quantity: 250 -> "250m", 2000 -> "2".
std::string MillisAsQuantity(int64_t millis);

// A Kubernetes quantity in the largest unit that keeps the number whole: 2^27 -> "128Mi", 2,000,000
// -> "2M".
std::string BytesAsQuantity(int64_t bytes);

}  // namespace kai

#endif  // KAI_API_ROUNDING_H_

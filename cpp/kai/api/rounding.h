// Rounding and the printing of numbers: the only file that does either.
//
//   GpusOfPortions(0.333, 3)           // 0.99
//   PortionOfMemory(4096, 15300)       // 0.27
//
// Invariants: equal numbers give equal texts on every machine; KAI's floating-point errors are kept
// where decisions depend on them (spec 3 G2). Cost: a few operations, or one short string. Threads:
// pure functions, thread-safe.
#ifndef KAI_API_ROUNDING_H_
#define KAI_API_ROUNDING_H_

#include <cstdint>
#include <string>

namespace kai {

// GPUs of `count` devices of which each gives `portion`: two decimals per device (spec 1 F23, spec
// 3 R7). (3, 0.333) -> 0.99.
double GpusOfPortions(double portion, double count);

// The part of a device of `capacity_mib` that `memory_mib` takes, in hundredths, rounded up (spec 3
// G2). 4096 of 15300 -> 0.27.
double PortionOfMemory(double memory_mib, double capacity_mib);

// MiB of a portion of a device, cut to whole ones (spec 3 G4). 0.333 of 15300 -> 5094.
int64_t MemoryOfPortion(double portion, double capacity_mib);

// At most three decimals, cut and not rounded, trailing zeros dropped (spec 1 F78, spec 2 M8).
// 0.4196 -> "0.419", 2 -> "2".
std::string CutToThreeDecimals(double value);

// The shortest decimal text that reads back as the same double, without an exponent for everyday
// sizes: how Go prints with %v.
std::string ShortestDecimal(double value);

// As a Kubernetes quantity: 250 -> "250m", 2000 -> "2".
std::string MillisAsQuantity(int64_t millis);

// As a Kubernetes quantity, in the largest unit that leaves it whole: 2^27 -> "128Mi", 2,000,000 ->
// "2M".
std::string BytesAsQuantity(int64_t bytes);

}  // namespace kai

#endif  // KAI_API_ROUNDING_H_

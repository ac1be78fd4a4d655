// QuotaCount: an amount of the three resources that queues account for. It counts in integers, so
// sums are exact in any order of additions and subtractions.
//
//   QuotaCount sum(1000, 2e9, 0.2);         // a core, 2 GB, a fifth of a device
//   sum += QuotaCount(0, 0, 0.1);
//   sum[kQuotaGpu]                          // 0.3, to the bit
//
// An amount is rounded once, when the count is made, and a sum once, when it is read. Millicores
// and bytes are integers already. GPUs are counted in parts so small that hundredths, sevenths and
// quarters of a device are whole numbers of parts. Decision 16 gives the reasons.
//
// Invariants: adding and subtracting the same amounts gives the same count; the larger of two
// counts never reads as the smaller number. Cost: a few instructions each. Threads: plain values.
#ifndef KAI_API_QUOTA_COUNT_H_
#define KAI_API_QUOTA_COUNT_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kai/api/units.h"

namespace kai {

class QuotaCount {
 public:
  constexpr QuotaCount() = default;
  QuotaCount(double millicpu, double bytes, double gpus)
      : counts_{Rounded(millicpu), Rounded(bytes)} {
    SetGpus(gpus);
  }
  QuotaCount(const QuotaVector& amounts)  // NOLINT(google-explicit-constructor): {0, 0, 0.5}
      : QuotaCount(amounts[kQuotaCpu], amounts[kQuotaMemory], amounts[kQuotaGpu]) {}

  // The share of a device that this much memory is, rounded down: the parts of a device never add
  // up to more than the device.
  static QuotaCount OfGpuMemory(double mib, double mib_per_device) {
    const Int128 of = Rounded(mib_per_device);
    const Int128 parts = Rounded(mib) * kPartsPerGpu;
    QuotaCount count;
    count.counts_[kParts] = parts / of;
    count.counts_[kFine] = (parts % of << kFineBits) / of;
    return count;
  }
  QuotaCount WithGpus(double gpus) const {
    QuotaCount count = *this;
    count.SetGpus(gpus);
    return count;
  }

  // In millicores, bytes or devices.
  double operator[](size_t resource) const {
    return resource == kQuotaGpu ? Devices() : Nearest(counts_[resource]);
  }
  QuotaVector values() const { return {(*this)[0], (*this)[1], (*this)[2]}; }

  QuotaCount& operator+=(const QuotaCount& more) {
    for (size_t i = 0; i < kCounts; ++i) counts_[i] += more.counts_[i];
    return *this;
  }
  QuotaCount& operator-=(const QuotaCount& less) {
    for (size_t i = 0; i < kCounts; ++i) counts_[i] -= less.counts_[i];
    return *this;
  }
  friend QuotaCount operator+(QuotaCount sum, const QuotaCount& more) { return sum += more; }
  friend QuotaCount operator-(QuotaCount rest, const QuotaCount& less) { return rest -= less; }
  friend bool operator==(const QuotaCount& a, const QuotaCount& b) {
    QuotaCount difference = a - b;
    difference.Carry();
    return std::ranges::all_of(difference.counts_, [](Int128 count) { return count == 0; });
  }

 private:
  // Bytes of a whole cluster come near 2^63, and one request can be as large.
  __extension__ using Int128 = __int128;

  // The last two count GPUs. kParts counts parts so small that hundredths, sevenths and quarters of
  // a device are whole; kFine counts fractions of a part, which amounts of GPU memory need. With
  // kFine, a single amount of memory reads as the nearest double.
  enum : size_t { kParts = kQuotaGpu, kFine, kCounts };
  static constexpr int64_t kPartsPerGpu = 700;
  static constexpr int kFineBits = 60;

  static constexpr double kMost = 0x1p63;  // larger amounts are cut to this

  static Int128 Rounded(double amount) {
    return static_cast<Int128>(std::round(std::clamp(amount, -kMost, kMost)));
  }
  void SetGpus(double gpus) {
    constexpr int kBits = 30;  // a double has no more bits below one part
    const double bounded = std::clamp(gpus, -kMost, kMost);
    const double whole = std::trunc(bounded);
    const Int128 rest = Rounded((bounded - whole) * (kPartsPerGpu << kBits));
    counts_[kParts] = static_cast<Int128>(whole) * kPartsPerGpu;
    counts_[kFine] = rest << (kFineBits - kBits);
    Carry();
  }
  void Carry() {
    const Int128 parts = counts_[kFine] >> kFineBits;
    counts_[kParts] += parts;
    counts_[kFine] -= parts << kFineBits;
  }
  double Devices() const {
    if (counts_[kFine] == 0) return Nearest(counts_[kParts]) / kPartsPerGpu;
    QuotaCount carried = *this;
    carried.Carry();
    const Int128 parts = carried.counts_[kParts];
    constexpr Int128 kMany = Int128{1} << 56;  // from here on, doubles are further apart than parts
    if (parts >= kMany || parts <= -kMany) return Nearest(parts) / kPartsPerGpu;
    // Rounded once: the division is exact in integers, and its remainder sets one more bit.
    constexpr int kMoreBits = 10;
    const Int128 all = ((parts << kFineBits) + carried.counts_[kFine]) << kMoreBits;
    const Int128 size = all < 0 ? -all : all;
    const Int128 quotient = size / kPartsPerGpu | (size % kPartsPerGpu != 0 ? 1 : 0);
    const double devices = std::ldexp(static_cast<double>(quotient), -kFineBits - kMoreBits);
    return all < 0 ? -devices : devices;
  }
  static double Nearest(Int128 count) {
    const auto low = static_cast<int64_t>(count);  // nearly always the whole count
    return low == count ? static_cast<double>(low) : static_cast<double>(count);
  }

  std::array<Int128, kCounts> counts_{};
};

}  // namespace kai

#endif  // KAI_API_QUOTA_COUNT_H_

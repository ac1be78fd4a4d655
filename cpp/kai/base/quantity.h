// Quantity: an amount in Kubernetes' format ("500m", "2Gi", "1e3"), exact to 10^-9, without
// floating-point arithmetic.
//
//   const absl::StatusOr<Quantity> cpu = Quantity::Parse("500m");
//   cpu->MilliValue()          // 500
//   cpu->Value()               // 1: rounded up, as a request must not become smaller
//   *cpu + Quantity::Of(2)     // 2.5
//
// Like Kubernetes' type, it rounds away from zero and accepts odd spellings (".5", "5.", "+1").
// Unlike it, an amount that does not fit always saturates (in Kubernetes some paths give 0), and
// more than 38 significant digits or a number without digits ("+") are errors.
//
// Invariants: sums and differences are exact, or saturate; equal amounts compare equal in any
// spelling. Cost: 16 bytes; parsing is one pass over the text. Threads: a plain value.
#ifndef KAI_BASE_QUANTITY_H_
#define KAI_BASE_QUANTITY_H_

#include <compare>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace kai {

class Quantity {
 public:
  constexpr Quantity() = default;

  static absl::StatusOr<Quantity> Parse(std::string_view text);
  static constexpr Quantity Of(int64_t whole) {
    return Quantity(static_cast<Int128>(whole) * kNanosPerUnit);
  }

  int64_t Value() const { return Scaled(kNanosPerUnit); }
  int64_t MilliValue() const { return Scaled(1'000'000); }
  // True if Value() is exact.
  bool whole() const { return nanos_ % kNanosPerUnit == 0; }
  bool negative() const { return nanos_ < 0; }
  int Sign() const { return (nanos_ > 0) - (nanos_ < 0); }  // -1, 0 or 1
  double Approximate() const { return static_cast<double>(nanos_) / kNanosPerUnit; }

  friend Quantity operator+(Quantity a, Quantity b) { return Clamped(a.nanos_ + b.nanos_); }
  friend Quantity operator-(Quantity a, Quantity b) { return Clamped(a.nanos_ - b.nanos_); }
  friend auto operator<=>(const Quantity&, const Quantity&) = default;

 private:
  __extension__ using Int128 = __int128;

  static constexpr int64_t kNanosPerUnit = 1'000'000'000;

  explicit constexpr Quantity(Int128 nanos) : nanos_(nanos) {}
  static Quantity Clamped(Int128 nanos);
  int64_t Scaled(int64_t nanos_per_unit) const;

  Int128 nanos_ = 0;  // at most about 10^28 in size: the largest int64 in whole units
};

}  // namespace kai

#endif  // KAI_BASE_QUANTITY_H_

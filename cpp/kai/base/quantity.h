// Quantity: an amount as Kubernetes writes it ("500m", "2Gi", "1e3"), exact to 10^-9 and never a
// floating-point number on the way.
//
//   const absl::StatusOr<Quantity> cpu = Quantity::Parse("500m");
//   cpu->MilliValue()          // 500
//   cpu->Value()               // 1: an amount that is asked for is never rounded down
//   *cpu + Quantity::Of(2)     // 2.5
//
// Like Kubernetes' own, a Quantity rounds away from zero where it has to, and accepts odd spellings
// (".5", "5.", "+1"). Unlike it, what does not fit saturates everywhere (there some paths give 0),
// more than 38 significant digits are an error, and so is a number without digits ("+").
//
// Invariants: sums and differences are exact, or saturate; equal amounts are equal however they
// were written. Cost: 16 bytes; parsing is one pass over the text. Threads: a plain value.
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
  // True when Value() had nothing to round.
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

  Int128 nanos_ = 0;  // at most about 10^28 either way: the largest int64 in whole units
};

}  // namespace kai

#endif  // KAI_BASE_QUANTITY_H_

// Quantity: an amount as Kubernetes writes it ("500m", "2Gi", "1e3"), exact to 10^-9 and never a
// floating-point number on the way.
//
//   KAI_ASSIGN_OR_RETURN(const Quantity cpu, Quantity::Parse("500m"));
//   cpu.MilliValue();   // 500
//   cpu.Value();        // 1: what is asked is never rounded down
//
// Like Kubernetes' own, a Quantity rounds away from zero where it has to, and accepts odd spellings
// (".5", "5.", "+1"). Unlike it, what does not fit saturates everywhere (there some paths give 0),
// more than 38 significant digits are an error, and so is a number without digits ("+").
#ifndef KAI_INGEST_QUANTITY_H_
#define KAI_INGEST_QUANTITY_H_

#include <compare>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace kai {

class Quantity {
 public:
  constexpr Quantity() = default;

  static absl::StatusOr<Quantity> Parse(std::string_view text);

  int64_t Value() const { return Scaled(1'000'000'000); }
  int64_t MilliValue() const { return Scaled(1'000'000); }
  // True when Value() had nothing to round.
  bool whole() const { return nanos_ % 1'000'000'000 == 0; }
  bool negative() const { return nanos_ < 0; }

  friend auto operator<=>(const Quantity&, const Quantity&) = default;

 private:
  __extension__ using Int128 = __int128;

  explicit constexpr Quantity(Int128 nanos) : nanos_(nanos) {}
  int64_t Scaled(int64_t nanos_per_unit) const;

  Int128 nanos_ = 0;  // at most about 10^28 either way: the largest int64 in whole units
};

}  // namespace kai

#endif  // KAI_INGEST_QUANTITY_H_

#include "kai/ingest/duration.h"

#include <limits>
#include <string>

#include "absl/status/status.h"
#include "kai/base/text.h"
#include "kai/ingest/quote.h"

namespace kai {
namespace {

__extension__ using UInt128 = unsigned __int128;

constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes the unit off the front of the text; 0 when there is none we know.
uint64_t TakeUnit(std::string_view* text) {
  struct Unit {
    std::string_view name;
    uint64_t nanos;
  };
  // The third has a micro sign, the fourth the Greek letter mu.
  constexpr Unit kUnits[] = {
      {"ns", 1},         {"us", 1'000},        {"\u00b5s", 1'000},    {"\u03bcs", 1'000},
      {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000},
  };
  for (const Unit& unit : kUnits) {
    if (!text->starts_with(unit.name)) continue;
    text->remove_prefix(unit.name.size());
    return unit.nanos;
  }
  return 0;
}

absl::Status NotValid(std::string_view text) {
  return absl::InvalidArgumentError(StrCat("duration ", Quote(text), " is not valid"));
}
absl::Status TooLong(std::string_view text) {
  return absl::InvalidArgumentError(StrCat("duration ", Quote(text), " is too long"));
}

}  // namespace

absl::StatusOr<int64_t> ParseDuration(std::string_view text) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return 0;  // the one number that needs no unit
  if (rest.empty()) return NotValid(text);

  uint64_t total = 0;
  while (!rest.empty()) {
    // Digits beyond 10^-18 of a unit count less than a nanosecond of any unit.
    UInt128 whole = 0;
    uint64_t fraction = 0, fraction_scale = 1;
    bool any_digit = false;
    for (; !rest.empty() && IsDigit(rest[0]); rest.remove_prefix(1)) {
      any_digit = true;
      whole = whole * 10 + static_cast<unsigned>(rest[0] - '0');
      if (whole > kLargest) return TooLong(text);
    }
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      for (; !rest.empty() && IsDigit(rest[0]); rest.remove_prefix(1)) {
        any_digit = true;
        if (fraction_scale == 1'000'000'000'000'000'000) continue;
        fraction = fraction * 10 + static_cast<unsigned>(rest[0] - '0');
        fraction_scale *= 10;
      }
    }
    const uint64_t unit = TakeUnit(&rest);
    if (!any_digit || unit == 0) return NotValid(text);
    const UInt128 sum =
        total + whole * unit + static_cast<UInt128>(fraction) * unit / fraction_scale;
    if (sum > kLargest) return TooLong(text);
    total = static_cast<uint64_t>(sum);
  }
  const auto nanos = static_cast<int64_t>(total);
  return negative ? -nanos : nanos;
}

}  // namespace kai

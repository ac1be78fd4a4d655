#include "kai/base/duration.h"

#include <limits>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "kai/base/quote.h"
#include "kai/base/text.h"

namespace kai {
namespace {

__extension__ using UInt128 = unsigned __int128;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();

struct Unit {
  std::string_view name;
  uint64_t nanos;
};

// Removes the unit at the front of the text; 0 if the text starts with no known unit.
uint64_t TakeUnit(std::string_view* text, std::span<const Unit> more_units) {
  // The third unit has a micro sign, the fourth a Greek mu.
  constexpr Unit kUnits[] = {
      {"ns", 1},         {"us", 1'000},        {"\u00b5s", 1'000},    {"\u03bcs", 1'000},
      {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000},
  };
  for (const std::span<const Unit> units : {std::span<const Unit>(kUnits), more_units}) {
    for (const Unit& unit : units) {
      if (!text->starts_with(unit.name)) continue;
      text->remove_prefix(unit.name.size());
      return unit.nanos;
    }
  }
  return 0;
}

absl::Status NotADuration(std::string_view text) {
  return absl::InvalidArgumentError(StrCat("duration ", Quote(text), " is not valid"));
}
absl::Status TooLong(std::string_view text) {
  return absl::InvalidArgumentError(StrCat("duration ", Quote(text), " is too long"));
}

absl::StatusOr<int64_t> Parse(std::string_view text, std::span<const Unit> more_units) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return 0;  // the only number without a unit
  if (rest.empty()) return NotADuration(text);

  uint64_t total = 0;
  while (!rest.empty()) {
    // Digits beyond 10^-18 of a unit are less than a nanosecond in every unit.
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
    const uint64_t unit = TakeUnit(&rest, more_units);
    if (!any_digit || unit == 0) return NotADuration(text);
    const UInt128 sum =
        total + whole * unit + static_cast<UInt128>(fraction) * unit / fraction_scale;
    if (sum > kLargest) return TooLong(text);
    total = static_cast<uint64_t>(sum);
  }
  const auto nanos = static_cast<int64_t>(total);
  return negative ? -nanos : nanos;
}

// An `amount` of 1/`parts`, as a decimal without trailing zeros: (1500, 1000) -> "1.5".
std::string Decimal(uint64_t amount, uint64_t parts) {
  std::string text = StrCat(amount / parts);
  uint64_t rest = amount % parts;
  if (rest != 0) text.push_back('.');
  while (rest != 0) {
    rest *= 10;
    text.push_back(static_cast<char>('0' + rest / parts));
    rest %= parts;
  }
  return text;
}

}  // namespace

absl::StatusOr<int64_t> ParseDuration(std::string_view text) { return Parse(text, {}); }

absl::StatusOr<int64_t> ParseLongDuration(std::string_view text) {
  constexpr Unit kLongUnits[] = {{"d", 86'400'000'000'000}, {"w", 604'800'000'000'000}};
  return Parse(text, kLongUnits);
}

std::string FormatDuration(int64_t nanos) {
  if (nanos == 0) return "0s";
  const std::string sign = nanos < 0 ? "-" : "";
  // Not -nanos: the most negative int64 has no positive counterpart.
  const uint64_t size = nanos < 0 ? 0 - static_cast<uint64_t>(nanos) : static_cast<uint64_t>(nanos);
  if (size < 1'000) return StrCat(sign, size, "ns");
  if (size < 1'000'000) return StrCat(sign, Decimal(size, 1'000), "\u00b5s");
  if (size < kSecond) return StrCat(sign, Decimal(size, 1'000'000), "ms");
  const uint64_t minutes = size / kSecond / 60;
  std::string text = sign;
  if (minutes >= 60) StrAppend(&text, minutes / 60, "h");
  if (minutes > 0) StrAppend(&text, minutes % 60, "m");
  return StrCat(text, Decimal(size - minutes * 60 * kSecond, kSecond), "s");
}

}  // namespace kai

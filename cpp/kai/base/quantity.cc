#include "kai/base/quantity.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "kai/base/quote.h"
#include "kai/base/text.h"

namespace kai {
namespace {

__extension__ using UInt128 = unsigned __int128;

constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
constexpr UInt128 kMaxNanos = static_cast<UInt128>(kMaxInt64) * 1'000'000'000;
constexpr int kMaxDigits = 38;  // 10^38 < 2^128

// The unit after the number: times 2^twos or 10^tens, never both.
struct Scale {
  int twos = 0;
  int64_t tens = 0;
};

std::optional<Scale> ParseScale(std::string_view text) {
  constexpr std::string_view kNames =
      "KMGTPE";  // 2^10, 2^20, ... if followed by "i"; otherwise 10^3, 10^6, ...
  if (text.empty()) return Scale{};
  if (text.size() == 2 && text[1] == 'i') {
    const size_t place = kNames.find(text[0]);
    if (place == kNames.npos) return std::nullopt;
    return Scale{.twos = 10 * static_cast<int>(place + 1)};
  }
  if (text.size() == 1) {
    switch (text[0]) {
      case 'n':
        return Scale{.tens = -9};
      case 'u':
        return Scale{.tens = -6};
      case 'm':
        return Scale{.tens = -3};
      case 'k':
        return Scale{.tens = 3};
      case 'K':
        return std::nullopt;  // kilo is a lower-case k
      default:
        break;
    }
    const size_t place = kNames.find(text[0]);
    if (place == kNames.npos) return std::nullopt;
    return Scale{.tens = 3 * static_cast<int64_t>(place + 1)};
  }
  if (text[0] != 'e' && text[0] != 'E') return std::nullopt;
  text.remove_prefix(1);
  if (text[0] == '+') {
    text.remove_prefix(1);
    if (text.empty() || !IsDigit(text[0])) return std::nullopt;
  }
  Scale unit;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), unit.tens);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return unit;
}

UInt128 CeilDivide(UInt128 amount, UInt128 divisor) {
  return amount / divisor + (amount % divisor != 0 ? 1 : 0);
}

UInt128 Power(unsigned base, int64_t exponent) {
  UInt128 power = 1;
  while (exponent-- > 0) power *= base;
  return power;
}

// digits * 10^tens, at most kMaxNanos.
UInt128 ScaleByTens(UInt128 digits, int64_t tens) {
  if (tens < 0) {
    return -tens > kMaxDigits ? UInt128{digits != 0} : CeilDivide(digits, Power(10, -tens));
  }
  for (; tens > 0 && digits != 0; --tens) {
    if (digits > kMaxNanos / 10) return kMaxNanos;
    digits *= 10;
  }
  return std::min(digits, kMaxNanos);
}

// ceil(digits * 2^twos / 10^tens), at most kMaxNanos; tens is at most kMaxDigits - 9.
UInt128 ScaleByTwos(UInt128 digits, int twos, int tens) {
  const UInt128 fives =
      Power(5, tens);  // 10^tens = 2^tens * 5^tens, so the powers of two cancel first
  if (twos <= tens) {
    return std::min(CeilDivide(CeilDivide(digits, fives), UInt128{1} << (tens - twos)), kMaxNanos);
  }
  const int shift = twos - tens;
  const UInt128 whole = digits / fives;
  if (whole > kMaxNanos >> shift) return kMaxNanos;
  const UInt128 rest =
      CeilDivide((digits % fives) << shift, fives);  // fits: 2^shift * 5^tens < 2^(60 + 1.33 * 29)
  return std::min((whole << shift) + rest, kMaxNanos);
}

absl::Status NotAQuantity(std::string_view text) {
  return absl::InvalidArgumentError(StrCat("quantity ", Quote(text), " is not valid"));
}

}  // namespace

absl::StatusOr<Quantity> Quantity::Parse(std::string_view text) {
  size_t at = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) ++at;

  // All digits as one integer. Trailing zeros of the fraction are added only if another digit
  // follows.
  UInt128 digits = 0;
  int significant = 0;
  int64_t fraction_digits = 0, waiting_zeros = 0;
  bool any_digit = false, in_fraction = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !in_fraction) {
      in_fraction = true;
      continue;
    }
    if (!IsDigit(c)) break;
    any_digit = true;
    if (in_fraction && c == '0') {
      ++waiting_zeros;
      continue;
    }
    const int64_t places = 1 + waiting_zeros;
    if (in_fraction) fraction_digits += places;
    waiting_zeros = 0;
    if (digits == 0 && !in_fraction && c == '0') continue;
    if (significant + places > kMaxDigits) {
      return absl::InvalidArgumentError(
          StrCat("quantity ", Quote(text), " has more than 38 digits"));
    }
    significant += static_cast<int>(places);
    digits = digits * Power(10, places) + static_cast<unsigned>(c - '0');
  }
  const std::optional<Scale> unit = ParseScale(text.substr(at));
  if (!any_digit || !unit.has_value()) return NotAQuantity(text);

  UInt128 nanos;
  if (unit->twos == 0) {
    // An exponent this large decides the result alone; the clamp keeps the sum below from
    // overflowing.
    nanos = ScaleByTens(digits, std::clamp<int64_t>(unit->tens, -1000, 1000) + 9 - fraction_digits);
  } else if (fraction_digits <= 9) {
    nanos = digits > (kMaxNanos >> unit->twos)
                ? kMaxNanos
                : ScaleByTens(digits << unit->twos, 9 - fraction_digits);
  } else {
    nanos = ScaleByTwos(digits, unit->twos, static_cast<int>(fraction_digits - 9));
  }
  const auto magnitude = static_cast<Int128>(nanos);
  return Quantity(negative ? -magnitude : magnitude);
}

Quantity Quantity::Clamped(Int128 nanos) {
  constexpr auto kMost = static_cast<Int128>(kMaxNanos);
  return Quantity(std::clamp(nanos, -kMost, kMost));
}

int64_t Quantity::Scaled(int64_t nanos_per_unit) const {
  const Int128 whole = nanos_ / nanos_per_unit;
  const Int128 rest = nanos_ % nanos_per_unit;
  const Int128 rounded = whole + (rest > 0 ? 1 : 0) - (rest < 0 ? 1 : 0);
  return static_cast<int64_t>(
      std::clamp<Int128>(rounded, -static_cast<Int128>(kMaxInt64), kMaxInt64));
}

}  // namespace kai

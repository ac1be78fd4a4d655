#include "kai/ingest/timestamp.h"

#include <limits>
#include <string>

#include "absl/status/status.h"
#include "kai/base/quote.h"
#include "kai/base/text.h"

namespace kai {
namespace {

__extension__ using Int128 = __int128;

// Removes numbers and punctuation from the front of a text, and records whether all were there.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  int Number(int digits, int lowest, int highest) {
    int number = 0;
    for (int i = 0; i < digits; ++i) {
      if (rest_.empty() || !IsDigit(rest_[0])) return Fail();
      number = number * 10 + (rest_[0] - '0');
      rest_.remove_prefix(1);
    }
    return number < lowest || number > highest ? Fail() : number;
  }

  bool Take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void Expect(char c) {
    if (!Take(c)) Fail();
  }

  // The digits after the decimal point, as nanoseconds.
  int Nanos() {
    if (rest_.empty() || !IsDigit(rest_[0])) return Fail();
    int nanos = 0;
    for (int scale = 100'000'000; !rest_.empty() && IsDigit(rest_[0]);
         rest_.remove_prefix(1), scale /= 10) {
      nanos += scale * (rest_[0] - '0');
    }
    return nanos;
  }

  int Fail() {
    ok_ = false;
    return 0;
  }

  bool done() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

int DaysInMonth(int year, int month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return kDays[month - 1] + (leap && month == 2 ? 1 : 0);
}

// Days since 1970-01-01 in the Gregorian calendar, extended to earlier dates. Years start in March
// here, so that the leap day comes last.
int64_t DaysSinceEpoch(int year, int month, int day) {
  const int64_t shifted_year =
      year - (month <= 2 ? 1 : 0) + 400;  // not negative; the calendar repeats every 400 years
  const int64_t shifted_month = (month + 9) % 12;
  const int64_t days =
      365 * shifted_year + shifted_year / 4 - shifted_year / 100 + shifted_year / 400;
  return days + (153 * shifted_month + 2) / 5 + day - 1 - 719'468 - 146'097;
}

}  // namespace

absl::StatusOr<int64_t> ParseTimestamp(std::string_view text) {
  Scanner scanner(text);
  const int year = scanner.Number(4, 0, 9999);
  scanner.Expect('-');
  const int month = scanner.Number(2, 1, 12);
  scanner.Expect('-');
  const int day = scanner.Number(2, 1, month == 0 ? 31 : DaysInMonth(year, month));
  scanner.Expect('T');
  const int hour = scanner.Number(2, 0, 23);
  scanner.Expect(':');
  const int minute = scanner.Number(2, 0, 59);
  scanner.Expect(':');
  const int second = scanner.Number(2, 0, 59);
  const int nanos = scanner.Take('.') || scanner.Take(',') ? scanner.Nanos() : 0;
  int offset_minutes = 0;
  if (!scanner.Take('Z')) {
    const bool west = scanner.Take('-');
    if (!west) scanner.Expect('+');
    offset_minutes = 60 * scanner.Number(2, 0, 23);
    scanner.Expect(':');
    offset_minutes += scanner.Number(2, 0, 59);
    if (west) offset_minutes = -offset_minutes;
  }
  if (!scanner.done()) {
    return absl::InvalidArgumentError(
        StrCat("time ", Quote(text), " is not like 2024-02-01T00:19:05Z (RFC 3339)"));
  }

  const int64_t minutes =
      (DaysSinceEpoch(year, month, day) * 24 + hour) * 60 + minute - offset_minutes;
  const Int128 since_epoch = static_cast<Int128>(minutes * 60 + second) * 1'000'000'000 + nanos;
  using Limits = std::numeric_limits<int64_t>;
  if (since_epoch < Limits::min()) return Limits::min();
  if (since_epoch > Limits::max()) return Limits::max();
  return static_cast<int64_t>(since_epoch);
}

}  // namespace kai

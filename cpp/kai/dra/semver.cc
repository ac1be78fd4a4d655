#include "kai/dra/semver.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "absl/status/status.h"
#include "kai/base/heap_bytes.h"
#include "kai/base/quote.h"
#include "kai/base/text.h"

namespace kai {
namespace {

bool IsIdentifierCharacter(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}

bool AllDigits(std::string_view text) { return std::all_of(text.begin(), text.end(), IsDigit); }

bool HasLeadingZero(std::string_view digits) { return digits.size() > 1 && digits[0] == '0'; }

std::optional<uint64_t> ParseNumber(std::string_view digits) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return number;
}

// Removes and returns the part before the next dot.
std::string_view NextPart(std::string_view* dotted) {
  const size_t dot = dotted->find('.');
  const std::string_view part = dotted->substr(0, dot);
  dotted->remove_prefix(dot == dotted->npos ? dotted->size() : dot + 1);
  return part;
}

// True if no dotted identifier is empty; numbers in a pre-release must not have leading zeros.
bool GoodIdentifiers(std::string_view dotted, bool numbers_are_ordered) {
  if (dotted.empty() || dotted.back() == '.') return false;
  while (!dotted.empty()) {
    const std::string_view part = NextPart(&dotted);
    if (part.empty() || !std::all_of(part.begin(), part.end(), IsIdentifierCharacter)) return false;
    if (numbers_are_ordered && AllDigits(part) && HasLeadingZero(part)) return false;
  }
  return true;
}

std::strong_ordering CompareIdentifiers(std::string_view a, std::string_view b) {
  const bool a_is_number = AllDigits(a);
  const bool b_is_number = AllDigits(b);
  if (a_is_number != b_is_number) {
    return a_is_number ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  // Without leading zeros, the longer number is the larger one.
  if (a_is_number && a.size() != b.size()) return a.size() <=> b.size();
  return a.compare(b) <=> 0;
}

std::strong_ordering ComparePrereleases(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.empty() <=> b.empty();  // a release comes last
  while (!a.empty() && !b.empty()) {
    const auto order = CompareIdentifiers(NextPart(&a), NextPart(&b));
    if (order != 0) return order;
  }
  return !a.empty() <=> !b.empty();
}

}  // namespace

absl::StatusOr<Semver> Semver::Parse(std::string_view text) {
  const absl::Status bad =
      absl::InvalidArgumentError(StrCat("version ", Quote(text), " is not valid"));
  Semver version;
  version.text_ = text;
  std::string_view rest = text;
  const size_t plus = rest.find('+');
  if (plus != rest.npos) {
    if (!GoodIdentifiers(rest.substr(plus + 1), false)) return bad;
    rest = rest.substr(0, plus);
  }
  const size_t dash = rest.find('-');
  if (dash != rest.npos) {
    version.prerelease_ = rest.substr(dash + 1);
    if (!GoodIdentifiers(version.prerelease_, true)) return bad;
    rest = rest.substr(0, dash);
  }
  if (std::count(rest.begin(), rest.end(), '.') != 2) return bad;
  for (uint64_t& number : version.numbers_) {
    const std::string_view digits = NextPart(&rest);
    const std::optional<uint64_t> parsed = ParseNumber(digits);
    if (!parsed.has_value() || HasLeadingZero(digits)) return bad;
    number = *parsed;
  }
  return version;
}

absl::StatusOr<Semver> Semver::ParseLoosely(std::string_view text) {
  std::string_view rest = text;
  if (!rest.empty() && rest[0] == 'v') rest.remove_prefix(1);
  const size_t end = std::min(rest.find_first_of("-+"), rest.size());
  std::string_view numbers = rest.substr(0, end);
  std::string strict;
  int count = 0;
  for (; !numbers.empty() && count < 3; ++count) {
    std::string_view digits = NextPart(&numbers);
    while (HasLeadingZero(digits)) digits.remove_prefix(1);
    StrAppend(&strict, count == 0 ? "" : ".", digits);
  }
  if (count == 0 || !numbers.empty()) return Parse(text);  // for its error
  for (; count < 3; ++count) strict += ".0";
  strict += rest.substr(end);
  absl::StatusOr<Semver> version = Parse(strict);
  return version.ok() ? version : Parse(text);
}

std::strong_ordering operator<=>(const Semver& a, const Semver& b) {
  for (int i = 0; i < 3; ++i) {
    if (a.numbers_[i] != b.numbers_[i]) return a.numbers_[i] <=> b.numbers_[i];
  }
  return ComparePrereleases(a.prerelease_, b.prerelease_);
}

size_t Semver::HeapBytes() const { return HeapBytesOfAll(prerelease_, text_); }

}  // namespace kai

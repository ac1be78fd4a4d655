#include "kai/ingest/json_check.h"

#include <bit>
#include <bitset>
#include <cstdint>
#include <cstring>
#include <string>

#include "kai/base/text.h"

namespace kai {
namespace {

// Checks eight bytes at a time: in each result, the top bit of a byte marks a hit.
constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kTops = 0x8080808080808080;

uint64_t Load8(const char* at) {
  uint64_t bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  return bytes;
}

// Exact only up to the first hit, which is enough: a borrow may add false hits after it.
uint64_t Equal(uint64_t bytes, char wanted) {
  const uint64_t same_is_zero = bytes ^ (kOnes * static_cast<unsigned char>(wanted));
  return (same_is_zero - kOnes) & ~same_is_zero & kTops;
}

uint64_t ControlCharacters(uint64_t bytes) { return (bytes - kOnes * 0x20) & ~bytes & kTops; }

int FirstHit(uint64_t hits) {
  static_assert(std::endian::native == std::endian::little);
  return std::countr_zero(hits) / 8;
}

// The length in bytes of the character that starts here; 0 if it is invalid UTF-8 (overlong forms,
// surrogates, and numbers beyond Unicode are invalid).
int Utf8Length(const char* at, const char* end) {
  const auto byte = [&](int i) { return at + i < end ? static_cast<unsigned char>(at[i]) : 0u; };
  const auto follows = [&](int i, unsigned lowest = 0x80, unsigned highest = 0xBF) {
    return byte(i) >= lowest && byte(i) <= highest;
  };
  const unsigned lead = byte(0);
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    return follows(1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    return follows(1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF) && follows(2) &&
                   follows(3)
               ? 4
               : 0;
  }
  return 0;
}

class Checker {
 public:
  explicit Checker(std::string_view text)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

  absl::Status Check() {
    // The state is what may come next, and which brackets are open.
    enum class Next { kValue, kValueOrEnd, kKey, kKeyOrEnd, kCommaOrEnd } next = Next::kValue;
    while (true) {
      SkipSpace();
      if (next == Next::kKey || next == Next::kKeyOrEnd) {
        if (next == Next::kKeyOrEnd && Take('}')) {
          --depth_;
          next = Next::kCommaOrEnd;
          continue;
        }
        if (!Take('"')) {
          return Unexpected(next == Next::kKey ? "a member's name" : "a member's name or '}'");
        }
        if (absl::Status status = CheckString(); !status.ok()) return status;
        SkipSpace();
        if (!Take(':')) return Unexpected("':'");
        next = Next::kValue;
      } else if (next == Next::kCommaOrEnd) {
        if (depth_ == 0) return at_ == end_ ? absl::OkStatus() : Unexpected("the end");
        const bool object = is_object_[static_cast<size_t>(depth_ - 1)];
        if (Take(',')) {
          next = object ? Next::kKey : Next::kValue;
        } else if (Take(object ? '}' : ']')) {
          --depth_;
        } else {
          return Unexpected(object ? "',' or '}'" : "',' or ']'");
        }
      } else {
        if (next == Next::kValueOrEnd && Take(']')) {
          --depth_;
          next = Next::kCommaOrEnd;
          continue;
        }
        if (AtOpeningBracket()) {
          if (depth_ == kDeepestJson) {
            return Fail(StrCat("nested deeper than ", kDeepestJson, " levels"));
          }
          const bool object = *at_++ == '{';
          is_object_[static_cast<size_t>(depth_++)] = object;
          next = object ? Next::kKeyOrEnd : Next::kValueOrEnd;
          continue;
        }
        if (absl::Status status = CheckScalar(); !status.ok()) return status;
        next = Next::kCommaOrEnd;
      }
    }
  }

 private:
  void SkipSpace() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  bool AtOpeningBracket() const { return at_ < end_ && (*at_ == '{' || *at_ == '['); }

  bool Take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  // The rest of a string after its opening quote.
  absl::Status CheckString() {
    while (true) {
      // Skips ordinary characters, up to one that needs a check.
      while (end_ - at_ >= 8) {
        const uint64_t bytes = Load8(at_);
        const uint64_t hits =
            Equal(bytes, '"') | Equal(bytes, '\\') | ControlCharacters(bytes) | (bytes & kTops);
        if (hits != 0) {
          at_ += FirstHit(hits);
          break;
        }
        at_ += 8;
      }
      if (at_ == end_) return Fail("the string is not closed");
      const auto c = static_cast<unsigned char>(*at_);
      if (c == '"') {
        ++at_;
        return absl::OkStatus();
      }
      if (c == '\\') {
        if (absl::Status status = CheckEscape(); !status.ok()) return status;
      } else if (c < 0x20) {
        return Fail("a control character inside a string");
      } else if (c < 0x80) {
        ++at_;
      } else {
        const int length = Utf8Length(at_, end_);
        if (length == 0) return Fail("not valid UTF-8");
        at_ += length;
      }
    }
  }

  absl::Status CheckEscape() {
    const char* const escape = at_++;
    const char c = at_ < end_ ? *at_++ : '\0';
    bool valid = c != '\0' && std::strchr("\"\\/bfnrt", c) != nullptr;
    if (c == 'u') {
      valid = end_ - at_ >= 4 && IsHexDigit(at_[0]) && IsHexDigit(at_[1]) && IsHexDigit(at_[2]) &&
              IsHexDigit(at_[3]);
      if (valid) at_ += 4;
    }
    if (valid) return absl::OkStatus();
    at_ = escape;
    return Fail("not a valid escape sequence");
  }

  absl::Status CheckScalar() {
    if (Take('"')) return CheckString();
    if (at_ < end_ && (*at_ == '-' || IsDigit(*at_))) return CheckNumber();
    for (const std::string_view word : {"null", "true", "false"}) {
      if (std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(word)) {
        at_ += word.size();
        return absl::OkStatus();
      }
    }
    return Unexpected("a value");
  }

  absl::Status CheckNumber() {
    Take('-');
    if (!Take('0') && !SkipDigits()) return Unexpected("a digit");
    if (Take('.') && !SkipDigits()) return Unexpected("a digit");
    if (Take('e') || Take('E')) {
      if (!Take('+')) Take('-');
      if (!SkipDigits()) return Unexpected("a digit");
    }
    return absl::OkStatus();
  }

  bool SkipDigits() {
    const char* const start = at_;
    while (at_ < end_ && IsDigit(*at_)) ++at_;
    return at_ > start;
  }

  absl::Status Unexpected(std::string_view expected) const {
    std::string found = "the end";
    if (at_ < end_) {
      const char c = *at_;
      found = c >= 0x20 && c < 0x7F
                  ? std::string{'\'', c, '\''}
                  : StrCat("byte value ", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
    return Fail(StrCat("expected ", expected, ", found ", found));
  }

  absl::Status Fail(const std::string& message) const {
    return absl::InvalidArgumentError(StrCat("byte ", at_ - begin_, ": ", message));
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  int depth_ = 0;
  std::bitset<kDeepestJson> is_object_;  // the open brackets, outermost first
};

}  // namespace

absl::Status CheckJson(std::string_view text) { return Checker(text).Check(); }

}  // namespace kai

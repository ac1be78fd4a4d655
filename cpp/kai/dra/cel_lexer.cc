#include "kai/dra/cel_lexer.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "kai/base/quote.h"
#include "kai/base/status_macros.h"
#include "kai/base/text.h"
#include "kai/dra/utf8.h"

namespace kai {
namespace {

using Kind = CelToken::Kind;

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNameCharacter(char c) { return IsNameStart(c) || IsDigit(c); }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<CelToken>> Run() {
    while (SkipSpace(), at_ < text_.size()) {
      tokens_.push_back({.position = at_});
      KAI_RETURN_IF_ERROR(ReadToken(&tokens_.back()));
    }
    tokens_.push_back({.position = at_});
    return std::move(tokens_);
  }

 private:
  char Peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : 0; }

  void SkipSpace() {
    while (at_ < text_.size()) {
      if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (std::string_view(" \t\n\f\r").find(text_[at_]) != std::string_view::npos) {
        ++at_;
      } else {
        return;
      }
    }
  }

  absl::Status ReadToken(CelToken* token) {
    if (IsDigit(Peek()) || (Peek() == '.' && IsDigit(Peek(1)))) return ReadNumber(token);
    // A string may have letters in front: r for raw, b for bytes.
    size_t letters = 0;
    while (letters < 2 && IsNameStart(Peek(letters))) ++letters;
    const std::string_view prefix = text_.substr(at_, letters);
    if (Peek(letters) == '"' || Peek(letters) == '\'') {
      if (prefix.find_first_of("bB") != prefix.npos) {
        return CelError(at_, "literals of bytes are not supported");
      }
      if (prefix.empty() || prefix == "r" || prefix == "R") {
        at_ += letters;
        return ReadText(!prefix.empty(), token);
      }
    }
    if (IsNameStart(Peek())) {
      token->kind = Kind::kName;
      while (IsNameCharacter(Peek())) token->text += text_[at_++];
      return absl::OkStatus();
    }
    return ReadSign(token);
  }

  absl::Status ReadSign(CelToken* token) {
    token->kind = Kind::kSign;
    for (const std::string_view sign : {"==", "!=", "<=", ">=", "&&", "||"}) {
      if (text_.substr(at_, 2) == sign) {
        token->text = sign;
        at_ += 2;
        return absl::OkStatus();
      }
    }
    if (std::string_view("+-*/%<>!?:.,()[]{}").find(Peek()) == std::string_view::npos) {
      size_t end = at_;
      NextCodePoint(text_, &end);
      return CelError(at_, StrCat(Quote(text_.substr(at_, end - at_)), " is not part of CEL"));
    }
    token->text = text_[at_++];
    return absl::OkStatus();
  }

  bool TakeFraction() {
    if (Peek() != '.' || !IsDigit(Peek(1))) return false;
    for (++at_; IsDigit(Peek());) ++at_;
    return true;
  }

  bool TakeExponent() {
    const size_t sign = Peek(1) == '+' || Peek(1) == '-' ? 1 : 0;
    if ((Peek() | 0x20) != 'e' || !IsDigit(Peek(1 + sign))) return false;
    for (at_ += 1 + sign; IsDigit(Peek());) ++at_;
    return true;
  }

  absl::Status ReadNumber(CelToken* token) {
    const size_t start = at_;
    const bool hex = Peek() == '0' && (Peek(1) == 'x' || Peek(1) == 'X');
    if (hex) at_ += 2;
    while (hex ? IsHexDigit(Peek()) : IsDigit(Peek())) ++at_;
    const bool fraction = !hex && TakeFraction();
    const bool exponent = !hex && TakeExponent();
    const bool real = fraction || exponent;
    const std::string_view digits = text_.substr(start, at_ - start);
    const bool is_unsigned = !real && (Peek() | 0x20) == 'u';
    if (is_unsigned) ++at_;
    if (IsNameCharacter(Peek())) return CelError(start, "a name follows a number without a space");
    const char* const end = digits.data() + digits.size();
    token->kind = real ? Kind::kDouble : is_unsigned ? Kind::kUint : Kind::kInt;
    const std::from_chars_result result =
        real ? std::from_chars(digits.data(), end, token->real)
             : std::from_chars(digits.data() + (hex ? 2 : 0), end, token->integer, hex ? 16 : 10);
    constexpr uint64_t kMostNegative = uint64_t{1} << 63;
    const bool too_large = token->kind == Kind::kInt && token->integer > kMostNegative;
    if (result.ec != std::errc() || result.ptr != end || too_large) {
      return CelError(start, StrCat("number ", Quote(digits), " is out of range"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadText(bool raw, CelToken* token) {
    const size_t start = at_;
    token->kind = Kind::kText;
    const std::string_view three = text_.substr(at_, 3);
    const bool long_form = three == "\"\"\"" || three == "'''";
    const std::string_view quote = text_.substr(at_, long_form ? 3 : 1);
    at_ += quote.size();
    while (text_.substr(at_, quote.size()) != quote) {
      if (at_ >= text_.size() || (!long_form && (Peek() == '\n' || Peek() == '\r'))) {
        return CelError(start, "a string is not closed");
      }
      if (raw || Peek() != '\\') {
        token->text += text_[at_++];
      } else {
        KAI_RETURN_IF_ERROR(ReadEscape(&token->text));
      }
    }
    at_ += quote.size();
    return absl::OkStatus();
  }

  absl::Status ReadEscape(std::string* text) {
    const size_t start = at_++;
    const char c = Peek();
    ++at_;
    constexpr std::string_view kLetters = "abfnrtv\\?\"'`";
    constexpr std::string_view kMeans = "\a\b\f\n\r\t\v\\?\"'`";
    const size_t place = kLetters.find(c);
    if (c != 0 && place != kLetters.npos) {
      *text += kMeans[place];
      return absl::OkStatus();
    }
    char32_t point = 0;
    bool good = false;
    switch (c) {
      case 'x':
      case 'X':
        good = ReadCode(2, 16, &point);
        break;
      case 'u':
        good = ReadCode(4, 16, &point);
        break;
      case 'U':
        good = ReadCode(8, 16, &point);
        break;
      case '0':
      case '1':
      case '2':
      case '3':
        --at_;
        good = ReadCode(3, 8, &point);
        break;
      default:
        break;
    }
    if (!good || !AppendCodePoint(text, point))
      return CelError(start, "an invalid escape sequence in a string");
    return absl::OkStatus();
  }

  bool ReadCode(size_t digits, int base, char32_t* point) {
    const std::string_view code = text_.substr(std::min(at_, text_.size()), digits);
    uint32_t value = 0;
    const char* const end = code.data() + code.size();
    const auto result = std::from_chars(code.data(), end, value, base);
    at_ += digits;
    *point = value;
    return code.size() == digits && result.ec == std::errc() && result.ptr == end;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<CelToken> tokens_;
};

}  // namespace

absl::Status CelError(size_t position, std::string_view what) {
  return absl::InvalidArgumentError(StrCat("byte ", position, ": ", what));
}

absl::Status CelError(size_t position, const absl::Status& what) {
  return CelError(position, std::string(what.message()));
}

CelToken& CelCursor::Advance() {
  CelToken& token = tokens_[at_];
  if (token.kind != Kind::kEnd) ++at_;
  return token;
}

bool CelCursor::Take(std::string_view sign) {
  if (Now().kind != Kind::kSign || Now().text != sign) return false;
  Advance();
  return true;
}

absl::Status CelCursor::Expect(std::string_view sign) {
  return Take(sign) ? absl::OkStatus() : Unexpected();
}

absl::Status CelCursor::Unexpected() const {
  switch (Now().kind) {
    case Kind::kEnd:
      return CelError(Now().position, "the expression ends too early");
    case Kind::kName:
    case Kind::kSign:
      return CelError(Now().position, StrCat("unexpected ", Quote(Now().text)));
    default:
      return CelError(Now().position, "unexpected literal");
  }
}

absl::StatusOr<std::vector<CelToken>> SplitCel(std::string_view expression) {
  return Lexer(expression).Run();
}

}  // namespace kai

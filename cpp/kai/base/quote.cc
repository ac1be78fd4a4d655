#include "kai/base/quote.h"

namespace kai {
namespace {

bool ContinuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::string Quote(std::string_view text) {
  size_t length = text.size();
  if (length > kLongestQuote) {
    length = kLongestQuote;
    while (length > 0 && ContinuesCharacter(text[length])) --length;
  }
  std::string quoted = "\"";
  for (const char c : text.substr(0, length)) {
    constexpr char kHex[] = "0123456789abcdef";
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      quoted += {'\\', 'u', '0', '0', kHex[c >> 4], kHex[c & 15]};
    } else {
      quoted += c;
    }
  }
  if (length < text.size()) quoted += "...";
  return quoted + '"';
}

}  // namespace kai

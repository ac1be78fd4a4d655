#include "kai/session/json_writer.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>

namespace kai {

void JsonWriter::Quote(std::string_view value) {
  constexpr std::string_view kHex = "0123456789abcdef";
  text_ += '"';
  size_t written = 0;
  for (size_t i = 0; i < value.size(); ++i) {
    const auto c = static_cast<unsigned char>(value[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    text_ += value.substr(written, i - written);
    written = i + 1;
    text_ += '\\';
    switch (c) {
      case '"':
      case '\\':
        text_ += static_cast<char>(c);
        break;
      case '\n':
        text_ += 'n';
        break;
      case '\r':
        text_ += 'r';
        break;
      case '\t':
        text_ += 't';
        break;
      case '\b':
        text_ += 'b';
        break;
      case '\f':
        text_ += 'f';
        break;
      default:
        text_ += "u00";
        text_ += kHex[c >> 4];
        text_ += kHex[c & 15];
    }
  }
  text_ += value.substr(written);
  text_ += '"';
}

void JsonWriter::Plain(double value) {
  if (value != std::trunc(value)) return Float(value);
  char digits[400];  // the largest double has 309
  const auto [end, error] =
      std::to_chars(std::begin(digits), std::end(digits), value + 0.0, std::chars_format::fixed, 0);
  Raw(std::string_view(digits, static_cast<size_t>(end - digits)));
}

std::string PythonFloat(double value) {
  // The shortest digits that read back as the same double: d.ddde+xx.
  char shortest[32];
  const auto [end, error] =
      std::to_chars(std::begin(shortest), std::end(shortest), value, std::chars_format::scientific);
  const std::string_view text(shortest, static_cast<size_t>(end - shortest));
  const size_t at_e = text.find('e');
  if (at_e == std::string_view::npos) return std::string(text);
  const int exponent = std::atoi(std::string(text.substr(at_e + 1)).c_str());
  if (exponent < -4 || exponent >= 16) return std::string(text);
  char fixed[40];
  const auto [fixed_end, fixed_error] =
      std::to_chars(std::begin(fixed), std::end(fixed), value, std::chars_format::fixed);
  std::string plain(fixed, static_cast<size_t>(fixed_end - fixed));
  if (plain.find('.') == std::string::npos) plain += ".0";
  return plain;
}

}  // namespace kai

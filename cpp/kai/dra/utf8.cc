#include "kai/dra/utf8.h"

namespace kai {
namespace {

bool IsCodePoint(char32_t point) {
  return point <= kLastCodePoint && (point < 0xD800 || point > 0xDFFF);
}

}  // namespace

char32_t NextCodePoint(std::string_view text, size_t* at) {
  constexpr char32_t kBad = 0xFFFD;
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte((*at)++);
  if (first < 0x80) return first;
  const size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  if (first < 0xC2 || first > 0xF4) return kBad;
  char32_t point = first & (0x3Fu >> more);
  for (size_t i = 0; i < more; ++i) {
    if ((byte(*at + i) & 0xC0) != 0x80) return kBad;
    point = (point << 6) | (byte(*at + i) & 0x3F);
  }
  constexpr char32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
  if (point < kSmallest[more] || !IsCodePoint(point)) {
    return kBad;
  }
  *at += more;
  return point;
}

size_t CountCodePoints(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) NextCodePoint(text, &at);
  return count;
}

bool AppendCodePoint(std::string* text, char32_t point) {
  if (!IsCodePoint(point)) return false;
  const auto append = [&](char32_t byte) { text->push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    append(point);
    return true;
  }
  const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  constexpr char32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
  append(kLead[more] | (point >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) append(0x80 | ((point >> (6 * i)) & 0x3F));
  return true;
}

}  // namespace kai

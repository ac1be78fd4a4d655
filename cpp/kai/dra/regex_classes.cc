#include "kai/dra/regex_classes.h"

#include <algorithm>
#include <utility>

#include "kai/dra/utf8.h"

namespace kai {

RegexRanges Complement(RegexRanges ranges) {
  std::sort(ranges.begin(), ranges.end());
  RegexRanges rest;
  char32_t from = 0;
  for (const auto& [first, last] : ranges) {
    if (first > from) rest.emplace_back(from, first - 1);
    from = std::max<char32_t>(from, last + 1);
  }
  if (from <= kLastCodePoint) rest.emplace_back(from, kLastCodePoint);
  return rest;
}

void AddBothCases(RegexRanges* ranges) {
  const auto add_shifted = [&](char32_t low, char32_t high, int shift) {
    const size_t size = ranges->size();
    for (size_t i = 0; i < size; ++i) {
      const char32_t first = std::max((*ranges)[i].first, low);
      const char32_t last = std::min((*ranges)[i].second, high);
      if (first <= last) {
        ranges->emplace_back(first + static_cast<char32_t>(shift),
                             last + static_cast<char32_t>(shift));
      }
    }
  };
  add_shifted('A', 'Z', 'a' - 'A');
  add_shifted('a', 'z', 'A' - 'a');
}

std::optional<RegexRanges> PerlClass(char32_t letter) {
  RegexRanges ranges;
  switch (letter | 0x20) {
    case 'd':
      ranges = {{'0', '9'}};
      break;
    case 'w':
      ranges = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
      break;
    case 's':
      ranges = {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
      break;
    default:
      return std::nullopt;
  }
  return (letter & 0x20) != 0 ? ranges : Complement(std::move(ranges));
}

std::optional<RegexRanges> NamedClass(std::string_view name) {
  if (name == "alpha") return RegexRanges{{'A', 'Z'}, {'a', 'z'}};
  if (name == "digit") return RegexRanges{{'0', '9'}};
  if (name == "alnum") return RegexRanges{{'0', '9'}, {'A', 'Z'}, {'a', 'z'}};
  if (name == "word") return RegexRanges{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  if (name == "upper") return RegexRanges{{'A', 'Z'}};
  if (name == "lower") return RegexRanges{{'a', 'z'}};
  if (name == "xdigit") return RegexRanges{{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
  if (name == "space") return RegexRanges{{'\t', '\r'}, {' ', ' '}};
  if (name == "blank") return RegexRanges{{'\t', '\t'}, {' ', ' '}};
  if (name == "punct") return RegexRanges{{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}};
  return std::nullopt;
}

}  // namespace kai

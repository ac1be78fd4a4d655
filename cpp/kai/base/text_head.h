// TextHead: eight characters of a text as a number. Sorting many texts by these numbers reads most
// of the scattered texts only once.
//
//   prefix = CommonPrefix(texts[0], prefix, text);   // for each text: all have this prefix
//   TextHead(a, prefix) < TextHead(b, prefix)        // then a < b
//
// Invariants: the text with the lower head comes first; texts with equal heads have to be compared.
// Cost: O(1). Threads: pure functions.
#ifndef KAI_BASE_TEXT_HEAD_H_
#define KAI_BASE_TEXT_HEAD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kai {

// The length of the common prefix of both, at most `most`.
inline size_t CommonPrefix(std::string_view a, size_t most, std::string_view b) {
  const size_t end = std::min({most, a.size(), b.size()});
  size_t same = 0;
  while (same < end && a[same] == b[same]) ++same;
  return same;
}

// The eight characters after the first `prefix` characters.
inline uint64_t TextHead(std::string_view text, size_t prefix) {
  uint64_t head = 0;
  for (size_t i = 0; i < 8; ++i) {
    const size_t at = prefix + i;
    head = head << 8 | (at < text.size() ? static_cast<unsigned char>(text[at]) : 0u);
  }
  return head;
}

}  // namespace kai

#endif  // KAI_BASE_TEXT_HEAD_H_

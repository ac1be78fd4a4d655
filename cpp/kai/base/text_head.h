// TextHead: eight characters of a text as a number, to sort many texts that lie all over memory
// without looking at most of them twice.
//
//   prefix = CommonPrefix(texts[0], prefix, text);   // of each: names are alike in front
//   TextHead(a, prefix) < TextHead(b, prefix)        // then a < b
//
// Invariants: a text with a lower head stands before; equal heads say nothing. Cost: O(1). Threads:
// pure functions.
#ifndef KAI_BASE_TEXT_HEAD_H_
#define KAI_BASE_TEXT_HEAD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kai {

// How many characters, up to `most`, both begin with.
inline size_t CommonPrefix(std::string_view a, size_t most, std::string_view b) {
  const size_t end = std::min({most, a.size(), b.size()});
  size_t same = 0;
  while (same < end && a[same] == b[same]) ++same;
  return same;
}

// Of what stands behind the first `prefix` characters.
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

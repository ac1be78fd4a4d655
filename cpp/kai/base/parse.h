// Parses numbers in untrusted texts.
//
//   ParseInteger("+42")      // 42
//   ParseInteger("1 ")       // std::nullopt
//
// Invariants: it never throws, and never reads only a part of the text. Cost: one pass over the
// text. Threads: a pure function, thread-safe.
#ifndef KAI_BASE_PARSE_H_
#define KAI_BASE_PARSE_H_

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kai {

// A decimal integer with an optional sign and no other characters, as Go's strconv.ParseInt reads
// it.
inline std::optional<int64_t> ParseInteger(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace kai

#endif  // KAI_BASE_PARSE_H_

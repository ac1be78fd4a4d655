// Code points in UTF-8 text.
//
//   AppendCodePoint(&text, point)
//   NextCodePoint(text, &at)
//
// Invariants: reading always moves on, and gives back what was appended; a byte that starts no code
// point counts as U+FFFD. Cost: O(1) a code point. Threads: pure functions, thread-safe.
#ifndef KAI_DRA_UTF8_H_
#define KAI_DRA_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace kai {

inline constexpr char32_t kLastCodePoint = 0x10FFFF;

// The code point at `*at`, which moves behind it; a byte that starts none counts as U+FFFD.
char32_t NextCodePoint(std::string_view text, size_t* at);

size_t CountCodePoints(std::string_view text);

// False, and nothing appended: no such code point.
bool AppendCodePoint(std::string* text, char32_t point);

}  // namespace kai

#endif  // KAI_DRA_UTF8_H_

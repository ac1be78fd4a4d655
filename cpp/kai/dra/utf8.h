// Code points in UTF-8 text.
//
//   AppendCodePoint(&text, point)
//   NextCodePoint(text, &at)
// Invariants: reading always advances, and returns what was appended; a byte that starts no code
// point is read as U+FFFD. Cost: O(1) a code point. Threads: pure functions, thread-safe.
// point counts as U+FFFD. Cost: O(1) a code point. Threads: pure functions, thread-safe.
#ifndef KAI_DRA_UTF8_H_
#define KAI_DRA_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace kai {

inline constexpr char32_t kLastCodePoint = 0x10FFFF;

// Reads the code point at `*at` and moves `*at` past it; a byte that starts none is read as U+FFFD.
char32_t NextCodePoint(std::string_view text, size_t* at);

size_t CountCodePoints(std::string_view text);

// Returns false and appends nothing if there is no such code point.
bool AppendCodePoint(std::string* text, char32_t point);

}  // namespace kai

#endif  // KAI_DRA_UTF8_H_

// Builds texts from parts. Debian's Abseil has its own string_view, to which std::string_view does
// not convert; these functions use the standard one. api/rounding.h prints numbers with fractions.
//
//   StrCat("queue ", name, " has ", 3, " children")
//   StrAppend(&text, "+", 2);
//
// Invariants: integers are printed exactly, a char as a letter, a bool as a digit. Cost: one
// string, which grows part by part. Threads: pure functions, thread-safe.
#ifndef KAI_BASE_TEXT_H_
#define KAI_BASE_TEXT_H_

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace kai {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsHexDigit(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

inline void AppendText(std::string* text, std::string_view part) { text->append(part); }

inline void AppendText(std::string* text, std::same_as<char> auto part) { text->push_back(part); }

// Only for the type bool itself: a pointer would convert to bool silently.
inline void AppendText(std::string* text, std::same_as<bool> auto part) {
  text->push_back(part ? '1' : '0');
}

template <std::integral Integer>
  requires(!std::same_as<Integer, bool> && !std::same_as<Integer, char>)
void AppendText(std::string* text, Integer part) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof(digits), part);
  text->append(digits, static_cast<size_t>(end.ptr - digits));
}

template <typename... Parts>
void StrAppend(std::string* text, const Parts&... parts) {
  (AppendText(text, parts), ...);
}

template <typename... Parts>
std::string StrCat(const Parts&... parts) {
  std::string text;
  StrAppend(&text, parts...);
  return text;
}

}  // namespace kai

#endif  // KAI_BASE_TEXT_H_

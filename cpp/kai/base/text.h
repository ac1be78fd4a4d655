// Putting texts together, and taking them apart. Debian's Abseil is built with a string_view of its
// own, which std::string_view does not convert to; these few lines serve the standard one. Numbers
// with fractions have their printing in base/rounding.h.
//
//   StrCat("queue ", name, " has ", 3, " children")
//   StrAppend(&text, "+", 2);
//
// Invariants: every integer is printed exactly, a char as a letter, a bool as a digit. Cost: one
// string, grown part by part. Threads: pure functions, thread-safe.
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

// Exactly the type bool: a pointer would turn into one silently.
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

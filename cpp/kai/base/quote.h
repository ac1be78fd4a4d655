// Quote: a text of the input in the form that an error message shows.
//
//   Quote("1Gx")                       // "1Gx", with the quotes
//   Quote(std::string(50'000'000, 'x'))   // "xxxx..."
//
// Invariants: the result repeats at most kLongestQuote bytes of the text and contains no control
// characters. Cost: proportional to the bytes that are kept, not to the length of the text.
// Threads: a pure function, thread-safe.
#ifndef KAI_BASE_QUOTE_H_
#define KAI_BASE_QUOTE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace kai {

inline constexpr size_t kLongestQuote = 64;  // bytes of the input that a message repeats

// Adds double quotes, escapes control characters, quotes and backslashes as JSON does, and cuts
// only between characters.
std::string Quote(std::string_view text);

}  // namespace kai

#endif  // KAI_BASE_QUOTE_H_

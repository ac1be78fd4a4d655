// Quote: text from the input as it appears inside an error message.
//
//   Quote("1Gx")                       // "1Gx", with the quotes
//   Quote(std::string(50'000'000, 'x'))   // "xxxx..."
//
// Invariants: the answer repeats at most kLongestQuote bytes of the text, and has no control
// character in it. Cost: that of the bytes that are kept, however long the text is. Threads: a pure
// function, thread-safe.
#ifndef KAI_BASE_QUOTE_H_
#define KAI_BASE_QUOTE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace kai {

inline constexpr size_t kLongestQuote = 64;  // bytes of the input that a message repeats

// In double quotes; control characters, quotes and backslashes escaped as JSON does; cut between
// characters, never inside one.
std::string Quote(std::string_view text);

}  // namespace kai

#endif  // KAI_BASE_QUOTE_H_

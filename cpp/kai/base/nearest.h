// Nearest: the known name closest to a mistyped one, for error messages.
//
//   Nearest("gup", kNames)             // "gpu"
//   DidYouMean("alocate", kNames)      // "; did you mean \"allocate\"?"
//
// A name is near if a third of its letters (at least one) is changed, left out, added or swapped
// with the next one, or if it is the beginning of a known name and has four letters or more. Case,
// "_" and "-" are ignored. Invariants: the result is one of the names, the first of those that are
// equally near, or empty. Cost: the length of the name times the length of all known names.
// Threads: pure functions, thread-safe.
#ifndef KAI_BASE_NEAREST_H_
#define KAI_BASE_NEAREST_H_

#include <span>
#include <string>
#include <string_view>

namespace kai {

std::string_view Nearest(std::string_view name, std::span<const std::string_view> known);

// The end of an error message about an unknown name; empty if no known name is near.
std::string DidYouMean(std::string_view name, std::span<const std::string_view> known);

}  // namespace kai

#endif  // KAI_BASE_NEAREST_H_

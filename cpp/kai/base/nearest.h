// Nearest: the known name that a mistyped one is nearest to, for messages.
//
//   Nearest("gup", kNames)             // "gpu"
//   DidYouMean("alocate", kNames)      // "; did you mean \"allocate\"?"
//
// Near is a third of the name's letters changed, left out, added or swapped with the next one, at
// least one, and any beginning of four letters or more; case, "_" and "-" do not count. Invariants:
// the answer is one of the names, the first of those that are equally near, or empty. Cost: the
// length of the name times that of all known names. Threads: pure functions, thread-safe.
#ifndef KAI_BASE_NEAREST_H_
#define KAI_BASE_NEAREST_H_

#include <span>
#include <string>
#include <string_view>

namespace kai {

std::string_view Nearest(std::string_view name, std::span<const std::string_view> known);

// The end of a sentence about a name that is not known; empty where none is near.
std::string DidYouMean(std::string_view name, std::span<const std::string_view> known);

}  // namespace kai

#endif  // KAI_BASE_NEAREST_H_

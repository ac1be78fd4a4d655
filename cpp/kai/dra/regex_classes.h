// Sets of characters that regular expressions have names for.
#ifndef KAI_DRA_REGEX_CLASSES_H_
#define KAI_DRA_REGEX_CLASSES_H_

#include <optional>
#include <string_view>

#include "kai/dra/regex_parser.h"

namespace kai {

// All other characters.
RegexRanges Complement(RegexRanges ranges);

// Adds the small and the capital letters of those that are there; ASCII only.
void AddBothCases(RegexRanges* ranges);

// d, w, s, and D, W, S for their opposites. Nothing: no such class.
std::optional<RegexRanges> PerlClass(char32_t letter);

// What stands between [: and :]. Nothing: no such class.
std::optional<RegexRanges> NamedClass(std::string_view name);

}  // namespace kai

#endif  // KAI_DRA_REGEX_CLASSES_H_

// A regular expression as a tree: what regex.cc makes its instructions of.
#ifndef KAI_DRA_REGEX_PARSER_H_
#define KAI_DRA_REGEX_PARSER_H_

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace kai {

enum class RegexNodeKind : uint8_t {
  kSequence,      // all parts, one behind the other; none: nothing
  kAlternatives,  // one of the parts
  kRepeat,        // the one part, `least` to `most` times
  kCharacter,     // one character that lies in sets[set]
  kTextStart,     // the others take no character
  kTextEnd,
  kWordBoundary,
  kNotWordBoundary,
};

struct RegexNode {
  static constexpr int kUnbounded = -1;

  RegexNodeKind kind = RegexNodeKind::kSequence;
  int32_t set = 0;
  int least = 0;
  int most = 0;
  std::vector<int32_t> parts = {};  // in nodes
};

using RegexRanges = std::vector<std::pair<char32_t, char32_t>>;  // both ends included

struct RegexTree {
  std::vector<RegexNode> nodes;
  std::vector<RegexRanges> sets;
  int32_t root = 0;
};

// Refuses what regex.h says is refused. The tree is at most 50 groups deep.
absl::StatusOr<RegexTree> ParseRegex(std::string_view pattern);

}  // namespace kai

#endif  // KAI_DRA_REGEX_PARSER_H_

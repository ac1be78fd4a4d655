// Regex: the regular expressions of CEL's matches(), in time proportional to pattern times text.
//
//   KAI_ASSIGN_OR_RETURN(const Regex a100, Regex::Compile("^NVIDIA A100.*(40|80)GB$"));
//   int64_t steps = 10'000;
//   a100.FoundIn("NVIDIA A100-SXM4-80GB", &steps);   // true; steps is what is left
//
// The dialect is RE2's: characters and escapes, . [a-z] [^a-z] [[:alpha:]] \d \w \s \b ^ $ \A \z,
// groups (their captures are not kept), alternatives, * + ? {n} {n,} {n,m} with or without a ?
// behind, and the flags i and s. Refused with one sentence, because selectors have no use for them:
// classes of Unicode (\pL), \Q, \C and the flags m and U. With the flag i only ASCII letters lose
// their case. Text is compared by code point; bytes that are not UTF-8 count as one each.
#ifndef KAI_DRA_REGEX_H_
#define KAI_DRA_REGEX_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kai/dra/regex_parser.h"

namespace kai {

class Regex {
 public:
  static constexpr size_t kMostInstructions = 5000;

  static absl::StatusOr<Regex> Compile(std::string_view pattern);

  // Does the pattern match somewhere in the text? Takes what it costs from `*steps` and gives up
  // with false when they end (then they are below zero).
  bool FoundIn(std::string_view text, int64_t* steps) const;

 private:
  enum class Op : uint8_t {
    kSet,        // one character that lies in sets_[x]
    kSplit,      // continue at x and at y
    kTextStart,  // these four take no character
    kTextEnd,
    kWordBoundary,
    kNotWordBoundary,
    kMatch,
  };
  struct Instruction {
    Op op;
    int32_t x = 0;
    int32_t y = 0;
  };
  class Emitter;
  struct Threads;

  void Follow(int32_t start, char32_t before, char32_t next, Threads* threads,
              int64_t* steps) const;

  std::vector<Instruction> program_;  // an instruction without a jump continues behind itself
  std::vector<RegexRanges> sets_;
};

}  // namespace kai

#endif  // KAI_DRA_REGEX_H_

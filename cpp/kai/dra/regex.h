// Regex: the regular expressions of CEL's matches(), implemented with RE2.
//
//   int64_t steps = 1'000'000;
//   return Regex::Compile(pattern, &steps);
//   return regex.ok() && regex->FoundIn(text, &steps);      // steps: how many are left
//
// Syntax and meaning are those of Go's regexp, which Kubernetes uses; docs/internals/dra.md lists
// the differences. Text is UTF-8; an invalid byte matches nothing.
//
// Invariants: a pattern takes at most kMostBytes of memory; matching takes linear time. Cost:
// compiling is linear in the size of the pattern with its repeats expanded; matching is linear in
// that size times the text. Copies are cheap. Threads: thread-safe.
#ifndef KAI_DRA_REGEX_H_
#define KAI_DRA_REGEX_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace re2 {
class RE2;
}

namespace kai {

class Regex {
 public:
  static constexpr int64_t kMostBytes = 1 << 20;

  // Subtracts the cost of compiling from `*steps`: 500, and more for a large pattern.
  // InvalidArgument for a pattern with an error, and for one that is longer than an expression may
  // be, or that needs more than kMostBytes or the steps.
  static absl::StatusOr<Regex> Compile(std::string_view pattern, int64_t* steps);

  // True if the pattern matches somewhere in the text. Subtracts from `*steps` what Kubernetes
  // charges, which depends on the lengths of text and pattern, and more for patterns that are short
  // but expand to many instructions, like `(x{100}){9}`. When the steps end (they become negative)
  // the answer is false.
  bool FoundIn(std::string_view text, int64_t* steps) const;

 private:
  Regex(std::shared_ptr<const re2::RE2> re2, int64_t cost) : re2_(std::move(re2)), cost_(cost) {}

  std::shared_ptr<const re2::RE2> re2_;
  int64_t cost_;  // steps per ten characters of text
};

}  // namespace kai

#endif  // KAI_DRA_REGEX_H_

#include "kai/dra/regex.h"

#include <re2/re2.h>

#include <algorithm>

#include "absl/status/status.h"
#include "kai/base/quote.h"
#include "kai/base/text.h"
#include "kai/dra/cel.h"
#include "kai/dra/utf8.h"

namespace kai {
namespace {

constexpr int64_t kLeastCompileSteps = 500;
constexpr int64_t kMostCompileSteps = Regex::kMostBytes / 16;  // one RE2 instruction has 16 bytes

constexpr size_t kLongestPattern = CelSelector::kLongestExpression;

int64_t DivideUp(int64_t amount, int64_t by) { return (amount + by - 1) / by; }

int64_t Length(std::string_view text) { return static_cast<int64_t>(CountCodePoints(text)); }

}  // namespace

absl::StatusOr<Regex> Regex::Compile(std::string_view pattern, int64_t* steps) {
  const auto too_large = [&] {
    return absl::InvalidArgumentError(
        StrCat("regular expression ", Quote(pattern), " is too large"));
  };
  // The parser has no limit of its own. Longer patterns that fit all the same have large classes.
  if (pattern.size() > kLongestPattern) {
    *steps -= kMostCompileSteps;
    return too_large();
  }
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(kMostBytes);
  // Braces here and below: depending on its version, RE2 takes its own StringPiece or
  // absl::string_view.
  const auto re2 = std::shared_ptr<const RE2>(new RE2({pattern.data(), pattern.size()}, options));
  const bool does_not_fit = re2->error_code() == RE2::ErrorPatternTooLarge;
  *steps -= kLeastCompileSteps + static_cast<int64_t>(pattern.size());
  *steps -= re2->ok() ? re2->ProgramSize() : does_not_fit ? kMostCompileSteps : 0;
  if (does_not_fit || *steps < 0) return too_large();
  if (!re2->ok()) {
    return absl::InvalidArgumentError(
        StrCat("regular expression ", Quote(pattern), " is invalid: ", re2->error()));
  }
  // Kubernetes counts one instruction per four characters, but repeats have more. With a sixteenth
  // of the instructions as a lower bound, a million steps take at most a quarter of a second.
  const int64_t instructions = re2->ProgramSize();
  return Regex(re2, std::max(DivideUp(Length(pattern), 4), DivideUp(instructions, 16)));
}

bool Regex::FoundIn(std::string_view text, int64_t* steps) const {
  *steps -= DivideUp(1 + Length(text), 10) * cost_;
  return *steps >= 0 && re2_->Match({text.data(), text.size()}, 0, text.size(), RE2::UNANCHORED,
                                    /*submatch=*/nullptr, /*nsubmatch=*/0);
}

}  // namespace kai

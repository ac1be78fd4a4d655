// Semver: a version in the format of semver.org 2.0.0, and the order of versions.
//
//   const Semver version = Version("12.4.99-rc.1+sha.5114f85");    // Semver::Parse(text).value()
//   version.major()              // 12
//
// ParseLoosely() accepts common variants: "v1.02" is 1.2.0.
//
// Invariants: a release comes after its pre-releases; text after a '+' is kept in text() and
// ignored in comparisons. Cost: one pass over the text. Threads: a plain value.
#ifndef KAI_DRA_SEMVER_H_
#define KAI_DRA_SEMVER_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace kai {

class Semver {
 public:
  // Three numbers without leading zeros, then optionally -pre.release and +build.
  static absl::StatusOr<Semver> Parse(std::string_view text);
  // Also accepts a leading v, leading zeros, and one or two numbers instead of three.
  static absl::StatusOr<Semver> ParseLoosely(std::string_view text);

  uint64_t major() const { return numbers_[0]; }
  uint64_t minor() const { return numbers_[1]; }
  uint64_t patch() const { return numbers_[2]; }
  const std::string& text() const { return text_; }

  friend std::strong_ordering operator<=>(const Semver& a, const Semver& b);
  friend bool operator==(const Semver& a, const Semver& b) { return (a <=> b) == 0; }

  size_t HeapBytes() const;

 private:
  uint64_t numbers_[3] = {0, 0, 0};
  std::string prerelease_;  // without the dash
  std::string text_;
};

}  // namespace kai

#endif  // KAI_DRA_SEMVER_H_

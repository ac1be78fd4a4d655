// Semver: a version as semver.org 2.0.0 writes it, and the order it gives versions.
//
//   KAI_ASSIGN_OR_RETURN(const Semver driver, Semver::Parse("550.54.15-beta.2+build7"));
//   driver.major();                              // 550
//   driver < Semver::Parse("550.54.15").value()  // true: a release comes after its betas
//   Semver::ParseLoosely("v1.02").value();       // 1.2.0: what people write
//
// What stands behind a '+' is kept in text() and takes no part in comparisons.
#ifndef KAI_DRA_SEMVER_H_
#define KAI_DRA_SEMVER_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace kai {

class Semver {
 public:
  // Three numbers without leading zeros, then perhaps -pre.release and +build.
  static absl::StatusOr<Semver> Parse(std::string_view text);
  // Also takes a v in front, leading zeros, and one or two numbers instead of three.
  static absl::StatusOr<Semver> ParseLoosely(std::string_view text);

  uint64_t major() const { return numbers_[0]; }
  uint64_t minor() const { return numbers_[1]; }
  uint64_t patch() const { return numbers_[2]; }
  const std::string& text() const { return text_; }

  friend std::strong_ordering operator<=>(const Semver& a, const Semver& b);
  friend bool operator==(const Semver& a, const Semver& b) { return (a <=> b) == 0; }

 private:
  uint64_t numbers_[3] = {0, 0, 0};
  std::string prerelease_;  // without the dash
  std::string text_;
};

}  // namespace kai

#endif  // KAI_DRA_SEMVER_H_

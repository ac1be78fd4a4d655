// The functions and methods that CEL expressions may call.
//
//   const std::optional<CelFunction> function = FindCelFunction(name, form, arguments.size());
//
// Invariants: a function that FindCelFunction() returns accepts that number of arguments. Cost: a
// search of a table; a call takes steps in proportion to the length of its values. Threads: pure
// functions, except for the caller's arena and steps.
#ifndef KAI_DRA_CEL_FUNCTIONS_H_
#define KAI_DRA_CEL_FUNCTIONS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "kai/dra/cel_value.h"
#include "kai/dra/regex.h"

namespace kai {

enum class CelFunction : uint8_t {
  kSize,
  kStartsWith,
  kEndsWith,
  kContains,
  kMatches,
  kLowerAscii,
  kUpperAscii,
  kQuantity,
  kIsQuantity,
  kIsInteger,
  kAsInteger,
  kAsApproximateFloat,
  kSign,
  kAdd,
  kSub,
  kSemver,
  kIsSemver,
  kMajor,
  kMinor,
  kPatch,
  kCompareTo,
  kIsGreaterThan,
  kIsLessThan,
};

enum class CelCallForm : uint8_t { kFunction, kMethod };  // size(x), x.size()

// Empty if no function of that name takes this many arguments; a method's receiver counts as one.
std::optional<CelFunction> FindCelFunction(std::string_view name, CelCallForm form,
                                           size_t arguments);

inline constexpr size_t kMostCelArguments = 2;

// Errors have no position yet. If `regex` is null, the pattern is compiled. Long values cost more
// than one of `*steps`; the caller checks whether any steps are left.
absl::StatusOr<CelValue> CallCelFunction(CelFunction function, std::span<const CelValue> arguments,
                                         const Regex* regex, CelArena* arena, int64_t* steps);

}  // namespace kai

#endif  // KAI_DRA_CEL_FUNCTIONS_H_

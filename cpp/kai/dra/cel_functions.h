// The functions and methods that CEL expressions may call.
//
//   const std::optional<CelFunction> function = FindCelFunction(name, form, arguments.size());
//
// Invariants: what FindCelFunction() gives takes exactly so many arguments. Cost: a look at a
// table; a call takes steps by the length of its values. Threads: pure functions, but for the arena
// and the steps of the caller.
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

// Nothing: no function of that name takes so many arguments, a method's receiver counted in.
std::optional<CelFunction> FindCelFunction(std::string_view name, CelCallForm form,
                                           size_t arguments);

inline constexpr size_t kMostCelArguments = 2;

// An error says what is wrong, but not where. `regex` may be null: then the pattern is compiled.
// Takes from `*steps` more than one for long values; the caller looks whether any are left.
absl::StatusOr<CelValue> CallCelFunction(CelFunction function, std::span<const CelValue> arguments,
                                         const Regex* regex, CelArena* arena, int64_t* steps);

}  // namespace kai

#endif  // KAI_DRA_CEL_FUNCTIONS_H_

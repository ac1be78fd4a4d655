// CelSelector: the expression by which a DeviceClass or a ResourceClaim selects devices, in CEL
// (the Common Expression Language) as Kubernetes uses it there.
//
//   const auto selector = CelSelector::Compile(expression);    // device.driver == 'gpu.nvidia.com'
//   const auto matches = selector->Matches(device);
//
// Known are device.driver, device.attributes[domain].name, device.capacity[domain].name and
// device.allowMultipleAllocations (an unused domain is an empty map; an unused name is an error
// unless asked for with `in` or has()); literals of bool, int, uint, double, string and list; == !=
// < <= > >= && || ! ?: in + - * / %; for strings startsWith endsWith contains matches lowerAscii
// upperAscii size; for quantities quantity isQuantity isInteger asInteger asApproximateFloat sign
// add sub compareTo isGreaterThan isLessThan; for versions semver isSemver major minor patch and
// the comparisons; all exists exists_one map filter over lists and over the keys of maps; has();
// cel.bind(). Everything else is refused with one sentence that says where and what: "byte 12:
// there is no function or macro \"timestamp\" here".
//
// Errors: InvalidArgument for what does not compile (Compile()) and for what cannot be worked out
// for this device, like a missing attribute (Matches()); && and || hide an error on one side when
// the other side decides. ResourceExhausted when the budget ends; nothing hides that.
//
// Invariants: a selector never changes; equal devices give equal answers, and no expression runs
// longer than its budget. Cost: Compile() is linear in the expression. Matches() allocates only
// where an expression builds strings or lists or matches a regular expression. Copies are cheap.
// Threads: thread-safe.
#ifndef KAI_DRA_CEL_H_
#define KAI_DRA_CEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "kai/dra/device.h"

namespace kai {

struct CelProgram;

class CelSelector {
 public:
  static constexpr size_t kLongestExpression = 10 * 1024;  // bytes; as the API server has it
  static constexpr int kDeepestNesting = 100;
  static constexpr int64_t kBudget = 1'000'000;  // steps: operations, and more for long values

  static absl::StatusOr<CelSelector> Compile(std::string_view expression);

  absl::StatusOr<bool> Matches(const Device& device, int64_t budget = kBudget) const;

 private:
  explicit CelSelector(std::shared_ptr<const CelProgram> program) : program_(std::move(program)) {}

  std::shared_ptr<const CelProgram> program_;
};

}  // namespace kai

#endif  // KAI_DRA_CEL_H_

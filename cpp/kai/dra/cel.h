// CelSelector: the expression with which a DeviceClass or a ResourceClaim selects devices, in CEL
// (the Common Expression Language) as Kubernetes uses it.
//
//   const auto selector = CelSelector::Compile(expression);    // device.driver == 'gpu.nvidia.com'
//   const auto matches = selector->Matches(device);
//
// Supported are device.driver, device.attributes[domain].name, device.capacity[domain].name and
// device.allowMultipleAllocations (an unused domain is an empty map; an unused name is an error
// except in `in` and has()); literals of bool, int, uint, double, string and list; == != < <= > >=
// && || ! ?: in + - * / %; for strings startsWith endsWith contains matches lowerAscii upperAscii
// size; for quantities quantity isQuantity isInteger asInteger asApproximateFloat sign add sub
// compareTo isGreaterThan isLessThan; for versions semver isSemver major minor patch and the
// comparisons; all exists exists_one map filter over lists and over the keys of maps; has();
// cel.bind(). Anything else is an error of one sentence with the position: "byte 12: there is no
// function or macro \"timestamp\" here".
//
// Errors: InvalidArgument from Compile() for an expression that does not compile, and from
// Matches() for one that cannot be evaluated for this device, like a missing attribute; && and ||
// hide an error on one side if the other side decides. ResourceExhausted when the budget ends; no
// operator hides it.
//
// Invariants: a selector never changes; equal devices give equal answers; no expression runs longer
// than its budget. Cost: Compile() is linear in the expression. Matches() allocates memory only for
// expressions that build strings or lists or match a regular expression. Copies are cheap. Threads:
// thread-safe.
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
struct CelReads;

class CelSelector {
 public:
  static constexpr size_t kLongestExpression = 10 * 1024;  // bytes; the API server's limit
  static constexpr int kDeepestNesting = 100;
  // Steps of one evaluation: one per operation, more for long values. As in Kubernetes.
  static constexpr int64_t kBudget = 1'000'000;
  // Steps for compiling the regular expressions of one expression.
  static constexpr int64_t kCompileBudget = 100'000;

  static absl::StatusOr<CelSelector> Compile(std::string_view expression);

  // `steps`: receives how many steps it took, at most the budget.
  absl::StatusOr<bool> Matches(const Device& device, int64_t budget = kBudget,
                               int64_t* steps = nullptr) const;
  // The error of an expression that takes more steps than its budget.
  static absl::Status TooManySteps(int64_t budget);

  // What the answer depends on (cel_reads.h).
  const CelReads& reads() const { return *reads_; }

 private:
  CelSelector(std::shared_ptr<const CelProgram> program, std::shared_ptr<const CelReads> reads)
      : program_(std::move(program)), reads_(std::move(reads)) {}

  std::shared_ptr<const CelProgram> program_;
  std::shared_ptr<const CelReads> reads_;
};

}  // namespace kai

#endif  // KAI_DRA_CEL_H_

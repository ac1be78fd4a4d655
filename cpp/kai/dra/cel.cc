#include "kai/dra/cel.h"

#include <utility>

#include "absl/status/status.h"
#include "kai/base/status_macros.h"
#include "kai/base/text.h"
#include "kai/dra/cel_evaluator.h"
#include "kai/dra/cel_program.h"
#include "kai/dra/cel_reads.h"

namespace kai {

absl::StatusOr<CelSelector> CelSelector::Compile(std::string_view expression) {
  KAI_ASSIGN_OR_RETURN(CelProgram program, ParseCel(expression));
  auto reads = std::make_shared<const CelReads>(ReadsOf(program));
  return CelSelector(std::make_shared<const CelProgram>(std::move(program)), std::move(reads));
}

absl::StatusOr<bool> CelSelector::Matches(const Device& device, int64_t budget,
                                          int64_t* steps) const {
  CelEvaluator evaluator(*program_, device, budget);
  const absl::StatusOr<CelValue> value = evaluator.Run();
  if (steps != nullptr) *steps = evaluator.steps();
  if (!value.ok()) return value.status();
  const bool* matches = std::get_if<bool>(&*value);
  if (matches != nullptr) return *matches;
  return absl::InvalidArgumentError(
      StrCat("the expression gives ", CelKindName(*value), " instead of bool"));
}

absl::Status CelSelector::TooManySteps(int64_t budget) {
  return absl::ResourceExhaustedError(StrCat("the expression takes more than ", budget, " steps"));
}

}  // namespace kai

#include "kai/dra/cel.h"

#include <utility>

#include "absl/status/status.h"
#include "kai/base/status_macros.h"
#include "kai/base/text.h"
#include "kai/dra/cel_evaluator.h"
#include "kai/dra/cel_program.h"

namespace kai {

absl::StatusOr<CelSelector> CelSelector::Compile(std::string_view expression) {
  KAI_ASSIGN_OR_RETURN(CelProgram program, ParseCel(expression));
  return CelSelector(std::make_shared<const CelProgram>(std::move(program)));
}

absl::StatusOr<bool> CelSelector::Matches(const Device& device, int64_t budget) const {
  CelEvaluator evaluator(*program_, device, budget);
  KAI_ASSIGN_OR_RETURN(const CelValue value, evaluator.Run());
  const bool* matches = std::get_if<bool>(&value);
  if (matches != nullptr) return *matches;
  return absl::InvalidArgumentError(
      StrCat("the expression gives ", CelKindName(value), " instead of bool"));
}

}  // namespace kai

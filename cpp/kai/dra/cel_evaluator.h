// Evaluates a compiled CEL expression for one device.
//
//   CelEvaluator evaluator(*program_, device, budget);
//   evaluator.Run()
//
// Invariants: it runs once; the result may point into the evaluator, the program and the device. It
// takes no more steps than its budget. Cost: one step per operation, more for long values. Not
// thread-safe; several evaluators may share a program.
#ifndef KAI_DRA_CEL_EVALUATOR_H_
#define KAI_DRA_CEL_EVALUATOR_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "kai/dra/cel_program.h"
#include "kai/dra/cel_value.h"

namespace kai {

class CelEvaluator {
 public:
  CelEvaluator(const CelProgram& program, const Device& device, int64_t budget)
      : program_(program),
        device_(device),
        budget_(budget),
        steps_(budget),
        slots_(static_cast<size_t>(program.slots), Result(CelValue(false))) {}

  // Call it once. The result may point into the evaluator.
  absl::StatusOr<CelValue> Run() { return Evaluate(program_.root); }

  int64_t steps() const { return std::min(budget_, budget_ - steps_); }  // that it took

 private:
  using Result = absl::StatusOr<CelValue>;

  Result Evaluate(int32_t index);  // Work() with its steps counted
  Result Work(const CelNode& node);
  Result Part(const CelNode& node, size_t i) { return Evaluate(node.parts[i]); }

  Result MakeList(const CelNode& node);
  Result Choose(const CelNode& node);
  Result Join(const CelNode& node);
  Result Compute(const CelNode& node);
  Result Call(const CelNode& node);
  Result Loop(const CelNode& node);

  const CelProgram& program_;
  const Device& device_;
  const int64_t budget_;
  int64_t steps_;              // that are left
  std::vector<Result> slots_;  // cel.bind also stores errors; they count where the variable is used
  CelArena arena_;
};

}  // namespace kai

#endif  // KAI_DRA_CEL_EVALUATOR_H_

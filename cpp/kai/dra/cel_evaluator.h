// Works out a compiled CEL expression for one device.
//
//   CelEvaluator evaluator(*program_, device, budget);
//   evaluator.Run()
//
// Invariants: it runs once; what it returns may point into it, the program and the device. It takes
// no more steps than its budget. Cost: a step for each operation, more for long values. Not
// thread-safe; several evaluators may share a program.
#ifndef KAI_DRA_CEL_EVALUATOR_H_
#define KAI_DRA_CEL_EVALUATOR_H_

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

  // Once. What it returns may point into the evaluator.
  absl::StatusOr<CelValue> Run() { return Evaluate(program_.root); }

 private:
  using Result = absl::StatusOr<CelValue>;

  Result Evaluate(int32_t index);  // Work(), and the steps are counted
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
  std::vector<Result> slots_;  // cel.bind keeps an error, too: it counts where it is used
  CelArena arena_;
};

}  // namespace kai

#endif  // KAI_DRA_CEL_EVALUATOR_H_

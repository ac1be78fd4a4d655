// Early return on a bad absl::Status. The oldest Abseil we build with has no such macros.
//
//   KAI_RETURN_IF_ERROR(Half(number));
//   KAI_ASSIGN_OR_RETURN(const std::unique_ptr<int> half, Box(number));
//
// Invariants: the expression is evaluated once; its status is returned unchanged. Cost: one branch.
// Threads: any.
#ifndef KAI_BASE_STATUS_MACROS_H_
#define KAI_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define KAI_RETURN_IF_ERROR(expression)      \
  do {                                       \
    absl::Status kai_status = (expression);  \
    if (!kai_status.ok()) return kai_status; \
  } while (false)

#define KAI_ASSIGN_OR_RETURN(declaration, expression) \
  KAI_ASSIGN_OR_RETURN_IMPL(KAI_MACRO_CONCAT(kai_statusor_, __LINE__), declaration, expression)

#define KAI_ASSIGN_OR_RETURN_IMPL(statusor, declaration, expression) \
  auto statusor = (expression);                                      \
  if (!statusor.ok()) return std::move(statusor).status();           \
  declaration = *std::move(statusor)

#define KAI_MACRO_CONCAT_INNER(a, b) a##b
#define KAI_MACRO_CONCAT(a, b) KAI_MACRO_CONCAT_INNER(a, b)

#endif  // KAI_BASE_STATUS_MACROS_H_

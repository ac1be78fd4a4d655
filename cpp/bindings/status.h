// Converts statuses to Python exceptions: one table, which kai/errors.py mirrors.
#ifndef KAI_BINDINGS_STATUS_H_
#define KAI_BINDINGS_STATUS_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace kai::bindings {

// The class in kai.errors that a call raises for an invalid argument.
enum class WhenInvalid { kInput, kConfig, kCluster };

// Throws the Python exception for a status that is not OK. FailedPrecondition becomes
// kai.BusyError.
void ThrowIfError(const absl::Status& status, WhenInvalid invalid);

template <typename T>
T ValueOrThrow(absl::StatusOr<T> value, WhenInvalid invalid) {
  ThrowIfError(value.status(), invalid);
  return *std::move(value);
}

}  // namespace kai::bindings

#endif  // KAI_BINDINGS_STATUS_H_

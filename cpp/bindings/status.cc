#include "status.h"

#include <pybind11/pybind11.h>

namespace kai::bindings {
namespace {

namespace py = pybind11;

const char* ClassFor(const absl::Status& status, WhenInvalid invalid) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      switch (invalid) {
        case WhenInvalid::kInput:
          return "InvalidInputError";
        case WhenInvalid::kConfig:
          return "InvalidConfigError";
        case WhenInvalid::kCluster:
          return "InvalidClusterError";
      }
      return "KaiError";
    case absl::StatusCode::kFailedPrecondition:
      return "BusyError";
    case absl::StatusCode::kAborted:
      return "PolicyError";
    case absl::StatusCode::kNotFound:
      return "NotFoundError";
    default:
      return "KaiError";
  }
}

}  // namespace

void ThrowIfError(const absl::Status& status, WhenInvalid invalid) {
  if (status.ok()) return;
  const py::gil_scoped_acquire gil;
  const py::object type = py::module_::import("kai.errors").attr(ClassFor(status, invalid));
  const std::string message(status.message().data(), status.message().size());
  PyErr_SetObject(type.ptr(), py::str(message).ptr());
  throw py::error_already_set();
}

}  // namespace kai::bindings

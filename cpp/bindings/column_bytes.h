// Copies a column of numbers into bytes that NumPy's frombuffer() and Arrow can read.
#ifndef KAI_BINDINGS_COLUMN_BYTES_H_
#define KAI_BINDINGS_COLUMN_BYTES_H_

#include <pybind11/pybind11.h>

#include <vector>

namespace kai::bindings {

template <typename T>
pybind11::bytes BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace kai::bindings

#endif  // KAI_BINDINGS_COLUMN_BYTES_H_

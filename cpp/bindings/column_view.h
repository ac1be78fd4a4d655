// Views of columns as NumPy arrays, without a copy. The array keeps `owner` alive, and `owner`
// keeps the memory of the column.
#ifndef KAI_BINDINGS_COLUMN_VIEW_H_
#define KAI_BINDINGS_COLUMN_VIEW_H_

#include <pybind11/numpy.h>

#include <iterator>
#include <vector>

namespace kai::bindings {

// One row per value; Python can write to it.
template <typename T>
pybind11::array_t<T> WritableView(const std::vector<T>& column, const pybind11::object& owner) {
  return pybind11::array_t<T>(std::ssize(column), column.data(), owner);
}

template <typename T>
pybind11::array_t<T> ReadOnlyView(const std::vector<T>& column, const pybind11::object& owner) {
  pybind11::array_t<T> view = WritableView(column, owner);
  // As view.setflags(write=False), in a tenth of the time.
  pybind11::detail::array_proxy(view.ptr())->flags &=
      ~pybind11::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return view;
}

}  // namespace kai::bindings

#endif  // KAI_BINDINGS_COLUMN_VIEW_H_

// kai._core: divide.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <tuple>
#include <vector>

#include "kai/fairshare/division.h"
#include "register.h"

namespace kai::bindings {
namespace {

namespace py = pybind11;

// Name, priority, creation time; deserved, limit, weight, request and past usage.
using Row = std::tuple<std::string, int64_t, int64_t, double, double, double, double, double>;

std::vector<double> DivideAmong(double total, const std::vector<Row>& rows, double k_value) {
  std::vector<Share> shares;
  for (const auto& [name, priority, created_ns, deserved, limit, weight, request, usage] : rows) {
    shares.push_back({.deserved = deserved,
                      .limit = limit,
                      .over_quota_weight = weight,
                      .request = request,
                      .usage = usage});
  }
  std::vector<Sibling> siblings;
  for (size_t i = 0; i < rows.size(); ++i) {
    siblings.push_back({.share = &shares[i],
                        .priority = std::get<1>(rows[i]),
                        .created_ns = std::get<2>(rows[i]),
                        .name = std::get<0>(rows[i])});
  }
  Divide(total, k_value, siblings);
  std::vector<double> fair_shares;
  for (const Share& share : shares) fair_shares.push_back(share.fair_share);
  return fair_shares;
}

}  // namespace

void RegisterShares(py::module_& module) {
  module.def("divide", &DivideAmong, py::arg("total"), py::arg("siblings"), py::kw_only(),
             py::arg("k_value"));
}

}  // namespace kai::bindings

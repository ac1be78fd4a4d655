// kai._core.placement: single questions of placement, for tables, tests and notebooks.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "kai/placement/scorers/scorers.h"
#include "register.h"

namespace kai::bindings {
namespace {

namespace py = pybind11;

// (name, room, what the node offers or, to spread, counts)
using Offer = std::tuple<std::string, double, double>;

std::map<std::string, double> PlacementScores(const std::vector<Offer>& nodes,
                                              const std::string& strategy) {
  if (strategy != "binpack" && strategy != "spread")
    throw py::value_error("strategy is \"binpack\" or \"spread\"");
  double least = 0;
  double most = 0;
  bool any = false;
  for (const auto& [name, room, offered] : nodes) {
    if (offered == 0) continue;
    least = any ? std::min(least, room) : room;
    most = any ? std::max(most, room) : room;
    any = true;
  }
  std::map<std::string, double> scores;
  for (const auto& [name, room, offered] : nodes) {
    scores[name] = strategy == "spread" ? SpreadScore(room, offered)
                                        : BinpackScore(room, least, most, offered);
  }
  return scores;
}

}  // namespace

void RegisterPlacement(py::module_& module) {
  py::module_ placement = module.def_submodule("placement", "Single questions of placement.");
  placement.def("placement_scores", &PlacementScores, py::arg("nodes"), py::kw_only(),
                py::arg("strategy"));
}

}  // namespace kai::bindings

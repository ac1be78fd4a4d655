// The state after a cycle (kai/session/aftermath.h) as Python values: a tuple per row. _core.pyi
// describes them.
#ifndef KAI_BINDINGS_AFTERMATH_ROWS_H_
#define KAI_BINDINGS_AFTERMATH_ROWS_H_

#include <pybind11/pybind11.h>

#include <string_view>

#include "kai/placement/score_sheet.h"
#include "kai/session/aftermath.h"
#include "kai/session/plan.h"

namespace kai::bindings {

// Each pod with this name: its "namespace/name", what it does, and its node.
pybind11::list PodRows(const Plan& plan, std::string_view name);
// Plugins, then a sheet from the start of the cycle, and one from the pod's placement.
pybind11::tuple ScoreRows(const Plan& plan, const ScoreWatch& scores);
pybind11::list OrderRows(const Plan& plan, const Aftermath& after);
pybind11::list NodeRows(const Plan& plan, const Aftermath& after);
// Nodes and typical pods, as `kai._core.fragments` takes them, and the names of the nodes.
pybind11::tuple MeasuredRows(const Cluster& cluster, const MeasuredShapes& measured);

}  // namespace kai::bindings

#endif  // KAI_BINDINGS_AFTERMATH_ROWS_H_

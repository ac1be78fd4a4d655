// What pages and explanations need of a plan, as Python values: counts and rows of the cluster's
// size only where a person asked for as much. python/kai/_core.pyi says what they look like.
#ifndef KAI_BINDINGS_PAGE_ROWS_H_
#define KAI_BINDINGS_PAGE_ROWS_H_

#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <vector>

#include "kai/session/decision_table.h"
#include "kai/session/plan.h"

namespace kai::bindings {

pybind11::dict CountRows(const Plan& plan);
pybind11::tuple DecisionRowsToPython(const Plan& plan, const DecisionTable& decisions, size_t most);
pybind11::tuple AccountRows(const Plan& plan, const DecisionTable& decisions);
pybind11::tuple NamesOf(const Plan& plan);
pybind11::list WaitingRows(const Plan& plan);
pybind11::dict QueueParents(const Plan& plan);
// Raises KeyError for a name that no group has.
pybind11::list GroupRows(const Plan& plan, const std::vector<std::string>& names, bool evictions);
// Of groups that run and of which nothing is said or decided, only those of these names; without
// names, all.
pybind11::list OutlineRows(const Plan& plan, const std::optional<std::vector<std::string>>& names);

}  // namespace kai::bindings

#endif  // KAI_BINDINGS_PAGE_ROWS_H_

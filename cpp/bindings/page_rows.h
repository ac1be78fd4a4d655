// The parts of a plan that pages and explanations need, as Python values: counts, and as many rows
// as requested. python/kai/_core.pyi describes them.
#ifndef KAI_BINDINGS_PAGE_ROWS_H_
#define KAI_BINDINGS_PAGE_ROWS_H_

#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <vector>

#include "kai/session/config.h"
#include "kai/session/decision_table.h"
#include "kai/session/gpu_account.h"
#include "kai/session/plan.h"

namespace kai::bindings {

pybind11::dict CountRows(const Plan& plan);
pybind11::tuple DecisionRowsToPython(const Plan& plan, const DecisionTable& decisions, size_t most);
pybind11::tuple AccountRows(const Plan& plan, const GpuAccount& account);
pybind11::tuple NamesOf(const Plan& plan);
pybind11::list WaitingRows(const Plan& plan);
pybind11::dict QueueParents(const Plan& plan);
// Raises KeyError for a name that no group has.
pybind11::list GroupRows(const Plan& plan, const std::vector<std::string>& names, bool evictions);
// For each group: a row for each class of its waiting pods.
pybind11::list PlacesRows(const Plan& plan, const GpuAccount& account, const Config& config,
                          const std::vector<std::string>& names);
// For each group: who holds GPUs on the nodes that could take its pods, and why they stay; and the
// GPUs that these nodes would have without the others.
// For each group that must run in one domain of its topology, the best of these; otherwise None.
pybind11::list DomainRows(const Plan& plan, const GpuAccount& account, const Config& config,
                          const std::vector<std::string>& names);
pybind11::list HolderRows(const Plan& plan, const GpuAccount& account, const Config& config,
                          const std::vector<std::string>& names);
// The nodes that could take the first class of a group's waiting pods if nothing else ran there:
// name, GPUs that are free after the plan, GPUs in all. Raises KeyError for a name that no group
// has.
pybind11::list PossibleNodeRows(const Plan& plan, const GpuAccount& account, const Config& config,
                                const std::string& name);
// For each group: whether it would start if no other group waited. Raises KeyError for a name that
// no group has.
pybind11::list StartAlone(const Plan& plan, const Config& config,
                          const std::vector<std::string>& names);
// Of the first class of a group's waiting pods: the resources that it requests, and how much of
// each. For each node that could take such a pod if nothing else ran there, what is free after the
// plan: node, amounts. What other groups hold there: node, group, amounts. In units for people.
// Raises KeyError for a name that no group has.
pybind11::tuple HoldingRows(const Plan& plan, const GpuAccount& account, const Config& config,
                            const std::string& name);
// For each group: what keeps its running pods.
pybind11::list ProtectionRows(const Plan& plan, const Config& config,
                              const std::vector<std::string>& names);
// By group with decisions: how many pods are bound, promised a place and evicted.
pybind11::dict DecidedRows(const Plan& plan);
// Leaves out groups that simply run and have no decision or reason, unless they are in `names`;
// without names, all are included.
pybind11::list OutlineRows(const Plan& plan, const std::optional<std::vector<std::string>>& names);

}  // namespace kai::bindings

#endif  // KAI_BINDINGS_PAGE_ROWS_H_

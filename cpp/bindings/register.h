// One function per submodule, called from module.cc.
#ifndef KAI_BINDINGS_REGISTER_H_
#define KAI_BINDINGS_REGISTER_H_

#include <pybind11/pybind11.h>

namespace kai::bindings {

void RegisterSession(pybind11::module_& module);  // clusters, configurations, sessions
void RegisterFeed(pybind11::module_& module);
void RegisterPlan(pybind11::module_& module);
void RegisterSimulation(pybind11::module_& module);
void RegisterShares(pybind11::module_& module);
void RegisterPolicies(pybind11::module_& module);  // functions over tables
void RegisterPacking(pybind11::module_& module);   // experiments with placement policies

}  // namespace kai::bindings

#endif  // KAI_BINDINGS_REGISTER_H_

// One function per submodule, called from module.cc.
#ifndef KAI_BINDINGS_REGISTER_H_
#define KAI_BINDINGS_REGISTER_H_

#include <pybind11/pybind11.h>

namespace kai::bindings {

void RegisterSession(pybind11::module_& module);  // clusters, configurations, plans
void RegisterFairshare(
    pybind11::module_& module);  // kai._core.fairshare: single questions of fair share
void RegisterPlacement(
    pybind11::module_& module);  // kai._core.placement: single questions of placement

}  // namespace kai::bindings

#endif  // KAI_BINDINGS_REGISTER_H_

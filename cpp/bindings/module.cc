// The compiled core, kai._core. Defaults, repr() and convenience methods are in Python
// (kai.engine).
#include <pybind11/pybind11.h>

#include "register.h"

PYBIND11_MODULE(_core, module) {
  module.doc() = "The compiled core: a cluster in, a plan out.";
  kai::bindings::RegisterPlan(module);
  kai::bindings::RegisterPolicies(module);
  kai::bindings::RegisterSession(module);
  kai::bindings::RegisterFeed(module);
  kai::bindings::RegisterSimulation(module);
  kai::bindings::RegisterShares(module);
  kai::bindings::RegisterPacking(module);
}

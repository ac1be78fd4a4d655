// PythonPolicies: policies over tables (kai/placement/table_policy.h) written as Python functions.
//
//   with.policies = std::make_shared<PythonPolicies>(std::move(runner));
//
// `runner` is a kai.policy.running.Runner, which makes NumPy arrays of the tables, calls the
// functions and checks their results. The engine works without the GIL and acquires it for each
// call. The tables are read-only copies of the engine's data. An array that a function stores keeps
// its memory; later calls of the run overwrite those of nodes.
//
// Invariants: an exception in a function becomes an Aborted status, which ends the cycle; the
// runner stores the exception for the thread that plans. Cost: that of the functions, and some
// microseconds a call. Threads: those of table_policy.h.
#ifndef KAI_BINDINGS_PYTHON_POLICIES_H_
#define KAI_BINDINGS_PYTHON_POLICIES_H_

#include <pybind11/pybind11.h>

#include <memory>

#include "kai/placement/table_policy.h"

namespace kai::bindings {

class PythonPolicies final : public TablePolicies {
 public:
  // Call with the GIL held.
  explicit PythonPolicies(pybind11::object runner);
  PythonPolicies(const PythonPolicies&) = delete;
  PythonPolicies& operator=(const PythonPolicies&) = delete;
  ~PythonPolicies() override;

  std::unique_ptr<PolicyRun> Begin(const Cluster& cluster,
                                   std::shared_ptr<PolicyColumns> columns) const override;

 private:
  pybind11::object runner_;
};

}  // namespace kai::bindings

#endif  // KAI_BINDINGS_PYTHON_POLICIES_H_

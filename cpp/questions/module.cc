// The Python module kai_questions.
#include <pybind11/pybind11.h>

#include "questions/register.h"

PYBIND11_MODULE(kai_questions, module) {
  module.doc() = "Questions to single functions; resources in the order cpu, memory, gpu.";
  kai::questions::RegisterFairshare(module);
  kai::questions::RegisterPlacement(module);
}

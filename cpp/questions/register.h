// One function per file, called from module.cc.
#ifndef KAI_QUESTIONS_REGISTER_H_
#define KAI_QUESTIONS_REGISTER_H_

#include <pybind11/pybind11.h>

namespace kai::questions {

void RegisterFairshare(pybind11::module_& module);
void RegisterPlacement(pybind11::module_& module);

}  // namespace kai::questions

#endif  // KAI_QUESTIONS_REGISTER_H_

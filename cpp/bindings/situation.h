// What an explanation needs to know of the cluster that was planned: which pod asks for what, and
// what there is.
#ifndef KAI_BINDINGS_SITUATION_H_
#define KAI_BINDINGS_SITUATION_H_

#include <pybind11/pybind11.h>

#include "kai/model/columns/cluster.h"

namespace kai::bindings {

// Lists of tuples, by kind; python/kai/_core/__init__.pyi names their members.
pybind11::dict SituationOf(const Cluster& cluster);

}  // namespace kai::bindings

#endif  // KAI_BINDINGS_SITUATION_H_

// Memory of an engine's cluster, and of what a cycle keeps for the next one: Engine::Memory().
//
//   AddMemoryOf(*live_->cluster, &report);
//   AddMemoryOf(*rooms_, &report);
//
// Invariants: resource claims and the filters of a configuration are not counted. Cost: a walk over
// all columns. Threads: as for reading them.
#ifndef KAI_ENGINE_ENGINE_BYTES_H_
#define KAI_ENGINE_ENGINE_BYTES_H_

#include "kai/base/memory_report.h"
#include "kai/model/columns/cluster.h"
#include "kai/session/cycle_rooms.h"

namespace kai {

void AddMemoryOf(const Cluster& cluster, MemoryReport* report);
void AddMemoryOf(const CycleRooms& rooms, MemoryReport* report);

}  // namespace kai

#endif  // KAI_ENGINE_ENGINE_BYTES_H_

// What an engine remembers beside the objects of its store, as JSON: assumptions and promises. A
// scheduler that starts again goes on with it where the one before has stopped.
//
//   return MemoryJson({.assumed = *assumptions_.all(), .promises = promises_.all()});
//   absl::StatusOr<EngineMemory> memory = ReadMemory(json);
//
// Members: `version` (1); `assumed`, with `last_id`, `bound` (each `id`, `uid` of the pod, the
// BindRequest as `request`, and whether it `replaces` one of its name) and `evicted` (`id`, `pod`,
// `uid`, `at_ns`); `promises` (`pod_group`, `queue`, `created_ns`, `pod_set`, `pod`, `node`,
// `kept_ns`). Pods and pod groups are "namespace/name", but for the pod of a promise.
//
// Invariants: what was written reads back equal; members that are not known are skipped, and what
// makes no sense is refused in one sentence. Cost: that of the text. Threads: pure functions.
#ifndef KAI_ENGINE_MEMORY_H_
#define KAI_ENGINE_MEMORY_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kai/engine/assumptions.h"
#include "kai/engine/promises.h"

namespace kai {

struct EngineMemory {
  Assumptions::All assumed;
  std::vector<Promise> promises;
};

std::string MemoryJson(const EngineMemory& memory);

// InvalidArgument: "memory: promises[0].node: expected a string, found a number".
absl::StatusOr<EngineMemory> ReadMemory(std::string_view json);

}  // namespace kai

#endif  // KAI_ENGINE_MEMORY_H_

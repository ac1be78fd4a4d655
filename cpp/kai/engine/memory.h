// What an engine has to remember besides the objects of its store, as JSON: assumptions, promises,
// and the time in which durations count. With it, a scheduler that restarts continues where the
// previous one stopped.
//
//   return MemoryJson({.assumed = *assumptions_.all(), .promises = promises_.all(), ...});
//   absl::StatusOr<EngineMemory> memory = ReadMemory(json);
//
// Members: `version` (1); `assumed`, with `last_id`, `bound` (each with `id`, `uid` of the pod, the
// BindRequest as `request`, and `replaces`: the store has another request of its name) and
// `evicted` (`id`, `pod`, `uid`, `at_ns`); `evictors` (`pod_group`, `queue`, `created_ns`,
// `unkept`, `since_ns`, `evicted_ns`, `lost_ns`, and `victims` and `lost`, each of them with
// `pod_group`, `pod`, `node`); `promises` (`pod_group`, `queue`, `created_ns`, `pod_set`, `pod`,
// `node`, `gpus`, `kept_ns`); `trusted` (`from_ns`, `until_ns`), if it has bounds. Pods and pod
// groups are "namespace/name", except the pods of promises and evictors.
//
// Invariants: what was written reads back equal; unknown members are skipped, and invalid content
// is an error of one sentence. Cost: that of the text. Threads: pure functions.
#ifndef KAI_ENGINE_MEMORY_H_
#define KAI_ENGINE_MEMORY_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kai/actions/cycle_time.h"
#include "kai/engine/assumptions.h"
#include "kai/engine/promises.h"

namespace kai {

struct EngineMemory {
  Assumptions::All assumed;
  std::vector<Promise> promises;
  std::vector<Evictor> evictors;
  TrustedTime trusted;
};

std::string MemoryJson(const EngineMemory& memory);

// InvalidArgument: "memory: promises[0].node: expected a string, found a number".
absl::StatusOr<EngineMemory> ReadMemory(std::string_view json);

}  // namespace kai

#endif  // KAI_ENGINE_MEMORY_H_

// A plain second implementation of the evicting actions and of whole cycles: consolidation,
// reclaim, preemption and the end of stale gangs, transcribed from docs/spec (spec 2 V1-V17, R1-R7,
// spec 1 F84-F109) with the functions of slow_oracle.h. Property tests compare the engine with it.
//
//   oracle::World world(rows, {});
//   std::vector<oracle::Decision> plan = oracle::RunCycle(&world, {"allocate", "reclaim"});
//
// There are no time budgets: every search ends by itself. A scenario is tried on a copy of the
// world, and an accepted copy becomes the world.
//
// Where the specification leaves an order open, this one is used: worklists are filled by (creation
// time, name); the pods of a batch come in reverse order of sub-groups and pods, but those of a
// whole group by name of its sub-groups; stale pod groups are evicted by (creation time, name), and
// their pods by name.
#ifndef KAI_TESTING_ORACLE_SLOW_EVICTIONS_H_
#define KAI_TESTING_ORACLE_SLOW_EVICTIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kai/testing/oracle/slow_oracle.h"

namespace kai::oracle {

// Runs actions in the given order, by their names in configurations ("allocate", "consolidation",
// "reclaim", "preempt", "stalegangeviction"); the world is then that at the end of the cycle. The
// decisions are in the order in which they have to be carried out; a victim that stays in place has
// none.
std::vector<Decision> RunCycle(World* world, const std::vector<std::string>& actions);

// How many pods a search evicted, lost or moved, and the smallest number that would have sufficed:
// over all sets of its candidates' running pods that leave gangs whole or satisfied, tried one by
// one as the search tries scenarios.
struct Excess {
  std::string action;
  int64_t victims = 0;
  int64_t fewest = 0;
  int64_t candidates = 0;
};
// For the searches of a cycle that found a solution among at most `most_pods` pods.
std::vector<Excess> ExcessOf(World* world, const std::vector<std::string>& actions,
                             size_t most_pods);

// ---- parts, for tests ---------------------------------------------------------------------------

// The pods that a group gives up next when `pods` are left, in their order (spec 2 G14).
std::vector<std::string> NextBatch(const World& world, std::string_view pod_group,
                                   const std::vector<std::string>& pods);

// The order in which whole pod groups become victims (spec 2 O4, spec 1 F109).
std::vector<std::string> VictimOrder(const World& world, const std::vector<std::string>& groups);

// The growing lists of victims that a search tries: batch after batch of these pod groups, when
// `recorded` victims are already fixed (spec 2 V8).
std::vector<std::vector<std::string>> Bases(const World& world,
                                            const std::vector<std::string>& groups,
                                            const std::vector<std::string>& recorded);

// How many of the nodes, the smallest first, are tried for the missing amount (spec 2 V9).
std::vector<size_t> PrefixSizes(const std::vector<double>& capacities, double missing);

// Pods of one leaf queue that are taken together (spec 1 F89).
struct Chunk {
  std::string queue;
  QuotaCount amount{};
  double mig_gpus = 0;  // the part that does not make GPUs "involved" (spec 1 F91)
};
// May `queue` take these for a request (spec 1 F90-F94)?
struct Claim {
  std::string queue;
  bool preemptible = true;
  QuotaCount request{};
  double mig_gpus = 0;  // as in a Chunk
};
bool MayReclaim(const std::map<std::string, QueueNumbers>& numbers,
                const std::map<std::string, std::string>& parents, const Claim& claim,
                const std::vector<Chunk>& chunks, double multiplier);

// How long the pod groups of a queue may run before a waiting pod group of another queue, or of the
// same one, may take their pods (spec 1 F105).
int64_t MinRuntimeNs(const World& world, const std::string& action, std::string_view waiting,
                     std::string_view victim);

}  // namespace kai::oracle

#endif  // KAI_TESTING_ORACLE_SLOW_EVICTIONS_H_

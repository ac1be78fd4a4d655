// What evicts, and whole cycles, once more and plainly: consolidation, reclaim, preemption and the
// end of stale gangs, transcribed from docs/spec (spec 2 V1-V17, R1-R7, spec 1 F84-F109) on the
// words of slow_oracle.h. Property tests compare the engine with it.
//
//   oracle::World world(rows, {});
//   std::vector<oracle::Decision> plan = oracle::RunCycle(&world, {"allocate", "reclaim"});
//
// Time budgets have no place here: every search ends by itself. A scenario is tried on a copy of
// the world, and a copy that is good becomes the world.
//
// Where the specification leaves an order open, this one is taken: worklists are filled by
// (creation time, name); what a batch takes comes in reverse order of sub-groups and pods, but a
// whole group by name of its sub-groups; pod groups that went stale are evicted by (creation time,
// name), their pods by name.
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

// Runs actions in the order given, by their names in configurations ("allocate", "consolidation",
// "reclaim", "preempt", "stalegangeviction"), and leaves the world as the cycle leaves it. The
// decisions are in the order in which they have to happen; a victim that stays where it is has
// none.
std::vector<Decision> RunCycle(World* world, const std::vector<std::string>& actions);

// What a search evicted, lost or moved, and how few pods would have done: of all sets of pods that
// its candidates run, tried one by one as that search tries them, where gangs leave whole or keep
// what they need.
struct Excess {
  std::string action;
  int64_t victims = 0;
  int64_t fewest = 0;
  int64_t candidates = 0;
};
// Of the searches of a cycle that found something among at most so many pods.
std::vector<Excess> ExcessOf(World* world, const std::vector<std::string>& actions,
                             size_t most_pods);

// ---- parts, for tests
// ----------------------------------------------------------------------------

// What a pod group gives up next when `pods` are left of it, first to go first (spec 2 G14).
std::vector<std::string> NextBatch(const World& world, std::string_view pod_group,
                                   const std::vector<std::string>& pods);

// The order in which pod groups, each as a whole, are taken as victims (spec 2 O4, spec 1 F109).
std::vector<std::string> VictimOrder(const World& world, const std::vector<std::string>& groups);

// The growing lists of victims that a search looks at: batch after batch of these pod groups, given
// that victims are fixed already (spec 2 V8).
std::vector<std::vector<std::string>> Bases(const World& world,
                                            const std::vector<std::string>& groups,
                                            const std::vector<std::string>& recorded);

// How many of the nodes, the smallest first, are tried for what is missing (spec 2 V9).
std::vector<size_t> PrefixSizes(const std::vector<double>& capacities, double missing);

// Pods of one leaf queue that are taken in one piece (spec 1 F89).
struct Chunk {
  std::string queue;
  QuotaCount amount{};
  double mig_gpus = 0;  // the part of the amount that does not make GPUs "involved" (spec 1 F91)
};
// May `queue` take these for a request? (spec 1 F90-F94)
struct Claim {
  std::string queue;
  bool preemptible = true;
  QuotaCount request{};
  double mig_gpus = 0;  // as in a Chunk
};
bool MayReclaim(const std::map<std::string, QueueNumbers>& numbers,
                const std::map<std::string, std::string>& parents, const Claim& claim,
                const std::vector<Chunk>& chunks, double multiplier);

// How long the pod groups of a queue may run before a pod group of another one, or of the same, may
// take from them (spec 1 F105).
int64_t MinRuntimeNs(const World& world, const std::string& action, std::string_view waiting,
                     std::string_view victim);

}  // namespace kai::oracle

#endif  // KAI_TESTING_ORACLE_SLOW_EVICTIONS_H_

// A second implementation of the orders of the plugin `joborder`, as plain formulas of real
// numbers.
//
//   kept->job_keys = JobKeys(*kept, pods_);
//   MattersMore(world, waiting, victim)
#ifndef KAI_TESTING_ORACLE_SLOW_JOB_ORDER_H_
#define KAI_TESTING_ORACLE_SLOW_JOB_ORDER_H_

#include <vector>

#include "kai/testing/oracle/slow_oracle.h"

namespace kai::oracle::parts {

// Keys by group; the lower key goes first. Empty without the plugin.
std::vector<long double> JobKeys(const World::Kept& kept,
                                 const std::vector<World::PodState>& states);

// True if a waiting group may preempt another one of its queue, ignoring minimum run times.
bool MattersMore(const World& world, int waiting, int victim);

}  // namespace kai::oracle::parts

#endif  // KAI_TESTING_ORACLE_SLOW_JOB_ORDER_H_

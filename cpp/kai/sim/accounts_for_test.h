// For tests: checks the held, kept and lost time of a simulation's pods.
//
//   ExpectTimeIsAccountedFor(workload, run->timeline());
#ifndef KAI_SIM_ACCOUNTS_FOR_TEST_H_
#define KAI_SIM_ACCOUNTS_FOR_TEST_H_

#include "kai/sim/timeline.h"
#include "kai/sim/workload.h"

namespace kai {

// For each job: the time that its pods held equals what they kept, lost and held without work; and
// a job that has ended did its work exactly once.
void ExpectTimeIsAccountedFor(const SimWorkload& workload, const Timeline& timeline);

}  // namespace kai

#endif  // KAI_SIM_ACCOUNTS_FOR_TEST_H_

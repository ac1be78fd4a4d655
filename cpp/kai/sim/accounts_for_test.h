// What a simulation's pods held, kept and lost, for tests.
//
//   ExpectTimeIsAccountedFor(workload, run->timeline());
#ifndef KAI_SIM_ACCOUNTS_FOR_TEST_H_
#define KAI_SIM_ACCOUNTS_FOR_TEST_H_

#include "kai/sim/timeline.h"
#include "kai/sim/workload.h"

namespace kai {

// Of each job: what its pods held is what they kept, lost and held in vain; and a job that has
// ended did its work once.
void ExpectTimeIsAccountedFor(const SimWorkload& workload, const Timeline& timeline);

}  // namespace kai

#endif  // KAI_SIM_ACCOUNTS_FOR_TEST_H_

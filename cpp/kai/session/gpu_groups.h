// Names for devices that pods start to share in a cycle (spec 3 S8). They are computed from the
// time of the cycle, the node and the device's number, so that the same input gives the same plan.
// KAI's names are random.
//
//   NewGpuGroup(1'767'225'600'000'000'000, "n1", 0)
//
// Invariants: equal arguments give equal names. Cost: a hash and a string. Threads: a pure
// function, thread-safe.
#ifndef KAI_SESSION_GPU_GROUPS_H_
#define KAI_SESSION_GPU_GROUPS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace kai {

// A UUID of version 8. A higher `attempt` gives another name, if the first is in use.
std::string NewGpuGroup(int64_t cycle_ns, std::string_view node, int32_t number,
                        int32_t attempt = 0);

}  // namespace kai

#endif  // KAI_SESSION_GPU_GROUPS_H_

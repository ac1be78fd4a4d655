// The time at which tests plan, unless they test time.
#ifndef KAI_TESTING_MAKERS_TEST_TIME_H_
#define KAI_TESTING_MAKERS_TEST_TIME_H_

#include <cstdint>

namespace kai {

inline constexpr int64_t kTestNowNs = 1'000'000'000'000'000;  // long after all objects were created

}  // namespace kai

#endif  // KAI_TESTING_MAKERS_TEST_TIME_H_

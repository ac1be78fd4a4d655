#include "kai/base/check.h"

#include <gtest/gtest.h>

namespace kai::check_test {
namespace {

TEST(CheckTest, PassesWhenTheConditionIsTrue) {
  int asked = 0;
  KAI_CHECK(++asked == 1) << "the message is built only on failure " << ++asked;
  EXPECT_EQ(asked, 1);
}

TEST(CheckDeathTest, FailurePrintsTheLineAndTheMessageAndEndsTheProgram) {
  const int groups = 0;
  EXPECT_DEATH(KAI_CHECK(groups > 0) << "the pod has " << groups << " groups",
               "check_test.cc:[0-9]+: check failed: groups > 0 the pod has 0 groups");
}

TEST(CheckTest, WorksInABranchWithoutBraces) {
  const bool ok = true;
  if (ok)
    KAI_CHECK(ok);
  else
    FAIL();
}

#ifdef NDEBUG
TEST(CheckTest, DchecksAreNotEvaluatedInAReleaseBuild) {
  int asked = 0;
  KAI_DCHECK(++asked == 7) << "a release build does not evaluate this";
  EXPECT_EQ(asked, 0);
}
#else
TEST(CheckDeathTest, DchecksFailInDebugBuilds) {
  EXPECT_DEATH(KAI_DCHECK(1 + 1 == 3) << "arithmetic", "1 \\+ 1 == 3 arithmetic");
}
#endif

}  // namespace
}  // namespace kai::check_test

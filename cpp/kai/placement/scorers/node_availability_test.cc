#include <gtest/gtest.h>

#include "kai/placement/scorers/scorers.h"

namespace kai::node_availability_test {
namespace {

TEST(NodeAvailabilityScorerTest, ScoresAThousandIfThePodCanStartNow) {
  const auto scorer = MakeNodeAvailabilityScorer();
  EXPECT_EQ(scorer->Score(PodClassId(0), NodeId(0), {.fits_now = true}), 1000);
  EXPECT_EQ(scorer->Score(PodClassId(0), NodeId(0), {.fits_now = false}), 0);
  EXPECT_EQ(scorer->DependsOn(PodClassId(0)), Scorer::Dependence::kFitsNow);
}

}  // namespace
}  // namespace kai::node_availability_test

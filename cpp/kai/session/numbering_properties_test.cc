// No decision depends on ids: objects numbered at random give the same plan, byte for byte.
#include <gtest/gtest.h>

#include <string>

#include "kai/base/text.h"
#include "kai/session/plans_for_test.h"
#include "kai/testing/makers/crowded_cluster.h"
#include "kai/testing/makers/random_cluster.h"

namespace kai::numbering_properties_test {
namespace {

// With all switches on, or as KAI.
class NumberingTest : public testing::TestWithParam<bool> {
 protected:
  // Compares the plans of rows numbered by name with those of rows numbered at random.
  void Compare(uint64_t seed, ClusterRows rows, const std::string& config_json) const {
    const Session session(ParseConfig(config_json, GetParam()));
    const std::string by_name = TextOf(RunPlan(session, rows.Build()));
    for (uint64_t numbering = 1; numbering <= 3; ++numbering) {
      rows.numbering_seed = seed * 10 + numbering;
      EXPECT_EQ(FirstDifference(by_name, TextOf(RunPlan(session, rows.Build()))), "");
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Mode, NumberingTest, testing::Bool(), [](const auto& mode) {
  return std::string(mode.param ? "AsKai" : "Fixed");
});

TEST_P(NumberingTest, DoesNotAffectPlansOfRandomClusters) {
  ForSeeds(100, [&](uint64_t seed) {
    Random random(seed);
    RandomClusterOptions shape{.max_nodes = random.OneIn(4) ? 60 : 12,
                               .max_groups = random.OneIn(4) ? 60 : 16,
                               .max_pods = 5};
    if (random.OneIn(2)) shape.sharers = RandomSharersOptions();
    if (random.OneIn(2)) shape.topology = RandomTopologyOptions();
    shape.sub_groups = random.OneIn(2);
    Compare(seed, MakeRandomCluster(seed, shape), MakeCrowdedCluster(seed).config_json);
  });
}

TEST_P(NumberingTest, DoesNotAffectPlansOfCrowdedClusters) {
  ForSeeds(100, [&](uint64_t seed) {
    Random random(seed);
    CrowdedClusterOptions shape;
    if (random.OneIn(2)) shape.sharers = RandomSharersOptions();
    if (random.OneIn(2)) shape.topology = RandomTopologyOptions();
    const CrowdedCluster crowded = MakeCrowdedCluster(seed, shape);
    Compare(seed, crowded.rows, crowded.config_json);
  });
}

}  // namespace
}  // namespace kai::numbering_properties_test

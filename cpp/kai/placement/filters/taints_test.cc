#include <gtest/gtest.h>

#include "kai/placement/filters/filter_for_test.h"
#include "kai/placement/filters/filters.h"

namespace kai::taints_test {
namespace {

constexpr char kRefused[] = "node(s) had untolerated taint(s)";

std::string AnswerFor(std::vector<Taint> taints, std::vector<Toleration> tolerations) {
  const auto cluster = MakeCluster()
                           .Node("n", {.taints = std::move(taints)})
                           .Pending("ns/p", {.tolerations = std::move(tolerations)})
                           .Build();
  return AnswerOf(*MakeTaintFilter(*cluster), *cluster, "ns/p-0", "n");
}

Taint Dedicated(TaintEffect effect, std::string value = "research") {
  return {.key = "dedicated", .value = std::move(value), .effect = effect};
}

TEST(TaintFilterTest, NoScheduleAndNoExecuteRefuseAndPreferNoScheduleDoesNot) {
  EXPECT_EQ(AnswerFor({Dedicated(TaintEffect::kNoSchedule)}, {}), kRefused);
  EXPECT_EQ(AnswerFor({Dedicated(TaintEffect::kNoExecute)}, {}), kRefused);
  EXPECT_EQ(AnswerFor({Dedicated(TaintEffect::kPreferNoSchedule)}, {}), "");
}

TEST(TaintFilterTest, EqualToleratesThatValueOnly) {
  const Toleration same{.key = "dedicated", .exists = false, .value = "research"};
  EXPECT_EQ(AnswerFor({Dedicated(TaintEffect::kNoSchedule)}, {same}), "");
  EXPECT_EQ(AnswerFor({Dedicated(TaintEffect::kNoSchedule, "sales")}, {same}), kRefused);
}

TEST(TaintFilterTest, ExistsToleratesEveryValueOfItsKey) {
  const Toleration any{.key = "dedicated", .exists = true, .value = {}};
  EXPECT_EQ(AnswerFor({Dedicated(TaintEffect::kNoSchedule)}, {any}), "");
  EXPECT_EQ(AnswerFor({Dedicated(TaintEffect::kNoExecute, "sales")}, {any}), "");
  const Toleration other{.key = "spot", .exists = true, .value = {}};
  EXPECT_EQ(AnswerFor({Dedicated(TaintEffect::kNoSchedule)}, {other}), kRefused);
}

TEST(TaintFilterTest, ExistsWithoutAKeyToleratesEverything) {
  const Toleration everything{.key = "", .exists = true, .value = {}};
  EXPECT_EQ(AnswerFor({Dedicated(TaintEffect::kNoSchedule),
                       {.key = "spot", .value = "", .effect = TaintEffect::kNoExecute}},
                      {everything}),
            "");
}

TEST(TaintFilterTest, ATolerationOfOneEffectDoesNotTolerateAnother) {
  const Toleration schedule{
      .key = "dedicated", .exists = true, .value = {}, .effect = TaintEffect::kNoSchedule};
  EXPECT_EQ(AnswerFor({Dedicated(TaintEffect::kNoSchedule)}, {schedule}), "");
  EXPECT_EQ(AnswerFor({Dedicated(TaintEffect::kNoExecute)}, {schedule}), kRefused);
}

TEST(TaintFilterTest, EveryTaintHasToBeTolerated) {
  const Toleration dedicated{.key = "dedicated", .exists = true, .value = {}};
  const Toleration spot{.key = "spot", .exists = true, .value = {}};
  const std::vector<Taint> both = {
      Dedicated(TaintEffect::kNoSchedule),
      {.key = "spot", .value = "", .effect = TaintEffect::kNoSchedule}};
  EXPECT_EQ(AnswerFor(both, {dedicated}), kRefused);
  EXPECT_EQ(AnswerFor(both, {spot, dedicated}), "");
}

TEST(TaintFilterTest, IsSkippedInAClusterWithoutTaints) {
  const auto cluster = MakeCluster().Node("n").Pending("ns/p").Build();
  EXPECT_EQ(ScopeOf(*MakeTaintFilter(*cluster), *cluster, "ns/p-0"), Filter::Scope::kNothing);
}

}  // namespace
}  // namespace kai::taints_test

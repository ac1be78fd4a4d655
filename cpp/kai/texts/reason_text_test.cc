// Sentences and facts of reasons. messages_test.cc tests the wording of every text; the tests of
// placement and session test the sentences of whole situations.
#include "kai/texts/reason_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "kai/testing/makers/cluster_maker.h"
#include "kai/texts/reason_facts.h"
#include "kai/texts/refusal_words.h"

namespace kai::reason_text_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ReasonTextTest : public ::testing::Test {
 protected:
  ReasonTextTest() {
    ClusterMaker maker =
        MakeCluster()
            .Queue("ns", {.limit_gpus = 8})
            .Node("n1", {.gpus = 1,
                         .more = {{"example.com/license", 2000}, {"nvidia.com/mig-1g.5gb", 1000}}})
            .Pending("ns/g", {.gpus = 1});
    cluster_ = maker.Build();
    pod_ = PodNamed(*cluster_, "ns/g-0");
    group_ = PodGroupNamed(*cluster_, "ns/g");
  }

  NoNodeCausePtr CauseOf(const std::vector<std::pair<Refusal, int64_t>>& refusals) const {
    return std::make_shared<const NoNodeCause>(
        NoNodeCause{.refusals = refusals, .named = {}, .pod = {}});
  }
  std::string Text(const std::vector<std::pair<Refusal, int64_t>>& refusals) const {
    return TextOf(*CauseOf(refusals), pod_, *cluster_);
  }
  std::string Shortage(ResourceSlot slot) const {
    return TextOf(Refusal::NotEnough(slot), pod_, *cluster_);
  }

  std::unique_ptr<Cluster> cluster_;
  PodId pod_;
  PodGroupId group_;
};

TEST_F(ReasonTextTest, RefusalsAreListedInTheOrderOfTheirTexts) {  // spec 2 M6
  EXPECT_EQ(Text({{Refusal::NotEnough(kGpuSlot), 2}, {Refusal::kNodeAffinityMismatch, 1}}),
            "no nodes with enough resources were found: "
            "1 node(s) didn't match Pod's node affinity/selector. \n"
            "2 node(s) didn't have enough resources: GPUs.");
}

TEST_F(ReasonTextTest, CountsAreSortedAsTextsNotAsNumbers) {
  EXPECT_EQ(Text({{Refusal::kNodeUnschedulable, 9}, {Refusal::kNodeNotReady, 10}}),
            "no nodes with enough resources were found: "
            "10 node has NotReady condition. \n9 node is unschedulable.");
}

TEST_F(ReasonTextTest, WithoutACauseTheTextIsGeneral) {
  EXPECT_EQ(Text({}), "Unable to schedule pod");
  EXPECT_EQ(Text({{Refusal::kWithoutText, 3}}), "no nodes with enough resources were found");
}

TEST_F(ReasonTextTest, ResourcesHaveTheirUsualNames) {  // spec 3 E2
  const auto slot = [&](std::string_view name) { return cluster_->slots().Find(name); };
  EXPECT_EQ(Shortage(kGpuSlot), "node(s) didn't have enough resources: GPUs");
  EXPECT_EQ(Shortage(kCpuSlot), "node(s) didn't have enough resources: CPU cores");
  EXPECT_EQ(Shortage(kMemorySlot), "node(s) didn't have enough resources: memory");
  EXPECT_EQ(Shortage(kPodsSlot), "node(s) didn't have enough resources: pods");
  EXPECT_EQ(Shortage(slot("example.com/license")),
            "node(s) didn't have enough resources: example.com/license");
  EXPECT_EQ(Shortage(slot("nvidia.com/mig-1g.5gb")),
            "node(s) didn't have enough of mig profile: nvidia.com/mig-1g.5gb");
}

TEST_F(ReasonTextTest, EveryCauseHasAUniqueTextAndCode) {
  std::set<std::string> texts;
  std::set<std::string_view> words;
  for (int32_t i = 0; i < Refusal::kWithoutText; ++i) {
    texts.insert(TextOf(Refusal(static_cast<Refusal::Cause>(i)), pod_, *cluster_));
    words.insert(WordsOf(static_cast<Refusal::Cause>(i)).word);
  }
  for (int32_t i = Refusal::kVolumes; i < Refusal::kCauses; ++i)
    texts.insert(TextOf(Refusal::AtIndex(static_cast<size_t>(i)), pod_, *cluster_));
  EXPECT_EQ(texts.size(), static_cast<size_t>(Refusal::kCauses) - 1) << "kWithoutText has no text";
  EXPECT_FALSE(texts.contains(""));
  EXPECT_EQ(words.size(), static_cast<size_t>(Refusal::kWithoutText));
  EXPECT_FALSE(words.contains(""));
}

TEST_F(ReasonTextTest, ACauseHasACodeAndAText) {
  EXPECT_EQ(WordsOf(Refusal::kUntoleratedTaints).word, "untolerated_taints");
  EXPECT_EQ(WordsOf(Refusal::kUntoleratedTaints).text, "node(s) had untolerated taint(s)");
}

TEST_F(ReasonTextTest, AGangAndItsPodHaveDifferentEventErrors) {  // spec 2 P6
  const NoNodeCausePtr cause = CauseOf({{Refusal::NotEnough(kGpuSlot), 1}});
  const Reason gang =
      GangIncomplete{.pod = pod_, .cause = cause, .found = 1, .minimum = 2, .pod_set = {}};
  EXPECT_EQ(EventErrorOf(gang, group_, *cluster_).message,
            "Resources were found for 1 pods while 2 are required for gang scheduling. Additional "
            "pods cannot be scheduled due to: no nodes with enough resources were found: 1 "
            "node(s) didn't have enough resources: GPUs.");
  const Reason alone = NoNode{.pod = pod_, .cause = cause};
  EXPECT_THAT(EventErrorOf(alone, group_, *cluster_).message,
              HasSubstr("Resources were not found for pod ns/g-0 due to: no nodes"));
  EXPECT_THAT(MessageOf(alone, group_, *cluster_), testing::StartsWith("no nodes with enough"));
}

// ---- facts --------------------------------------------------------------------------------------

// "name=value"; lists are in brackets.
std::string Shown(const Facts& facts) {
  std::string text;
  for (const Fact& fact : facts) {
    if (!text.empty()) text += ' ';
    text += fact.name;
    text += '=';
    std::visit(
        [&]<typename Value>(const Value& value) {
          if constexpr (std::is_same_v<Value, std::monostate>) {
            text += "null";
          } else if constexpr (std::is_same_v<Value, std::string>) {
            text += value;
          } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
            for (const std::string& each : value) text += "[" + each + "]";
          } else if constexpr (std::is_same_v<Value, std::vector<Facts>>) {
            for (const Facts& each : value) text += "[" + Shown(each) + "]";
          } else {
            text += std::to_string(static_cast<int64_t>(value));
          }
        },
        fact.value);
  }
  return text;
}

TEST_F(ReasonTextTest, FactsOfALimitAreInUnitsForPeople) {
  const QueueId queue = QueueNamed(*cluster_, "ns");
  EXPECT_EQ(Shown(FactsOf(OverLimit{{.queue = queue,
                                     .resource = kQuotaCpu,
                                     .bound = 8000,
                                     .allocated = 7000,
                                     .requested = 2000}},
                          group_, *cluster_)),
            "queue=ns resource=cpu limit=8 allocated=7 requested=2");
  EXPECT_EQ(Shown(FactsOf(OverQuota{{.queue = queue, .resource = kQuotaGpu, .bound = kUnlimited}},
                          group_, *cluster_)),
            "queue=ns resource=gpu deserved=null allocated=0 requested=0");
}

TEST_F(ReasonTextTest, OtherBoundsThatRefuseAreFactsOfTheFirst) {
  const QueueId queue = QueueNamed(*cluster_, "ns");
  const QueueBound gpus = {.queue = queue, .resource = kQuotaGpu, .bound = 1, .requested = 2};
  EXPECT_EQ(Shown(FactsOf(OverLimit{{.queue = queue,
                                     .resource = kQuotaCpu,
                                     .bound = 1000,
                                     .requested = 2000,
                                     .other_limits = {gpus},
                                     .other_quotas = {gpus}}},
                          group_, *cluster_)),
            "queue=ns resource=cpu limit=1 allocated=0 requested=2 also="
            "[queue=ns resource=gpu limit=1 allocated=0 requested=2]"
            "[queue=ns resource=gpu deserved=1 allocated=0 requested=2]");
}

TEST_F(ReasonTextTest, FactsListRefusalsInTheOrderOfTheText) {
  const Reason reason = NoNode{
      .pod = pod_,
      .cause = CauseOf({{Refusal::kNodeUnschedulable, 3}, {Refusal::NotEnough(kGpuSlot), 12}})};
  EXPECT_EQ(Shown(FactsOf(reason, group_, *cluster_)),
            "refusals=[cause=shortage nodes=12 resource=gpu][cause=node_unschedulable nodes=3]");
  EXPECT_EQ(CodeOf(reason), reason_codes::kNotEnoughGpus);
}

TEST_F(ReasonTextTest, FactsOfAPodThatIsTooLargeNameTheResource) {
  NoNodeCause cause;
  cause.pod.push_back(LargerThanAnyNode{.slot = kCpuSlot, .largest = 500});
  const Reason reason =
      NoNode{.pod = pod_, .cause = std::make_shared<const NoNodeCause>(std::move(cause))};
  EXPECT_EQ(Shown(FactsOf(reason, group_, *cluster_)),
            "refusals=[cause=larger_than_any_node resource=cpu requested=1 largest=0]");
  EXPECT_EQ(CodeOf(reason), reason_codes::kLargerThanAnyNode);
}

TEST_F(ReasonTextTest, FactsOfATopologyNameDomainsAndLevels) {
  EXPECT_EQ(
      Shown(FactsOf(DomainTooSmall{.domain = "z.r1", .holds = 3, .wanted = 5}, group_, *cluster_)),
      "domain=z.r1 holds=3 wanted=5");
}

}  // namespace
}  // namespace kai::reason_text_test

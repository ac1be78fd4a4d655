// Properties of every plan: random clusters (the seed is printed).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kai/base/text.h"
#include "kai/model/columns/cluster.h"
#include "kai/session/config.h"
#include "kai/session/plans_for_test.h"
#include "kai/session/session.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/makers/statement_columns.h"
#include "kai/testing/matchers/matchers.h"
#include "kai/testing/oracle/slow_oracle.h"

namespace kai::properties_test {
namespace {

using Kind = CycleLog::Decision::Kind;

// ---- configurations -----------------------------------------------------------------------------

std::string ConfigWith(const std::vector<std::string>& plugins, std::string_view more = "") {
  std::string list;
  for (const std::string& plugin : plugins) {
    StrAppend(&list, list.empty() ? "" : ", ", R"({"name": ")", plugin, R"("})");
  }
  return StrCat(R"({"actions": "allocate", "tiers": [{"plugins": [)", list, "]}]", more, "}");
}

// The configuration that KAI's operator writes (spec 2 C8), for one strategy.
std::string OperatorConfig(std::string_view strategy, std::string_view more = "") {
  std::string json = ConfigWith({"predicates", "proportion", "priority", "nodeavailability",
                                 "resourcetype", "podaffinity", "elastic", "kubeflow", "ray",
                                 "subgrouporder", "taskorder", "nominatednode", "nodeplacement"},
                                more);
  constexpr std::string_view kPlacement = R"({"name": "nodeplacement")";
  json.insert(json.find(kPlacement) + kPlacement.size(),
              StrCat(R"(, "arguments": {"gpu": ")", strategy, R"(", "cpu": ")", strategy, R"("})"));
  return json;
}

std::string TopologyConfig() {
  std::string json = OperatorConfig("binpack");
  constexpr std::string_view kPlacement = R"({"name": "nodeplacement")";
  json.insert(json.find(kPlacement), R"({"name": "topology"}, )");
  return json;
}

struct Setup {
  const char* name;
  std::string config_json;
  bool as_kai = false;

  friend void PrintTo(const Setup& setup, std::ostream* out) { *out << setup.name; }
};

std::vector<Setup> AllSetups() {
  return {
      {"BuiltIn", R"({"actions": "allocate"})"},
      {"Binpack", OperatorConfig("binpack")},
      {"Spread", OperatorConfig("spread")},
      {"Depth", OperatorConfig("binpack", R"(, "queueDepthPerAction": {"allocate": 2})")},
      {"WithoutProportion", ConfigWith({"predicates", "priority", "elastic", "nodeavailability",
                                        "resourcetype", "nodeplacement"})},
      {"WithoutPredicates",
       ConfigWith({"proportion", "priority", "nodeplacement", "nodeavailability"})},
      {"ElasticFirst", ConfigWith({"proportion", "predicates", "elastic", "priority", "taskorder",
                                   "nodeplacement", "nominatednode"})},
      {"Bare", ConfigWith({})},
      {"Extras", OperatorConfig("binpack",
                                R"(, "extras": {"topology_spread": true,
                                                "preferred_node_affinity": true})")},
      {"Topology", TopologyConfig()},
      {"TopologyAsKai", TopologyConfig(), true},
  };
}

Session SessionFor(std::string_view config_json, const Session::Options& options = {},
                   bool as_kai = false) {
  Config config = ParseConfig(config_json, as_kai);
  config.switches.Set(Switch::kExactRollback, true);  // the plain scheduler's worlds are copies
  return Session(config, options);
}

// ---- clusters -----------------------------------------------------------------------------------

constexpr uint64_t kSeeds = 150;

struct Sample {
  uint64_t seed = 0;
  ClusterRows rows;
  std::shared_ptr<Cluster> cluster;  // a plan leaves it unchanged, so all tests share it
};

const std::vector<Sample>& Samples() {
  static const std::vector<Sample> samples = [] {
    std::vector<Sample> made;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      Random random(seed);
      RandomClusterOptions shape{.max_nodes = random.OneIn(4) ? 20 : 6,
                                 .max_groups = random.OneIn(4) ? 40 : 12,
                                 .pod_affinity = random.Coin(),
                                 .bad_queues = random.Coin()};
      if (random.OneIn(3)) shape.topology = RandomTopologyOptions();
      Sample sample{.seed = seed, .rows = MakeRandomCluster(seed, shape), .cluster = nullptr};
      MakeLabelsUnique(&sample.rows);
      sample.cluster = sample.rows.Build();
      made.push_back(std::move(sample));
    }
    return made;
  }();
  return samples;
}

// ---- comparison with the plain scheduler --------------------------------------------------------

class CyclePropertyTest : public testing::TestWithParam<Setup> {
 protected:
  CyclePropertyTest() : session_(SessionFor(GetParam().config_json, {}, GetParam().as_kai)) {}

  // Calls `check` with the plans of all samples under this configuration, until a check fails.
  template <typename Check>
  void ForPlans(const Check& check) const {
    static std::map<std::string, std::vector<Plan>> made;
    std::vector<Plan>& plans = made[GetParam().name];
    for (const Sample& sample : Samples()) {
      SCOPED_TRACE(SeedTrace(sample.seed));
      if (plans.size() == sample.seed) plans.push_back(RunPlan(session_, sample.cluster));
      check(plans[sample.seed], sample);
      if (HasFailure()) return;
    }
  }

  Session session_;
};

TEST_P(CyclePropertyTest, DecidesLikeThePlainSchedulerOneByOne) {
  ForPlans([&](const Plan& plan, const Sample& sample) {
    oracle::World world(sample.rows, oracle::SettingsOf(session_.config()));
    std::vector<oracle::Decision> decisions;
    for (const CycleLog::Decision& decision : plan.decisions) {
      const NodeColumns& nodes = plan.cluster->nodes();
      decisions.push_back({.kind = decision.kind == Kind::kBind ? oracle::Decision::Kind::kBind
                                                                : oracle::Decision::Kind::kPipeline,
                           .pod = plan.cluster->PodName(decision.pod),
                           .node = std::string(plan.cluster->Text(nodes.name[decision.node]))});
    }
    EXPECT_EQ(decisions, oracle::Allocate(&world));
  });
}

TEST_P(CyclePropertyTest, ScanningAllNodesGivesTheSamePlan) {
  const Session by_scan =
      SessionFor(GetParam().config_json, {.always_scan = true}, GetParam().as_kai);
  ForPlans([&](const Plan& plan, const Sample& sample) {
    EXPECT_EQ(TextOf(plan), TextOf(RunPlan(by_scan, sample.cluster)));
  });
}

INSTANTIATE_TEST_SUITE_P(All, CyclePropertyTest, testing::ValuesIn(AllSetups()),
                         [](const auto& setup) { return std::string(setup.param.name); });

// ---- the same input gives the same plan ---------------------------------------------------------

class PlanPropertyTest : public testing::Test {
 protected:
  PlanPropertyTest() : session_(SessionFor(OperatorConfig("binpack"))) {}

  // Calls `check` with a copy of the rows of every sample, to be changed at random.
  template <typename Check>
  void ForRows(const Check& check) const {
    for (const Sample& sample : Samples()) {
      SCOPED_TRACE(SeedTrace(sample.seed));
      Random random(sample.seed);
      check(sample, sample.rows, &random);
      if (HasFailure()) return;
    }
  }
  std::string PlanText(std::shared_ptr<Cluster> cluster) const {
    return TextOf(RunPlan(session_, std::move(cluster)));
  }

  Session session_;
};

TEST_F(PlanPropertyTest, TheOrderOfTheInputDoesNotMatter) {
  ForRows([&](const Sample& sample, ClusterRows rows, Random* random) {
    random->Shuffle(&rows.nodes);
    random->Shuffle(&rows.queues);
    random->Shuffle(&rows.priority_classes);
    random->Shuffle(&rows.pod_groups);
    random->Shuffle(&rows.pods);
    random->Shuffle(&rows.bind_requests);
    EXPECT_EQ(PlanText(rows.Build()), PlanText(sample.cluster));
  });
}

TEST_F(PlanPropertyTest, TheOrderInsideAnObjectDoesNotMatter) {
  ForRows([&](const Sample& sample, ClusterRows rows, Random* random) {
    for (NodeRow& node : rows.nodes) {
      random->Shuffle(&node.labels);
      random->Shuffle(&node.allocatable);
      random->Shuffle(&node.taints);
    }
    for (PodRow& pod : rows.pods) {
      random->Shuffle(&pod.labels);
      random->Shuffle(&pod.requests);
      random->Shuffle(&pod.node_selector);
      random->Shuffle(&pod.tolerations);
      random->Shuffle(&pod.node_affinity);
    }
    EXPECT_EQ(PlanText(rows.Build()), PlanText(sample.cluster));
  });
}

TEST_F(PlanPropertyTest, TwoPlansOfOneClusterAreTheSame) {
  ForRows([&](const Sample& sample, const ClusterRows&, Random*) {
    EXPECT_EQ(PlanText(sample.cluster), PlanText(sample.cluster));
  });
}

TEST_F(PlanPropertyTest, ACycleRestoresEveryBitOfTheCluster) {
  ForRows([&](const Sample&, ClusterRows rows, Random*) {
    MakeAmountsInexact(&rows);
    const std::shared_ptr<Cluster> cluster = rows.Build();
    const StatementColumns before(*cluster);
    RunPlan(session_, cluster);
    EXPECT_TRUE(before == StatementColumns(*cluster));
  });
}

// ---- rules that hold for every plan -------------------------------------------------------------

TEST_P(CyclePropertyTest, NoGroupIsPlacedBelowItsMinimum) {
  ForPlans([&](const Plan& plan, const Sample&) {
    const Cluster& cluster = *plan.cluster;
    std::map<SubGroupId, int> bound;
    std::map<SubGroupId, int> placed;
    for (const CycleLog::Decision& decision : plan.decisions) {
      const SubGroupId pod_set = cluster.pods().pod_set[decision.pod];
      bound[pod_set] += decision.kind == Kind::kBind ? 1 : 0;
      ++placed[pod_set];
    }
    for (const auto& [pod_set, count] : placed) {
      const int32_t minimum = cluster.sub_groups().minimum[pod_set];
      const StatusCounts& counts = cluster.sub_groups().counts[pod_set];
      // In an optional sub-group, the pods that exist may start (spec 2 G13).
      if (counts.alive() - counts[PodStatus::kGated] < minimum) continue;
      const int32_t before = counts.allocated();
      const std::string name = cluster.PodGroupName(cluster.sub_groups().group[pod_set]);
      EXPECT_GE(before + count, minimum) << name;
      if (bound[pod_set] > 0) {
        EXPECT_GE(before + bound[pod_set], minimum)
            << name << ": some pods start while others have to wait";
      }
    }
  });
}

TEST_P(CyclePropertyTest, OnlyWaitingPodsHaveADecisionAndOnlyOne) {
  ForPlans([&](const Plan& plan, const Sample&) {
    std::map<PodId, int> times;
    for (const CycleLog::Decision& decision : plan.decisions) {
      EXPECT_EQ(++times[decision.pod], 1) << plan.cluster->PodName(decision.pod);
      EXPECT_EQ(plan.cluster->pods().status[decision.pod], PodStatus::kPending);
      EXPECT_TRUE(plan.cluster->pods().group[decision.pod].valid());
    }
  });
}

TEST_P(CyclePropertyTest, NoNodeIsOverCommitted) {
  ForPlans([&](const Plan& plan, const Sample&) {
    const Cluster& cluster = *plan.cluster;
    // First only the bindings: each has to fit into what is idle at that point. Then also the
    // promises: they have to fit into what will be free.
    for (const bool with_promises : {false, true}) {
      ResourceTable<NodeId> room = cluster.nodes().idle;
      std::set<std::pair<NodeId, int32_t>> shared;  // devices that no pod shared before
      for (const CycleLog::Decision& decision : plan.decisions) {
        if (!with_promises && decision.kind != Kind::kBind) continue;
        std::vector<double> request(cluster.RequestOf(decision.pod).begin(),
                                    cluster.RequestOf(decision.pod).end());
        // The first pod on a shared device uses a whole device; sharing_properties_test checks the
        // parts.
        if (decision.gpus >= 0) {
          request[kGpuSlot.index()] = 0;
          const auto known =
              static_cast<int32_t>(cluster.nodes().shared_gpus[decision.node].size());
          for (const int32_t gpu : plan.shared_gpus[static_cast<size_t>(decision.gpus)]) {
            if (gpu >= known && shared.emplace(decision.node, gpu).second)
              request[kGpuSlot.index()] += 1;
          }
        }
        for (size_t i = 0; i < request.size(); ++i) {
          double& left = room[decision.node][i];
          left -= request[i];
          // Overdue pods release nothing; this allows at most what the columns contain.
          const double coming = with_promises ? cluster.nodes().releasing[decision.node][i] : 0;
          EXPECT_GE(left + coming, 0) << cluster.PodName(decision.pod) << " on "
                                      << cluster.Text(cluster.nodes().name[decision.node]) << ": "
                                      << cluster.slots().Name(ResourceSlot(i));
        }
      }
    }
  });
}

TEST_P(CyclePropertyTest, NoQueueExceedsItsLimitOrItsNonPreemptibleQuota) {
  if (!session_.config().HasPlugin("proportion")) return;  // not checked then
  ForPlans([&](const Plan& plan, const Sample&) {
    const Cluster& cluster = *plan.cluster;
    auto all_sums = cluster.queues().sums;  // at the start of the cycle; updated below
    for (const CycleLog::Decision& decision : plan.decisions) {
      const PodGroupId group = cluster.pods().group[decision.pod];
      const QuotaCount& amounts = cluster.ClassOf(decision.pod).requested;
      const bool preemptible = cluster.pod_groups().preemptible[group] != 0;
      for (QueueId queue = cluster.pod_groups().queue[group]; queue.valid();
           queue = cluster.queues().parent[queue]) {
        QueueSums& sums = all_sums[queue];
        sums.allocated += amounts;
        if (!preemptible) sums.allocated_non_preemptible += amounts;
        for (size_t i = 0; i < kQuotaResources; ++i) {
          const Share& share = plan.queues[queue][i];
          if (amounts[i] == 0) continue;
          if (share.limit != kUnlimited) {
            EXPECT_LE(sums.allocated[i], share.limit) << cluster.PodName(decision.pod);
          }
          if (!preemptible && share.deserved != kUnlimited) {
            EXPECT_LE(sums.allocated_non_preemptible[i], share.deserved)
                << cluster.PodName(decision.pod);
          }
        }
      }
    }
  });
}

TEST_P(CyclePropertyTest, EveryGroupThatWaitsHasAReason) {
  ForPlans([&](const Plan& plan, const Sample&) {
    const Cluster& cluster = *plan.cluster;
    std::map<PodGroupId, int> decided;
    for (const CycleLog::Decision& decision : plan.decisions) {
      ++decided[cluster.pods().group[decision.pod]];
    }
    for (const PodGroupId group : plan.cluster->pod_groups().name.ids()) {
      const GroupOutcome& outcome = plan.OutcomeOf(group);
      const std::string name = cluster.PodGroupName(group);
      const bool got_something = decided.contains(group);
      const bool reports_pods = outcome.verdict == Verdict::kPlaced ||
                                outcome.verdict == Verdict::kPipelined ||
                                outcome.verdict == Verdict::kPartlyPlaced;
      EXPECT_EQ(got_something, reports_pods) << name << ": " << VerdictName(outcome.verdict);
      if (outcome.verdict == Verdict::kUnschedulable || outcome.verdict == Verdict::kNotReady ||
          outcome.verdict == Verdict::kInvalid) {
        EXPECT_FALSE(ReasonsOf(plan, group).empty())
            << name << ": " << VerdictName(outcome.verdict);
      }
    }
    // Every waiting pod of a ready group has its own text.
    std::map<PodId, int> texts;
    for (const auto& [pod, text] : ConditionsOf(plan)) {
      EXPECT_NE(text, "");
      ++texts[pod];
    }
    for (const auto& [pod, count] : texts) EXPECT_EQ(count, 1) << cluster.PodName(pod);
  });
}

}  // namespace
}  // namespace kai::properties_test

// Properties of topology domains: random clusters (the seed is printed), with KAI's weaknesses
// corrected and as in KAI.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kai/base/text.h"
#include "kai/session/config.h"
#include "kai/session/plans_for_test.h"
#include "kai/session/session.h"
#include "kai/testing/makers/cluster_maker.h"
#include "kai/testing/makers/random_cluster.h"
#include "kai/testing/oracle/slow_oracle.h"

namespace kai::topology_properties_test {
namespace {

// With all switches on, or as KAI.
class TopologyPropertyTest : public testing::TestWithParam<bool> {
 protected:
  bool as_kai() const { return GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Mode, TopologyPropertyTest, testing::Bool(), [](const auto& mode) {
  return std::string(mode.param ? "AsKai" : "Fixed");
});

std::string ConfigFor(Random* random) {
  const char* strategy = random->OneIn(3) ? "spread" : "binpack";
  return StrCat(R"({"actions": "allocate", "tiers": [{"plugins": [{"name": "predicates"}, )",
                R"({"name": "proportion"}, {"name": "priority"}, {"name": "nodeavailability"}, )",
                R"({"name": "resourcetype"}, {"name": "podaffinity"}, {"name": "elastic"}, )",
                R"({"name": "gpupack"}, {"name": "gpusharingorder"}, )",
                random->OneIn(6) ? "" : R"({"name": "subgrouporder"}, )",
                R"({"name": "taskorder"}, {"name": "nominatednode"}, {"name": "topology"}, )",
                R"({"name": "nodeplacement", "arguments": {"gpu": ")", strategy, R"(", "cpu": ")",
                strategy, R"("}}]}]})");
}

TEST_P(TopologyPropertyTest, AllocatesLikeThePlainSchedulerOneByOne) {
  ForSeeds(150, [&](uint64_t seed) {
    Random random(seed);
    RandomClusterOptions shape{.max_nodes = random.OneIn(4) ? 20 : 8,
                               .max_groups = random.OneIn(4) ? 24 : 8,
                               .max_pods = random.OneIn(4) ? 9 : 5};
    // Mostly topology and little else, so that more decisions depend on it.
    if (!random.OneIn(3)) {
      shape.bad_nodes = shape.taints = shape.labels = shape.pod_affinity = false;
      shape.limits = shape.bad_queues = false;
      shape.terms.reset();
    }
    if (random.OneIn(4)) shape.sharers = RandomSharersOptions();
    shape.sub_groups = random.OneIn(3);
    shape.topology = RandomTopologyOptions();
    const ClusterRows rows = MakeRandomCluster(seed, shape);
    Config config = ParseConfig(ConfigFor(&random), as_kai());
    config.switches.Set(Switch::kExactRollback, true);  // the plain scheduler's worlds are copies
    oracle::World world(rows, oracle::SettingsOf(config));
    EXPECT_EQ(DecisionsOf(RunPlan(Session(config), rows.Build())), oracle::Allocate(&world));
  });
}

// ---- the choice of a domain
// -----------------------------------------------------------------------

// One gang of equal pods that has to be in one domain of a level, and pods that use some of the
// nodes.
struct Question {
  ClusterRows rows;
  std::vector<std::string> labels;  // down to the required level
  size_t pods = 0;
};

Question QuestionFor(uint64_t seed) {
  Random random(seed);
  ClusterMaker maker;
  const std::vector<std::string> labels = {"zone", "block", "rack"};
  TopologyRow topology{.name = "net", .levels = {}};
  const int64_t levels = random.Between(1, 3);
  for (int64_t i = 0; i < levels; ++i)
    topology.levels.push_back({.node_label = labels[static_cast<size_t>(i)], .alias = {}});
  maker.Add(topology);
  const int64_t nodes = random.Between(1, 9);
  for (int64_t i = 0; i < nodes; ++i) {
    NodeSpec spec{.gpus = random.Between(0, 4), .millicpu = random.Between(2, 8) * 1000};
    for (int64_t level = 0; level < levels; ++level) {
      if (random.OneIn(24)) continue;
      spec.labels.emplace_back(labels[static_cast<size_t>(level)],
                               StrCat("v", random.Below(level == 0 ? 2 : 3)));
    }
    maker.Node(StrCat("n", i), spec);
    const int64_t busy = random.Between(0, spec.gpus);
    if (busy == 0 || random.OneIn(3)) continue;
    const PodsSpec pod{.gpus = busy, .node = StrCat("n", i)};
    if (random.OneIn(4)) {
      maker.Releasing(StrCat("ns/old-", i), pod);
    } else {
      maker.Running(StrCat("ns/old-", i), pod);
    }
  }
  Question question;
  question.pods = static_cast<size_t>(random.Between(1, 6));
  const auto required = static_cast<size_t>(random.Below(levels));
  for (size_t i = 0; i <= required; ++i) question.labels.push_back(labels[i]);
  maker.Pending("ns/gang", {.pods = static_cast<int>(question.pods),
                            .gpus = random.OneIn(6) ? 0 : random.Between(1, 3),
                            .millicpu = random.Between(1, 3) * 1000,
                            .min_member = static_cast<int64_t>(question.pods)});
  question.rows = maker.Rows();
  for (PodGroupRow& group : question.rows.pod_groups) {
    if (group.name == "gang")
      group.topology = {
          .topology = "net", .required_level = labels[required], .preferred_level = {}};
  }
  return question;
}

// The values of the labels; empty if the node lacks one.
std::vector<std::string> DomainOf(const NodeRow& node, const std::vector<std::string>& labels) {
  std::vector<std::string> domain;
  for (const std::string& key : labels) {
    for (const auto& [name, value] : node.labels) {
      if (name == key) domain.push_back(value);
    }
  }
  if (domain.size() != labels.size()) domain.clear();
  return domain;
}

// The same cluster with only these nodes, and without topology constraints.
ClusterRows Only(ClusterRows rows, const std::set<std::string>& nodes) {
  std::erase_if(rows.nodes, [&](const NodeRow& node) { return !nodes.contains(node.name); });
  std::erase_if(rows.pods, [&](const PodRow& pod) {
    return !pod.node_name.empty() && !nodes.contains(pod.node_name);
  });
  for (PodGroupRow& group : rows.pod_groups) group.topology = {};
  return rows;
}

size_t PlacedIn(const Session& session, const ClusterRows& rows) {
  return DecisionsOf(RunPlan(session, rows.Build())).size();
}

TEST_P(TopologyPropertyTest, AGangIsPlacedExactlyIfOneDomainHoldsIt) {
  const Session session(ParseConfig(R"({"actions": "allocate"})", as_kai()));
  ForSeeds(1000, [&](uint64_t seed) {
    const Question question = QuestionFor(seed);
    std::map<std::string, std::vector<std::string>> domain_of;  // by node
    std::map<std::vector<std::string>, std::set<std::string>> nodes_of;
    for (const NodeRow& node : question.rows.nodes) {
      std::vector<std::string> labels = question.labels;
      if (as_kai()) {  // spec 4 T6: a node needs all levels
        labels.clear();
        for (const auto& level : question.rows.topologies[0].levels)
          labels.push_back(level.node_label);
      }
      std::vector<std::string> domain = DomainOf(node, labels);
      if (domain.empty()) continue;
      domain.resize(question.labels.size());
      domain_of[node.name] = domain;
      nodes_of[domain].insert(node.name);
    }
    bool takes_all = false;
    for (const auto& [domain, nodes] : nodes_of) {
      takes_all = takes_all || PlacedIn(session, Only(question.rows, nodes)) == question.pods;
    }
    // spec 4 W1: if all nodes share more than the required level, KAI places no pod.
    bool is_one_subdomain =
        as_kai() && question.labels.size() < question.rows.topologies[0].levels.size();
    if (is_one_subdomain) {
      std::vector<std::string> longer = question.labels;
      longer.push_back(question.rows.topologies[0].levels[longer.size()].node_label);
      std::set<std::vector<std::string>> seen;
      for (const NodeRow& node : question.rows.nodes) {
        if (domain_of.contains(node.name)) seen.insert(DomainOf(node, longer));
      }
      is_one_subdomain = seen.size() == 1;
    }
    const std::vector<oracle::Decision> decisions =
        DecisionsOf(RunPlan(session, question.rows.Build()));
    EXPECT_EQ(decisions.size(), takes_all && !is_one_subdomain ? question.pods : 0);
    std::set<std::vector<std::string>> domains;
    for (const oracle::Decision& each : decisions) domains.insert(domain_of[each.node]);
    EXPECT_LE(domains.size(), size_t{1});
    EXPECT_FALSE(domains.contains({}));
  });
}

}  // namespace
}  // namespace kai::topology_properties_test

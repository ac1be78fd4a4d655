// Classes of nodes and classes of pods.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "kai/base/text.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai::pod_class_writer_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const NodeClass& ClassOfNode(const Cluster& cluster, std::string_view node) {
  return cluster.node_classes()[cluster.nodes().node_class[NodeNamed(cluster, node)]];
}

bool AreAlike(const Cluster& cluster, std::string_view a, std::string_view b) {
  return cluster.nodes().node_class[NodeNamed(cluster, a)] ==
         cluster.nodes().node_class[NodeNamed(cluster, b)];
}

PodClassId PodClassOf(const Cluster& cluster, std::string_view pod) {
  return cluster.pods().pod_class[PodNamed(cluster, pod)];
}

// ---- nodes

TEST(NodeClassTest, OnlyLabelsInSelectorsDistinguishNodes) {
  ClusterMaker maker = MakeCluster()
                           .Node("a", {.labels = {{"zone", "east"}, {"rack", "r1"}}})
                           .Node("b", {.labels = {{"zone", "east"}, {"rack", "r2"}}})
                           .Node("c", {.labels = {{"zone", "west"}, {"rack", "r1"}}});
  EXPECT_EQ(maker.Build()->node_classes().size(), size_t{1});
  maker.Pending("ns/g", {.node_selector = {{"zone", "east"}}});
  const auto cluster = maker.Build();
  EXPECT_TRUE(AreAlike(*cluster, "a", "b"));
  EXPECT_FALSE(AreAlike(*cluster, "a", "c"));
}

TEST(NodeClassTest, DoesNotDependOnFreeResources) {
  const auto cluster = MakeCluster()
                           .Node("a", {.gpus = 8})
                           .Node("b", {.gpus = 1, .millicpu = 1})
                           .Running("ns/g", {.gpus = 8, .node = "a"})
                           .Build();
  EXPECT_TRUE(AreAlike(*cluster, "a", "b"));
}

TEST(NodeClassTest, HasTheConditionsThatRefusePods) {  // spec 3 P7
  NodeRow sick = MakeNodeRow("sick", {.ready = false});
  sick.memory_pressure = ConditionStatus::kTrue;
  sick.disk_pressure = ConditionStatus::kUnknown;
  sick.pid_pressure = ConditionStatus::kFalse;
  sick.network_unavailable = ConditionStatus::kTrue;
  NodeRow silent = MakeNodeRow("silent");
  silent.ready = ConditionStatus::kAbsent;
  const auto cluster =
      MakeCluster().Node("well").Node("cordoned", {.cordoned = true}).Add(sick).Add(silent).Build();
  EXPECT_EQ(ClassOfNode(*cluster, "well").state, 0);
  EXPECT_EQ(ClassOfNode(*cluster, "cordoned").state, kCordoned);
  EXPECT_EQ(ClassOfNode(*cluster, "sick").state,
            kNotReady | kMemoryPressure | kDiskPressure | kNetworkUnavailable);
  EXPECT_EQ(ClassOfNode(*cluster, "silent").state, kNotReady);
}

TEST(NodeClassTest, HasTheTaintsThatRefusePods) {
  const auto cluster = MakeCluster()
                           .Node("a", {.taints = {{"x", "1", TaintEffect::kNoSchedule},
                                                  {"y", "", TaintEffect::kNoExecute},
                                                  {"z", "", TaintEffect::kPreferNoSchedule}}})
                           .Node("b", {.taints = {{"y", "", TaintEffect::kNoExecute},
                                                  {"x", "1", TaintEffect::kNoSchedule}}})
                           .Node("c", {.taints = {{"z", "", TaintEffect::kPreferNoSchedule}}})
                           .Node("d")
                           .Build();
  EXPECT_EQ(ClassOfNode(*cluster, "a").taints.size(), size_t{2});
  EXPECT_TRUE(AreAlike(*cluster, "a", "b")) << "in any order of the taints";
  EXPECT_TRUE(AreAlike(*cluster, "c", "d")) << "preferences never refuse";
}

TEST(NodeClassTest, DistinguishesNodesWithoutGpus) {  // spec 3 N16
  const auto cpu_only = [](NodeSpec spec) {
    return MakeCluster().Node("n", std::move(spec)).Build()->nodes().cpu_only[NodeId(0)] != 0;
  };
  EXPECT_TRUE(cpu_only({}));
  EXPECT_FALSE(cpu_only({.gpus = 1}));
  EXPECT_FALSE(cpu_only({.more = {{"nvidia.com/mig-1g.5gb", 7}}}));
  EXPECT_TRUE(cpu_only({.more = {{"nvidia.com/mig-1g.5gb", 0}}}));
  const auto dra = MakeCluster().Node("n").Add(ResourceSliceRow{.node = "n", .gpus = 4}).Build();
  EXPECT_EQ(dra->nodes().cpu_only[NodeId(0)], 0);
}

TEST(NodeClassTest, TheMigLabelOverridesTheSlices) {  // spec 3 M6
  const auto mixed = [](std::string label, int64_t slices) {
    StringPairs labels = {{"nvidia.com/mig.strategy", "mixed"}};
    if (!label.empty()) labels.emplace_back("node-role.kubernetes.io/mig-enabled", label);
    const auto cluster =
        MakeCluster()
            .Node("n", {.more = {{"nvidia.com/mig-1g.5gb", slices}}, .labels = labels})
            .Build();
    return ClassOfNode(*cluster, "n").mig == MigMode::kMixed;
  };
  EXPECT_TRUE(mixed("", 7));
  EXPECT_FALSE(mixed("", 0));
  for (const char* yes : {"true", "True", "TRUE", "t", "T", "1"}) EXPECT_TRUE(mixed(yes, 0)) << yes;
  for (const char* no : {"false", "0", "yes", "tRUE"}) EXPECT_FALSE(mixed(no, 7)) << no;
}

TEST(NodeClassTest, DistinguishesWorkers) {  // spec 3 P10: the key counts, not the value
  const auto cluster =
      MakeCluster()
          .Node("gpu", {.labels = {{"node-role.kubernetes.io/gpu-worker", "false"}}})
          .Node("cpu", {.labels = {{"node-role.kubernetes.io/cpu-worker", ""}}})
          .Build();
  EXPECT_TRUE(ClassOfNode(*cluster, "gpu").gpu_worker);
  EXPECT_FALSE(ClassOfNode(*cluster, "gpu").cpu_worker);
  EXPECT_TRUE(ClassOfNode(*cluster, "cpu").cpu_worker);
}

TEST(NodeClassTest, AKeyWithAValuePerNodeIsCheckedPerNode) {
  ClusterMaker maker = MakeCluster()
                           .Pending("ns/pinned", {.node_selector = {{"host", "n3"}}})
                           .Pending("ns/free", {.node_selector = {{"zone", "z1"}}});
  for (int i = 0; i < 40; ++i) {
    maker.Node(StrCat("n", i),
               {.labels = {{"host", StrCat("n", i)}, {"zone", StrCat("z", i % 2)}}});
  }
  const auto cluster = maker.Build();
  EXPECT_EQ(cluster->node_classes().size(), size_t{2}) << "only by zone";
  EXPECT_TRUE(
      cluster->IsCheckedPerNode(cluster->ClassOf(PodNamed(*cluster, "ns/pinned-0")).constraint));
  EXPECT_FALSE(
      cluster->IsCheckedPerNode(cluster->ClassOf(PodNamed(*cluster, "ns/free-0")).constraint));
  EXPECT_EQ(cluster->nodes().labels[NodeNamed(*cluster, "n3")].size(), size_t{2});
}

TEST(NodeClassTest, TheNameOfANodeIsCheckedPerNode) {
  ClusterMaker maker = MakeCluster().Node("n1").Pending("ns/g");
  maker.rows().pods[0].has_node_affinity = true;
  maker.rows().pods[0].node_affinity = {
      {.expressions = {}, .fields = {{"metadata.name", SelectorOp::kIn, {"n1"}}}}};
  const auto cluster = maker.Build();
  EXPECT_TRUE(cluster->IsCheckedPerNode(cluster->ClassOf(PodId(0)).constraint));
}

// ---- pods

TEST(PodClassTest, PodsWithTheSameRequestsHaveOneClass) {
  const auto cluster = MakeCluster()
                           .Pending("ns/a", {.pods = 2, .gpus = 1})
                           .Pending("other/b", {.gpus = 1, .labels = {{"app", "x"}}})
                           .Pending("ns/c", {.gpus = 2})
                           .Pending("ns/d", {.gpus = 1, .millicpu = 2000})
                           .Build();
  EXPECT_EQ(PodClassOf(*cluster, "ns/a-0"), PodClassOf(*cluster, "ns/a-1"));
  EXPECT_EQ(PodClassOf(*cluster, "ns/a-0"), PodClassOf(*cluster, "other/b-0"));
  EXPECT_NE(PodClassOf(*cluster, "ns/a-0"), PodClassOf(*cluster, "ns/c-0"));
  EXPECT_NE(PodClassOf(*cluster, "ns/a-0"), PodClassOf(*cluster, "ns/d-0"));
}

TEST(PodClassTest, TheOrderOfListsDoesNotMatter) {
  ClusterMaker maker = MakeCluster();
  maker.Pending("ns/a", {.more = {{"x", 1}, {"y", 2}},
                         .node_selector = {{"k", "1"}, {"l", "2"}},
                         .tolerations = {{"t", true, "", TaintEffect::kNone},
                                         {"u", true, "", TaintEffect::kNone}}});
  maker.Pending("ns/b", {.more = {{"y", 2}, {"x", 1}},
                         .node_selector = {{"l", "2"}, {"k", "1"}},
                         .tolerations = {{"u", true, "", TaintEffect::kNone},
                                         {"t", true, "", TaintEffect::kNone}}});
  const auto cluster = maker.Build();
  EXPECT_EQ(PodClassOf(*cluster, "ns/a-0"), PodClassOf(*cluster, "ns/b-0"));
}

TEST(PodClassTest, EveryFieldThatAffectsPlacementDistinguishesClasses) {
  const PodAffinityTerm term = {.selector = LabelSelector{{"app", SelectorOp::kIn, {"db"}}},
                                .namespaces = {},
                                .topology_key = "zone"};
  ClusterMaker maker = MakeCluster().Node("n1", {.labels = {{"zone", "z"}}});
  std::vector<PodsSpec> specs = {
      {},
      {.gpus = 1},
      {.gpu_fraction = 0.5},
      {.gpu_fraction = 0.25},
      {.gpu_memory_mib = 1000},
      {.gpu_memory_mib = 1000, .gpu_devices = 2},
      {.more = {{"nvidia.com/mig-1g.5gb", 1}}},
      {.more = {{"x", 1}}},
      {.node_selector = {{"zone", "z"}}},
      {.tolerations = {{"t", true, "", TaintEffect::kNone}}},
      {.affinity =
           {.required = {term}, .required_anti = {}, .preferred = {}, .preferred_anti = {}}},
      {.affinity =
           {.required = {}, .required_anti = {term}, .preferred = {}, .preferred_anti = {}}},
      {.affinity =
           {.required = {}, .required_anti = {}, .preferred = {{term, 5}}, .preferred_anti = {}}},
      {.affinity =
           {.required = {}, .required_anti = {}, .preferred = {{term, 6}}, .preferred_anti = {}}},
      {.affinity =
           {.required = {}, .required_anti = {}, .preferred = {}, .preferred_anti = {{term, 5}}}},
      {.labels = {{"app", "db"}}},  // some term selects it
      {.nominated_node = "n1"},
  };
  for (size_t i = 0; i < specs.size(); ++i) maker.Pending(StrCat("ns/g", i), specs[i]);
  maker.Pending("ns/overhead");
  maker.rows().pods.back().overhead = {{"cpu", 100}};
  maker.Pending("ns/team", {.affinity = NeedsNamespaces()});
  const auto cluster = maker.Build();
  std::set<PodClassId> classes;
  for (const PodId pod : cluster->pods().name.ids()) classes.insert(cluster->pods().pod_class[pod]);
  EXPECT_EQ(classes.size(), specs.size() + 2);
}

// Two pods with the same required selectors and topology keys, but each key belongs to another
// selector.
TEST(PodClassTest, AffinityTermsAreComparedAsPairsOfSelectorAndKey) {
  const auto term = [](std::string app, std::string key) {
    return PodAffinityTerm{.selector = LabelSelector{{"app", SelectorOp::kIn, {std::move(app)}}},
                           .namespaces = {},
                           .topology_key = std::move(key)};
  };
  PodsSpec one, other;
  one.affinity.required = {term("web", "zone"), term("db", "rack")};
  other.affinity.required = {term("db", "zone"), term("web", "rack")};
  const auto cluster = MakeCluster()
                           .Node("n1", {.labels = {{"zone", "z"}, {"rack", "r"}}})
                           .Pending("ns/one", one)
                           .Pending("ns/other", other)
                           .Build();
  const PodClass& a = cluster->ClassOf(PodNamed(*cluster, "ns/one-0"));
  const PodClass& b = cluster->ClassOf(PodNamed(*cluster, "ns/other-0"));
  EXPECT_EQ(a.affinity.required, b.affinity.required)
      << "all selectors apply together, for each key";
  EXPECT_NE(a.affinity.as_owner, b.affinity.as_owner);
}

TEST(PodClassTest, DistinguishesPodsThatRequestGpus) {  // spec 3 R19
  const auto cpu_only = [](PodsSpec spec) {
    const auto cluster = MakeCluster().Pending("ns/g", std::move(spec)).Build();
    return cluster->ClassOf(PodId(0)).cpu_only;
  };
  EXPECT_TRUE(cpu_only({}));
  EXPECT_FALSE(cpu_only({.gpus = 1}));
  EXPECT_FALSE(cpu_only({.gpu_fraction = 0.5}));
  EXPECT_TRUE(cpu_only({.gpu_fraction = 0.004})) << "rounds to 0";
  EXPECT_FALSE(cpu_only({.gpu_memory_mib = 100}));
  EXPECT_FALSE(cpu_only({.more = {{"nvidia.com/mig-1g.5gb.me", 1}}}));
}

TEST(PodClassTest, RequestsOnePodSlot) {  // spec 3 R4
  const auto cluster =
      MakeCluster()
          .Pending("ns/g", {.gpus = 2, .millicpu = 500, .mb = 3, .more = {{"x", 4}}})
          .Build();
  const std::span<const double> request = cluster->RequestOf(PodId(0));
  EXPECT_EQ(request[kCpuSlot.index()], 500);
  EXPECT_EQ(request[kMemorySlot.index()], 3e6);
  EXPECT_EQ(request[kGpuSlot.index()], 2);
  EXPECT_EQ(request[kPodsSlot.index()], 1);
  EXPECT_EQ(request[cluster->slots().Find("x").index()], 4);
}

TEST(PodClassTest, AMemoryRequestHasNoGpuElement) {  // spec 3 R18
  const auto cluster = MakeCluster()
                           .Pending("ns/m", {.gpu_memory_mib = 1000})
                           .Pending("ns/f", {.gpu_fraction = 0.5, .gpu_devices = 3})
                           .Build();
  EXPECT_EQ(cluster->RequestOf(PodNamed(*cluster, "ns/m-0"))[kGpuSlot.index()], 0);
  EXPECT_EQ(cluster->RequestOf(PodNamed(*cluster, "ns/f-0"))[kGpuSlot.index()], 1.5);
}

TEST(PodClassTest, HasTheOverhead) {
  ClusterMaker maker = MakeCluster().Pending("ns/g");
  maker.rows().pods[0].overhead = {{"cpu", 250}, {"memory", 64}};
  const auto cluster = maker.Build();
  const auto overhead = cluster->pod_classes().overhead[PodClassId(0)];
  EXPECT_EQ(overhead[kCpuSlot.index()], 250);
  EXPECT_EQ(overhead[kMemorySlot.index()], 64);
}

TEST(PodClassTest, HasTheNameOfTheNominatedNodeEvenIfTheNodeIsMissing) {
  const auto cluster = MakeCluster()
                           .Node("n1")
                           .Pending("ns/a", {.nominated_node = "n1"})
                           .Pending("ns/b", {.nominated_node = "gone"})
                           .Pending("ns/c")
                           .Build();
  const auto nominated = [&](std::string_view pod) {
    return cluster->ClassOf(PodNamed(*cluster, pod)).nominated_node;
  };
  EXPECT_EQ(cluster->Text(nominated("ns/a-0")), "n1");
  EXPECT_EQ(cluster->Text(nominated("ns/b-0")), "gone");
  EXPECT_FALSE(nominated("ns/c-0").valid());
}

}  // namespace
}  // namespace kai::pod_class_writer_test

#include "kai/ingest/pod_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kai/base/text.h"
#include "kai/ingest/read_for_test.h"

namespace kai::pod_reader_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

PodRow Read(std::string_view json) { return ReadForTest(&ReadPod, json); }

// A pod named ns/p with this spec.
PodRow ReadSpec(std::string_view spec) {
  return Read(StrCat(R"({"metadata": {"name": "p", "namespace": "ns"}, "spec": {)", spec, "}}"));
}

std::string ComplainAboutSpec(std::string_view spec) {
  return Complaint(&ReadPod, StrCat(R"({"spec": {)", spec,
                                    R"(}, "metadata": {"namespace": "ns", "name": "p"}})"));
}

// The error for a pod with these annotations.
std::string ComplainAboutAnnotations(std::string_view annotations) {
  return Complaint(&ReadPod,
                   StrCat(R"({"metadata": {"name": "p", "namespace": "ns", "annotations": {)",
                          annotations, "}}}"));
}

// A pod that requests 2 CPUs and 4 MiB, with this status.
PodRow ReadResized(std::string_view status) {
  return Read(StrCat(R"({"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": [
      {"name": "main", "resources": {"requests": {"cpu": "2", "memory": "4Mi"}}},
      {"name": "helper"}]}, "status": {)",
                     status, "}}"));
}

constexpr char kHoldsFourCpus[] = R"("containerStatuses": [{"name": "helper"}, {"name": "main",
    "allocatedResources": {"cpu": "3", "example.com/x": "1"},
    "resources": {"requests": {"cpu": "4", "memory": "1Mi"}, "limits": {"cpu": "9"}}}])";

TEST(PodReaderTest, APodThatShrinksHoldsItsOldAmountUntilTheResizeIsDone) {
  EXPECT_THAT(ReadResized(kHoldsFourCpus).requests,
              UnorderedElementsAre(Pair("cpu", 4000), Pair("memory", 4 << 20)));
}

TEST(PodReaderTest, APodWithAnInfeasibleResizeHoldsItsOldAmount) {
  EXPECT_THAT(ReadResized(StrCat(kHoldsFourCpus, R"(, "conditions": [{"type": "PodScheduled",
                  "status": "True"}, {"type": "PodResizePending", "status": "True",
                  "reason": "Infeasible"}])"))
                  .requests,
              UnorderedElementsAre(Pair("cpu", 4000), Pair("memory", 1 << 20)));
}

TEST(PodReaderTest, AStatusWithoutResourcesChangesNothing) {
  EXPECT_THAT(ReadResized(R"("containerStatuses": [{"name": "main", "ready": true}])").requests,
              UnorderedElementsAre(Pair("cpu", 2000), Pair("memory", 4 << 20)));
}

TEST(PodReaderTest, ReadsAPodFromAnyOrderOfItsMembers) {
  const PodRow row = Read(R"({
    "status": {"phase": "Running", "nominatedNodeName": "n2", "qosClass": "Guaranteed"},
    "spec": {"nodeName": "n1", "schedulerName": "kai-scheduler", "schedulingGates": [],
        "priority": 5,
             "containers": [{"image": "x", "resources": {"limits": {"cpu": "9"},
                 "requests": {"nvidia.com/gpu": "1",
                 "cpu": "500m", "memory": "1Gi"}}}]},
    "metadata": {"uid": "u", "annotations": {"pod-group-name": "g",
        "received-resource-type": "Regular", "other": 5},
        "namespace": "ns",
                 "labels": {"app": "x", "kai.scheduler/subgroup-name": "workers"}, "name": "p",
                 "creationTimestamp": "1970-01-01T00:00:01Z",
                     "deletionTimestamp": "1970-01-01T00:00:02Z"},
    "kind": "Pod"})");
  EXPECT_EQ(row.namespace_name, "ns");
  EXPECT_EQ(row.name, "p");
  EXPECT_EQ(row.uid, "u");
  EXPECT_EQ(row.created_ns, 1'000'000'000);
  EXPECT_EQ(row.deletion_ns, 2'000'000'000);
  EXPECT_THAT(row.labels,
              ElementsAre(Pair("app", "x"), Pair("kai.scheduler/subgroup-name", "workers")));
  EXPECT_EQ(row.pod_group, "g");
  EXPECT_EQ(row.subgroup, "workers");
  EXPECT_EQ(row.scheduler_name, "kai-scheduler");
  EXPECT_EQ(row.node_name, "n1");
  EXPECT_EQ(row.nominated_node, "n2");
  EXPECT_EQ(row.phase, Phase::kRunning);
  EXPECT_FALSE(row.gated);
  EXPECT_THAT(row.requests, UnorderedElementsAre(Pair("cpu", 500), Pair("memory", 1 << 30)));
  EXPECT_EQ(row.gpu, (GpuRequest{.count = 1, .portion = 1, .mig = {}}));
  EXPECT_EQ(row.received_type, "Regular");
}

TEST(PodReaderTest, LeavesMissingFieldsEmpty) {
  const PodRow row = Read(
      R"({"metadata": {"name": "p", "creationTimestamp": null, "labels": null}, "spec": null})");
  EXPECT_EQ(row.namespace_name, "");
  EXPECT_FALSE(row.created_ns.has_value());
  EXPECT_FALSE(row.deletion_ns.has_value());
  EXPECT_EQ(row.phase, Phase::kUnknown);
  EXPECT_EQ(row.subgroup, "");
  EXPECT_THAT(row.requests, IsEmpty());
  EXPECT_EQ(row.gpu, GpuRequest());
  EXPECT_FALSE(row.has_node_affinity);
}

TEST(PodReaderTest, ReadsThePhases) {
  for (const auto& [text, phase] :
       std::initializer_list<std::pair<const char*, Phase>>{{"Pending", Phase::kPending},
                                                            {"Running", Phase::kRunning},
                                                            {"Succeeded", Phase::kSucceeded},
                                                            {"Failed", Phase::kFailed},
                                                            {"Unknown", Phase::kUnknown},
                                                            {"running", Phase::kUnknown}}) {
    EXPECT_EQ(
        Read(StrCat(R"({"metadata": {"name": "p"}, "status": {"phase": ")", text, "\"}}")).phase,
        phase)
        << text;
  }
}

TEST(PodReaderTest,
     AddsUpContainersInitContainersAndOverhead) {  // spec 3 R2, R3, and its worked example
  const PodRow row = ReadSpec(R"(
    "overhead": {"cpu": "250m", "memory": "1Ki", "nvidia.com/gpu": "4", "example.com/x": 1,
        "pods": 1},
    "initContainers": [{"restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}},
                       {"resources": {"requests": {"cpu": "2", "nvidia.com/gpu": "2"}}},
                       {"resources": {"requests": {"cpu": "1"}}, "restartPolicy": "Always"}],
    "containers": [{"resources": {"requests": {"cpu": "1", "nvidia.com/gpu": "1", "pods": "5"}}},
        {"name": "idle"}])");
  EXPECT_THAT(row.requests, UnorderedElementsAre(Pair("cpu", 2750), Pair("memory", 1024),
                                                 Pair("example.com/x", 1000)));
  EXPECT_THAT(row.overhead, UnorderedElementsAre(Pair("cpu", 250), Pair("memory", 1024),
                                                 Pair("example.com/x", 1000)));
  EXPECT_EQ(row.gpu.count, 2);
}

TEST(PodReaderTest, CountsTheGpusOfBothVendorsTogether) {
  EXPECT_EQ(
      ReadSpec(
          R"("containers": [{"resources": {"requests": {"nvidia.com/gpu": 1, "amd.com/gpu": 2}}}])")
          .gpu.count,
      3);
}

TEST(PodReaderTest, ReadsMigInstances) {
  const PodRow row = ReadSpec(
      R"("containers": [{"resources": {"requests": {"nvidia.com/mig-1g.5gb": 2,
          "nvidia.com/mig-2g.10gb": "0"}}}])");
  EXPECT_EQ(row.gpu.kind, GpuRequestKind::kMig);
  EXPECT_THAT(row.gpu.mig, ElementsAre(Pair("nvidia.com/mig-1g.5gb", 2)));
}

TEST(PodReaderTest, ReadsAFractionOfAGpu) {
  const PodRow row = Read(
      R"({"metadata": {"name": "p", "annotations": {"gpu-fraction": "0.5",
          "gpu-fraction-num-devices": "2"}}})");
  EXPECT_EQ(row.gpu,
            (GpuRequest{.kind = GpuRequestKind::kFraction, .count = 2, .portion = 0.5, .mig = {}}));
}

TEST(PodReaderTest, FindsGpuGroupsInEitherLabel) {  // spec 3 R20
  const auto groups = [](std::string_view labels) {
    return Read(StrCat(R"({"metadata": {"name": "p", "labels": {)", labels, "}}}")).gpu_groups;
  };
  EXPECT_THAT(groups(R"("runai-gpu-group": "g1")"), ElementsAre("g1"));
  EXPECT_THAT(
      groups(R"("runai-gpu-group/g3": "g3", "runai-gpu-group/g2": "g2", "runai-gpu-group": "g1")"),
      ElementsAre("g1", "g2", "g3"));
  EXPECT_THAT(groups(R"("runai-gpu-group": "g1", "runai-gpu-group/g1": "g1")"), ElementsAre("g1"));
  EXPECT_THAT(groups(R"("runai-gpu-group/g2": "g2", "runai-gpu-group/g3": "g3")"),
              ElementsAre("g2", "g3"));
}

TEST(PodReaderTest, ReadsNodeSelectorAndNodeAffinity) {
  const PodRow row = ReadSpec(R"(
    "nodeSelector": {"zone": "a"},
    "affinity": {"nodeAffinity": {
      "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}],
      "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]},
            {"key": "cores", "operator": "Gt",
            "values": ["4"]}]},
        {},
        {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]}]}}})");
  EXPECT_THAT(row.node_selector, ElementsAre(Pair("zone", "a")));
  EXPECT_TRUE(row.has_node_affinity);
  EXPECT_THAT(
      row.node_affinity,
      ElementsAre(NodeSelectorTerm{.expressions = {{"zone", SelectorOp::kIn, {"a", "b"}},
                                                   {"cores", SelectorOp::kGt, {"4"}}},
                                   .fields = {}},
                  NodeSelectorTerm{.expressions = {},
                                   .fields = {{"metadata.name", SelectorOp::kNotIn, {"n1"}}}}));
}

TEST(PodReaderTest, KeepsARequiredNodeAffinityThatMatchesNoNode) {
  for (const char* required :
       {"{}", R"({"nodeSelectorTerms": []})", R"({"nodeSelectorTerms": [{}]})",
        R"({"nodeSelectorTerms": null})"}) {
    const PodRow row = ReadSpec(StrCat(
        R"("affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": )",
        required, "}}"));
    EXPECT_TRUE(row.has_node_affinity);
    EXPECT_THAT(row.node_affinity, IsEmpty());
  }
  EXPECT_FALSE(ReadSpec(
                   R"("affinity":
                {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": null}})")
                   .has_node_affinity);
}

TEST(PodReaderTest, ReadsPodAffinity) {
  const PodRow row = ReadSpec(R"("affinity": {
    "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
      {"topologyKey": "zone", "namespaces": ["a"], "labelSelector": {"matchLabels": {"app": "x"},
          "matchExpressions": [{"key": "tier", "operator": "Exists"}]}}]},
    "podAntiAffinity": {
      "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "host",
          "namespaceSelector": {},
          "labelSelector": {}}, {"topologyKey": "host"}],
      "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7,
          "podAffinityTerm": {"topologyKey": "rack"}}]}})");
  EXPECT_THAT(
      row.affinity.required,
      ElementsAre(PodAffinityTerm{.selector = LabelSelector{{"app", SelectorOp::kIn, {"x"}},
                                                            {"tier", SelectorOp::kExists, {}}},
                                  .namespaces = {"a"},
                                  .topology_key = "zone"}));
  EXPECT_THAT(row.affinity.required_anti,
              ElementsAre(PodAffinityTerm{.selector = LabelSelector{},
                                          .namespaces = {},
                                          .all_namespaces = true,
                                          .topology_key = "host"},
                          PodAffinityTerm{
                              .selector = std::nullopt, .namespaces = {}, .topology_key = "host"}));
  EXPECT_THAT(row.affinity.preferred_anti,
              ElementsAre(WeightedPodAffinityTerm{
                  {.selector = std::nullopt, .namespaces = {}, .topology_key = "rack"}, 7}));
}

TEST(PodReaderTest, ReadsTolerations) {
  EXPECT_THAT(ReadSpec(
                  R"("tolerations": [{"operator": "Exists"}, {"key": "k", "value": "v",
              "effect": "NoSchedule"},
                                          {"key": "k", "operator": "Equal",
                                              "tolerationSeconds": 5, "effect": ""}])")
                  .tolerations,
              ElementsAre(Toleration{.key = "", .exists = true, .value = ""},
                          Toleration{.key = "k", .value = "v", .effect = TaintEffect::kNoSchedule},
                          Toleration{.key = "k", .value = ""}));
}

TEST(PodReaderTest, ResolvesTheClaimsOfTemplates) {
  const PodRow row = Read(R"({
    "metadata": {"name": "p"},
    "status": {"resourceClaimStatuses": [{"name": "b", "resourceClaimName": "p-b-xyz"},
        {"name": "a",
        "resourceClaimName": "wrong"}, {"name": "d"}]},
    "spec": {"resourceClaims": [{"name": "a", "resourceClaimName": "shared"}, {"name": "b",
        "resourceClaimTemplateName": "t"},
                                {"name": "c", "resourceClaimTemplateName": "t"}, {"name": "d",
                                    "resourceClaimTemplateName": "t"}]}})");
  ASSERT_EQ(row.claims.size(), 4);
  EXPECT_EQ(row.claims[0].resource_claim, "shared");
  EXPECT_FALSE(row.claims[0].from_template);
  EXPECT_EQ(row.claims[1].resource_claim, "p-b-xyz");
  EXPECT_TRUE(row.claims[1].from_template);
  EXPECT_EQ(row.claims[2].resource_claim, "");  // not created yet
  EXPECT_EQ(row.claims[3].resource_claim, "");
}

// ---- the resources of a pod, and the objects that it refers to ----------------------------------

HostPort TcpPort(int32_t port) { return {.port = port, .protocol = "TCP", .address = ""}; }

TEST(PodReaderTest, ReadsTheHostPortsOfContainersThatKeepRunning) {
  const auto ports = [](std::string_view spec) { return ReadSpec(spec).host_ports; };
  EXPECT_THAT(ports(R"("containers": [{"ports": [{"containerPort": 80}, {"hostPort": 0}]}])"),
              IsEmpty());
  EXPECT_THAT(
      ports(R"("containers": [{"ports": [{"hostPort": 80},
      {"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"}]}])"),
      ElementsAre(TcpPort(80), HostPort{.port = 53, .protocol = "UDP", .address = "10.0.0.1"}));
  EXPECT_THAT(ports(R"("initContainers": [{"ports": [{"hostPort": 80}]},
      {"restartPolicy": "Always", "ports": [{"hostPort": 81}]}])"),
              ElementsAre(TcpPort(81)))
      << "an ordinary init container ends before the others start";
}

TEST(PodReaderTest, WithHostNetworkEveryPortIsAHostPort) {
  EXPECT_THAT(ReadSpec(R"("containers": [{"ports": [{"containerPort": 80}]}], "hostNetwork": true)")
                  .host_ports,
              ElementsAre(TcpPort(80)));
}

TEST(PodReaderTest, ReadsTheConfigMapsThatContainersNeedToStart) {  // spec 3 P13, T25
  const auto names = [](std::string_view spec) { return ReadSpec(spec).config_maps; };
  EXPECT_THAT(names(R"(
      "containers": [{"env": [{"name": "a", "valueFrom": {"configMapKeyRef": {"name": "env"}}},
                              {"name": "b", "value": "x"}],
                      "volumeMounts": [{"name": "mounted"}, {"name": "projected"}]}],
      "initContainers": [{"envFrom": [{"configMapRef": {"name": "init"}}, {"secretRef":
          {"name": "secret"}}]}],
      "ephemeralContainers": [{"envFrom": [{"configMapRef": {"name": "debug"}}]}],
      "volumes": [{"name": "mounted", "configMap": {"name": "volume"}},
                  {"name": "unmounted", "configMap": {"name": "missing"}},
                  {"name": "projected", "projected": {"sources": [
                      {"configMap": {"name": "source"}}, {"secret": {"name": "s"}}]}}])"),
              ElementsAre("debug", "env", "init", "source", "volume"));
  EXPECT_THAT(names(R"("containers": [{"envFrom": [
      {"configMapRef": {"name": "maybe", "optional": true}}]}])"),
              IsEmpty());
  EXPECT_THAT(Read(R"({"metadata": {"name": "p", "annotations":
      {"runai/shared-gpu-configmap": "p-abc-shared-gpu"}}, "spec": {"containers": [{"envFrom": [
      {"configMapRef": {"name": "p-abc-shared-gpu-0"}}, {"configMapRef": {"name": "mine"}}]}]}})")
                  .config_maps,
              ElementsAre("mine"));
}

TEST(PodReaderTest, ReadsVolumesWithClaims) {
  const PodRow row = Read(R"({"metadata": {"name": "p"}, "spec": {"volumes": [
      {"name": "a", "emptyDir": {}}, {"name": "b", "persistentVolumeClaim": null},
      {"name": "c", "persistentVolumeClaim": {"claimName": "data"}},
      {"name": "scratch", "ephemeral": {}}]}})");
  EXPECT_THAT(row.volumes, ElementsAre(VolumeClaimRow{.claim = "data", .ephemeral = false},
                                       VolumeClaimRow{.claim = "p-scratch", .ephemeral = true}));
}

TEST(PodReaderTest, ReadsPreferredNodes) {
  const PodRow row = ReadSpec(R"("affinity": {"nodeAffinity": {
      "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "preference":
          {"matchExpressions": [{"key": "model", "operator": "Exists"}]}}]}})");
  ASSERT_EQ(row.preferred_nodes.size(), 1);
  EXPECT_EQ(row.preferred_nodes[0].weight, 7);
  EXPECT_EQ(row.preferred_nodes[0].term.expressions.at(0).key, "model");
  EXPECT_FALSE(row.has_node_affinity);
}

TEST(PodReaderTest, ReadsTopologySpreadConstraints) {
  const PodRow row = Read(R"({"metadata": {"name": "p", "labels": {"app": "web", "hash": "1"}},
      "spec": {"topologySpreadConstraints": [
      {"topologyKey": "zone", "maxSkew": 2, "minDomains": 3, "whenUnsatisfiable": "DoNotSchedule",
       "labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["hash", "absent"],
       "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"},
      {"topologyKey": "host", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}]}})");
  ASSERT_EQ(row.spread.size(), 2);
  const SpreadConstraintRow& first = row.spread[0];
  EXPECT_EQ(first.topology_key, "zone");
  EXPECT_EQ(first.max_skew, 2);
  EXPECT_EQ(first.min_domains, 3);
  EXPECT_TRUE(first.required);
  EXPECT_FALSE(first.honor_node_affinity);
  EXPECT_TRUE(first.honor_taints);
  EXPECT_EQ(first.selector,
            (LabelSelector{{.key = "app", .op = SelectorOp::kIn, .values = {"web"}},
                           {.key = "hash", .op = SelectorOp::kIn, .values = {"1"}}}));
  EXPECT_FALSE(row.spread[1].required);
  EXPECT_FALSE(row.spread[1].selector.has_value());
  EXPECT_EQ(ComplainAboutSpec(R"("topologySpreadConstraints": [{"whenUnsatisfiable": "Cry"}])"),
            "Pod ns/p: spec.topologySpreadConstraints[0].whenUnsatisfiable: \"Cry\" is not "
            "DoNotSchedule or ScheduleAnyway");
  EXPECT_EQ(ComplainAboutSpec(R"("topologySpreadConstraints": [{"maxSkew": 0}])"),
            "Pod ns/p: spec.topologySpreadConstraints[0].maxSkew: 0 is out of range");
}

TEST(PodReaderTest, ReadsTheNamespacesOfATerm) {
  const auto term = [](std::string_view members) {
    return ReadSpec(StrCat(R"("affinity": {"podAffinity":
        {"requiredDuringSchedulingIgnoredDuringExecution": [{)",
                           members, "}]}}"))
        .affinity.required.at(0);
  };
  EXPECT_TRUE(term(R"("namespaceSelector": {})").all_namespaces);
  const PodAffinityTerm some = term(R"("namespaceSelector": {"matchLabels": {"a": "b"}})");
  EXPECT_FALSE(some.all_namespaces);
  EXPECT_EQ(some.namespace_selector,
            (LabelSelector{{.key = "a", .op = SelectorOp::kIn, .values = {"b"}}}));
  EXPECT_TRUE(term(R"("namespaceSelector": null)").namespace_selector.empty());
}

TEST(PodReaderTest, AddsLabelsOfThePodToSelectorsWithMatchLabelKeys) {
  // As the API server does. Labels may come after the terms that refer to them.
  const PodRow row = Read(R"({"spec": {"affinity": {"podAntiAffinity": {
      "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "host", "labelSelector": {},
          "matchLabelKeys": ["hash"], "mismatchLabelKeys": ["tenant", "absent"]}],
      "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm":
          {"topologyKey": "host", "matchLabelKeys": ["hash"]}}]}}},
      "metadata": {"name": "p", "labels": {"hash": "1", "tenant": "t"}}})");
  EXPECT_EQ(row.affinity.required_anti.at(0).selector,
            (LabelSelector{{.key = "hash", .op = SelectorOp::kIn, .values = {"1"}},
                           {.key = "tenant", .op = SelectorOp::kNotIn, .values = {"t"}}}));
  EXPECT_FALSE(row.affinity.preferred_anti.at(0).term.selector.has_value())
      << "a term without a selector selects no pod";
}

TEST(PodReaderTest, NamesTheInvalidField) {
  EXPECT_EQ(
      ComplainAboutSpec(R"("containers": [{}, {"resources": {"requests": {"cpu": "1Gx"}}}])"),
      "Pod ns/p: spec.containers[1].resources.requests[\"cpu\"]: quantity \"1Gx\" is not valid");
  EXPECT_EQ(ComplainAboutSpec(
                R"("initContainers": [{"resources": {"requests": {"nvidia.com/gpu": "-1"}}}])"),
            "Pod ns/p: spec.initContainers[0].resources.requests[\"nvidia.com/gpu\"]: quantity "
            "\"-1\" is negative");
  EXPECT_EQ(ComplainAboutSpec(R"("overhead": {"cpu": []})"),
            "Pod ns/p: spec.overhead[\"cpu\"]: expected a quantity, found a list");
  EXPECT_EQ(ComplainAboutSpec(R"("nodeName": 5)"),
            "Pod ns/p: spec.nodeName: expected a string, found a number");
  EXPECT_EQ(ComplainAboutSpec(R"("containers": [7])"),
            "Pod ns/p: spec.containers[0]: expected an object, found a number");
  EXPECT_EQ(ComplainAboutSpec(R"("containers": [{"ports": [{"hostPort": 70000}]}])"),
            "Pod ns/p: spec.containers[0].ports[0].hostPort: 70000 is out of range");
  EXPECT_EQ(ComplainAboutSpec(R"("tolerations": [{"operator": "Like"}])"),
            "Pod ns/p: spec.tolerations[0].operator: \"Like\" is not an operator");
  EXPECT_EQ(ComplainAboutSpec(R"("tolerations": [{"effect": "Never"}])"),
            "Pod ns/p: spec.tolerations[0].effect: \"Never\" is not a taint effect");
  EXPECT_EQ(ComplainAboutSpec(
                R"("affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                                 [{"labelSelector": {"matchExpressions": [{"key": "a",
                                     "operator": "Gt"}]}}]}})"),
            "Pod ns/p: "
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]."
            "labelSelector.matchExpressions[0].operator: "
            "\"Gt\" is not an operator");
  const auto node_term = [](std::string_view term) {
    return ComplainAboutSpec(StrCat(
        R"("affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                                         {"nodeSelectorTerms": [)",
        term, "]}}}"));
  };
  EXPECT_THAT(node_term(R"({"matchExpressions": [{"key": "a"}]})"),
              ::testing::EndsWith("nodeSelectorTerms[0].matchExpressions[0].operator: is missing"));
  EXPECT_THAT(
      node_term(R"({"matchFields": [{"key": "metadata.uid", "operator": "In"}]})"),
      ::testing::EndsWith(
          "nodeSelectorTerms[0].matchFields[0].key: \"metadata.uid\" is not metadata.name"));
}

TEST(PodReaderTest, NamesTheInvalidAnnotation) {
  EXPECT_EQ(ComplainAboutAnnotations(R"("gpu-fraction": "NaN")"),
            "Pod ns/p: metadata.annotations[\"gpu-fraction\"]: \"NaN\" is not a number above 0 and "
            "up to 1");
  EXPECT_EQ(ComplainAboutAnnotations(R"("gpu-memory": "4Gi")"),
            "Pod ns/p: metadata.annotations[\"gpu-memory\"]: \"4Gi\" is not a whole number of MiB "
            "above 0");
  EXPECT_EQ(ComplainAboutAnnotations(R"("gpu-fraction": 0.5)"),
            "Pod ns/p: metadata.annotations[\"gpu-fraction\"]: expected a string, found a number");
}

TEST(PodReaderTest, NamesTheInvalidFieldOfTheMetadata) {
  EXPECT_EQ(Complaint(&ReadPod, R"({"metadata": {"name": "p", "creationTimestamp": "yesterday"}})"),
            "Pod p: metadata.creationTimestamp: time \"yesterday\" is not like "
            "2024-02-01T00:19:05Z (RFC 3339)");
  EXPECT_EQ(Complaint(&ReadPod, R"({"metadata": {"name": "p", "deletionTimestamp": 5}})"),
            "Pod p: metadata.deletionTimestamp: expected a string, found a number");
  EXPECT_EQ(Complaint(&ReadPod, R"({"metadata": {"labels": {"a": true}, "name": "p"}})"),
            "Pod p: metadata.labels[\"a\"]: expected a string, found a boolean");
  EXPECT_EQ(Complaint(&ReadPod, "{}"), "Pod : metadata.name: is missing");
  EXPECT_EQ(Complaint(&ReadPod, R"({"metadata": {"name": "", "namespace": "ns"}})"),
            "Pod : metadata.name: is missing");
  EXPECT_EQ(Complaint(&ReadPod, R"({"metadata": {"name": ["p"]}})"),
            "Pod : metadata.name: expected a string, found a list");
}

TEST(PodReaderTest, CutsALabelOfFiftyMegabytesInTheMessage) {
  const std::string huge(50'000'000, 'x');
  EXPECT_EQ(ComplainAboutAnnotations(StrCat(R"("gpu-fraction": ")", huge, "\"")),
            StrCat("Pod ns/p: metadata.annotations[\"gpu-fraction\"]: \"", huge.substr(0, 64),
                   "...\" is not a number above 0 and up to 1"));
  EXPECT_EQ(Read(StrCat(R"({"metadata": {"name": "p", "labels": {"a": ")", huge, "\"}}}"))
                .labels.front()
                .second,
            huge);
}

TEST(PodReaderTest, RejectsContainersWithTooManyDifferentResources) {
  std::string containers = R"("containers": [)";
  for (int i = 0; i < 50'000; ++i)
    StrAppend(&containers, R"({"resources": {"requests": {"example.com/r)", i, R"(": 1}}},)");
  containers.back() = ']';
  EXPECT_EQ(ComplainAboutSpec(containers),
            "Pod ns/p: spec.containers: has more than 1000 resources");
}

TEST(PodReaderTest, ListsExtendedResourcesByContainer) {  // spec 3 D10
  const PodRow row = Read(R"({"metadata": {"name": "p"}, "spec": {
    "initContainers": [
      {"name": "setup", "resources": {"requests": {"nvidia.com/gpu": 2, "cpu": 1}}},
      {"name": "log", "restartPolicy": "Always", "resources": {"requests": {"cpu": 1}}}],
    "containers": [
      {"resources": {"requests": {"x/nic": "3", "nvidia.com/gpu": "1", "memory": "1Gi", "cpu": 1,
                                  "x/half": "500m", "amd.com/gpu": 0}}, "name": "main"}]},
    "status": {"extendedResourceClaimStatus": {"resourceClaimName": "made", "requestMappings": []}}})");
  std::vector<std::string> listed;
  for (const ExtendedRequestRow& each : row.extended_requests) {
    listed.push_back(StrCat(each.container, " ", each.container_name, " ", each.resource, " at ",
                            each.place, ": ", each.count));
  }
  EXPECT_THAT(listed, ElementsAre("0 setup nvidia.com/gpu at 1: 2", "2 main x/nic at 5: 3",
                                  "2 main nvidia.com/gpu at 3: 1"));
  EXPECT_EQ(row.extended_requests[0].kind, ContainerRow::Kind::kInit);
  EXPECT_EQ(row.extended_claim, "made");
}

}  // namespace
}  // namespace kai::pod_reader_test

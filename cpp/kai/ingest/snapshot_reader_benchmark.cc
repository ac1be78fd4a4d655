// From bytes to rows, in pods per second. Small objects: eight pods and eight groups a node, as
// compact as KAI writes them. Realistic objects: pods of 7 to 8 KB, as an API server lists them.
// Information, not a gate.

#include <benchmark/benchmark.h>

#include <string>

#include "kai/base/check.h"
#include "kai/base/text.h"
#include "kai/ingest/json_check.h"
#include "kai/ingest/snapshot_reader.h"

namespace kai {
namespace {

constexpr int kPodsPerNode = 8;

std::string MakeSnapshot(int nodes) {
  std::string json = R"({"config":{},"rawObjects":{"nodes":[)";
  for (int i = 0; i < nodes; ++i) {
    StrAppend(&json, i > 0 ? "," : "", R"({"metadata":{"name":"node-)", i,
              R"(","labels":{"kubernetes.io/hostname":"node-)", i,
              R"(","nvidia.com/gpu.count":"8","nvidia.com/gpu.memory":"81920"}},)",
              R"("status":{"allocatable":{"cpu":"128","memory":"1024Gi","pods":"110",)",
              R"("nvidia.com/gpu":"8"},"conditions":[{"type":"Ready","status":"True"}]}})");
  }
  json += R"(],"podGroups":[)";
  for (int i = 0; i < nodes * kPodsPerNode; ++i) {
    StrAppend(&json, i > 0 ? "," : "", R"({"metadata":{"name":"job-)", i,
              R"(","namespace":"team","creationTimestamp":"2024-02-01T00:19:05Z"},)",
              R"("spec":{"queue":"team-a","minMember":1,"priorityClassName":"train"}})");
  }
  json += R"(],"pods":[)";
  for (int i = 0; i < nodes * kPodsPerNode; ++i) {
    StrAppend(&json, i > 0 ? "," : "", R"({"metadata":{"name":"job-)", i,
              R"(-0","namespace":"team","uid":"u)", i,
              R"(","creationTimestamp":"2024-02-01T00:19:05Z","annotations":)",
              R"({"pod-group-name":"job-)", i, R"("}},"spec":{"schedulerName":"kai-scheduler",)",
              R"("containers":[{"name":"main","resources":{"requests":{"cpu":"1",)",
              R"("memory":"4Gi","nvidia.com/gpu":"1"}}}]},"status":{"phase":"Pending"}})");
  }
  return json + "]}}";
}

// managedFields: a third of an object on the API server, and not used here.
std::string ManagedFields() {
  std::string fields = R"([{"manager":"kube-controller-manager","operation":"Update","apiVersion":)"
                       R"("v1","time":"2024-02-01T00:19:05Z","fieldsType":"FieldsV1","fieldsV1":)"
                       R"({"f:metadata":{"f:annotations":{".":{},"f:pod-group-name":{}},)"
                       R"("f:generateName":{},"f:labels":{".":{},"f:app":{},"f:controller-uid":{},)"
                       R"("f:job-name":{},"f:team":{}},"f:ownerReferences":{".":{},)"
                       R"("k:{\"uid\":\"8d1f5f3e-6c5b-4c53-9f0e-1d2c3b4a5f60\"}":{}}},)"
                       R"("f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:args":{},)"
                       R"("f:env":{".":{})";
  for (int i = 0; i < 20; ++i)
    StrAppend(&fields, R"(,"k:{\"name\":\"SETTING_)", i,
              R"(\"}":{".":{},"f:name":{},"f:value":{}})");
  fields +=
      R"(},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{".":{},"f:limits":)"
      R"({".":{},"f:cpu":{},"f:memory":{},"f:nvidia.com/gpu":{}},"f:requests":{".":{},)"
      R"("f:cpu":{},"f:memory":{},"f:nvidia.com/gpu":{}}},"f:terminationMessagePath":{},)"
      R"("f:volumeMounts":{".":{},"k:{\"mountPath\":\"/data\"}":{".":{},"f:mountPath":{},)"
      R"("f:name":{}}}}},"f:dnsPolicy":{},"f:restartPolicy":{},"f:schedulerName":{},)"
      R"("f:securityContext":{},"f:tolerations":{},"f:volumes":{".":{},)"
      R"("k:{\"name\":\"data\"}":{".":{},"f:emptyDir":{},"f:name":{}}}}}},)"
      R"({"manager":"kubelet","operation":"Update","apiVersion":"v1","time":)"
      R"("2024-02-01T00:19:44Z","fieldsType":"FieldsV1","fieldsV1":{"f:status":)"
      R"({"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:status":{}},)"
      R"("k:{\"type\":\"Initialized\"}":{".":{},"f:status":{}},)"
      R"("k:{\"type\":\"Ready\"}":{".":{},"f:status":{}}},"f:containerStatuses":{},)"
      R"("f:hostIP":{},"f:phase":{},"f:podIP":{},"f:startTime":{}}},"subresource":"status"}])";
  return fields;
}

std::string Environment() {
  std::string list = R"([{"name":"NODE_NAME","valueFrom":{"fieldRef":{"apiVersion":"v1",)"
                     R"("fieldPath":"spec.nodeName"}}})";
  for (int i = 0; i < 20; ++i) {
    StrAppend(&list, R"(,{"name":"SETTING_)", i, R"(","value":"the value of setting )", i, R"("})");
  }
  return list + "]";
}

// A running pod of a job of eight pods.
std::string RealPod(int index) {
  static const std::string managed_fields = ManagedFields();
  static const std::string environment = Environment();
  std::string pod;
  StrAppend(&pod, R"({"metadata":{"name":"train-)", index / 8, "-", index % 8,
            R"(","generateName":"train-)", index / 8, R"(-","namespace":"vision","uid":)",
            R"("0f8fad5b-d9cb-469f-a165-)", 100'000'000'000 + index, R"(","resourceVersion":")",
            7'000'000 + index,
            R"(","creationTimestamp":"2024-02-01T00:19:05Z","labels":{"app":"train",)",
            R"("controller-uid":"8d1f5f3e-6c5b-4c53-9f0e-1d2c3b4a5f60","job-name":"train-)",
            index / 8, R"(","team":"vision"},"annotations":{"pod-group-name":"train-)", index / 8,
            R"("},"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"train-)",
            index / 8, R"(","uid":"8d1f5f3e-6c5b-4c53-9f0e-1d2c3b4a5f60","controller":true,)",
            R"("blockOwnerDeletion":true}],"managedFields":)", managed_fields);
  const std::string mounts =
      StrCat(R"([{"name":"data","mountPath":"/data"},{"name":"kube-api-access-)", 10'000 + index,
             R"(","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}])");
  StrAppend(
      &pod, R"(},"spec":{"volumes":[{"name":"data","emptyDir":{}},{"name":"kube-api-access-)",
      10'000 + index, R"(","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":)",
      R"(3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt",)",
      R"("path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{)",
      R"("apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}],)",
      R"("containers":[{"name":"main","image":"registry.example/vision/train:v1.2.3",)",
      R"("args":["--epochs","90","--data","/data","--checkpoint-every","1000"],"env":)",
      environment, R"(,"resources":{"limits":{"cpu":"8","memory":"64Gi","nvidia.com/gpu":"1"},)",
      R"("requests":{"cpu":"8","memory":"64Gi","nvidia.com/gpu":"1"}},"volumeMounts":)", mounts,
      R"(,"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",)",
      R"("imagePullPolicy":"IfNotPresent"},{"name":"logs","image":"registry.example/logs:v4",)",
      R"("resources":{"requests":{"cpu":"100m","memory":"128Mi"}},"volumeMounts":)", mounts,
      R"(,"imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Never",)",
      R"("terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":)",
      R"("default","nodeName":"node-)", index / 8,
      R"(","securityContext":{},"schedulerName":"kai-scheduler","tolerations":[{"key":)",
      R"("node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute",)",
      R"("tolerationSeconds":300},{"key":"nvidia.com/gpu","operator":"Exists"}],"priority":50,)",
      R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)",
      R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"nvidia.com/gpu.product","operator":)",
      R"("In","values":["H100","H200"]}]}]}}},"enableServiceLinks":true},"status":{"phase":)",
      R"("Running","conditions":[)");
  for (const char* type : {"Initialized", "Ready", "ContainersReady", "PodScheduled"}) {
    StrAppend(&pod, R"({"type":")", type, R"(","status":"True","lastProbeTime":null,)",
              R"("lastTransitionTime":"2024-02-01T00:19:44Z"},)");
  }
  pod.back() = ']';
  StrAppend(&pod, R"(,"hostIP":"10.1.2.3","podIP":"10.4.5.6","podIPs":[{"ip":"10.4.5.6"}],)",
            R"("startTime":"2024-02-01T00:19:06Z","qosClass":"Burstable","containerStatuses":[)");
  for (const char* name : {"main", "logs"}) {
    StrAppend(&pod, R"({"name":")", name, R"(","state":{"running":{"startedAt":)",
              R"("2024-02-01T00:19:44Z"}},"lastState":{},"ready":true,"restartCount":0,"image":)",
              R"("registry.example/vision/)", name,
              R"(:v1.2.3","imageID":"registry.example/vision/)", name,
              R"(@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",)",
              R"("containerID":"containerd://2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a)",
              R"(5e886266e7ae","started":true},)");
  }
  pod.back() = ']';
  return pod + "}}";
}

std::string MakeRealSnapshot(int nodes) {
  std::string json = MakeSnapshot(nodes);
  json.resize(json.find(R"("podGroups":)"));
  json += R"("podGroups":[)";
  for (int i = 0; i < nodes; ++i) {
    StrAppend(&json, i > 0 ? "," : "", R"({"metadata":{"name":"train-)", i,
              R"(","namespace":"vision","creationTimestamp":"2024-02-01T00:19:05Z"},)",
              R"("spec":{"queue":"vision","minMember":8,"priorityClassName":"train"}})");
  }
  json += R"(],"pods":[)";
  for (int i = 0; i < nodes * kPodsPerNode; ++i) StrAppend(&json, i > 0 ? "," : "", RealPod(i));
  return json + "]}}";
}

void Count(benchmark::State& state, const std::string& json) {
  state.SetItemsProcessed(state.iterations() * state.range(0) * kPodsPerNode);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(json.size()));
}

void BM_CheckJson(benchmark::State& state) {
  const std::string json = MakeSnapshot(static_cast<int>(state.range(0)));
  for (auto unused : state) KAI_CHECK(CheckJson(json).ok());
  Count(state, json);
}
BENCHMARK(BM_CheckJson)->Arg(50)->Arg(500)->Arg(5000)->Unit(benchmark::kMillisecond);

void BM_ReadSnapshotRows(benchmark::State& state) {
  const std::string json = MakeSnapshot(static_cast<int>(state.range(0)));
  for (auto unused : state) {
    const absl::StatusOr<SnapshotRows> rows = ReadSnapshotRows(json);
    KAI_CHECK(rows.ok() && rows->cluster.rejections.empty());
    KAI_CHECK(rows->cluster.pods.size() == static_cast<size_t>(state.range(0)) * kPodsPerNode);
  }
  Count(state, json);
}
BENCHMARK(BM_ReadSnapshotRows)->Arg(50)->Arg(500)->Arg(5000)->Unit(benchmark::kMillisecond);

void BM_ReadSnapshot(benchmark::State& state) {
  const std::string json = MakeSnapshot(static_cast<int>(state.range(0)));
  for (auto unused : state) KAI_CHECK(ReadSnapshot(json).ok());
  Count(state, json);
}
BENCHMARK(BM_ReadSnapshot)->Arg(50)->Arg(500)->Arg(5000)->Arg(50000)->Unit(benchmark::kMillisecond);

void BM_CheckRealJson(benchmark::State& state) {
  const std::string json = MakeRealSnapshot(static_cast<int>(state.range(0)));
  for (auto unused : state) KAI_CHECK(CheckJson(json).ok());
  Count(state, json);
}
BENCHMARK(BM_CheckRealJson)->Arg(50)->Arg(500)->Unit(benchmark::kMillisecond);

void BM_ReadRealSnapshotRows(benchmark::State& state) {
  const std::string json = MakeRealSnapshot(static_cast<int>(state.range(0)));
  for (auto unused : state) {
    const absl::StatusOr<SnapshotRows> rows = ReadSnapshotRows(json);
    KAI_CHECK(rows.ok() && rows->cluster.rejections.empty());
    KAI_CHECK(rows->cluster.pods.size() == static_cast<size_t>(state.range(0)) * kPodsPerNode);
  }
  Count(state, json);
}
BENCHMARK(BM_ReadRealSnapshotRows)->Arg(50)->Arg(500)->Unit(benchmark::kMillisecond);

void BM_ReadRealSnapshot(benchmark::State& state) {
  const std::string json = MakeRealSnapshot(static_cast<int>(state.range(0)));
  for (auto unused : state) {
    const absl::StatusOr<SnapshotFile> file = ReadSnapshot(json);
    KAI_CHECK(file.ok() && file->cluster->rejections().empty());
  }
  Count(state, json);
  state.counters["bytes/pod"] = static_cast<double>(RealPod(0).size());
}
BENCHMARK(BM_ReadRealSnapshot)->Arg(50)->Arg(500)->Arg(2000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kai

// The keys of Kubernetes objects that the engine reads: labels, annotations and resource names.
// Python has its own list in kai/api/keys.py; a test compares the two.
//
//   annotation != keys::kExtendedResourceClaim
//
// Invariant: each key is defined here once. Cost: none. Threads: constants.
#ifndef KAI_API_KEYS_H_
#define KAI_API_KEYS_H_

#include <array>
#include <string_view>

namespace kai::keys {

// Node labels.
inline constexpr std::string_view kGpuMemory = "nvidia.com/gpu.memory";
inline constexpr std::string_view kGpuCount = "nvidia.com/gpu.count";
inline constexpr std::string_view kGpuProduct = "nvidia.com/gpu.product";
inline constexpr std::string_view kMigStrategy = "nvidia.com/mig.strategy";
inline constexpr std::string_view kMigEnabled = "node-role.kubernetes.io/mig-enabled";
inline constexpr std::string_view kGpuWorker = "node-role.kubernetes.io/gpu-worker";
inline constexpr std::string_view kHostname = "kubernetes.io/hostname";
inline constexpr std::string_view kCpuWorker = "node-role.kubernetes.io/cpu-worker";

// Node labels, and labels of volumes.
inline constexpr std::string_view kZone = "topology.kubernetes.io/zone";
inline constexpr std::string_view kRegion = "topology.kubernetes.io/region";
inline constexpr std::string_view kOldZone = "failure-domain.beta.kubernetes.io/zone";
inline constexpr std::string_view kOldRegion = "failure-domain.beta.kubernetes.io/region";
inline constexpr std::array<std::string_view, 4> kZoneLabels = {kZone, kRegion, kOldZone,
                                                                kOldRegion};

// The field manager under which the API server records our writes: the beginning of our User-Agent.
inline constexpr std::string_view kFieldManager = "kai-sched";

// Pod labels.
inline constexpr std::string_view kSubgroup = "kai.scheduler/subgroup-name";
inline constexpr std::string_view kTaskPriority = "kai.scheduler/task-priority";
inline constexpr std::string_view kKubeflowRole = "training.kubeflow.org/job-role";
inline constexpr std::string_view kRayNodeType = "ray.io/node-type";
inline constexpr std::string_view kApp = "app";
inline constexpr std::string_view kGpuGroup = "runai-gpu-group";
inline constexpr std::string_view kGpuGroupPrefix = "runai-gpu-group/";

// Values of the label `app`.
inline constexpr std::string_view kReservationApp = "kai-resource-reservation";
inline constexpr std::string_view kScalingPodApp = "scaling-pod";

// The namespace of the pods that make an autoscaler add nodes.
inline constexpr std::string_view kScalingNamespace = "kai-scale-adjust";

// Pod annotations. kMigPrefix is followed by a MIG profile's name; such names are resources, too.
inline constexpr std::string_view kPodGroup = "pod-group-name";
inline constexpr std::string_view kReceivedType = "received-resource-type";
inline constexpr std::string_view kGpuFraction = "gpu-fraction";
inline constexpr std::string_view kGpuMemoryRequest = "gpu-memory";
inline constexpr std::string_view kGpuFractionDevices = "gpu-fraction-num-devices";
inline constexpr std::string_view kSharedGpuConfigMap = "runai/shared-gpu-configmap";
inline constexpr std::string_view kReservedDevice = "run.ai/reserve_for_gpu_index";
inline constexpr std::string_view kNumaObserved = "kai.scheduler/numa-placement-observed";
inline constexpr std::string_view kNumaPredicted = "kai.scheduler/numa-placement-predicted";
inline constexpr std::string_view kTopologyRank = "kai.scheduler/topology-rank";
inline constexpr std::string_view kMovable = "kai.scheduler/movable";
inline constexpr std::string_view kMigPrefix = "nvidia.com/mig-";

// Pod group annotations (spec 2 G16).
inline constexpr std::string_view kTopOwner = "kai.scheduler/top-owner-metadata";
inline constexpr std::string_view kLastStart = "kai.scheduler/last-start-timestamp";
inline constexpr std::string_view kStaleSince = "kai.scheduler/stale-podgroup-timestamp";
inline constexpr std::string_view kLastEviction = "kai.scheduler/last-eviction-timestamp";

// Pod group annotations that job orders use.
inline constexpr std::string_view kRunTimeEstimate = "kai.scheduler/run-time-estimate";
inline constexpr std::string_view kAttainedService = "kai.scheduler/attained-service";

// Pod group annotations about topology domains.
inline constexpr std::string_view kLeastDomains = "kai.scheduler/topology-min-domains";
inline constexpr std::string_view kMostDomains = "kai.scheduler/topology-max-domains";
inline constexpr std::string_view kBalancedDomains = "kai.scheduler/topology-balanced";

// Namespace label, which every namespace has.
inline constexpr std::string_view kNamespaceName = "kubernetes.io/metadata.name";

// Annotations of PersistentVolumeClaims.
inline constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed";
inline constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";
inline constexpr std::string_view kStorageClass = "volume.beta.kubernetes.io/storage-class";

// Resource claim annotation.
inline constexpr std::string_view kExtendedResourceClaim =
    "resource.kubernetes.io/extended-resource-claim";

// Resource names.
inline constexpr std::string_view kNvidiaGpu = "nvidia.com/gpu";
inline constexpr std::string_view kAmdGpu = "amd.com/gpu";
inline constexpr std::string_view kIntelI915 = "gpu.intel.com/i915";
inline constexpr std::string_view kIntelXe = "gpu.intel.com/xe";
inline constexpr std::string_view kHabanaGaudi = "habana.ai/gaudi";
inline constexpr std::string_view kGoogleTpu = "google.com/tpu";

}  // namespace kai::keys

#endif  // KAI_API_KEYS_H_

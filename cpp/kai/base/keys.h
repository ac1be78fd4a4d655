// Keys of Kubernetes objects that the engine reads: labels, annotations and resource names, once
// (spec 3 §1, spec 5 §5.8-§5.10). The Python face has its own list in kai/api/keys.py, and a test
// compares the two.
#ifndef KAI_BASE_KEYS_H_
#define KAI_BASE_KEYS_H_

#include <string_view>

namespace kai::keys {

// Node labels.
inline constexpr std::string_view kGpuMemory = "nvidia.com/gpu.memory";
inline constexpr std::string_view kGpuCount = "nvidia.com/gpu.count";
inline constexpr std::string_view kMigStrategy = "nvidia.com/mig.strategy";
inline constexpr std::string_view kMigEnabled = "node-role.kubernetes.io/mig-enabled";
inline constexpr std::string_view kGpuWorker = "node-role.kubernetes.io/gpu-worker";
inline constexpr std::string_view kCpuWorker = "node-role.kubernetes.io/cpu-worker";

// Pod labels.
inline constexpr std::string_view kSubgroup = "kai.scheduler/subgroup-name";
inline constexpr std::string_view kTaskPriority = "kai.scheduler/task-priority";
inline constexpr std::string_view kKubeflowRole = "training.kubeflow.org/job-role";
inline constexpr std::string_view kRayNodeType = "ray.io/node-type";
inline constexpr std::string_view kApp = "app";

// Values of the label `app`.
inline constexpr std::string_view kReservationApp = "kai-resource-reservation";
inline constexpr std::string_view kScalingPodApp = "scaling-pod";

}  // namespace kai::keys

#endif  // KAI_BASE_KEYS_H_

// Every text that KAI puts into events and conditions, word for word, in one place (spec 2 M2-M10,
// P6; spec 3 E2, P7, P8, P14).
//
// Functions take names and plain numbers: cpu in millicores, memory in bytes, GPUs in devices.
#ifndef KAI_MODEL_MESSAGES_H_
#define KAI_MODEL_MESSAGES_H_

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/base/units.h"

namespace kai::messages {

// Reasons of job errors, as KAI names them (spec 2 M10).
inline constexpr std::string_view kOverLimit = "OverLimit";
inline constexpr std::string_view kNonPreemptibleOverQuota = "NonPreemptibleOverQuota";
inline constexpr std::string_view kPodSchedulingErrors = "PodSchedulingErrors";
inline constexpr std::string_view kQueueDoesNotExist = "QueueDoesNotExist";

// Why a node said no: the short reasons that are counted over nodes.
inline constexpr std::string_view kNotEnoughGpus = "node(s) didn't have enough resources: GPUs";
inline constexpr std::string_view kNotEnoughCpu = "node(s) didn't have enough resources: CPU cores";
inline constexpr std::string_view kNotEnoughMemory = "node(s) didn't have enough resources: memory";
inline constexpr std::string_view kNodeUnschedulable = "node is unschedulable";
inline constexpr std::string_view kNodeNotReady = "node has NotReady condition";
inline constexpr std::string_view kNodeMemoryPressure = "node has MemoryPressure condition";
inline constexpr std::string_view kNodeDiskPressure = "node has DiskPressure condition";
inline constexpr std::string_view kNodePidPressure = "node has PIDPressure condition";
inline constexpr std::string_view kNodeNetworkUnavailable = "node has NetworkUnavailable condition";
inline constexpr std::string_view kUntoleratedTaints = "node(s) had untolerated taint(s)";
inline constexpr std::string_view kNodeAffinityMismatch =
    "node(s) didn't match Pod's node affinity/selector";
inline constexpr std::string_view kPodAffinityMismatch = "node(s) didn't match pod affinity rules";
inline constexpr std::string_view kPodAntiAffinityMismatch =
    "node(s) didn't match pod anti-affinity rules";
inline constexpr std::string_view kExistingAntiAffinity =
    "node(s) didn't satisfy existing pods anti-affinity rules";
inline constexpr std::string_view kMixedMigStrategy =
    "non MIG jobs cant run on a node with MigStrategy='mixed'";

// KAI names pod and node here, which makes every count 1; the counted form leaves the names out
// (spec 3 P10).
inline constexpr std::string_view kNotGpuWorker = "gpu task can't run on non gpu nodes";
inline constexpr std::string_view kNotCpuWorker = "cpu task can't run on non cpu nodes";

// When nothing more is known.
inline constexpr std::string_view kUnableToSchedulePod = "Unable to schedule pod";
inline constexpr std::string_view kUnableToSchedulePodGroup = "Unable to schedule podgroup";

std::string NotEnoughOf(std::string_view resource);
std::string QueueDoesNotExist(std::string_view queue);
// spec 2 G6
std::string UnknownSubgroup(std::string_view subgroup, std::string_view pod_group);

// spec 1 F77, F78. `requested` etc. are amounts of `resource` in internal units.
std::string OverLimit(std::string_view queue, QuotaResource resource, double limit,
                      double allocated, double requested);
std::string NonPreemptibleOverQuota(std::string_view queue, QuotaResource resource, double deserved,
                                    double allocated, double requested);

struct NotReadyPodSet {
  std::string subgroup;  // empty: the group has no sub-groups
  int minimum = 0;
  int alive = 0;
  int gated = 0;
};
std::string NotReady(std::span<const NotReadyPodSet> pod_sets);  // spec 2 M4

// spec 2 P6
std::string NoNodeForPod(std::string_view pod, std::string_view why);
std::string GangIncomplete(int found, int minimum, std::string_view why);
std::string SubgroupGangIncomplete(int found, std::string_view subgroup, int minimum,
                                   std::string_view why);

// spec 2 M6: why one pod found no node. `reasons` are (times, reason); `base` replaces the first
// words when not empty.
std::string PodFitError(std::string_view base,
                        std::span<const std::pair<int64_t, std::string>> reasons);

// spec 3 P15
std::string ConditionsNotMet(std::string_view pod, std::string_view check, std::string_view error);

// spec 3 P14
struct PoolLimit {
  std::string pod;  // ns/name
  double gpus = 0;
  double cpu_millicores = 0;
  double memory_bytes = 0;
  std::vector<std::pair<std::string, double>>
      others;  // "pods" and scalars, in the order of their slots; storage in bytes
  std::vector<std::pair<std::string, double>> mig;
  std::string_view node_pool;
  std::string resource;  // the one that is too large: GPU, CPU, memory or its name
  double largest = 0;    // what the largest node has of it, as KAI displays it
};
std::string LargerThanAnyNode(const PoolLimit& limit);

// spec 2 M5: the text of a pod group's event and condition, from (reason, message) of its errors.
std::string PodGroupText(std::span<const std::pair<std::string, std::string>> errors);

// spec 2 M2
std::string WithNodePool(std::string_view node_pool, std::string_view text);

}  // namespace kai::messages

#endif  // KAI_MODEL_MESSAGES_H_

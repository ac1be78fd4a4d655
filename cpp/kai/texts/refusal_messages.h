// Why a node rejects a pod: the short reasons that are counted over nodes, in KAI's words if it has
// them.
//
//   {Refusal::kUntoleratedTaints, {"untolerated_taints", messages::kUntoleratedTaints}},
//
// Invariant: no two reasons share a text. Cost: none. Threads: constants.
#ifndef KAI_TEXTS_REFUSAL_MESSAGES_H_
#define KAI_TEXTS_REFUSAL_MESSAGES_H_

#include <string_view>

namespace kai::messages {

inline constexpr std::string_view kNotEnoughGpus = "node(s) didn't have enough resources: GPUs";
inline constexpr std::string_view kNotEnoughGpuMemory =
    "node(s) didn't have enough resources: GPU memory";
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
inline constexpr std::string_view kSingleMigStrategy =
    "only whole gpu jobs can run on a node with MigStrategy='single'";
inline constexpr std::string_view kNoMigNode = "MIG job cannot be scheduled on non-MIG node";
inline constexpr std::string_view kSharedOnDraNode =
    "fractional/shared GPU pods are not yet supported on DRA-only nodes";
inline constexpr std::string_view kClaimsOnlyNode =  // not in KAI
    "the node's GPUs are devices of claims; the pod needs a ResourceClaim, or a DeviceClass with "
    "extendedResourceName";
inline constexpr std::string_view kNotEnoughPodSlots = "node(s) pod number exceeded";
inline constexpr std::string_view kNoFreePorts =
    "node(s) didn't have free ports for the requested pod ports";
inline constexpr std::string_view kVolumeOutOfReach =
    "node(s) didn't match PersistentVolume's node affinity";
inline constexpr std::string_view kNoVolumeToBind =
    "node(s) didn't find available persistent volumes to bind";
inline constexpr std::string_view kNotEnoughStorage = "node(s) did not have enough free storage";
inline constexpr std::string_view kVolumeIsGone =
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
// Not in KAI; these are kube-scheduler's words.
inline constexpr std::string_view kTooManyVolumes = "node(s) exceed max volume count";
inline constexpr std::string_view kOtherZone = "node(s) had no available volume zone";
inline constexpr std::string_view kTooUneven =
    "node(s) didn't match pod topology spread constraints";
inline constexpr std::string_view kNotNumaAligned =
    "node cannot NUMA-align the pod's resources under its Topology Manager policy";  // spec 3 U15
inline constexpr std::string_view kRefusedByPolicy =
    "node(s) were refused by a policy that was given as a function";
inline constexpr std::string_view kSpreadWithoutLabel =
    "node(s) didn't match pod topology spread constraints (missing required label)";

// KAI's text contains pod and node, so that every count is 1. This one leaves out the names, so
// that nodes can be counted (spec 3 P5, P10).
inline constexpr std::string_view kGpuMemoryUnknown =
    "node is not a gpu node or the gpu memory count on the node was not synced yet";
inline constexpr std::string_view kNotGpuWorker = "gpu task can't run on non gpu nodes";
inline constexpr std::string_view kNotCpuWorker = "cpu task can't run on non cpu nodes";

}  // namespace kai::messages

#endif  // KAI_TEXTS_REFUSAL_MESSAGES_H_

// All texts that KAI writes to events and conditions, word for word.
//
//   OverLimit("team-a", kQuotaGpu, 4, 4, 1)   // GPUs; cpu in millicores, memory in bytes
//
// Invariants: a text depends on its arguments alone. Cost: a string. Threads: pure functions.
#ifndef KAI_TEXTS_MESSAGES_H_
#define KAI_TEXTS_MESSAGES_H_

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/api/units.h"

namespace kai::messages {

// Reasons of job errors, by KAI's names (spec 2 M10).
inline constexpr std::string_view kOverLimit = "OverLimit";
inline constexpr std::string_view kNonPreemptibleOverQuota = "NonPreemptibleOverQuota";
inline constexpr std::string_view kPodSchedulingErrors = "PodSchedulingErrors";
inline constexpr std::string_view kQueueDoesNotExist = "QueueDoesNotExist";
inline constexpr std::string_view kPreemptionDelayNotElapsed = "PreemptionDelayNotElapsed";

// Why a node rejects a pod, where the text needs more than refusal_messages.h has.
std::string LegacyMig(std::string_view node);
std::string LegacyMigPods(std::string_view pods);  // names, separated by spaces
std::string NotEnoughOfMig(std::string_view profile);
// spec 3 E4; `overhead` is a list of " name: amount".
std::string DueToOverhead(std::string_view reason, std::string_view overhead);

// Used if no other cause is known.
inline constexpr std::string_view kNoNodeWithResources =
    "no nodes with enough resources were found";
inline constexpr std::string_view kUnableToSchedulePod = "Unable to schedule pod";
inline constexpr std::string_view kUnableToSchedulePodGroup = "Unable to schedule podgroup";

std::string NotEnoughOf(std::string_view resource);
bool IsStorage(std::string_view resource);  // counted in bytes
std::string QueueDoesNotExist(std::string_view queue);
// Not in KAI, whose events leave out such pod groups.
inline constexpr std::string_view kNoPods = "the pod group has no pods yet";
inline constexpr std::string_view kCompleted = "all pods have ended";
inline constexpr std::string_view kNotConsidered =
    "no action that ran in this cycle considered the pod group";
inline constexpr std::string_view kSearchBudgetSpent =
    "the search for pods to evict ended before it was complete: its budget was spent";
std::string QueueIsNoLeaf(std::string_view queue);
std::string NotBuilt();
// spec 2 G6
std::string UnknownSubgroup(std::string_view subgroup, std::string_view pod_group);

// spec 1 F77, F78. `requested` etc. are amounts of `resource` in internal units.
std::string OverLimit(std::string_view queue, QuotaResource resource, double limit,
                      double allocated, double requested);
std::string NonPreemptibleOverQuota(std::string_view queue, QuotaResource resource, double deserved,
                                    double allocated, double requested);

// spec 3 P3a: on this node the pod would count for more GPUs than its queue may have.
std::string NoCapacityOnNode(std::string_view reason, std::string_view details);

struct NotReadyPodSet {
  std::string subgroup;  // empty: the group has no sub-groups
  int minimum = 0;
  int alive = 0;
  int gated = 0;
};
std::string NotReady(std::span<const NotReadyPodSet> pod_sets);  // spec 2 M4

// Why a pod is evicted; `pod` and `pod_group` are "namespace/name".
std::string Preempted(std::string_view pod, std::string_view pod_group);  // spec 2 R6
std::string Consolidated(std::string_view pod);                           // spec 2 R6

// The numbers of a queue in the text of a reclaim, in internal units: those before any eviction.
struct ReclaimQueue {
  std::string_view name;
  QuotaVector used{};
  QuotaVector quota{};
  QuotaVector fair_share{};
  int64_t priority = 0;
};
// One of the two lines about queues. GPUs are printed as in KAI: 2.5 as 2, unlimited as 0 (spec 1
// F95b).
std::string QueueUse(const ReclaimQueue& queue);
// spec 2 R6. The lines are the QueueUse() of the two queues; many pods share them.
std::string Reclaimed(std::string_view pod, std::string_view pod_group,
                      std::string_view victim_queue_use, std::string_view reclaimer_queue_use);

// spec 2 D7. `minimum` and `subgroup` are those of the pod's own pod set; `subgroup` is empty if
// the group has no sub-groups.
std::string StaleEviction(std::string_view pod, int minimum, std::string_view subgroup);

// spec 2 M4
struct StalePodSet {
  std::string subgroup;  // empty: the group has no sub-groups
  int minimum = 0;
  int active = 0;
};
std::string StaleJob(std::span<const StalePodSet> pod_sets);  // all pod sets of the group

// RFC 3339, cut to whole seconds.
std::string Second(int64_t ns_since_1970);
// spec 2 D2. `end_ns`: the end of the delay, since 1970.
std::string PreemptionDelayNotElapsed(int64_t delay_ns, int64_t end_ns);
// Not in KAI, which keeps no promises.
std::string PromisesUnkept(int64_t times, int64_t end_ns);

// spec 2 P6
std::string NoNodeForPod(std::string_view pod, std::string_view why);
std::string GangIncomplete(int found, int minimum, std::string_view why);
std::string SubgroupGangIncomplete(int found, std::string_view subgroup, int minimum,
                                   std::string_view why);

// spec 2 M6: why a pod found no node. `reasons` are (count, reason); `base` replaces the first
// words if not empty.
std::string PodFitError(std::string_view base,
                        std::span<const std::pair<int64_t, std::string>> reasons);

// spec 3 D5: why no node is possible for the claims of a pod. Names of claims have no namespace;
// `uses` are their names in the pod's spec.
std::string ClaimsNotServed(std::string_view pod, std::span<const std::string_view> uses);
std::string NoClaimYet(std::string_view pod, std::string_view use);
std::string NoSuchClaim(std::string_view claim);               // "namespace/name"
std::string ClaimHasTooManyConsumers(std::string_view claim);  // "namespace/name"
std::string ClaimWithoutQueue(std::string_view pod, std::string_view claim);
std::string ClaimOfOtherQueue(std::string_view pod, std::string_view claim, std::string_view queue,
                              std::string_view label);
// `claim`: "namespace/name"
std::string NoDeviceClass(std::string_view device_class, std::string_view claim,
                          std::string_view request);
// Not in KAI.
std::string SelectorsCostTooMuch(std::string_view claim, size_t devices, int64_t budget);
// spec 3 D7: why a node is not possible; `claim`: "namespace/name".
std::string ClaimIsElsewhere(std::string_view claim, std::string_view node);
std::string NoDevicesForClaims(std::string_view node);
std::string CannotAllocateClaims(std::string_view node, std::string_view error);
// spec 3 P12: why a node has no storage for the claims of a pod, which are "namespace/name".
std::string NoStorageOfClass(std::string_view storage_class);
std::string NotEnoughStorageOfClass(std::string_view storage_class);
std::string ClaimsAreDeleted(std::span<const std::string_view> claims);

// kube-scheduler's texts for the PersistentVolumeClaims of a pod; only the claim of another pod has
// a namespace.
inline constexpr std::string_view kUnboundVolumeClaims =
    "pod has unbound immediate PersistentVolumeClaims";
std::string NoVolumeClaim(std::string_view claim);
std::string NoEphemeralVolumeClaimYet(std::string_view claim);
std::string VolumeOfClaimIsLost(std::string_view claim, std::string_view volume);
std::string VolumeClaimIsDeleted(std::string_view claim);
std::string VolumeClaimOfOtherPod(std::string_view claim, std::string_view pod);

// spec 3 P15
std::string ConditionsNotMet(
    std::string_view pod,
    std::span<const std::pair<std::string_view, std::string>> errors);  // by check

// spec 3 P13
std::string MissingConfigMaps(std::span<const std::string_view> names);

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
  std::string resource;  // the resource that is too large: GPU, CPU, memory or its name
  double largest = 0;    // the most on any node, as KAI prints it
};
std::string LargerThanAnyNode(const PoolLimit& limit);

// spec 2 M5: the text of a pod group's event and condition, from (reason, message) of its errors.
std::string PodGroupText(std::span<const std::pair<std::string, std::string>> errors);

// spec 4 M1-M5. An empty domain is the whole topology, an empty sub-group the whole group;
// `pod_group` is "namespace/name".
inline constexpr std::string_view kNotEnoughForWorkload = "Not enough resources for the workload";
std::string NoSuchTopology(std::string_view topology);
std::string TopologyNotSatisfied(std::string_view topology, std::string_view required,
                                 std::string_view pod_group, std::string_view subgroup,
                                 std::string_view why);
std::string NotEnoughIn(std::string_view domain);
std::string DomainHoldsTooFew(std::string_view domain, int64_t holds, int64_t wanted);
std::string DomainsLack(std::string_view resource, bool is_mig);
// Not in KAI, which does not count domains. `most`: 0 means no limit.
std::string DomainCountNotMet(std::string_view level, int64_t least, int64_t most, bool balanced);
// spec 4 C5: KAI only writes these to its log.
std::string NoTopologyLevel(std::string_view subgroup, std::string_view topology);
std::string UnknownTopologyLevel(std::string_view subgroup, std::string_view level,
                                 std::string_view which, std::string_view topology);

// spec 2 M2
std::string WithNodePool(std::string_view node_pool, std::string_view text);

}  // namespace kai::messages

#endif  // KAI_TEXTS_MESSAGES_H_

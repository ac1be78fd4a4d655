#include "kai/texts/messages.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/time/time.h"
#include "kai/api/rounding.h"
#include "kai/base/duration.h"
#include "kai/base/quote.h"
#include "kai/base/text.h"
#include "kai/texts/refusal_messages.h"

namespace kai::messages {
namespace {

// The amount in the units of messages: cores, gigabytes, devices.
double ForPeople(QuotaResource resource, double amount) {
  switch (resource) {
    case kQuotaCpu:
      return amount / kMillicpuPerCore;
    case kQuotaMemory:
      return amount / kBytesPerGigabyte;
    case kQuotaGpu:
      break;
  }
  return amount;
}

std::string Number(QuotaResource resource, double amount) {
  return amount == kUnlimited ? "Unlimited" : CutToThreeDecimals(ForPeople(resource, amount));
}

constexpr std::string_view kResourceNames[] = {"CPU cores", "memory", "GPUs"};
constexpr std::string_view kUnits[] = {"cores", "GB", "GPUs"};
// "requested <z> GB memory" but "requested <z> GPUs"
constexpr std::string_view kRequestedUnits[] = {"CPU cores", "GB memory", "GPUs"};

// KAI converts GPUs with the function for status details, which prints unlimited amounts as 0 and,
// from one device on, no fractions (spec 1 F81).
double GpusOfStatusDetails(double gpus) {
  if (gpus == kUnlimited) return 0;
  return gpus >= 1 ? std::floor(gpus) : GpusOfPortions(gpus, 1);
}

// <GPU: 2, CPU: 0.5 (cores), memory: 1.2 (GB)>
std::string Amounts(const QuotaVector& amounts) {
  return StrCat("<GPU: ", Number(kQuotaGpu, GpusOfStatusDetails(amounts[kQuotaGpu])),
                ", CPU: ", Number(kQuotaCpu, amounts[kQuotaCpu]),
                " (cores), memory: ", Number(kQuotaMemory, amounts[kQuotaMemory]), " (GB)>");
}

std::string Join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) StrAppend(&text, i == 0 ? "" : separator, parts[i]);
  return text;
}

}  // namespace

bool IsStorage(std::string_view resource) {
  return resource == "storage" || resource == "ephemeral-storage";
}

std::string NotEnoughOf(std::string_view resource) {
  return StrCat("node(s) didn't have enough resources: ", resource);
}

std::string QueueDoesNotExist(std::string_view queue) {
  return StrCat("Queue '", queue, "' does not exist");
}

std::string QueueIsNoLeaf(std::string_view queue) {
  return StrCat("queue ", queue, " has queues below it; pod groups run in leaf queues only");
}

std::string NotBuilt() { return "needs namespace-selector, which is not built yet"; }

std::string UnknownSubgroup(std::string_view subgroup, std::string_view pod_group) {
  return StrCat("Pod references subgroup \"", subgroup, "\", which does not exist in PodGroup ",
                pod_group);
}

std::string OverLimit(std::string_view queue, QuotaResource resource, double limit,
                      double allocated, double requested) {
  return StrCat(queue, " quota has reached the allowable limit of ", kResourceNames[resource],
                ". Limit is ", Number(resource, limit), " ", kUnits[resource], ", currently ",
                Number(resource, allocated), " ", kUnits[resource],
                " allocated and workload requested ", Number(resource, requested), " ",
                kUnits[resource]);
}

std::string NonPreemptibleOverQuota(std::string_view queue, QuotaResource resource, double deserved,
                                    double allocated, double requested) {
  // KAI prints requested GPUs unchanged, without cutting.
  const std::string wanted =
      resource == kQuotaGpu ? ShortestDecimal(requested) : Number(resource, requested);
  return StrCat("Non-preemptible workload is over quota. Workload requested ", wanted, " ",
                kRequestedUnits[resource], ", but ", queue, " quota is ",
                Number(resource, deserved), " ", kUnits[resource], ", while ",
                Number(resource, allocated), " ", kUnits[resource],
                " are already allocated for non-preemptible pods. Use a preemptible workload to go "
                "over quota.");
}

std::string NoCapacityOnNode(std::string_view reason, std::string_view details) {
  return StrCat("node does not have enough capacity. Reason: ", reason, ", Details: ", details);
}

std::string NotReady(std::span<const NotReadyPodSet> pod_sets) {
  std::string text = "Job is not ready for scheduling.";
  for (const NotReadyPodSet& set : pod_sets) {
    const bool named = !set.subgroup.empty();
    StrAppend(&text, " Waiting for ", set.minimum, " pods", named ? " for SubGroup " : "",
              set.subgroup, ", currently ", set.alive, " exist, ", set.gated, " are gated",
              named ? "." : "");
  }
  return text;
}

std::string LegacyMig(std::string_view node) {
  return StrCat("Legacy MIG jobs cannot be scheduled on node ", node);
}

std::string LegacyMigPods(std::string_view pods) {
  return StrCat("MIG job cannot be scheduled on node with legacy MIG jobs: <[", pods, "]>");
}

std::string NotEnoughOfMig(std::string_view profile) {
  return StrCat("node(s) didn't have enough of mig profile: ", profile);
}

std::string DueToOverhead(std::string_view reason, std::string_view overhead) {
  return StrCat(reason,
                ". Not enough resources due to pod overhead resources. The overhead resources are ",
                overhead);
}

std::string Preempted(std::string_view pod, std::string_view pod_group) {
  return StrCat("Pod ", pod, " was preempted by higher priority workload ", pod_group);
}

std::string Consolidated(std::string_view pod) {
  return StrCat("Pod ", pod,
                " was preempted and rescheduled due to bin packing (resource consolidation) "
                "procedure");
}

std::string QueueUse(const ReclaimQueue& queue) {
  return StrCat(queue.name, " uses ", Amounts(queue.used), " with a quota of ",
                Amounts(queue.quota), ", fair-share of ", Amounts(queue.fair_share),
                " and queue priority of <", queue.priority, ">.");
}

std::string Reclaimed(std::string_view pod, std::string_view pod_group,
                      std::string_view victim_queue_use, std::string_view reclaimer_queue_use) {
  return StrCat("Pod ", pod, " was preempted by workload ", pod_group, ".\n", victim_queue_use,
                "\n", reclaimer_queue_use);
}

std::string StaleEviction(std::string_view pod, int minimum, std::string_view subgroup) {
  return StrCat("Workload doesn't meet the minimum required number of pods (", minimum, ")",
                subgroup.empty() ? "" : " in sub-group ", subgroup,
                ", evicting remaining pod: ", pod);
}

std::string StaleJob(std::span<const StalePodSet> pod_sets) {
  int minimum = 0, active = 0;
  std::string unsatisfied;
  for (const StalePodSet& set : pod_sets) {
    minimum += set.minimum;
    active += set.active;
    if (set.active >= set.minimum || set.subgroup.empty()) continue;
    StrAppend(&unsatisfied, ", subGroup ", set.subgroup, " minMember is ", set.minimum, " and ",
              set.active, " pods are active");
  }
  return StrCat("Job is stale. ", active, " pods are active, minMember is ", minimum, unsatisfied);
}

std::string Second(int64_t ns_since_1970) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixNanos(ns_since_1970),
                          absl::UTCTimeZone());
}

std::string PreemptionDelayNotElapsed(int64_t delay_ns, int64_t end_ns) {
  return StrCat("Workload is within its preemption delay window (", FormatDuration(delay_ns),
                ") and may not trigger evictions before ", Second(end_ns));
}

std::string PromisesUnkept(int64_t times, int64_t end_ns) {
  return StrCat("Workload lost the room of the last pods that were evicted for it",
                times > 1 ? StrCat(" (", times, " times in a row)") : "",
                " and may not trigger evictions before ", Second(end_ns));
}

std::string NoNodeForPod(std::string_view pod, std::string_view why) {
  return StrCat("Resources were not found for pod ", pod, " due to: ", why);
}

std::string GangIncomplete(int found, int minimum, std::string_view why) {
  return StrCat(
      "Resources were found for ", found, " pods while ", minimum,
      " are required for gang scheduling. Additional pods cannot be scheduled due to: ", why);
}

std::string SubgroupGangIncomplete(int found, std::string_view subgroup, int minimum,
                                   std::string_view why) {
  return StrCat(
      "Resources were found for ", found, " pods from all sub-groups while sub-group ", subgroup,
      " requires ", minimum,
      " pods for gang scheduling. Additional pods cannot be scheduled in this sub-group due to: ",
      why);
}

std::string PodFitError(std::string_view base,
                        std::span<const std::pair<int64_t, std::string>> reasons) {
  std::string text(base.empty() ? kNoNodeWithResources : base);
  if (reasons.empty()) return text;
  std::vector<std::string> counted;
  for (const auto& [times, reason] : reasons) counted.push_back(StrCat(times, " ", reason));
  std::sort(counted.begin(), counted.end());
  return StrCat(text, ": ", Join(counted, ". \n"), ".");
}

std::string ClaimsNotServed(std::string_view pod, std::span<const std::string_view> uses) {
  return StrCat("pod ", pod, " cannot be scheduled, it references resource claims <",
                Join(std::vector<std::string>(uses.begin(), uses.end()), ", "),
                "> while dynamic resource allocation is not available in the cluster");
}

std::string NoClaimYet(std::string_view pod, std::string_view use) {
  return StrCat("no resource claim name found for pod ", pod, " and claim reference ", use);
}

std::string NoSuchClaim(std::string_view claim) {
  return StrCat("failed to get resource claim ", claim, ": could not find claim ", Quote(claim));
}

std::string ClaimHasTooManyConsumers(std::string_view claim) {
  return StrCat("resource claim ", claim, " has reached its maximum number of consumers (256)");
}

std::string ClaimWithoutQueue(std::string_view pod, std::string_view claim) {
  // The default name of the label, even if another one is configured.
  return StrCat("pod ", pod, " cannot be scheduled: DRA claim ", claim,
                " is a shared GPU claim but does not have a queue label (kai.scheduler/queue)");
}

std::string ClaimOfOtherQueue(std::string_view pod, std::string_view claim, std::string_view queue,
                              std::string_view label) {
  return StrCat("pod ", pod, " cannot be scheduled: DRA claim ", claim,
                " is a shared GPU claim with wrong queue label (expected queue: ", queue,
                ", claim queue label: ", label, ")");
}

std::string NoDeviceClass(std::string_view device_class, std::string_view claim,
                          std::string_view request) {
  return StrCat("device class ", device_class, " does not exist for claim ", claim, " request ",
                request);
}

std::string SelectorsCostTooMuch(std::string_view claim, size_t devices, int64_t budget) {
  return StrCat(
      "resource claim ", claim,
      ": its selector costs too much: the expressions of its requests and device classes"
      " take more than ",
      budget, " steps for the ", devices,
      " device(s) of the cluster; make them simpler, for example without all(), exists() or"
      " map() inside each other");
}

std::string ClaimIsElsewhere(std::string_view claim, std::string_view node) {
  return StrCat("claim ", claim, " node selector does not match node ", node);
}

std::string NoDevicesForClaims(std::string_view node) {
  return StrCat("cannot allocate all DRA claims on node ", node);
}

std::string CannotAllocateClaims(std::string_view node, std::string_view error) {
  return StrCat("cannot allocate DRA claims on node ", node, ": ", error);
}

std::string NoStorageOfClass(std::string_view storage_class) {
  return StrCat("no allocatable storage from storageclass ", storage_class, " found");
}

std::string NotEnoughStorageOfClass(std::string_view storage_class) {
  return StrCat(kNotEnoughStorage, " for storageclass ", storage_class);
}

std::string ClaimsAreDeleted(std::span<const std::string_view> claims) {
  std::string list;
  for (size_t i = 0; i < claims.size(); ++i) StrAppend(&list, ", ");  // KAI writes blanks first
  for (const std::string_view claim : claims) StrAppend(&list, claim, ", ");
  list.resize(list.size() - std::min<size_t>(list.size(), 2));
  return StrCat("task has deleted storage claims: ", list);
}

std::string NoVolumeClaim(std::string_view claim) {
  return StrCat("persistentvolumeclaim \"", claim, "\" not found");
}

std::string NoEphemeralVolumeClaimYet(std::string_view claim) {
  return StrCat("waiting for ephemeral volume controller to create the persistentvolumeclaim \"",
                claim, "\"");
}

std::string VolumeOfClaimIsLost(std::string_view claim, std::string_view volume) {
  return StrCat("persistentvolumeclaim \"", claim, "\" bound to non-existent persistentvolume \"",
                volume, "\"");
}

std::string VolumeClaimIsDeleted(std::string_view claim) {
  return StrCat("persistentvolumeclaim \"", claim, "\" is being deleted");
}

std::string VolumeClaimOfOtherPod(std::string_view claim, std::string_view pod) {
  return StrCat("PVC ", claim, " was not created for pod ", pod, " (pod is not owner)");
}

std::string ConditionsNotMet(std::string_view pod,
                             std::span<const std::pair<std::string_view, std::string>> errors) {
  std::string text = StrCat("Scheduling conditions were not met for pod ", pod, ":\n");
  for (const auto& [check, error] : errors) StrAppend(&text, check, ": ", error, ".\n");
  return text;
}

std::string MissingConfigMaps(std::span<const std::string_view> names) {
  std::string list;
  for (const std::string_view name : names) StrAppend(&list, list.empty() ? "" : " ", name);
  return StrCat("Missing required configmaps: [", list, "]");
}

std::string LargerThanAnyNode(const PoolLimit& limit) {
  std::string text = StrCat(
      "The pod ", limit.pod, " requires GPU: ", CutToThreeDecimals(limit.gpus),
      ", CPU: ", CutToThreeDecimals(limit.cpu_millicores / kMillicpuPerCore),
      " (cores), memory: ", CutToThreeDecimals(limit.memory_bytes / kBytesPerGigabyte), " (GB)");
  for (const auto& [name, amount] : limit.others) {
    if (IsStorage(name)) {
      StrAppend(&text, ", ", name, ": ", CutToThreeDecimals(amount / kBytesPerGigabyte), " (GB)");
    } else {
      StrAppend(&text, ", ", name, ": ", CutToThreeDecimals(amount));
    }
  }
  for (const auto& [name, amount] : limit.mig)
    StrAppend(&text, ", mig ", name, ": ", CutToThreeDecimals(amount));
  double largest = limit.largest;
  std::string_view unit;
  if (limit.resource == "CPU") {
    largest /= kMillicpuPerCore;
    unit = " cores";
  } else if (limit.resource == "memory" || IsStorage(limit.resource)) {
    largest /= kBytesPerGigabyte;
    unit = " GB";
  }
  if (largest == 0) {
    StrAppend(&text, ". No node in the ", limit.node_pool, " node-pool has ", limit.resource,
              " resources");
  } else {
    StrAppend(&text, ". Max ", limit.resource, " resources available in a single node in the ",
              limit.node_pool, " node-pool is topped at ", CutToThreeDecimals(largest), unit);
  }
  return text;
}

std::string PodGroupText(std::span<const std::pair<std::string, std::string>> errors) {
  if (errors.empty()) return std::string(kUnableToSchedulePodGroup);
  const std::string reason =
      errors.size() == 1 ? errors[0].first : std::string(kUnableToSchedulePodGroup);
  std::map<std::string, int64_t> times;
  for (const auto& [unused, message] : errors) ++times[message];
  std::vector<std::string> counted;
  for (const auto& [message, count] : times)
    counted.push_back(count > 1 ? StrCat(count, " ", message) : message);
  std::sort(counted.begin(), counted.end());
  return StrCat(reason, ": ", Join(counted, ". \n"), ".");
}

std::string NoSuchTopology(std::string_view topology) {
  return StrCat("Requested topology ", topology, " does not exist");
}

std::string TopologyNotSatisfied(std::string_view topology, std::string_view required,
                                 std::string_view pod_group, std::string_view subgroup,
                                 std::string_view why) {
  return StrCat("topology ", topology, ", requirement ", required,
                " couldn't be satisfied for job <", pod_group, ">",
                subgroup.empty() ? "" : ", subgroup ", subgroup, why.empty() ? "" : ": ", why);
}

std::string NotEnoughIn(std::string_view domain) {
  return StrCat("not enough resources in ", domain.empty() ? "the cluster" : domain,
                " to allocate the job");
}

std::string DomainHoldsTooFew(std::string_view domain, int64_t holds, int64_t wanted) {
  return StrCat("node-group ", domain, " can allocate only ", holds, " of ", wanted,
                " required pods");
}

std::string DomainsLack(std::string_view resource, bool is_mig) {
  if (is_mig) return StrCat("node-group(s) didn't have enough of mig profile: ", resource);
  const std::string_view name = resource == "gpu"   ? "GPUs"
                                : resource == "cpu" ? "CPU cores"
                                                    : resource;
  return StrCat("node-group(s) didn't have enough resources: ", name);
}

std::string DomainCountNotMet(std::string_view level, int64_t least, int64_t most, bool balanced) {
  std::string wanted;
  if (least > 1 && most == least) {
    wanted = StrCat("exactly ", least);
  } else if (least > 1 && most > 0) {
    wanted = StrCat(least, " to ", most);
  } else if (most > 0) {
    wanted = StrCat("at most ", most);
  } else {
    wanted = StrCat("at least ", std::max<int64_t>(least, 1));
  }
  return StrCat("no choice of domains holds the pods: they are to be in ", wanted, " of level ",
                level, balanced ? ", evenly" : "");
}

std::string NoTopologyLevel(std::string_view subgroup, std::string_view topology) {
  return StrCat("no topology constraints were found for subgroup ", subgroup,
                ", with topology name ", topology);
}

std::string UnknownTopologyLevel(std::string_view subgroup, std::string_view level,
                                 std::string_view which, std::string_view topology) {
  return StrCat("topology constraint error: ",
                subgroup == "default" ? "workload" : StrCat("sub-group ", subgroup), " specified '",
                level, "' as the ", which, " topology constraint level, but the topology tree '",
                topology, "' does not contain a level with this name");
}

std::string WithNodePool(std::string_view node_pool, std::string_view text) {
  return StrCat("Node-Pool '", node_pool, "': ", text);
}

}  // namespace kai::messages

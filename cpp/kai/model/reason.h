// Reason: why a pod group, or one of its pods, waits, as data: a code with the numbers and names it
// speaks of.
//
//   Reason reason = OverLimit{{.queue = queue, .resource = kQuotaGpu, .bound = 8, .allocated = 8,
//   .requested = 1}}; CodeOf(reason);                    // "over_limit" MessageOf(reason, group,
//   cluster)  // kai/texts/reason_text.h: KAI's sentence
//
// A reason is made where the fact is found, travels with the plan, and becomes a sentence in
// kai/texts only. To add one: a struct here, a sentence in texts/reason_text.cc, its members in
// texts/reason_facts.cc, a section in docs/reference/reasons.md.
//
// Invariants: a reason owns what it holds, and its ids are those of the cluster that was planned.
// Cost: a few words; the answers of the nodes, which may be many, are shared by all reasons that
// speak of them. Threads: plain values.
#ifndef KAI_MODEL_REASON_H_
#define KAI_MODEL_REASON_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kai/base/units.h"
#include "kai/model/claim_refusal.h"
#include "kai/model/ids.h"
#include "kai/model/resources.h"
#include "kai/model/volumes.h"

namespace kai {

// Stable words for programs; docs/reference/reasons.md lists them.
namespace reason_codes {
inline constexpr std::string_view kOverLimit = "over_limit";
inline constexpr std::string_view kNonPreemptibleOverQuota = "non_preemptible_over_quota";
inline constexpr std::string_view kGangIncomplete = "gang_incomplete";
inline constexpr std::string_view kNotEnoughGpus = "not_enough_gpus";
inline constexpr std::string_view kNotEnoughResources = "not_enough_resources";
inline constexpr std::string_view kNoMatchingNode = "no_matching_node";
inline constexpr std::string_view kTopologyTooSmall = "topology_too_small";
inline constexpr std::string_view kLargerThanAnyNode = "larger_than_any_node";
inline constexpr std::string_view kConfigMapMissing = "config_map_missing";
inline constexpr std::string_view kVolumeNotReady = "volume_not_ready";
inline constexpr std::string_view kResourceClaimNotReady = "resource_claim_not_ready";
inline constexpr std::string_view kNoFreeDevices = "no_free_devices";
inline constexpr std::string_view kQueueDoesNotExist = "queue_does_not_exist";
inline constexpr std::string_view kQueueNotLeaf = "queue_not_leaf";
inline constexpr std::string_view kSubgroupDoesNotExist = "subgroup_does_not_exist";
inline constexpr std::string_view kNotReady = "not_ready";
inline constexpr std::string_view kNotBuilt = "not_built";
inline constexpr std::string_view kCompleted = "completed";
inline constexpr std::string_view kNoPods = "no_pods";
inline constexpr std::string_view kNotConsidered = "not_considered";
inline constexpr std::string_view kPreemptionDelay = "preemption_delay";
inline constexpr std::string_view kSearchBudgetSpent = "search_budget_spent";
inline constexpr std::string_view kEvicted = "evicted";
inline constexpr std::string_view kStale = "stale";
}  // namespace reason_codes

// ---- why a node refuses a pod

// A cause that thousands of nodes may share: a number, so that counting touches no text. Resources
// have two each.
class Refusal {
 public:
  enum Cause : int32_t {
    kNodeUnschedulable,
    kNodeNotReady,
    kNodeMemoryPressure,
    kNodeDiskPressure,
    kNodePidPressure,
    kNodeNetworkUnavailable,
    kUntoleratedTaints,
    kNodeAffinityMismatch,
    kPodAffinityMismatch,
    kPodAntiAffinityMismatch,
    kExistingAntiAffinity,
    kMixedMigStrategy,
    kSingleMigStrategy,
    kNoMigNode,
    kSharedOnDraNode,
    kGpuMemoryUnknown,
    kNotEnoughGpuMemory,
    kNotEnoughPodSlots,
    kNotGpuWorker,
    kNotCpuWorker,
    kNoFreePorts,
    kSpreadWithoutLabel,
    kTooUneven,
    kTooManyVolumes,
    kOtherZone,
    kNotNumaAligned,
    kUnsaid,   // KAI has no words for it (spec 3 E5): GPUs that claims hold
    kVolumes,  // the first of those of OfVolumes()
    kCauses = kVolumes + 3 * 3 - 1,
    kShortage = kCauses  // not a code: what cause() is of NotEnough()
  };

  constexpr Refusal(Cause cause) : code_(cause) {}  // NOLINT: a refusal is one of these
  // `for_overhead`: the node has enough without the overhead of the pod (spec 3 E4).
  static constexpr Refusal NotEnough(ResourceSlot slot, bool for_overhead = false) {
    return Refusal(kCauses + 2 * slot.value() + (for_overhead ? 1 : 0));
  }
  // `answer` is a refusal.
  static constexpr Refusal OfVolumes(const VolumeAnswer& answer) {
    return Refusal(kVolumes - 1 + 3 * static_cast<int32_t>(answer.bound) +
                   static_cast<int32_t>(answer.delayed));
  }
  static constexpr Refusal AtIndex(size_t index) { return Refusal(static_cast<int32_t>(index)); }

  constexpr size_t index() const { return static_cast<size_t>(code_); }
  // kVolumes stands for all of OfVolumes(), kShortage for all of NotEnough().
  constexpr Cause cause() const {
    return code_ >= kCauses ? kShortage : code_ >= kVolumes ? kVolumes : static_cast<Cause>(code_);
  }
  constexpr ResourceSlot slot() const { return ResourceSlot((code_ - kCauses) / 2); }  // kShortage
  constexpr bool for_overhead() const { return (code_ - kCauses) % 2 != 0; }           // kShortage
  constexpr VolumeAnswer volumes() const {                                             // kVolumes
    const int32_t code = code_ - kVolumes + 1;
    return {.bound = static_cast<VolumeAnswer::Bound>(code / 3),
            .delayed = static_cast<VolumeAnswer::Delayed>(code % 3)};
  }

  friend constexpr bool operator==(Refusal, Refusal) = default;

 private:
  explicit constexpr Refusal(int32_t code) : code_(code) {}
  int32_t code_;
};

// What a queue may not exceed (spec 1 F77, F78), in internal units.
struct QueueBound {
  QueueId queue;
  QuotaResource resource = kQuotaCpu;
  double bound = 0;      // the limit, or the quota
  double allocated = 0;  // to all pods, or to those that cannot be preempted
  double requested = 0;
  friend bool operator==(const QueueBound&, const QueueBound&) = default;
};
struct OverLimit : QueueBound {
  static constexpr std::string_view kCode = reason_codes::kOverLimit;
};
struct OverQuota : QueueBound {
  static constexpr std::string_view kCode = reason_codes::kNonPreemptibleOverQuota;
};  // of pods that cannot be preempted

// Refusals that name the node, or what is on it; a node gives one of them at most.
struct LegacyMig {
  NodeId node;
  friend bool operator==(const LegacyMig&, const LegacyMig&) = default;
};
struct LegacyMigPods {
  std::vector<PodId> pods;
  friend bool operator==(const LegacyMigPods&, const LegacyMigPods&) = default;
};
struct QueueRefuses {  // spec 3 P3a: on this node the pod counts for more GPUs than its queue may
                       // have
  std::variant<OverLimit, OverQuota> bound;
  friend bool operator==(const QueueRefuses&, const QueueRefuses&) = default;
};
struct ClaimIsElsewhere {  // spec 3 D7, as the next two
  NodeId node;
  ClaimId claim;
  friend bool operator==(const ClaimIsElsewhere&, const ClaimIsElsewhere&) = default;
};
struct NoDevicesForClaims {
  NodeId node;
  friend bool operator==(const NoDevicesForClaims&, const NoDevicesForClaims&) = default;
};
struct ClaimsFail {
  NodeId node;
  std::string error;  // of the expression that could not be worked out
  friend bool operator==(const ClaimsFail&, const ClaimsFail&) = default;
};
struct ClaimsAreDeleted {  // spec 3 P12, as the next one
  std::vector<NameId> claims;
  friend bool operator==(const ClaimsAreDeleted&, const ClaimsAreDeleted&) = default;
};
struct NotEnoughStorage {
  struct Class {
    NameId name;
    bool has_none = false;  // nothing of the class reaches the node
    friend bool operator==(const Class&, const Class&) = default;
  };
  std::vector<Class> classes;
  friend bool operator==(const NotEnoughStorage&, const NotEnoughStorage&) = default;
};
using NamedRefusal =
    std::variant<LegacyMig, LegacyMigPods, QueueRefuses, ClaimIsElsewhere, NoDevicesForClaims,
                 ClaimsFail, ClaimsAreDeleted, NotEnoughStorage>;

// ---- why no node is asked

struct MissingConfigMaps {  // spec 3 P13
  std::vector<NameId> names;
};
struct LargerThanAnyNode {  // spec 3 P14
  ResourceSlot slot;        // the first that is too large
  double largest = 0;       // of any node
};
using PodRefusal = std::variant<VolumeRefusal, MissingConfigMaps, LargerThanAnyNode, ClaimRefusal>;

// Why a pod found no node: how many nodes refused it and why, or why none was asked.
struct NoNodeCause {
  std::vector<std::pair<Refusal, int64_t>> refusals;  // by Refusal::index()
  std::vector<std::pair<NamedRefusal, int64_t>> named;
  std::vector<PodRefusal> pod;  // not empty: no node was asked

  // Nodes that lack only what was promised to others refuse without a cause (spec 2 M2).
  bool empty() const { return refusals.empty() && named.empty() && pod.empty(); }
};
using NoNodeCausePtr = std::shared_ptr<const NoNodeCause>;

// ---- reasons

struct NoNode {
  PodId pod;
  NoNodeCausePtr cause;
};
// So many pods of the gang had found room when this one found none (spec 2 P6).
struct GangIncomplete {
  static constexpr std::string_view kCode = reason_codes::kGangIncomplete;
  PodId pod;
  NoNodeCausePtr cause;
  int32_t found = 0;
  int32_t minimum = 0;
  SubGroupId pod_set;
  bool is_whole_group = true;  // the group has no sub-groups
};
struct PreemptionDelay {  // spec 2 D2
  static constexpr std::string_view kCode = reason_codes::kPreemptionDelay;
  int64_t delay_ns = 0;
  int64_t end_ns = 0;  // since 1970
};

// Of topologies (spec 4 §11). Names of domains are theirs in the topology.
struct NoSuchTopology {
  static constexpr std::string_view kCode = reason_codes::kTopologyTooSmall;
  NameId topology;
};
struct UnknownLevel {
  static constexpr std::string_view kCode = reason_codes::kTopologyTooSmall;
  NameId topology;
  NameId subgroup;
  NameId level;
  bool is_required = false;  // else it is preferred
};
struct NoLevel {
  static constexpr std::string_view kCode = reason_codes::kTopologyTooSmall;
  NameId topology;
  NameId subgroup;
};
struct DomainTooSmall {
  static constexpr std::string_view kCode = reason_codes::kTopologyTooSmall;
  std::string domain;
  int64_t holds = 0;
  int64_t wanted = 0;    // pods
  bool is_best = false;  // the best of many: KAI does not name it
};
struct DomainsLack {
  static constexpr std::string_view kCode = reason_codes::kTopologyTooSmall;
  ResourceSlot slot;
  bool is_outside = false;  // was no candidate: KAI's event counts it, and nothing else
};
struct TopologyNotSatisfied {
  static constexpr std::string_view kCode = reason_codes::kTopologyTooSmall;
  NameId topology;
  NameId level;     // invalid: none is required
  NameId subgroup;  // empty text: the group as a whole
  std::optional<std::string>
      within;  // nothing was tried: this domain has too little; "": the cluster
};
struct DomainCountNotMet {  // ours: KAI counts no domains
  static constexpr std::string_view kCode = reason_codes::kTopologyTooSmall;
  NameId level;
  int32_t least = 0;
  int32_t most = 0;  // 0: any number
  bool is_balanced = false;
};

// A pod set that keeps its group from starting or from going on.
struct PodSetState {
  SubGroupId pod_set;
  int32_t minimum = 0;
  int32_t pods = 0;   // NotReady: that exist; Stale: that are active
  int32_t gated = 0;  // NotReady: of these
};
struct NotReady {  // spec 2 M4
  static constexpr std::string_view kCode = reason_codes::kNotReady;
  std::vector<PodSetState> pod_sets;  // those that lack pods
};
struct Stale {
  static constexpr std::string_view kCode = reason_codes::kStale;
  std::vector<PodSetState> pod_sets;  // all
};
struct NoQueue {
  static constexpr std::string_view kCode = reason_codes::kQueueDoesNotExist;
};  // the queue that the group names
struct QueueNotLeaf {
  static constexpr std::string_view kCode = reason_codes::kQueueNotLeaf;
  QueueId queue;
};
struct NoSubgroup {  // spec 2 G6
  static constexpr std::string_view kCode = reason_codes::kSubgroupDoesNotExist;
  PodId pod;
};
struct NotBuilt {
  static constexpr std::string_view kCode = reason_codes::kNotBuilt;
  NameId feature;
};
struct NoPods {
  static constexpr std::string_view kCode = reason_codes::kNoPods;
};
struct Completed {
  static constexpr std::string_view kCode = reason_codes::kCompleted;
};
struct NotConsidered {
  static constexpr std::string_view kCode = reason_codes::kNotConsidered;
};
struct SearchBudgetSpent {
  static constexpr std::string_view kCode = reason_codes::kSearchBudgetSpent;
};

using Reason =
    std::variant<NoNode, GangIncomplete, OverLimit, OverQuota, PreemptionDelay, NoSuchTopology,
                 UnknownLevel, NoLevel, DomainTooSmall, DomainsLack, TopologyNotSatisfied,
                 DomainCountNotMet, NotReady, Stale, NoQueue, QueueNotLeaf, NoSubgroup, NotBuilt,
                 NoPods, Completed, NotConsidered, SearchBudgetSpent>;

std::string_view CodeOf(const Reason& reason);  // one of reason_codes
std::string_view CodeOf(const NoNodeCause& cause);
// The pod that the reason is about; invalid: the group as a whole.
PodId PodOf(const Reason& reason);

}  // namespace kai

#endif  // KAI_MODEL_REASON_H_

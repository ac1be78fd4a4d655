// Refusal: why a node refuses a pod, or why no node was checked, as data.
//
//   report.Count(Refusal::NotEnough(kCpuSlot), 4);
//   report.cause().refusals
//
// Invariants: a Refusal is one number, so that counting thousands of nodes needs no text; a refusal
// that names a node is a NamedRefusal. Cost: a few words of memory each. Threads: plain values.
#ifndef KAI_MODEL_REASONS_REFUSAL_H_
#define KAI_MODEL_REASONS_REFUSAL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kai/api/units.h"
#include "kai/base/heap_bytes.h"
#include "kai/model/claims/claim_refusal.h"
#include "kai/model/claims/volumes.h"
#include "kai/model/columns/ids.h"
#include "kai/model/columns/resources.h"
#include "kai/model/reasons/reason_codes.h"

namespace kai {

// ---- why a node refuses a pod

// A cause that thousands of nodes may have: a number, so that counting needs no text. Each resource
// has two numbers. A new cause is added before kWithoutText, with a row in texts/refusal_words.cc.
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
    kClaimsOnlyNode,
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
    kRefusedByPolicy,  // a policy that is a function
    kWithoutText,      // KAI has no text for it (spec 3 E5): GPUs that claims hold
    kVolumes,          // the first number of OfVolumes()
    kCauses = kVolumes + 3 * 3 - 1,
    kShortage = kCauses  // not a code: cause() of NotEnough()
  };

  constexpr Refusal(Cause cause) : code_(cause) {}  // NOLINT: a refusal is one of these
  // `for_overhead`: the node has enough without the overhead of the pod (spec 3 E4).
  static constexpr Refusal NotEnough(ResourceSlot slot, bool for_overhead = false) {
    return Refusal(kCauses + 2 * slot.value() + (for_overhead ? 1 : 0));
  }
  // `answer` must be a refusal.
  static constexpr Refusal OfVolumes(const VolumeAnswer& answer) {
    return Refusal(kVolumes - 1 + 3 * static_cast<int32_t>(answer.bound) +
                   static_cast<int32_t>(answer.delayed));
  }
  static constexpr Refusal AtIndex(size_t index) { return Refusal(static_cast<int32_t>(index)); }

  constexpr size_t index() const { return static_cast<size_t>(code_); }
  // kVolumes for all of OfVolumes(), kShortage for all of NotEnough().
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

// A bound that a queue may not exceed (spec 1 F77, F78), in internal units.
struct QueueBound {
  QueueId queue;
  QuotaResource resource = kQuotaCpu;
  double bound = 0;      // the limit, or the quota
  double allocated = 0;  // to all pods, or to non-preemptible ones
  double requested = 0;
  // The other bounds that refuse the same pods. KAI names only the first.
  std::vector<QueueBound> other_limits = {};
  std::vector<QueueBound> other_quotas = {};
  size_t HeapBytes() const { return HeapBytesOfAll(other_limits, other_quotas); }
  friend bool operator==(const QueueBound&, const QueueBound&) = default;
};
struct OverLimit : QueueBound {
  static constexpr std::string_view kCode = reason_codes::kOverLimit;
};
struct OverQuota : QueueBound {  // of non-preemptible pods
  static constexpr std::string_view kCode = reason_codes::kNonPreemptibleOverQuota;
};

// Refusals that name the node, or pods and claims on it; a node gives at most one of them.
struct LegacyMig {
  NodeId node;
  friend bool operator==(const LegacyMig&, const LegacyMig&) = default;
};
struct LegacyMigPods {
  std::vector<PodId> pods;
  friend bool operator==(const LegacyMigPods&, const LegacyMigPods&) = default;
};
struct QueueRefuses {  // spec 3 P3a: the pod counts for too many GPUs on this node
  std::variant<OverLimit, OverQuota> bound;
  friend bool operator==(const QueueRefuses&, const QueueRefuses&) = default;
};
struct ClaimIsElsewhere {  // spec 3 D7, like the next two
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
  std::string error;  // of the expression that could not be evaluated
  friend bool operator==(const ClaimsFail&, const ClaimsFail&) = default;
};
struct ClaimsAreDeleted {  // spec 3 P12, like the next one
  std::vector<NameId> claims;
  friend bool operator==(const ClaimsAreDeleted&, const ClaimsAreDeleted&) = default;
};
struct NotEnoughStorage {
  struct Class {
    NameId name;
    bool has_none = false;  // the node has no storage of this class
    friend bool operator==(const Class&, const Class&) = default;
  };
  std::vector<Class> classes;
  friend bool operator==(const NotEnoughStorage&, const NotEnoughStorage&) = default;
};
using NamedRefusal =
    std::variant<LegacyMig, LegacyMigPods, QueueRefuses, ClaimIsElsewhere, NoDevicesForClaims,
                 ClaimsFail, ClaimsAreDeleted, NotEnoughStorage>;

// ---- why no node was checked

struct MissingConfigMaps {  // spec 3 P13
  std::vector<NameId> names;
};
struct LargerThanAnyNode {  // spec 3 P14
  ResourceSlot slot;        // the first that is too large
  double largest = 0;       // of any node
};
using PodRefusal = std::variant<VolumeRefusal, MissingConfigMaps, LargerThanAnyNode, ClaimRefusal>;

// Why a pod found no node: how many nodes refused it and why, or why no node was checked.
struct NoNodeCause {
  std::vector<std::pair<Refusal, int64_t>> refusals;  // by Refusal::index()
  std::vector<std::pair<NamedRefusal, int64_t>> named;
  std::vector<PodRefusal> pod;  // not empty: no node was checked

  // A node that lacks only resources that are promised to other pods refuses without a cause (spec
  // 2 M2).
  bool empty() const { return refusals.empty() && named.empty() && pod.empty(); }
};
using NoNodeCausePtr = std::shared_ptr<const NoNodeCause>;

std::string_view CodeOf(const NoNodeCause& cause);  // one of reason_codes

}  // namespace kai

#endif  // KAI_MODEL_REASONS_REFUSAL_H_

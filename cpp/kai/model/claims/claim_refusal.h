// ClaimRefusal: why the resource claims of a pod exclude every node (spec 3 D5).
//
//   if (refusal.kind == ClaimRefusalKind::kWrongQueueLabel) refusal.queue = queue_of_[pod];
//
// Invariants: only the members that its kind needs are filled in. Cost: a few words of memory.
// Threads: plain values.
#ifndef KAI_MODEL_CLAIMS_CLAIM_REFUSAL_H_
#define KAI_MODEL_CLAIMS_CLAIM_REFUSAL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kai/model/columns/ids.h"

namespace kai {

enum class ClaimRefusalKind : uint8_t {
  kNone,
  kNotServed,         // the cluster has no such API
  kNoClaimYet,        // not created from its template yet
  kMissing,           // there is no such claim
  kTooManyConsumers,  // can change in a cycle
  kNoQueueLabel,
  kWrongQueueLabel,
  kNoDeviceClass,  // of an unallocated claim: can change in a cycle; the next one as well
  kSelectorsCostTooMuch,
};

// The first claim of the pod that excludes every node, and the names for the message.
struct ClaimRefusal {
  ClaimRefusalKind kind = ClaimRefusalKind::kNone;
  NameId use = {};           // the claim's name in the pod's spec
  NameId claim = {};         // its own name
  NameId queue_label = {};   // kWrongQueueLabel: the actual value
  NameId queue = {};         // kWrongQueueLabel: the expected value
  std::string request = {};  // kNoDeviceClass
  std::string device_class = {};
  // kSelectorsCostTooMuch: of the cluster, and the steps that a claim may take for them
  size_t devices = 0;
  int64_t budget = 0;
  std::vector<NameId> uses = {};  // kNotServed: all claims of the pod, in the order of its spec

  friend bool operator==(const ClaimRefusal&, const ClaimRefusal&) = default;
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_CLAIM_REFUSAL_H_

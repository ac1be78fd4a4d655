// ClaimRefusal: why the resource claims of a pod keep it from every node (spec 3 D5).
//
//   if (refusal.kind == ClaimRefusalKind::kWrongQueueLabel) refusal.queue = queue_of_[pod];
//
// Invariants: only what its kind speaks of is filled in. Cost: a few words. Threads: plain values.
#ifndef KAI_MODEL_CLAIMS_CLAIM_REFUSAL_H_
#define KAI_MODEL_CLAIMS_CLAIM_REFUSAL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kai/model/columns/ids.h"

namespace kai {

enum class ClaimRefusalKind : uint8_t {
  kNone,
  kNotServed,         // the cluster has no such API
  kNoClaimYet,        // none was made yet from its template
  kMissing,           // there is no such claim
  kTooManyConsumers,  // changes in a cycle
  kNoQueueLabel,
  kWrongQueueLabel,
  kNoDeviceClass,  // of a claim that is not allocated: changes in a cycle
};

// The first claim of the pod that refuses it, and the names that the refusal speaks of.
struct ClaimRefusal {
  ClaimRefusalKind kind = ClaimRefusalKind::kNone;
  NameId use = {};           // the claim's name in the pod's spec
  NameId claim = {};         // its own name
  NameId queue_label = {};   // kWrongQueueLabel: what it says ...
  NameId queue = {};         // ... and what it would have to say
  std::string request = {};  // kNoDeviceClass
  std::string device_class = {};
  std::vector<NameId> uses = {};  // kNotServed: all claims of the pod, in the order of its spec

  friend bool operator==(const ClaimRefusal&, const ClaimRefusal&) = default;
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_CLAIM_REFUSAL_H_

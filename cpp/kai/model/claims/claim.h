// Resource claims (resource.k8s.io, spec 3 D1-D10), their requests and their devices, as plain
// values.
//
//   needs.uses.push_back({.name = use.name, .claim = use.claim, .spec = -1});
//
// The claim for the extended resources of a pod (spec 3 D10) is also a Claim. It requests what the
// device plugins of a node lack. Until its object exists, its name is kExtendedClaim.
//
// Invariants: an allocation never changes after it is made. Every node treats pods with equal
// ClaimNeeds alike. Cost: that of the vectors. Threads: plain data: many readers.
#ifndef KAI_MODEL_CLAIMS_CLAIM_H_
#define KAI_MODEL_CLAIMS_CLAIM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kai/dra/device.h"
#include "kai/dra/device_claim.h"
#include "kai/model/claims/claim_refusal.h"
#include "kai/model/claims/extended_claims.h"
#include "kai/model/columns/ids.h"
#include "kai/model/columns/labels.h"

namespace kai {

struct ClaimAllocation {
  struct Given {
    std::string request;
    DeviceId device;
    bool admin_access = false;  // in addition to any other use
  };
  std::vector<Given> devices;
  bool anywhere = true;  // false: only on nodes that match any of `nodes`
  std::vector<NodeTerm> nodes;
};
using ClaimAllocationPtr = std::shared_ptr<const ClaimAllocation>;

struct Claim {
  NameId namespace_name;
  NameId name;
  int32_t spec = -1;
  int64_t gpus = 0;
  NameId queue_label = {};       // invalid: none
  size_t foreign_consumers = 0;  // consumers that are not pods of the cluster
  bool is_shared = false;        // several pods use it
};

// What a claim requests.
struct ClaimSpec {
  std::vector<DeviceRequest> requests;
  std::vector<DeviceConstraint> constraints;
  // The first request with an unknown class.
  std::optional<std::pair<std::string, std::string>> missing_class;  // request, class
  // For extended resources: the claim, and for each of its requests the number of its resource in
  // has_plugin_ of the book.
  ExtendedClaim extended;
  std::vector<int32_t> plugins;
};

// A claim in a pod's spec.
struct ClaimUse {
  NameId name;
  NameId claim_name;  // invalid: not created yet
  ClaimId claim;      // invalid: does not exist
  bool from_template = false;
};

// What the claims of a pod require of nodes: part of its class.
struct ClaimNeeds {
  struct Use {
    NameId name;        // in the pod's spec
    ClaimId claim;      // invalid: a claim that only this pod uses; see `spec`
    int32_t spec = -1;  // the spec of the pod's own claim

    friend auto operator<=>(const Use&, const Use&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Use& use) {
      return H::combine(std::move(h), use.name, use.claim, use.spec);
    }
  };
  std::vector<Use> uses;
  ClaimRefusalKind refusal = ClaimRefusalKind::kNone;  // a refusal that does not change in a cycle

  friend auto operator<=>(const ClaimNeeds&, const ClaimNeeds&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ClaimNeeds& needs) {
    return H::combine(std::move(h), needs.uses, needs.refusal);
  }
};

// A claim that a pod holds, for its BindRequest.
struct GivenClaim {
  NameId use;
  NameId claim;
  ClaimAllocationPtr allocation;
  ExtendedClaim extended = {};  // the requests that were made on the node
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_CLAIM_H_

// What a resource claim (resource.k8s.io, spec 3 D1-D10) is, asks for and holds, as plain values.
//
//   needs.uses.push_back({.name = use.name, .claim = use.claim, .spec = -1});
//
// The claim for the extended resources of a pod (spec 3 D10) is one of these, too; it asks a node
// for what its device plugins lack. Until there is an object for it, it is called kExtendedClaim.
//
// Invariants: an allocation never changes once made. Pods with equal ClaimNeeds are alike to every
// node. Cost: that of the vectors. Threads: plain data: many readers.
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
    bool admin_access = false;  // beside any other use
  };
  std::vector<Given> devices;
  bool anywhere = true;  // else on nodes that meet any of these
  std::vector<NodeTerm> nodes;
};
using ClaimAllocationPtr = std::shared_ptr<const ClaimAllocation>;

struct Claim {
  NameId namespace_name;
  NameId name;
  int32_t spec = -1;
  int64_t gpus = 0;
  NameId queue_label = {};       // invalid: none
  size_t foreign_consumers = 0;  // that are not pods of the cluster
  bool is_shared = false;        // several pods name it
};

// What a claim asks for.
struct ClaimSpec {
  std::vector<DeviceRequest> requests;
  std::vector<DeviceConstraint> constraints;
  // The first request whose class does not exist.
  std::optional<std::pair<std::string, std::string>> missing_class;  // request, class
  // Of extended resources; beside its requests, which of the resources that have plugins.
  ExtendedClaim extended;
  std::vector<int32_t> plugins;
};

// An entry of a pod's spec.
struct ClaimUse {
  NameId name;
  NameId claim_name;  // invalid: not made yet
  ClaimId claim;      // invalid: does not exist
  bool from_template = false;
};

// What the claims of a pod ask of nodes: part of its class.
struct ClaimNeeds {
  struct Use {
    NameId name;        // in the pod's spec
    ClaimId claim;      // invalid: one of its own, that only says what is wanted
    int32_t spec = -1;  // of one of its own

    friend auto operator<=>(const Use&, const Use&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Use& use) {
      return H::combine(std::move(h), use.name, use.claim, use.spec);
    }
  };
  std::vector<Use> uses;
  ClaimRefusalKind refusal = ClaimRefusalKind::kNone;  // one that stays

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
  ExtendedClaim extended = {};  // the part of it that was asked for
};

}  // namespace kai

#endif  // KAI_MODEL_CLAIMS_CLAIM_H_

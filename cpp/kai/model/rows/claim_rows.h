// ClaimRows: resource claims, resource slices and device classes, as rows (rows.h).
//
//   ClaimAllocationRow allocation;
//   request.claims.emplace_back(claim, allocation);
//
// Invariants: nothing is checked yet. Cost: plain data. Threads: plain data.
#ifndef KAI_MODEL_ROWS_CLAIM_ROWS_H_
#define KAI_MODEL_ROWS_CLAIM_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kai/dra/device_claim.h"
#include "kai/dra/pools.h"
#include "kai/model/rows/terms.h"

namespace kai {

// Devices that a claim requests (spec 3 D2), as text. Tolerations are left out, because KAI ignores
// taints of devices.
struct DeviceChoiceRow {
  std::string name;
  std::string class_name;
  std::vector<std::string> selectors;  // CEL
  std::string mode;                    // empty: ExactCount
  int64_t count = 0;                   // 0: not given
  bool admin_access = false;
  ByName<Quantity> capacity;

  friend auto operator<=>(const DeviceChoiceRow&, const DeviceChoiceRow&) = default;
};

struct DeviceRequestRow {
  DeviceChoiceRow exactly;
  std::vector<DeviceChoiceRow> first_available;  // not empty: only the name of `exactly` counts

  friend auto operator<=>(const DeviceRequestRow&, const DeviceRequestRow&) = default;
};

struct ClaimSpecRow {
  std::vector<DeviceRequestRow> requests;
  std::vector<DeviceConstraint> constraints;

  friend auto operator<=>(const ClaimSpecRow&, const ClaimSpecRow&) = default;
};

// The devices that a claim was given, and the nodes that can use them.
struct ClaimAllocationRow {
  struct Given {
    std::string request;
    DeviceId device;
    bool admin_access = false;

    friend bool operator==(const Given&, const Given&) = default;
  };
  std::vector<Given> devices;
  bool has_node_selector = false;  // with no terms it matches nothing
  std::vector<NodeSelectorTerm> node_selector;

  friend bool operator==(const ClaimAllocationRow&, const ClaimAllocationRow&) = default;
};

// A ResourceClaim (resource.k8s.io).
struct ResourceClaimRow {
  std::string namespace_name;
  std::string name;
  int64_t gpus = 0;       // spec 3 D2; 0 for extended-resource claims
  std::string owner_pod;  // by owner reference, else its first consumer (spec 3 D4)
  std::string owner_uid = {};
  StringPairs labels = {};
  bool for_extended_resource = false;
  ClaimSpecRow spec = {};
  std::optional<ClaimAllocationRow> allocation = {};
  struct Consumer {
    std::string pod;  // empty: the consumer is not a pod
    std::string uid;

    friend bool operator==(const Consumer&, const Consumer&) = default;
  };
  std::vector<Consumer> consumers = {};  // status.reservedFor

  friend bool operator==(const ResourceClaimRow&, const ResourceClaimRow&) = default;
};

struct ResourceSliceRow {
  std::string node;  // spec.nodeName; empty: not node-local
  int64_t gpus = 0;  // devices, when the driver is a GPU driver (spec 3 D3)
  std::string name = {};
  ResourceSlice slice = {};
  bool all_nodes = false;
  bool has_node_selector = false;
  std::vector<NodeSelectorTerm> node_selector = {};

  friend bool operator==(const ResourceSliceRow&, const ResourceSliceRow&) = default;
};

struct DeviceClassRow {
  std::string name;
  std::vector<std::string> selectors;  // CEL
  std::string extended_resource;       // containers may request it by this name (spec 3 D10)
  std::optional<int64_t> created_ns = {};

  friend bool operator==(const DeviceClassRow&, const DeviceClassRow&) = default;
};

}  // namespace kai

#endif  // KAI_MODEL_ROWS_CLAIM_ROWS_H_

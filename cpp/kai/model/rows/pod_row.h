// PodRow: a pod as a row (rows.h): its requests, its node, and its restrictions.
//
//   PodRow pod = Pod();
//   pod.namespace_name = "elsewhere";
//
// Invariants: nothing is checked yet. Cost: plain data. Threads: plain data.
#ifndef KAI_MODEL_ROWS_POD_ROW_H_
#define KAI_MODEL_ROWS_POD_ROW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kai/model/rows/claim_rows.h"
#include "kai/model/rows/terms.h"

namespace kai {

// A port of the node itself.
struct HostPort {
  int32_t port = 0;
  std::string protocol = "TCP";
  std::string address;  // empty: every address of the node

  friend auto operator<=>(const HostPort&, const HostPort&) = default;
};

// A volume that uses a claim: a claim by name, or one that is made for the pod.
struct VolumeClaimRow {
  std::string claim;       // name of the PersistentVolumeClaim, in the pod's namespace
  bool ephemeral = false;  // made for the pod, and named after it

  friend auto operator<=>(const VolumeClaimRow&, const VolumeClaimRow&) = default;
};

enum class GpuRequestKind : uint8_t { kRegular, kFraction, kMemory, kMig };

// The GPU request of a pod (spec 3 R6, R12-R19).
struct GpuRequest {
  GpuRequestKind kind = GpuRequestKind::kRegular;
  int64_t count = 0;        // devices
  double portion = 0;       // of each device: 1 for whole GPUs
  int64_t memory_mib = 0;   // of each device, with kind kMemory
  ResourceAmounts mig;      // instances by full resource name, "nvidia.com/mig-1g.5gb"
  bool legacy_mig = false;  // requested by annotation (spec 3 M4)
  int64_t dra = 0;          // GPUs of its resource claims (spec 3 D2); found while building

  // True: requests parts of devices; other pods may use the rest.
  bool IsShared() const {
    return kind == GpuRequestKind::kFraction || kind == GpuRequestKind::kMemory;
  }

  friend auto operator<=>(const GpuRequest&, const GpuRequest&) = default;
};

// The resources that a pod takes of a zone.
struct ZoneAmountsRow {
  std::string zone;
  ResourceAmounts amounts;  // GPUs and MIG slices under their full names

  friend auto operator<=>(const ZoneAmountsRow&, const ZoneAmountsRow&) = default;
};

// The recorded NUMA zones of a pod on its node (spec 3 U12).
struct ZoneRecordRow {
  enum class Source : uint8_t { kObserved, kBindRequest, kPredicted };  // the first one counts
  Source source = Source::kObserved;
  std::vector<ZoneAmountsRow> zones = {};
  std::string problem = {};  // why the record cannot be used; empty: it can

  friend bool operator==(const ZoneRecordRow&, const ZoneRecordRow&) = default;
};

// One container of a pod with several: alignment treats each container separately (spec 3 U6).
struct ContainerRow {
  enum class Kind : uint8_t { kApp, kSidecar, kInit };
  Kind kind = Kind::kApp;
  ResourceAmounts requests = {};  // with GPUs and MIG slices

  friend bool operator==(const ContainerRow&, const ContainerRow&) = default;
};

// The request of one container for a resource that a device class may provide (spec 3 D10).
struct ExtendedRequestRow {
  int32_t container = 0;  // init containers are counted first
  ContainerRow::Kind kind = ContainerRow::Kind::kApp;
  std::string container_name = {};
  std::string resource = {};
  int32_t place = 0;  // position among the sorted resource names of the container
  int64_t count = 0;

  friend bool operator==(const ExtendedRequestRow&, const ExtendedRequestRow&) = default;
};

enum class Phase : uint8_t { kPending, kRunning, kSucceeded, kFailed, kUnknown };

// The fields of a pod that no other pod has: its names, times and state.
struct PodIdentityRow {
  std::string namespace_name;
  std::string name;
  std::string uid;
  std::optional<int64_t> created_ns;   // since the epoch
  std::optional<int64_t> deletion_ns;  // metadata.deletionTimestamp
  std::string pod_group;               // annotation pod-group-name
  std::string node_name;               // spec.nodeName
  Phase phase = Phase::kUnknown;
  bool gated = false;  // has scheduling gates
  bool bare = false;   // no controller would create it again

  friend bool operator==(const PodIdentityRow&, const PodIdentityRow&) = default;
};

// The fields that pods of one template have in common.
struct PodSpecRow {
  std::string subgroup;  // label kai.scheduler/subgroup-name; empty: "default"
  std::string scheduler_name;
  ResourceAmounts requests;  // spec 3 R1-R5: containers, sidecars, init phase and overhead; without
                             // GPUs, MIG and "pods"
  ResourceAmounts overhead;  // the overhead inside `requests`, for the message of spec 3 E4
  GpuRequest gpu;
  bool guaranteed = false;               // status.qosClass
  std::vector<ContainerRow> containers;  // in the order of admission; empty: one with all requests
                                         // of the pod
  StringPairs node_selector;
  bool has_node_affinity = false;               // required affinity; without terms nothing matches
  std::vector<NodeSelectorTerm> node_affinity;  // any term may match
  std::vector<Toleration> tolerations;
  PodAffinityRow affinity;
  std::vector<WeightedNodeTerm> preferred_nodes;  // preferred node affinity
  std::vector<SpreadConstraintRow> spread;
  std::vector<HostPort> host_ports;      // of containers and sidecars
  std::vector<std::string> config_maps;  // that its containers need to start (spec 3 P13)
  std::vector<ExtendedRequestRow> extended_requests;  // more than 0, by container
  std::vector<std::string>
      avoided_nodes;  // nodes it must not use for now; sorted; not a field of a pod

  friend bool operator==(const PodSpecRow&, const PodSpecRow&) = default;
};

// Fields that most pods do not have, and that differ between the pods that have them.
struct PodExtrasRow {
  std::string nominated_node;  // status.nominatedNodeName
  std::vector<ZoneRecordRow> zone_records;
  std::string received_type;             // annotation received-resource-type
  std::optional<int64_t> topology_rank;  // annotation kai.scheduler/topology-rank
  std::vector<std::string> gpu_groups;   // spec 3 R20, label form
  std::vector<VolumeClaimRow> volumes;   // only volumes that use claims
  struct Claim {  // spec.resourceClaims, resolved with status.resourceClaimStatuses
    std::string name;
    std::string resource_claim;  // object name; empty: the template's claim does not exist yet
    bool from_template = false;

    friend bool operator==(const Claim&, const Claim&) = default;
  };
  std::vector<Claim> claims;
  std::string extended_claim;  // status.extendedResourceClaimStatus: made for extended_requests

  friend bool operator==(const PodExtrasRow&, const PodExtrasRow&) = default;
};

struct PodRow : PodIdentityRow, PodSpecRow, PodExtrasRow {
  PodRow();
  PodRow(const PodRow&);
  PodRow(PodRow&&) noexcept;
  PodRow& operator=(const PodRow&);
  PodRow& operator=(PodRow&&) noexcept;
  ~PodRow();
  bool operator==(const PodRow&) const;

  StringPairs labels;
};

struct BindRequestRow {
  std::string namespace_name;
  std::string name = {};
  std::string pod;   // spec.podName
  std::string node;  // spec.selectedNode
  std::string received_type;
  std::vector<std::string> gpu_groups;
  std::vector<ZoneAmountsRow> zones = {};  // spec.predictedNUMAZones
  std::string phase;
  std::optional<int64_t> backoff_limit;
  int64_t failed_attempts = 0;
  // The allocations of the pod's claims, by their names in its spec, and by kExtendedClaim.
  std::vector<std::pair<std::string, ClaimAllocationRow>> claims = {};
};

}  // namespace kai

#endif  // KAI_MODEL_ROWS_POD_ROW_H_

// PodRow: a pod as a row (rows.h): what it asks for, where it is, and where it may go.
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

// A volume that is a claim: one by name, or one that is made for the pod.
struct VolumeClaimRow {
  std::string claim;       // name of the PersistentVolumeClaim, in the pod's namespace
  bool ephemeral = false;  // made for the pod, and named after it

  friend auto operator<=>(const VolumeClaimRow&, const VolumeClaimRow&) = default;
};

enum class GpuRequestKind : uint8_t { kRegular, kFraction, kMemory, kMig };

// What a pod asks of GPUs (spec 3 R6, R12-R19).
struct GpuRequest {
  GpuRequestKind kind = GpuRequestKind::kRegular;
  int64_t count = 0;        // devices
  double portion = 0;       // of each device: 1 for whole GPUs
  int64_t memory_mib = 0;   // of each device, with kind kMemory
  ResourceAmounts mig;      // instances by full resource name, "nvidia.com/mig-1g.5gb"
  bool legacy_mig = false;  // asked by annotation (spec 3 M4)
  int64_t dra = 0;          // GPUs of its resource claims (spec 3 D2); found while building

  // Asks for parts of devices, which others may have the rest of.
  bool IsShared() const {
    return kind == GpuRequestKind::kFraction || kind == GpuRequestKind::kMemory;
  }

  friend auto operator<=>(const GpuRequest&, const GpuRequest&) = default;
};

// What a pod takes of a zone.
struct ZoneAmountsRow {
  std::string zone;
  ResourceAmounts amounts;  // with nvidia.com/gpu and amd.com/gpu under those names, and MIG names

  friend auto operator<=>(const ZoneAmountsRow&, const ZoneAmountsRow&) = default;
};

// Where a pod has its place on its node, as it was written down (spec 3 U12).
struct ZoneRecordRow {
  enum class Source : uint8_t { kObserved, kBindRequest, kPredicted };  // the first one counts
  Source source = Source::kObserved;
  std::vector<ZoneAmountsRow> zones = {};
  std::string problem = {};  // why it is of no use; empty: it is

  friend bool operator==(const ZoneRecordRow&, const ZoneRecordRow&) = default;
};

// One container, where there are several: alignment looks at each (spec 3 U6).
struct ContainerRow {
  enum class Kind : uint8_t { kApp, kSidecar, kInit };
  Kind kind = Kind::kApp;
  ResourceAmounts requests = {};  // with GPUs and MIG slices

  friend bool operator==(const ContainerRow&, const ContainerRow&) = default;
};

// What one container asks of a resource that a device class may stand for (spec 3 D10).
struct ExtendedRequestRow {
  int32_t container = 0;  // init containers are counted first
  ContainerRow::Kind kind = ContainerRow::Kind::kApp;
  std::string container_name = {};
  std::string resource = {};
  int32_t place = 0;  // among the names of what the container asks for, sorted
  int64_t count = 0;

  friend bool operator==(const ExtendedRequestRow&, const ExtendedRequestRow&) = default;
};

enum class Phase : uint8_t { kPending, kRunning, kSucceeded, kFailed, kUnknown };

// Which pod it is, and how it stands: what no other pod says.
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

  friend bool operator==(const PodIdentityRow&, const PodIdentityRow&) = default;
};

// What pods of one template say alike.
struct PodSpecRow {
  std::string subgroup;  // label kai.scheduler/subgroup-name; empty: "default"
  std::string scheduler_name;
  ResourceAmounts requests;  // spec 3 R1-R5: containers, sidecars, init phase and overhead; without
                             // GPUs, MIG and "pods"
  ResourceAmounts overhead;  // the overhead inside `requests`, for the message of spec 3 E4
  GpuRequest gpu;
  bool guaranteed = false;               // status.qosClass
  std::vector<ContainerRow> containers;  // in the order in which they are admitted; empty: one that
                                         // asks for all that the pod does
  StringPairs node_selector;
  bool has_node_affinity = false;               // a required one; without terms nothing matches
  std::vector<NodeSelectorTerm> node_affinity;  // any term may match
  std::vector<Toleration> tolerations;
  PodAffinityRow affinity;
  std::vector<WeightedNodeTerm> preferred_nodes;  // preferred node affinity
  std::vector<SpreadConstraintRow> spread;
  std::vector<HostPort> host_ports;      // of containers and sidecars
  std::vector<std::string> config_maps;  // that its containers cannot start without (spec 3 P13)
  std::vector<ExtendedRequestRow> extended_requests;  // more than 0, by container
  std::vector<std::string>
      avoided_nodes;  // that it must not go to for now; sorted, no field of a pod

  friend bool operator==(const PodSpecRow&, const PodSpecRow&) = default;
};

// What most pods say nothing of, and others each in their own way.
struct PodExtrasRow {
  std::string nominated_node;  // status.nominatedNodeName
  std::vector<ZoneRecordRow> zone_records;
  std::string received_type;             // annotation received-resource-type
  std::optional<int64_t> topology_rank;  // annotation kai.scheduler/topology-rank
  std::vector<std::string> gpu_groups;   // spec 3 R20, label form
  std::vector<VolumeClaimRow> volumes;   // only those that are claims
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
  // What the pod's claims get, by their names in its spec; and kExtendedClaim.
  std::vector<std::pair<std::string, ClaimAllocationRow>> claims = {};
};

}  // namespace kai

#endif  // KAI_MODEL_ROWS_POD_ROW_H_

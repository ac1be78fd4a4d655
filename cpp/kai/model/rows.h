// Rows: what ingest read of each object, before anything is believed.
//
// A row is one Kubernetes object reduced to the fields the scheduler uses, in exact integers, with
// names still as text. The ClusterBuilder checks rows once and turns them into columns. Rows say
// what the object said: an absent field stays absent (nullopt, empty), so that the one place that
// knows a default is the builder. The special members of the largest stand in rows.cc: written into
// every file that handles rows, they took a good part of its time to compile.
#ifndef KAI_MODEL_ROWS_H_
#define KAI_MODEL_ROWS_H_

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kai/dra/device_claim.h"
#include "kai/dra/pools.h"

namespace kai {

// Names with values, in the order of the input; the builder sorts.
using StringPairs = std::vector<std::pair<std::string, std::string>>;

// Amounts by resource name in internal units (spec 3 R5): cpu in millicores, memory and
// (ephemeral-)storage in bytes, GPUs, MIG slices and pods in units, every other resource in
// milli-units. Each name appears once.
using ResourceAmounts = std::vector<std::pair<std::string, int64_t>>;

// An object, or a part of one, that made no sense and was left out.
struct Rejection {
  std::string kind;  // "Pod", "Queue", ...
  std::string
      name;  // "ns/name", or the name of a cluster-scoped object; "" when even that is missing
  std::string field;    // "spec.parentQueue"
  std::string message;  // lower case, no full stop: "parent queue \"x\" does not exist"

  friend auto operator<=>(const Rejection&, const Rejection&) = default;
};

// ---- labels and selectors
// -------------------------------------------------------------------------------------------------------

enum class SelectorOp : uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };

struct SelectorRequirement {
  std::string key;
  SelectorOp op = SelectorOp::kIn;
  std::vector<std::string> values;

  friend auto operator<=>(const SelectorRequirement&, const SelectorRequirement&) = default;
};

// A Kubernetes LabelSelector; matchLabels are written as In requirements. No requirements: matches
// everything.
using LabelSelector = std::vector<SelectorRequirement>;

// One nodeSelectorTerm: all its expressions and fields must hold. `fields` know the key
// metadata.name only.
struct NodeSelectorTerm {
  std::vector<SelectorRequirement> expressions;
  std::vector<SelectorRequirement> fields;

  friend auto operator<=>(const NodeSelectorTerm&, const NodeSelectorTerm&) = default;
};

enum class TaintEffect : uint8_t { kNone, kNoSchedule, kPreferNoSchedule, kNoExecute };

struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::kNone;

  friend auto operator<=>(const Taint&, const Taint&) = default;
};

struct Toleration {
  std::string key;      // empty with `exists`: tolerates every taint
  bool exists = false;  // operator Exists; else Equal
  std::string value;
  TaintEffect effect = TaintEffect::kNone;  // kNone: every effect

  friend auto operator<=>(const Toleration&, const Toleration&) = default;
};

struct PodAffinityTerm {
  std::optional<LabelSelector> selector;  // absent: matches no pod
  std::vector<std::string> namespaces;    // empty and no namespace selector: the pod's own
  bool all_namespaces = false;            // an empty namespaceSelector was given
  LabelSelector namespace_selector = {};  // one with requirements; empty: none was given
  std::string topology_key;

  friend auto operator<=>(const PodAffinityTerm&, const PodAffinityTerm&) = default;
};

struct WeightedPodAffinityTerm {
  PodAffinityTerm term;
  int32_t weight = 0;

  friend auto operator<=>(const WeightedPodAffinityTerm&, const WeightedPodAffinityTerm&) = default;
};

struct PodAffinityRow {
  std::vector<PodAffinityTerm> required;
  std::vector<PodAffinityTerm> required_anti;
  std::vector<WeightedPodAffinityTerm> preferred;
  std::vector<WeightedPodAffinityTerm> preferred_anti;

  bool empty() const {
    return required.empty() && required_anti.empty() && preferred.empty() && preferred_anti.empty();
  }
};

// A node selector term that is wished for.
struct WeightedNodeTerm {
  NodeSelectorTerm term;
  int32_t weight = 0;

  friend auto operator<=>(const WeightedNodeTerm&, const WeightedNodeTerm&) = default;
};

// One of topologySpreadConstraints: pods that the selector finds in the pod's namespace are to
// stand in the domains of the topology key as evenly as `max_skew` says.
struct SpreadConstraintRow {
  std::optional<LabelSelector> selector;  // absent: matches no pod
  std::string topology_key;
  int64_t max_skew = 1;
  int64_t min_domains = 1;          // with fewer, the emptiest of them counts as empty
  bool required = true;             // DoNotSchedule; else ScheduleAnyway
  bool honor_node_affinity = true;  // only nodes that the pod's selector and affinity allow count
  bool honor_taints = false;        // likewise by taints

  friend auto operator<=>(const SpreadConstraintRow&, const SpreadConstraintRow&) = default;
};

// ---- what a pod takes of a node beyond resources
// -------------------------------------------------

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

// ---- GPUs
// -----------------------------------------------------------------------------------------------------------------------

enum class GpuRequestKind : uint8_t { kRegular, kFraction, kMemory, kMig };

// What a pod asks of GPUs (spec 3 R6, R12-R19).
struct GpuRequest {
  GpuRequestKind kind = GpuRequestKind::kRegular;
  int64_t count = 0;        // devices
  double portion = 0;       // of each device: 1 for whole GPUs
  int64_t memory_mib = 0;   // of each device, with kind kMemory
  ResourceAmounts mig;      // instances by full resource name, "nvidia.com/mig-1g.5gb"
  bool legacy_mig = false;  // asked by annotation (spec 3 M4)
  int64_t dra = 0;          // GPUs of its resource claims (spec 3 D2); filled by the builder

  // Asks for parts of devices, which others may have the rest of.
  bool IsShared() const {
    return kind == GpuRequestKind::kFraction || kind == GpuRequestKind::kMemory;
  }

  friend auto operator<=>(const GpuRequest&, const GpuRequest&) = default;
};

// ---- NUMA zones
// ---------------------------------------------------------------------------------------------------------------------

// What the kubelet's Topology Manager does with pods that cannot be aligned, and what it aligns
// (spec 3 U2).
enum class NumaPolicy : uint8_t { kNone, kBestEffort, kRestricted, kSingleZone };
enum class NumaScope : uint8_t { kContainer, kPod };

// What somebody takes of a zone.
struct ZoneAmountsRow {
  std::string zone;
  ResourceAmounts amounts;  // with nvidia.com/gpu and amd.com/gpu under those names, and MIG names

  friend auto operator<=>(const ZoneAmountsRow&, const ZoneAmountsRow&) = default;
};

// Where a pod has its place on its node, as somebody wrote it down (spec 3 U12).
struct ZoneRecordRow {
  enum class Source : uint8_t { kObserved, kBindRequest, kPredicted };  // the first one counts
  Source source = Source::kObserved;
  std::vector<ZoneAmountsRow> zones = {};
  std::string problem = {};  // why it is of no use; empty: it is
};

// One container, where there are several: alignment looks at each (spec 3 U6).
struct ContainerRow {
  enum class Kind : uint8_t { kApp, kSidecar, kInit };
  Kind kind = Kind::kApp;
  ResourceAmounts requests = {};  // with GPUs and MIG slices
};

// ---- objects
// --------------------------------------------------------------------------------------------------------------------

// What one container asks of a resource that a device class may stand for (spec 3 D10).
struct ExtendedRequestRow {
  int32_t container = 0;  // init containers are counted first
  ContainerRow::Kind kind = ContainerRow::Kind::kApp;
  std::string container_name = {};
  std::string resource = {};
  int32_t place = 0;  // among the names of what the container asks for, sorted
  int64_t count = 0;
};

enum class Phase : uint8_t { kPending, kRunning, kSucceeded, kFailed, kUnknown };

struct PodRow {
  PodRow();
  PodRow(const PodRow&);
  PodRow(PodRow&&) noexcept;
  PodRow& operator=(const PodRow&);
  PodRow& operator=(PodRow&&) noexcept;
  ~PodRow();

  std::string namespace_name;
  std::string name;
  std::string uid;
  std::optional<int64_t> created_ns;   // since the epoch
  std::optional<int64_t> deletion_ns;  // metadata.deletionTimestamp
  StringPairs labels;
  std::string pod_group;  // annotation pod-group-name
  std::string subgroup;   // label kai.scheduler/subgroup-name; empty: "default"
  std::string scheduler_name;
  std::string node_name;       // spec.nodeName
  std::string nominated_node;  // status.nominatedNodeName
  Phase phase = Phase::kUnknown;
  bool gated = false;        // has scheduling gates
  ResourceAmounts requests;  // spec 3 R1-R5: containers, sidecars, init phase and overhead; without
                             // GPUs, MIG and "pods"
  ResourceAmounts overhead;  // the overhead inside `requests`, for the message of spec 3 E4
  GpuRequest gpu;
  bool guaranteed = false;               // status.qosClass
  std::vector<ContainerRow> containers;  // in the order in which they are admitted; empty: one that
                                         // asks for all that the pod does
  std::vector<ZoneRecordRow> zone_records;
  std::string received_type;             // annotation received-resource-type
  std::optional<int64_t> topology_rank;  // annotation kai.scheduler/topology-rank
  std::vector<std::string> gpu_groups;   // spec 3 R20, label form
  StringPairs node_selector;
  bool has_node_affinity =
      false;  // required node affinity was given; with no terms it matches nothing
  std::vector<NodeSelectorTerm> node_affinity;  // any term may match
  std::vector<Toleration> tolerations;
  PodAffinityRow affinity;
  std::vector<WeightedNodeTerm> preferred_nodes;  // preferred node affinity
  std::vector<SpreadConstraintRow> spread;
  std::vector<HostPort> host_ports;      // of containers and sidecars
  std::vector<std::string> config_maps;  // that its containers cannot start without (spec 3 P13)
  std::vector<VolumeClaimRow> volumes;   // only those that are claims
  struct Claim {  // spec.resourceClaims, resolved with status.resourceClaimStatuses
    std::string name;
    std::string resource_claim;  // object name; empty: the template's claim does not exist yet
    bool from_template = false;
  };
  std::vector<Claim> claims;
  std::vector<ExtendedRequestRow> extended_requests;  // more than 0, by container
  std::string extended_claim;  // status.extendedResourceClaimStatus: made for those requests
  // Features that later floors bring: a pod that needs one is not placed, and says so. The features
  // of `gpu`, topology and sub-groups are found by the builder.
  std::vector<std::string> not_built;
};

// The NUMA zones of the node of that name (spec 3 U1).
struct NodeZonesRow {
  struct Zone {
    std::string name;
    ResourceAmounts allocatable = {};
    ResourceAmounts available = {};
  };
  std::string name;
  NumaPolicy policy = NumaPolicy::kNone;
  NumaScope scope = NumaScope::kContainer;
  std::vector<Zone> zones = {};  // of type Node
};

enum class ConditionStatus : uint8_t { kAbsent, kTrue, kFalse, kUnknown };

struct NodeRow {
  NodeRow();
  NodeRow(const NodeRow&);
  NodeRow(NodeRow&&) noexcept;
  NodeRow& operator=(const NodeRow&);
  NodeRow& operator=(NodeRow&&) noexcept;
  ~NodeRow();

  std::string name;
  StringPairs labels;
  ResourceAmounts
      allocatable;  // with nvidia.com/gpu and amd.com/gpu under those names, MIG names, "pods"
  bool unschedulable = false;
  std::vector<Taint> taints;
  ConditionStatus ready = ConditionStatus::kAbsent;
  ConditionStatus memory_pressure = ConditionStatus::kAbsent;
  ConditionStatus disk_pressure = ConditionStatus::kAbsent;
  ConditionStatus pid_pressure = ConditionStatus::kAbsent;
  ConditionStatus network_unavailable = ConditionStatus::kAbsent;
};

struct TopologyRow {
  struct Level {
    std::string node_label;
    std::string alias;
  };
  std::string name;
  std::vector<Level> levels;  // the widest first
};

struct TopologyConstraintRow {
  std::string topology;
  std::string required_level;
  std::string preferred_level;
};

// In how many domains of its preferred level a pod group wants to be: its annotations.
struct DomainWishRow {
  int64_t least = 0;
  int64_t most = 0;  // 0: any number
  bool balanced = false;

  bool Any() const { return least > 1 || most > 0 || balanced; }
};

struct SubGroupRow {
  std::string name;
  std::optional<std::string> parent;
  std::optional<int64_t> min_member;
  std::optional<int64_t> min_sub_group;
  TopologyConstraintRow topology;
};

struct PodGroupRow {
  PodGroupRow();
  PodGroupRow(const PodGroupRow&);
  PodGroupRow(PodGroupRow&&) noexcept;
  PodGroupRow& operator=(const PodGroupRow&);
  PodGroupRow& operator=(PodGroupRow&&) noexcept;
  ~PodGroupRow();

  std::string namespace_name;
  std::string name;
  StringPairs labels;      // only the node-pool label is looked at
  std::string owner_name;  // of the workload that the group was made for; empty: unknown
  std::optional<int64_t> created_ns;
  std::string queue;
  std::string priority_class;
  std::string preemptibility;
  std::optional<int64_t> min_member;
  std::optional<int64_t> min_sub_group;
  std::vector<SubGroupRow> sub_groups;
  TopologyConstraintRow topology;
  DomainWishRow domain_wish;
  std::optional<int64_t> preemption_delay_ns;
  std::optional<int64_t> staleness_grace_ns;
  std::optional<int64_t> scheduling_backoff;
  bool mark_unschedulable = true;
  std::string latest_condition_node_pool;  // of status.schedulingConditions, highest transitionID;
                                           // empty: no condition
  std::optional<int64_t> last_start_ns;    // annotations of spec 2 G16
  std::optional<int64_t> stale_since_ns;
  std::optional<int64_t> last_eviction_ns;
};

// quota, overQuotaWeight and limit of one resource, as written: gpu in devices, cpu in millicores,
// memory in megabytes (spec 1 F2).
struct QuotaRow {
  double quota = 0;
  double over_quota_weight = 0;
  double limit = 0;
};

struct QueueRow {
  std::string name;
  std::string display_name;
  std::string parent;
  StringPairs labels;  // only the node-pool label is looked at
  std::optional<int64_t> created_ns;
  std::optional<int64_t> priority;
  std::array<QuotaRow, 3> resources;  // cpu, memory, gpu (the order of spec 1 §0)
  std::optional<int64_t> preempt_min_runtime_ns;
  std::optional<int64_t> reclaim_min_runtime_ns;
};

struct PriorityClassRow {
  std::string name;
  int64_t value = 0;
  bool global_default = false;
};

// Devices that a claim asks for (spec 3 D2), as text. Tolerations are left out: KAI looks at no
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
  std::vector<DeviceChoiceRow> first_available;  // not empty: of `exactly` only the name counts

  friend auto operator<=>(const DeviceRequestRow&, const DeviceRequestRow&) = default;
};

struct ClaimSpecRow {
  std::vector<DeviceRequestRow> requests;
  std::vector<DeviceConstraint> constraints;

  friend auto operator<=>(const ClaimSpecRow&, const ClaimSpecRow&) = default;
};

// What a claim was given, and where that can be used.
struct ClaimAllocationRow {
  struct Given {
    std::string request;
    DeviceId device;
    bool admin_access = false;
  };
  std::vector<Given> devices;
  bool has_node_selector = false;  // with no terms it matches nothing
  std::vector<NodeSelectorTerm> node_selector;
};

// A ResourceClaim (resource.k8s.io).
struct ResourceClaimRow {
  std::string namespace_name;
  std::string name;
  int64_t gpus = 0;       // spec 3 D2; 0 for extended-resource claims
  std::string owner_pod;  // by owner reference, else the first it is reserved for (spec 3 D4)
  std::string owner_uid = {};
  StringPairs labels = {};
  bool for_extended_resource = false;
  ClaimSpecRow spec = {};
  std::optional<ClaimAllocationRow> allocation = {};
  struct Consumer {
    std::string pod;  // empty: it is something else
    std::string uid;
  };
  std::vector<Consumer> consumers = {};  // status.reservedFor
};

struct ResourceSliceRow {
  std::string node;  // spec.nodeName; empty: not node-local
  int64_t gpus = 0;  // devices, when the driver is a GPU driver (spec 3 D3)
  std::string name = {};
  ResourceSlice slice = {};
  bool all_nodes = false;
  bool has_node_selector = false;
  std::vector<NodeSelectorTerm> node_selector = {};
};

struct DeviceClassRow {
  std::string name;
  std::vector<std::string> selectors;  // CEL
  std::string extended_resource;       // containers may ask for it by this name (spec 3 D10)
  std::optional<int64_t> created_ns = {};
};

// What is known of claims and devices.
struct ClaimRows {
  std::vector<ResourceClaimRow> claims;
  std::vector<ResourceSliceRow> slices;
  std::vector<DeviceClassRow> classes;
  // Whether the cluster has the API of them; nothing: it has if it has any of them (spec 3 D1).
  std::optional<bool> are_served = {};

  bool IsServed() const {
    return are_served.value_or(!claims.empty() || !slices.empty() || !classes.empty());
  }
};

struct BindRequestRow {
  std::string namespace_name;
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

struct ConfigMapRow {
  std::string namespace_name;
  std::string name;
};

struct NamespaceRow {
  std::string name;
  StringPairs labels;
};

// A claim for storage, and how far it has come.
struct PersistentVolumeClaimRow {
  std::string namespace_name;
  std::string name;
  std::string uid;
  std::optional<int64_t> deletion_ns;
  std::string volume;           // spec.volumeName
  bool bind_completed = false;  // annotation pv.kubernetes.io/bind-completed
  bool is_lost = false;         // phase Lost
  bool is_bound = false;        // phase Bound
  std::string selected_node;    // annotation volume.kubernetes.io/selected-node
  std::string storage_class;    // by annotation or spec; empty: none
  int64_t bytes = 0;            // 0: does not say
  LabelSelector selector;       // of volumes
  std::vector<std::string> access_modes;
  bool is_block = false;          // volumeMode Block
  std::string owner_pod_uid;      // of ephemeral volumes
  bool has_other_owners = false;  // beside that pod
};

struct PersistentVolumeRow {
  std::string name;
  StringPairs labels;
  std::optional<int64_t> deletion_ns;
  std::string storage_class;
  int64_t bytes = 0;
  std::vector<std::string> access_modes;
  bool is_block = false;
  bool is_available = false;    // phase Available
  std::string claim_namespace;  // spec.claimRef; no name: none
  std::string claim_name;
  std::string claim_uid;
  bool has_node_affinity = false;  // with no terms it matches nothing
  std::vector<NodeSelectorTerm> node_affinity;
  std::string csi_driver;  // spec.csi; empty: of another kind
  std::string csi_handle;
};

struct StorageClassRow {
  std::string name;
  std::string provisioner;
  bool waits_for_consumer = false;                   // volumeBindingMode
  std::vector<NodeSelectorTerm> allowed_topologies;  // any may match; none: everywhere
};

struct CsiDriverRow {
  std::string name;
  bool reports_capacity = false;  // spec.storageCapacity
};

struct CsiStorageCapacityRow {
  std::string namespace_name;
  std::string name;
  std::string storage_class;
  // nodeTopology; absent: no node has access, or every node (spec 3 P12)
  std::optional<LabelSelector> nodes;
  std::optional<int64_t> bytes;
  std::optional<int64_t> largest_volume_bytes;
};

// The CSI drivers of the node of that name.
struct CsiNodeRow {
  std::string name;
  std::vector<std::pair<std::string, int64_t>> most_volumes;  // by driver; not there: any number
};

// What the input has of storage. A claim that is not here does not exist: pods that name it wait.
struct StorageRows {
  std::vector<PersistentVolumeClaimRow> claims;
  std::vector<PersistentVolumeRow> volumes;
  std::vector<StorageClassRow> classes;
  std::vector<CsiDriverRow> drivers;
  std::vector<CsiStorageCapacityRow> capacities;
  std::vector<CsiNodeRow> nodes;
};

// The scheduler's command line as a snapshot stores it (spec 2 L3, L7). The initial values here are
// the flags' defaults: they hold when the whole object is missing. A member missing in a present
// object is Go's zero, which the reader of `schedulerParams` fills in.
struct ShardParams {
  std::string scheduler_name = "kai-scheduler";
  bool restrict_node_scheduling = false;
  std::string node_pool_label_key = "kai.scheduler/node-pool";
  std::string node_pool_label_value;
  int64_t max_consolidation_preemptees = 16;
  bool schedule_csi_storage = false;
  bool use_scheduling_signatures = true;
  bool full_hierarchy_fairness = true;
  bool allow_consolidating_reclaim = true;
  int64_t default_staleness_grace_ns = 60'000'000'000;
  int64_t stuck_in_releasing_threshold_ns = 120'000'000'000;
  bool detailed_fit_errors = false;
  std::string queue_label_key = "kai.scheduler/queue";
  // Not KAI's: how devices count as GPUs.
  bool count_mig_as_parts = false;      // a MIG slice as its part of a GPU
  bool count_all_accelerators = false;  // those of every vendor (accelerators.h)
};

}  // namespace kai

#endif  // KAI_MODEL_ROWS_H_

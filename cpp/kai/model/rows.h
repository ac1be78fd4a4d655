// Rows: what ingest read of each object, before anything is believed.
//
// A row is one Kubernetes object reduced to the fields the scheduler uses, in exact integers, with
// names still as text. The ClusterBuilder checks rows once and turns them into columns. Rows say
// what the object said: an absent field stays absent (nullopt, empty), so that the one place that
// knows a default is the builder.
#ifndef KAI_MODEL_ROWS_H_
#define KAI_MODEL_ROWS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

  friend auto operator<=>(const GpuRequest&, const GpuRequest&) = default;
};

// ---- objects
// --------------------------------------------------------------------------------------------------------------------

enum class Phase : uint8_t { kPending, kRunning, kSucceeded, kFailed, kUnknown };

struct PodRow {
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
  std::string received_type;            // annotation received-resource-type
  std::vector<std::string> gpu_groups;  // spec 3 R20, label form
  StringPairs node_selector;
  bool has_node_affinity =
      false;  // required node affinity was given; with no terms it matches nothing
  std::vector<NodeSelectorTerm> node_affinity;  // any term may match
  std::vector<Toleration> tolerations;
  PodAffinityRow affinity;
  struct Claim {  // spec.resourceClaims, resolved with status.resourceClaimStatuses
    std::string name;
    std::string resource_claim;  // object name; empty: the template's claim does not exist yet
    bool from_template = false;
  };
  std::vector<Claim> claims;
  // Features that later floors bring ("host-port", "persistent-volume-claim"): a pod that needs one
  // is not placed, and says so. The features of `gpu`, claims, topology and sub-groups are found by
  // the builder.
  std::vector<std::string> not_built;
};

enum class ConditionStatus : uint8_t { kAbsent, kTrue, kFalse, kUnknown };

struct NodeRow {
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

struct TopologyConstraintRow {
  std::string topology;
  std::string required_level;
  std::string preferred_level;
};

struct SubGroupRow {
  std::string name;
  std::optional<std::string> parent;
  std::optional<int64_t> min_member;
  std::optional<int64_t> min_sub_group;
  TopologyConstraintRow topology;
};

struct PodGroupRow {
  std::string namespace_name;
  std::string name;
  StringPairs labels;  // only the node-pool label is looked at
  std::optional<int64_t> created_ns;
  std::string queue;
  std::string priority_class;
  std::string preemptibility;
  std::optional<int64_t> min_member;
  std::optional<int64_t> min_sub_group;
  std::vector<SubGroupRow> sub_groups;
  TopologyConstraintRow topology;
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

struct BindRequestRow {
  std::string namespace_name;
  std::string pod;   // spec.podName
  std::string node;  // spec.selectedNode
  std::string received_type;
  std::vector<std::string> gpu_groups;
  std::string phase;
  std::optional<int64_t> backoff_limit;
  int64_t failed_attempts = 0;
};

// What counts of DRA objects for quota and capacity (spec 3 D2, D3); allocation itself comes with a
// later floor.
struct ResourceClaimRow {
  std::string namespace_name;
  std::string name;
  int64_t gpus = 0;       // spec 3 D2; 0 for extended-resource claims
  std::string owner_pod;  // by owner reference, else the first it is reserved for (spec 3 D4)
};

struct ResourceSliceRow {
  std::string node;  // spec.nodeName; empty: not node-local
  int64_t gpus = 0;  // devices, when the driver is a GPU driver
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
};

}  // namespace kai

#endif  // KAI_MODEL_ROWS_H_

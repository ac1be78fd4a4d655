// MakeCluster: makes small clusters for tests, with only the details that a test needs.
//
//   std::unique_ptr<Cluster> cluster = MakeCluster()
//       .Queue("vision", {.deserved_gpus = 2})
//       .Queue("speech", {.deserved_gpus = 6})
//       .Node("n1", {.gpus = 8})
//       .Running("speech/bulk", {.pods = 8, .gpus = 1, .node = "n1"})
//       .Pending("vision/train", {.pods = 2, .gpus = 1, .min_member = 2})
//       .Build();
//   cluster->nodes().idle[NodeNamed(*cluster, "n1")];
//
// Everything else has defaults: queues limit only what they name, nodes are ready and large, pods
// request one core. "ns/group" names a pod group; its pods are "ns/group-0", "ns/group-1", ... in
// the order of the calls, and naming a group again adds pods to it. A group belongs to the queue
// named like its namespace or, if a test has no queue, to an unlimited one named "default". Objects
// that are added first are the oldest. Add() adds rows of any other kind unchanged.
#ifndef KAI_TESTING_MAKERS_CLUSTER_MAKER_H_
#define KAI_TESTING_MAKERS_CLUSTER_MAKER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kai/api/units.h"
#include "kai/model/columns/cluster.h"
#include "kai/model/rows/cluster_rows.h"
#include "kai/model/rows/rows.h"
#include "kai/testing/makers/test_time.h"

namespace kai {

inline constexpr auto kMegabyte = static_cast<int64_t>(kBytesPerMegabyte);

// CPU in millicores, memory in megabytes of 10^6 bytes, GPUs in devices; -1 is unlimited.
struct QueueSpec {
  std::string parent = {};
  double deserved_gpus = 0;
  double limit_gpus = kUnlimited;
  double weight_gpus = 1;
  double deserved_millicpu = kUnlimited;
  double limit_millicpu = kUnlimited;
  double weight_millicpu = 1;
  double deserved_mb = kUnlimited;
  double limit_mb = kUnlimited;
  double weight_mb = 1;
  std::optional<int64_t> priority = {};
  std::optional<int64_t> created_s = {};
  std::string display_name = {};
};

struct NodeSpec {
  int64_t gpus = 0;
  int64_t millicpu = 64'000;
  int64_t mb = 512'000;
  int64_t pods = 110;
  ResourceAmounts more = {};  // MIG slices, scalars
  StringPairs labels = {};
  std::vector<Taint> taints = {};
  bool cordoned = false;
  bool ready = true;
};

// Equal pods of one group; the last four members are about the group.
struct PodsSpec {
  ~PodsSpec();  // not inline: tests create hundreds of these

  int pods = 1;
  int64_t gpus = 0;
  double gpu_fraction = 0;
  int64_t gpu_memory_mib = 0;
  int64_t gpu_devices = 1;  // devices that provide the fraction or the memory
  int64_t millicpu = 1000;
  int64_t mb = 0;
  ResourceAmounts more = {};  // MIG slices, scalars
  std::string node = {};
  bool guaranteed = false;
  std::vector<ContainerRow> containers = {};  // if there are several; the sums are set separately
  std::vector<ZoneRecordRow> zone_records = {};
  StringPairs labels = {};
  StringPairs node_selector = {};
  std::vector<Toleration> tolerations = {};
  PodAffinityRow affinity = {};
  std::vector<WeightedNodeTerm> preferred_nodes = {};
  std::vector<SpreadConstraintRow> spread = {};
  std::vector<HostPort> host_ports = {};
  std::vector<std::string> config_maps = {};
  std::vector<VolumeClaimRow> volumes = {};
  std::string subgroup = {};
  std::string nominated_node = {};
  bool bare = false;  // no controller would create the pods again
  std::string queue = {};
  std::optional<int64_t> min_member = {};
  std::optional<int64_t> priority = {};  // of a priority class made for it
  std::string preemptibility = {};       // "preemptible", "non-preemptible"; default: by priority
};

// Affinity with which no pod can be placed: it selects namespaces by labels, and the input has no
// namespaces.
PodAffinityRow NeedsNamespaces();

class ClusterMaker {
 public:
  ClusterMaker& Queue(std::string name, QueueSpec spec = {});
  ClusterMaker& Node(std::string name, NodeSpec spec = {});

  ClusterMaker& Pending(std::string_view group, PodsSpec spec = {});
  ClusterMaker& Gated(std::string_view group, PodsSpec spec = {});
  ClusterMaker& Running(std::string_view group, PodsSpec spec = {});
  ClusterMaker& Releasing(std::string_view group,
                          PodsSpec spec = {});  // deleted just before kTestNowNs
  ClusterMaker& Succeeded(std::string_view group, PodsSpec spec = {});
  // Running pods of another scheduler, without a pod group.
  ClusterMaker& Foreign(std::string_view name, PodsSpec spec = {});

  ClusterMaker& Add(NodeRow row);
  ClusterMaker& Add(QueueRow row);
  ClusterMaker& Add(PodGroupRow row);
  ClusterMaker& Add(PodRow row);
  ClusterMaker& Add(PriorityClassRow row);
  ClusterMaker& Add(BindRequestRow row);
  ClusterMaker& Add(ResourceClaimRow row);
  ClusterMaker& Add(ResourceSliceRow row);
  ClusterMaker& Add(NodeZonesRow row);
  ClusterMaker& Add(TopologyRow row);
  ClusterMaker& Add(DeviceClassRow row);

  ShardParams& params() { return rows_.params; }
  // All rows so far, for tests that change a field without a method of its own.
  ClusterRows& rows() { return rows_; }

  std::unique_ptr<Cluster> Build() const;
  ClusterRows Rows() const;  // the rows that Build() uses

 private:
  ClusterMaker& AddPods(std::string_view group, const PodsSpec& spec, const PodRow& like);
  PodGroupRow& GroupFor(std::string_view group, const PodsSpec& spec);
  int64_t NextTimeNs();

  ClusterRows rows_;
  int64_t seconds_ = 0;
};

inline ClusterMaker MakeCluster() { return ClusterMaker(); }

// Rows with default values, for tests that fill ClusterRows themselves.
NodeRow MakeNodeRow(std::string name, const NodeSpec& spec = {});
QueueRow MakeQueueRow(std::string name, const QueueSpec& spec = {});

// The id of a name; aborts if there is none.
NodeId NodeNamed(const Cluster& cluster, std::string_view name);
QueueId QueueNamed(const Cluster& cluster, std::string_view name);
PodId PodNamed(const Cluster& cluster, std::string_view ns_name);
PodGroupId PodGroupNamed(const Cluster& cluster, std::string_view ns_name);
SubGroupId PodSetNamed(const Cluster& cluster, std::string_view pod_group, std::string_view name);

}  // namespace kai

#endif  // KAI_TESTING_MAKERS_CLUSTER_MAKER_H_

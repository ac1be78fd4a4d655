// TablePolicies: policies that are functions over tables: of nodes for a class of pods, and of
// waiting pod groups. The engine fills the tables and reads the answers. Implementations of these
// classes compute the answers, such as Python functions (cpp/bindings/python_policies.h).
//
//   const std::unique_ptr<PolicyRun> run = policies.Begin(*cluster, columns);
//   run->Score(0, {.gpus = 1}, 2)   // reads columns->nodes, writes columns->score and columns->gpu
//
// A function is row-wise or whole. Row-wise: an answer depends only on its row and the pod, so it
// is cached until the row changes. Whole: it depends on all rows of the table.
//
// Invariants: the columns of nodes and the answers for them are made once for a run, and are as
// long as the cluster has nodes; a call uses their first rows. A run may serve several cycles.
// Cost: that of the functions. Threads: several threads may begin runs of TablePolicies at once;
// each run is used by one thread.
#ifndef KAI_PLACEMENT_TABLE_POLICY_H_
#define KAI_PLACEMENT_TABLE_POLICY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kai/model/columns/cluster.h"

namespace kai {

// The request of a pod of the class. GPU memory counts as in its queue; PolicyTables has the amount
// on each node.
struct PolicyPod {
  int64_t cpu_milli = 0;
  int64_t memory_bytes = 0;
  int64_t gpus = 0;
  int64_t gpu_milli = 0;  // of each GPU
};

// Sorted by name. Idle: neither used nor promised; resources that are being freed count as idle.
struct PolicyNodeColumns {
  std::vector<int32_t> node;  // NodeId
  std::vector<int64_t> kind;  // nodes of one kind accept the same pods; numbered by the first name
  std::vector<int64_t> cpu_milli;
  std::vector<int64_t> cpu_idle_milli;
  std::vector<int64_t> memory_bytes;
  std::vector<int64_t> memory_idle_bytes;
  std::vector<int64_t> gpus;
  std::vector<int64_t> gpu_memory_mib;  // of one GPU; 0: unknown
  std::vector<int64_t> gpu_idle_milli;  // of each GPU, `most_gpus` per row; 0 after the last GPU
  std::vector<int64_t> pod_gpu_milli;   // what the pod takes of each of its GPUs on the node
  size_t most_gpus = 0;
  std::vector<NodeClassId> classes;  // by kind
};

// Groups with a waiting pod, by age, then name. Further data of a group is added as a column here.
struct PolicyGroupColumns {
  std::vector<int32_t> group;  // PodGroupId
  std::vector<int64_t> queue;  // QueueId; -1: unknown queue
  std::vector<int64_t> priority;
  std::vector<double> waited_s;   // since its creation; NaN: unknown
  std::vector<int64_t> pods;      // waiting pods
  std::vector<int64_t> running;   // pods that hold a node
  std::vector<double> gpus;       // requests of the waiting pods
  std::vector<double> cpu;        // cores, of the waiting pods
  std::vector<double> evicted_s;  // since its last eviction; NaN: none
  std::vector<double> started_s;  // since its last start; NaN: none
  // Up to now (attained_service.h).
  std::vector<double> attained_s;      // time during which some of its pods held nodes
  std::vector<double> attained_gpu_s;  // the same, times the GPUs that they held
  std::vector<int64_t> evictions;      // number of times it lost pods
  std::vector<double> estimate_s;      // the user's estimate of its run time; NaN: none
  std::vector<uint8_t> preemptible;
};

struct PolicyColumns {
  PolicyNodeColumns nodes;
  std::shared_ptr<const PolicyGroupColumns> groups;  // other ones for each order
  // The answers, one per row.
  std::vector<double> score;
  std::vector<int64_t> gpu;  // index in the row of gpu_idle_milli; -1: no choice
  std::vector<uint8_t> allowed;
  std::vector<double> key;
};

class PolicyRun {
 public:
  virtual ~PolicyRun() = default;
  // For the first `rows` nodes. Aborted: the function failed; the message has the reason.
  virtual absl::Status Score(size_t function, const PolicyPod& pod, size_t rows) = 0;
  virtual absl::Status Filter(size_t function, const PolicyPod& pod, size_t rows) = 0;
  // For the first `rows` groups: fills `key`; the lowest key goes first.
  virtual absl::Status Order(size_t rows) = 0;
};

class TablePolicies {
 public:
  struct Function {
    std::string name;
    bool whole = false;
  };

  virtual ~TablePolicies() = default;
  const std::vector<Function>& scores() const { return scores_; }
  const std::vector<Function>& filters() const { return filters_; }
  bool orders_groups() const { return orders_groups_; }
  // A run for a cluster. The cluster lives longer than the run. The columns are shared, because a
  // function may keep its table after the run.
  virtual std::unique_ptr<PolicyRun> Begin(const Cluster& cluster,
                                           std::shared_ptr<PolicyColumns> columns) const = 0;

 protected:
  std::vector<Function> scores_;
  std::vector<Function> filters_;
  bool orders_groups_ = false;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_TABLE_POLICY_H_

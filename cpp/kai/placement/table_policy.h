// TablePolicies: policies that are functions over tables: of nodes for a class of pods, of pod
// groups that wait. The engine fills the tables and reads the answers; what computes them, such as
// Python (cpp/bindings/python_policies.h), implements these classes.
//
//   const std::unique_ptr<PolicyRun> run = policies.Begin(*cluster, &columns);
//   run->Score(0, {.gpus = 1}, 2)   // reads columns.nodes, writes columns.score and columns.gpu
//
// A function is row-wise or whole: row-wise, an answer depends on its row and the pod alone, so
// that it is kept until the row differs; whole, it depends on all rows of the table.
//
// Invariants: the columns are made once for a run, and are as long as the cluster has nodes or pod
// groups; a call is about their first rows. Cost: that of the functions. Threads: TablePolicies may
// begin runs from several threads at once, a run is worked off by one.
#ifndef KAI_PLACEMENT_TABLE_POLICY_H_
#define KAI_PLACEMENT_TABLE_POLICY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kai/model/columns/cluster.h"

namespace kai {

// What a pod of the class asks for. Of GPU memory as its queue counts it; PolicyTables has what it
// is on each node.
struct PolicyPod {
  int64_t cpu_milli = 0;
  int64_t memory_bytes = 0;
  int64_t gpus = 0;
  int64_t gpu_milli = 0;  // of each of them
};

// Sorted by name. Idle: neither used nor promised; what is being freed counts as idle.
struct PolicyNodeColumns {
  std::vector<int32_t> node;  // NodeId
  std::vector<int64_t> kind;  // nodes of one kind are open to the same pods; by the first name
  std::vector<int64_t> cpu_milli;
  std::vector<int64_t> cpu_idle_milli;
  std::vector<int64_t> memory_bytes;
  std::vector<int64_t> memory_idle_bytes;
  std::vector<int64_t> gpus;
  std::vector<int64_t> gpu_memory_mib;  // of one GPU; 0: unknown
  std::vector<int64_t> gpu_idle_milli;  // of each GPU, `most_gpus` a row: 0 behind the last one
  std::vector<int64_t> pod_gpu_milli;   // what the pod takes there of each of its GPUs
  size_t most_gpus = 0;
  std::vector<NodeClassId> classes;  // by kind
};

// Groups with a pod that waits, by age, then name. What else is known of a group becomes a column
// here.
struct PolicyGroupColumns {
  std::vector<int32_t> group;  // PodGroupId
  std::vector<int64_t> queue;  // QueueId; -1: it does not exist
  std::vector<int64_t> priority;
  std::vector<double> waited_s;   // since it was created; NaN: unknown
  std::vector<int64_t> pods;      // that wait
  std::vector<int64_t> running;   // pods that hold a node
  std::vector<double> gpus;       // that the waiting pods ask for
  std::vector<double> cpu;        // cores, likewise
  std::vector<double> evicted_s;  // since its last eviction; NaN: none
  std::vector<double> started_s;  // since its last start; NaN: none
  // Up to now (attained_service.h).
  std::vector<double> attained_s;      // time during which some of its pods held nodes
  std::vector<double> attained_gpu_s;  // the same, times the GPUs that they held
  std::vector<int64_t> evictions;      // how often it lost pods
  std::vector<double> estimate_s;      // of its run time, as its user gave it; NaN: none
  std::vector<uint8_t> preemptible;
};

struct PolicyColumns {
  PolicyNodeColumns nodes;
  PolicyGroupColumns groups;
  // Answers, a row each.
  std::vector<double> score;
  std::vector<int64_t> gpu;  // of gpu_idle_milli; -1: no choice
  std::vector<uint8_t> allowed;
  std::vector<double> key;
};

class PolicyRun {
 public:
  virtual ~PolicyRun() = default;
  // About the first `rows` nodes. Aborted: the function failed, and why.
  virtual absl::Status Score(size_t function, const PolicyPod& pod, size_t rows) = 0;
  virtual absl::Status Filter(size_t function, const PolicyPod& pod, size_t rows) = 0;
  // About the first `rows` groups: `key`, the lowest goes first.
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
  // For one cycle. Both outlive the run.
  virtual std::unique_ptr<PolicyRun> Begin(const Cluster& cluster,
                                           PolicyColumns* columns) const = 0;

 protected:
  std::vector<Function> scores_;
  std::vector<Function> filters_;
  bool orders_groups_ = false;
};

}  // namespace kai

#endif  // KAI_PLACEMENT_TABLE_POLICY_H_

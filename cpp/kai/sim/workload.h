// SimWorkload: the start of a simulation, and all events except the scheduler's decisions. Times
// are nanoseconds since the start of the simulation.
//
//   SimWorkload workload = Nodes({1});
//   workload.outages = {{.node = "x", .from_ns = 0, .until_ns = 1}};
//
// Invariants: nothing is checked here; Simulation::Make() checks it. Cost: plain data. Threads:
// plain data.
#ifndef KAI_SIM_WORKLOAD_H_
#define KAI_SIM_WORKLOAD_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kai/model/rows/rows.h"
#include "kai/sim/first_moment.h"
#include "kai/sim/usage_window.h"

namespace kai {

// A change of a job's number of pods.
struct SimResize {
  int64_t after_ns = 0;  // since the job's arrival
  int32_t pods = 1;
  int32_t min_pods = 1;
};

// Equal pods that run until the job's work is done. With all pods of its first size running, the
// work takes `duration_ns`; with more, or with fewer but at least `min_pods`, the speed is
// proportional to their number.
struct SimJob {
  static constexpr int64_t kNeverSaved = -1;
  static constexpr int64_t kForever = std::numeric_limits<int64_t>::max();  // of duration_ns

  std::string name;
  int32_t queue = 0;  // index into SimWorkload::queues
  int64_t arrival_ns = 0;
  int64_t duration_ns = 0;
  int32_t pods = 1;
  int32_t min_pods = 1;
  int64_t micro_gpus = 1'000'000;  // millionths of a GPU per pod: whole GPUs, or a part of one
  int64_t millicpu = 1000;
  int64_t memory_bytes = 0;
  std::string priority_class;
  std::string preemptibility;  // empty: by priority class
  int32_t models = 0;          // index into SimWorkload::model_sets
  int32_t speeds = 0;          // index into SimWorkload::speed_tables
  int64_t estimate_ns = -1;    // the user's estimate of duration_ns; -1: none
  int64_t checkpoint_ns = 0;   // interval of checkpoints; 0: always saved; kNeverSaved
  int64_t restart_ns = 0;      // extra time of each start after the first
  std::vector<SimResize> resizes;
  int32_t given = -1;  // index of its group in SimWorkload::first, if it has one
};

// A node that goes and comes back.
struct SimOutage {
  std::string node;
  int64_t from_ns = 0;
  int64_t until_ns = std::numeric_limits<int64_t>::max();
};

// Maintenance: a node takes no new pods for some time.
struct SimWindow {
  std::string node;
  int64_t from_ns = 0;
  int64_t until_ns = std::numeric_limits<int64_t>::max();
  bool drains = false;  // pods on the node are evicted at the start
};

// A pool of nodes that an autoscaler orders and removes, in the order in which it orders them. They
// are all equal, and listed in the workload's nodes.
struct SimNodePool {
  std::string name;
  std::vector<std::string> nodes;  // all that can exist
  int32_t first = 0;               // how many exist from the start
  int32_t least = 0;
  int64_t ready_ns = 0;  // from the order until the node takes pods
  int64_t idle_ns = 0;   // a node that is empty for this long is removed
  double price = 0;      // per node; cheaper pools are used first
};

// A new version of a queue.
struct SimQueueChange {
  int64_t at_ns = 0;
  QueueRow queue;
};

struct SimWorkload {
  // The state at the start. The workload's queues, nodes and jobs replace objects of the same
  // names. Null: an empty cluster.
  std::shared_ptr<const FirstMoment> first;
  std::vector<QueueRow> queues;  // parents may come after their children
  std::vector<NodeRow> nodes;
  std::vector<PriorityClassRow> priority_classes;
  std::vector<SimJob> jobs;  // in any order
  // GPU models that a job may use (empty: any), and its speed on each (1 for others).
  std::vector<std::vector<std::string>> model_sets = {{}};
  std::vector<std::vector<std::pair<std::string, double>>> speed_tables = {{}};
  std::vector<SimOutage> outages;
  std::vector<SimWindow> windows;
  std::vector<SimNodePool> pools;
  std::vector<SimQueueChange> queue_changes;
};

// Parameters of the cluster around the scheduler.
struct SimOptions {
  int64_t period_ns = 1'000'000'000;                       // of cycles; 0: at once
  int64_t until_ns = std::numeric_limits<int64_t>::max();  // the end of the simulation
  int64_t start_ns = 1'767'225'600'000'000'000;            // the start as a date: 2026-01-01
  int64_t bind_ns = 0;                    // from a decision until the pod is on its node
  int64_t startup_ns = 0;                 // from then until the pod runs: images, volumes
  int64_t terminate_ns = 0;               // from an eviction until the pod is gone
  int64_t scale_ns = 10'000'000'000;      // the autoscaler runs at multiples of this
  std::optional<UsageWindow> usage = {};  // if set, past usage counts: time-based fair share
};

}  // namespace kai

#endif  // KAI_SIM_WORKLOAD_H_

// SimWorkload: what a simulation starts from, and what happens to it besides the scheduler's
// decisions. Times are nanoseconds since the start of the simulation.
//
//   SimWorkload workload = Nodes({1});
//   workload.outages = {{.node = "x", .from_ns = 0, .until_ns = 1}};
//
// Invariants: nothing is checked yet; Simulation::Make() does. Cost: plain data. Threads: plain
// data.
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

// From a moment on a job has another number of pods.
struct SimResize {
  int64_t after_ns = 0;  // since the job's arrival
  int32_t pods = 1;
  int32_t min_pods = 1;
};

// Equal pods that run until the job's work is done. With all pods that it arrives with running, the
// work takes `duration_ns`; with fewer, but at least `min_pods`, or with more, it goes on at a rate
// in proportion.
struct SimJob {
  static constexpr int64_t kNeverSaved = -1;
  static constexpr int64_t kForever = std::numeric_limits<int64_t>::max();  // of duration_ns

  std::string name;
  int32_t queue = 0;  // of SimWorkload::queues
  int64_t arrival_ns = 0;
  int64_t duration_ns = 0;
  int32_t pods = 1;
  int32_t min_pods = 1;
  int64_t micro_gpus = 1'000'000;  // millionths of a GPU per pod: whole ones, or a part of one
  int64_t millicpu = 1000;
  int64_t memory_bytes = 0;
  std::string priority_class;
  std::string preemptibility;  // empty: as the priority class says
  int32_t models = 0;          // of SimWorkload::model_sets
  int32_t speeds = 0;          // of SimWorkload::speed_tables
  int64_t estimate_ns = -1;    // what its user expects of duration_ns; -1: nothing
  int64_t checkpoint_ns = 0;   // work is saved so often; 0: always; kNeverSaved
  int64_t restart_ns = 0;      // that each start after the first one takes longer
  std::vector<SimResize> resizes;
  int32_t given = -1;  // a place in the groups of SimWorkload::first, whose pods it has
};

// A node that goes and comes back.
struct SimOutage {
  std::string node;
  int64_t from_ns = 0;
  int64_t until_ns = std::numeric_limits<int64_t>::max();
};

// Maintenance: a node takes no new pods for a while.
struct SimWindow {
  std::string node;
  int64_t from_ns = 0;
  int64_t until_ns = std::numeric_limits<int64_t>::max();
  bool drains = false;  // pods that are on it are evicted as it begins
};

// Nodes that an autoscaler orders and removes, in the order in which it orders them. All are among
// the workload's nodes, and alike.
struct SimNodePool {
  std::string name;
  std::vector<std::string> nodes;  // as many as there may be
  int32_t first = 0;               // so many are there from the start
  int32_t least = 0;
  int64_t ready_ns = 0;  // from an order until the node takes pods
  int64_t idle_ns = 0;   // a node that was empty for so long is removed
  double price = 0;      // of a node; cheap pools are ordered from first
};

// A queue that is written anew.
struct SimQueueChange {
  int64_t at_ns = 0;
  QueueRow queue;
};

struct SimWorkload {
  // What there is at the start, with queues, nodes and jobs that stand for its own by their names;
  // null: nothing.
  std::shared_ptr<const FirstMoment> first;
  std::vector<QueueRow> queues;  // parents may come after their children
  std::vector<NodeRow> nodes;
  std::vector<PriorityClassRow> priority_classes;
  std::vector<SimJob> jobs;  // in any order
  // GPU models: those that a job may run on (none: any), and how fast it is on each (others: 1).
  std::vector<std::vector<std::string>> model_sets = {{}};
  std::vector<std::vector<std::pair<std::string, double>>> speed_tables = {{}};
  std::vector<SimOutage> outages;
  std::vector<SimWindow> windows;
  std::vector<SimNodePool> pools;
  std::vector<SimQueueChange> queue_changes;
};

// What the cluster around the scheduler does with time.
struct SimOptions {
  int64_t period_ns = 1'000'000'000;                       // of the scheduler's cycles; 0: at once
  int64_t until_ns = std::numeric_limits<int64_t>::max();  // the simulation ends then
  int64_t start_ns = 1'767'225'600'000'000'000;            // its beginning, as a date: 2026-01-01
  int64_t bind_ns = 0;                    // from a decision until the pod is on its node
  int64_t startup_ns = 0;                 // from then until the pod runs: images, volumes
  int64_t terminate_ns = 0;               // from an eviction until the pod is gone
  int64_t scale_ns = 10'000'000'000;      // the autoscaler looks at multiples of it
  std::optional<UsageWindow> usage = {};  // the past counts: time-based fair share
};

}  // namespace kai

#endif  // KAI_SIM_WORKLOAD_H_

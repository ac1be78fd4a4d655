// Timeline: the events of a simulation, as columns.
//
//   ASSERT_EQ(run.timeline().stays.end.size(), 1u);
//
// Invariants: all columns of a table have the same length; times are nanoseconds since the start.
// Cost: 41 bytes a stay, 36 a row of a queue or of usage. Threads: plain data.
#ifndef KAI_SIM_TIMELINE_H_
#define KAI_SIM_TIMELINE_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace kai {

// Why a pod left its node.
enum class StayEnd : uint8_t {
  kFinished,
  kReclaimed,
  kPreempted,
  kConsolidated,
  kStale,
  kNodeGone,
  kSimulationEnds,  // it had not left
  kDrained,         // its node went into maintenance
  kResized,         // its job became smaller
  kWasLeaving,      // before the simulation began
};

// Node events besides failures and repairs.
enum class NodeEvent : uint8_t {
  kOrdered,     // by the autoscaler
  kReady,       // takes pods now
  kRemoved,     // by the autoscaler
  kCordoned,    // takes no new pods
  kUncordoned,  // takes new pods again
};

struct Timeline {
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  // Stays of pods on nodes, in the order of their ends, then of job and pod.
  struct Stays {
    std::vector<int32_t> job;
    std::vector<int32_t> pod;
    std::vector<int32_t> node;
    std::vector<int32_t> shared_card;  // equal for pods that share a GPU; -1: no part of a GPU
    std::vector<int64_t> from_ns;
    std::vector<int64_t> runs_ns;  // kNever: it left before it ran
    std::vector<int64_t> to_ns;
    std::vector<uint8_t> end;  // StayEnd
  };
  Stays stays;

  // By job.
  struct Jobs {
    std::vector<int32_t> input;           // index in the input
    std::vector<int64_t> first_start_ns;  // kNever: not started
    std::vector<int64_t> end_ns;          // kNever: not ended
    std::vector<int64_t> working_ns;
    std::vector<int32_t> restarts;
    std::vector<int32_t> evictions;  // of pods
    // Of all its pods together (job_progress.h).
    std::vector<int64_t> held_ns, kept_ns, lost_ns, idle_ns;
  };
  Jobs jobs;

  // What a queue and all queues below it hold and request from this cycle on; one row per change.
  struct Queues {
    std::vector<int64_t> at_ns;
    std::vector<int32_t> queue;
    std::vector<int64_t> allocated;  // millionths of GPUs
    std::vector<int64_t> requested;  // by existing pods, waiting or not
    std::vector<double> fair_share;  // GPUs, computed in the cycle
  };
  Queues queues;

  // The past usage of a queue when it was fetched, as a part of the cluster's capacity; one row per
  // change. Empty unless past usage counts.
  struct Usage {
    std::vector<int64_t> at_ns;
    std::vector<int32_t> queue;
    std::vector<double> gpu, cpu, memory;
  };
  Usage usage;

  // Nodes that come and go. Nodes that the autoscaler has not ordered yet are absent from the
  // start.
  struct Nodes {
    std::vector<int64_t> at_ns;
    std::vector<int32_t> node;
    std::vector<uint8_t> is_there;
  };
  Nodes nodes;

  struct NodeEvents {
    std::vector<int64_t> at_ns;
    std::vector<int32_t> node;
    std::vector<uint8_t> event;  // NodeEvent
  };
  NodeEvents node_events;

  std::vector<std::string> node_names;   // sorted
  std::vector<std::string> queue_names;  // in the order of the input
  int64_t end_ns = 0;                    // how far the simulation went
  int64_t cycles = 0;
  int64_t repeated_cycles = 0;  // cycles that repeated the last plan
  int64_t engine_ns = 0;        // real time spent on plans
};

}  // namespace kai

#endif  // KAI_SIM_TIMELINE_H_

// Timeline: what happened in a simulation, as columns.
//
//   ASSERT_EQ(run.timeline().stays.end.size(), 1u);
//
// Invariants: rows of a table have equal numbers of entries; times are nanoseconds since the start.
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
  kSimulationEnds,  // it is still there
  kDrained,         // its node is maintained
  kResized,         // its job has fewer pods from then on
  kWasLeaving,      // already as the simulation began
};

// What happened to a node besides failures and repairs.
enum class NodeEvent : uint8_t {
  kOrdered,     // by the autoscaler
  kReady,       // it came
  kRemoved,     // by the autoscaler
  kCordoned,    // it takes no new pods
  kUncordoned,  // it takes pods again
};

struct Timeline {
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  // A pod on a node, in the order in which they ended; those of one moment by job and pod.
  struct Stays {
    std::vector<int32_t> job;
    std::vector<int32_t> pod;
    std::vector<int32_t> node;
    std::vector<int32_t> shared_card;  // equal for pods with parts of one GPU; -1: no part
    std::vector<int64_t> from_ns;
    std::vector<int64_t> runs_ns;  // kNever: it left before it ran
    std::vector<int64_t> to_ns;
    std::vector<uint8_t> end;  // StayEnd
  };
  Stays stays;

  // By job.
  struct Jobs {
    std::vector<int32_t> input;           // its place in the input
    std::vector<int64_t> first_start_ns;  // kNever: not yet
    std::vector<int64_t> end_ns;          // kNever: not yet
    std::vector<int64_t> working_ns;
    std::vector<int32_t> restarts;
    std::vector<int32_t> evictions;  // of pods
    // Of its pods together (job_progress.h).
    std::vector<int64_t> held_ns, kept_ns, lost_ns, idle_ns;
  };
  Jobs jobs;

  // What a queue and all below it hold and ask for, from this cycle on; a row where it differs from
  // the one before.
  struct Queues {
    std::vector<int64_t> at_ns;
    std::vector<int32_t> queue;
    std::vector<int64_t> allocated;  // millionths of GPUs
    std::vector<int64_t> requested;  // by pods that are there, waiting or not
    std::vector<double> fair_share;  // GPUs, as the cycle computed it
  };
  Queues queues;

  // What a queue had used in the past when this was fetched, as parts of what the cluster had; a
  // row where it differs from the one before. Empty unless the past counts.
  struct Usage {
    std::vector<int64_t> at_ns;
    std::vector<int32_t> queue;
    std::vector<double> gpu, cpu, memory;
  };
  Usage usage;

  // Nodes that came and went beside the first ones; those that the autoscaler has not ordered yet
  // are gone from the start.
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

  std::vector<std::string> node_names;   // by name
  std::vector<std::string> queue_names;  // in the order of the input
  int64_t end_ns = 0;                    // as far as it went
  int64_t cycles = 0;
  int64_t repeated_cycles = 0;  // of these, in which nothing was searched
  int64_t engine_ns = 0;        // of the machine's time, spent in plans
};

}  // namespace kai

#endif  // KAI_SIM_TIMELINE_H_

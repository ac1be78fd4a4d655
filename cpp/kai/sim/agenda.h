// Agenda: what happens next in a simulation.
//
//   while (!agenda_.empty() && agenda_.NextNs() == now_ns_) Happen(agenda_.Take());
//
// Entries of one time come in the order of their kinds, then of jobs and pods, so that what was
// added first makes no difference. An entry that lost its meaning is left in and recognized by its
// stamp.
//
// Invariants: Take() gives them in order. Cost: O(log entries). Not thread-safe.
#ifndef KAI_SIM_AGENDA_H_
#define KAI_SIM_AGENDA_H_

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

namespace kai {

// Room comes first: what ends at a moment leaves its place to what arrives then.
enum class Occasion : uint8_t {
  kJobEnds,
  kPodIsGone,
  kNodeGoes,
  kNodeComes,
  kWindowBegins,
  kWindowEnds,
  kPoolNodeReady,
  kQueueChanges,
  kPodRuns,
  kArrival,
  kResize,
  kScalerLooks,
};

struct AgendaEntry {
  int64_t at_ns = 0;
  Occasion kind{};
  int32_t job = 0;    // or a node, or a place in the workload's outages, windows and changes
  int32_t pod = 0;    // of the job, or a place among its resizes
  int64_t stamp = 0;  // the state that it was added for

  auto Key() const { return std::tuple(at_ns, kind, job, pod, stamp); }
};

class Agenda {
 public:
  bool empty() const { return entries_.empty(); }
  int64_t NextNs() const { return entries_.top().at_ns; }
  void Add(const AgendaEntry& entry) { entries_.push(entry); }
  AgendaEntry Take() {
    const AgendaEntry entry = entries_.top();
    entries_.pop();
    return entry;
  }

 private:
  struct IsLater {
    bool operator()(const AgendaEntry& a, const AgendaEntry& b) const { return a.Key() > b.Key(); }
  };
  std::priority_queue<AgendaEntry, std::vector<AgendaEntry>, IsLater> entries_;
};

}  // namespace kai

#endif  // KAI_SIM_AGENDA_H_

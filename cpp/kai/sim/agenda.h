// Agenda: the future events of a simulation in order.
//
//   while (!agenda_.empty() && agenda_.NextNs() == now_ns_) Happen(agenda_.Take());
//
// Entries of one time are sorted by kind, job and pod, so the order in which they were added has no
// effect. An entry that no longer applies stays in the agenda; its stamp is out of date.
//
// Invariants: Take() returns entries in order. Cost: O(log entries). Not thread-safe.
#ifndef KAI_SIM_AGENDA_H_
#define KAI_SIM_AGENDA_H_

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

namespace kai {

// Ends come first, so that an arrival at the same time can use the freed capacity.
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
  int32_t job = 0;    // or a node, or an index into the workload's outages, windows or changes
  int32_t pod = 0;    // of the job, or an index into its resizes
  int64_t stamp = 0;  // the state for which it was added

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

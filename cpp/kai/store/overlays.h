// Overlays: what this process knows of pods, pod groups and queues beside what the API server says.
// It is put on their rows as these come, and so holds for all versions of them.
//
//   overlays.Avoid("q/g", {"n1"});
//   overlays.HoldOff("q/g", then_ns, 10 * kSecondNs);
//   overlays.PutOn("q/g", &group);
//
// Groups are named "namespace/name". Invariants: without overlays a row stays as it was. Cost: a
// hash look-up per row, and none where there are no overlays. Threads: those of the store's writer.
#ifndef KAI_STORE_OVERLAYS_H_
#define KAI_STORE_OVERLAYS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/base/memory_report.h"
#include "kai/store/object_table.h"

namespace kai {

class Overlays {
 public:
  // Pods of the group that have no node must not go to these; no nodes: they may go to all.
  void Avoid(std::string_view group, std::vector<std::string> nodes);

  // The group evicts nothing before `since_ns + delay_ns`: as if it had such a preemption delay,
  // and had lost a pod at `since_ns` (spec 2 D2). A delay of 0 ends that for rows that come later.
  void HoldOff(std::string_view group, int64_t since_ns, int64_t delay_ns);

  // The group was planned with before the server had it, which calls it younger. It keeps its place
  // among others, as long as it is the group that the server made at `created_ns`.
  void KeepAge(std::string_view group, int64_t planned_ns, int64_t created_ns);

  struct Age {
    int64_t planned_ns = 0;
    int64_t created_ns = 0;
  };
  // Those that are kept, by group.
  std::map<std::string, Age> Ages() const { return {ages_.begin(), ages_.end()}; }

  // What queues have used in the past; those that are not among them: nothing.
  void SetPastUsages(PastUsages usages) { past_usages_ = std::move(usages); }

  void PutOn(PodRow* row) const;
  void PutOn(QueueRow* row) const;
  void PutOn(std::string_view name, PodGroupRow* row) const;

  // The group is gone.
  void Forget(std::string_view group);
  void Memory(MemoryReport* report) const;

 private:
  struct HeldOff {
    int64_t since_ns = 0;
    int64_t delay_ns = 0;
  };
  template <typename T>
  using ByName = absl::flat_hash_map<std::string, T, NameHash, std::equal_to<>>;

  ByName<std::vector<std::string>> avoided_;  // sorted
  ByName<HeldOff> held_off_;
  ByName<Age> ages_;
  PastUsages past_usages_;
};

}  // namespace kai

#endif  // KAI_STORE_OVERLAYS_H_

// Overlays: what this process knows about pods, pod groups and queues beyond the API server's
// objects. It is applied to each row when the row arrives, and so to all versions.
//
//   overlays.Avoid("q/g", {"n1"});
//   overlays.HoldOff("q/g", then_ns, 10 * kSecondNs);
//   overlays.PutOn("q/g", &group);
//
// Groups are named "namespace/name". Invariants: without an overlay a row does not change. Cost: a
// hash look-up per row, or none if there are no overlays. Threads: those of the store's writer.
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
  // Waiting pods of the group must not go to these nodes; an empty list allows all nodes.
  void Avoid(std::string_view group, std::vector<std::string> nodes);

  // The group evicts no pod before `since_ns + delay_ns`, as if it had such a preemption delay and
  // had lost a pod at `since_ns` (spec 2 D2). A delay of 0 ends this for rows that arrive later.
  void HoldOff(std::string_view group, int64_t since_ns, int64_t delay_ns);

  // The group was planned before the server had it, so the server's creation time is later. The
  // group keeps its earlier place in the order while its creation time on the server is
  // `created_ns`.
  void KeepAge(std::string_view group, int64_t planned_ns, int64_t created_ns);

  struct Age {
    int64_t planned_ns = 0;
    int64_t created_ns = 0;
  };
  // The groups with such an age.
  std::map<std::string, Age> Ages() const { return {ages_.begin(), ages_.end()}; }

  // The past usage of queues; queues that are not listed have none.
  void SetPastUsages(PastUsages usages) { past_usages_ = std::move(usages); }

  void PutOn(PodRow* row) const;
  void PutOn(QueueRow* row) const;
  void PutOn(std::string_view name, PodGroupRow* row) const;

  // Called when the group is deleted.
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

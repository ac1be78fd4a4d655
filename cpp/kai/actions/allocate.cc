#include "kai/actions/allocate.h"

#include <algorithm>
#include <limits>
#include <span>

#include "absl/container/node_hash_set.h"
#include "kai/actions/candidates.h"
#include "kai/actions/grant.h"
#include "kai/actions/turns.h"

namespace kai {
namespace {

class Allocate final : public Action {
 public:
  explicit Allocate(int64_t depth) : depth_(depth) {}

  void Run(CycleView& cycle) override {
    // A group that cannot be placed in any order does not represent its queue: it would only keep
    // the other groups of the queue waiting, in this cycle and after they get a promise. In KAI it
    // does represent it (switch unrelated_blockers).
    const bool includes_blocked = !cycle.switches->on(Switch::kUnrelatedBlockers);
    std::vector<PodGroupId> without_room;               // one per run
    std::vector<std::span<const PodGroupId>> in_order;  // the content of `turns`
    for (const std::span<const PodGroupId> run : ReadyRuns(cycle)) {
      const PodGroupId group = run.front();
      const bool may_find_room =
          includes_blocked ||
          MayFindRoom(cycle, group, cycle.order->PodsToPlace(group), cycle.room);
      if (may_find_room) {
        in_order.push_back(run);
      } else if (cycle.explains) {
        without_room.push_back(group);
      }
    }
    if (!in_order.empty()) Place(cycle, &in_order, includes_blocked);
    for (const PodGroupId group : without_room) Attempt(cycle, group);  // to find the reasons
  }

 private:
  void Place(CycleView& cycle, std::vector<std::span<const PodGroupId>>* runs,
             bool includes_blocked) const {
    std::vector<std::span<const PodGroupId>>& in_order = *runs;
    Turns turns(cycle, depth_, Turns::Equals::kEach);
    for (const std::span<const PodGroupId> run : in_order) turns.Push(run);
    absl::node_hash_set<PodGroupId> can_grow;  // groups that can use more pods
    // Room and limits only shrink here. When no remaining group can be placed any more, the order
    // does not matter. Checking all of them costs less than the failures before, or than skipping
    // all groups that are like failed ones.
    const bool are_few = in_order.size() <= WaitingRuns::kFew;
    size_t failures = 0;
    size_t enough_failures = includes_blocked ? std::numeric_limits<size_t>::max()
                             : are_few        ? 1
                                              : 16;
    for (PodGroupId group = turns.Next(); group.valid(); group = turns.Next()) {
      if (!Attempt(cycle, group)) {
        turns.Fail();
        if (++failures < enough_failures) continue;
        enough_failures = failures * 2;
        if (!AnyMayFindRoom(cycle, in_order)) {
          if (!cycle.explains) return;
          turns.ForgetOrder();
          enough_failures = std::numeric_limits<size_t>::max();
        }
        continue;
      }
      if (are_few && !includes_blocked) enough_failures = failures + 1;
      if (cycle.order->CountOf(group, PodStatus::kPending) == 0) continue;
      turns.Push(group);
      if (const auto [at, is_new] = can_grow.insert(group); is_new) in_order.emplace_back(&*at, 1);
    }
  }

  // `runs` as they were pushed: the last group of a run is the last to get something.
  static bool AnyMayFindRoom(const CycleView& cycle,
                             std::span<const std::span<const PodGroupId>> runs) {
    return std::ranges::any_of(runs, [&](std::span<const PodGroupId> run) {
      const PodGroupId group = run.back();
      return cycle.order->CountOf(group, PodStatus::kPending) > 0 &&
             MayFindRoom(cycle, group, cycle.order->PodsToPlace(group), cycle.room);
    });
  }

  // One attempt to place the next pods of the group (spec 2 A1); true: they were placed.
  static bool Attempt(CycleView& cycle, PodGroupId group) {
    const BeforeGrant before = BeforeGrantTo(group, cycle);
    GroupPlacer::Result result =
        cycle.placer->Place(group, GroupPlacer::Mode::kReal, cycle.statement);
    if (!result.placed) {
      if (!cycle.explains) return false;
      std::ranges::move(result.reasons, std::back_inserter(cycle.log->reasons[group]));
      const GroupClassId id = cycle.classes->ClassOf(group);
      if (cycle.classes->IsShared(id) && !cycle.classes->HasChanged(group))
        cycle.log->answers[id].push_back(group);
      return false;
    }
    Grant(cycle, group, before);
    return true;
  }

  int64_t depth_;
};

}  // namespace

std::unique_ptr<Action> MakeAllocate(int64_t depth) { return std::make_unique<Allocate>(depth); }

}  // namespace kai

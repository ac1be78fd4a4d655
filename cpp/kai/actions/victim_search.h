// VictimSearch: which pods to evict so that a waiting pod group can be placed (spec 2 V1-V17).
//
//   VictimSearch search(
//       cycle.view, group, candidates, ...
//   const SearchOutcome outcome = search.Run();
//   if (outcome == SearchOutcome::kSolved) ...       // the statement holds the solution
//
// The search grows the part of the group that it makes room for (1, 2, 4, ... pods), each time
// starting from the victims that sufficed before. For each part it adds victims one batch at a
// time, in the order of the victim queue, and simulates scenarios made of them: evict, place the
// group, and place the victims again where there is room. The first scenario that works and that
// the validator accepts wins.
//
// Invariants: an unsolved search leaves the statement as it was; equal input without a stopwatch
// gives the same victims. Cost: O(log pods) parts, for each a simulation per scenario that
// search_bounds.h does not rule out; SearchMeter bounds them. Not thread-safe.
#ifndef KAI_ACTIONS_VICTIM_SEARCH_H_
#define KAI_ACTIONS_VICTIM_SEARCH_H_

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "kai/actions/action.h"
#include "kai/actions/return_bounds.h"
#include "kai/actions/scenario.h"
#include "kai/actions/search_bounds.h"
#include "kai/actions/search_meter.h"
#include "kai/actions/turns.h"
#include "kai/actions/victim_queue.h"
#include "kai/placement/room_count.h"

namespace kai {

enum class SearchOutcome : uint8_t {
  kSolved,
  kDeadlineExhausted,
  kGeneratorsExhausted,
  kNoGenerator,
  kNotAttempted
};

class VictimSearch {
 public:
  // Asked after a simulation, with the cluster as it left it; `request` is what the part of the
  // group asks for that was placed.
  using Validator = std::function<bool(const Scenario&, const QuotaCount& request)>;

  struct Options {
    bool whole_groups = true;  // a group that lost pods before loses some (decision 0008)
    // Where the validator accepts no scenario in which a victim stays away: made of the cluster as
    // it stands.
    ReturnBounds* returns = nullptr;
  };

  // `candidates`: groups that may lose pods, in order of creation.
  VictimSearch(CycleView& cycle, PodGroupId group, std::span<const PodGroupId> candidates,
               Validator validator, SearchMeter* meter, Options options);
  ~VictimSearch();

  SearchOutcome Run();

  // Of a solved search: its scenario, victims first lost, then moved, and those that could stay
  // left out.
  const std::vector<Victim>& victims() const { return recorded_; }

 private:
  enum class Probe : uint8_t { kSolved, kFailed, kDeadline };

  size_t LargestSolved(ScenarioGenerator generator, Probe* last);
  // The whole group's solution stands already.
  bool IsStanding(Probe last) const;
  Probe RunProbe(ScenarioGenerator generator, size_t pods, bool keep);
  Probe TryNodeLocal(const ScenarioBase& base, bool keep);
  Probe TryMultiNode(const ScenarioBase& base, bool keep);
  // Beside the recorded ones.
  Probe TryVictims(const ScenarioBase& base, std::span<const Victim> added, bool keep);
  std::vector<Victim> WithRecorded(const ScenarioBase& base, std::span<const Victim> added) const;
  Probe TryScenario(const Scenario& scenario, bool keep);
  bool Simulate(const Scenario& scenario);
  std::vector<Victim> NeededOf(const Scenario& scenario) const;
  bool PlaceAll(const Scenario& scenario);
  // With the group placed: none of the victims that have not been placed again can be.
  bool NobodyReturns(const Scenario& scenario, std::span<const PodGroupId> groups);
  bool IsSatisfied(int32_t active_before) const;
  // Nothing proves that the generator cannot place so many pods.
  bool MayWork(ScenarioGenerator generator, size_t pods);
  // Not even the first pod could be placed, were all candidates gone.
  bool IsHopeless();

  CycleView& cycle_;
  PodGroupId group_;
  Validator validator_;
  SearchMeter* meter_;
  Options options_;
  std::span<const PodGroupId> candidates_;
  ReturnBounds::Movable movable_;  // these
  std::optional<VictimPool> pool_;
  PodList pods_;                 // to place, in order
  bool gpu_nodes_only_ = false;  // every pod of the group wants a GPU (spec 2 V3)
  IndexVector<NodeId, uint8_t> offered_;
  std::vector<NodeId> offered_by_scenario_;
  std::vector<Victim> recorded_;  // what sufficed for the part before
  bool recorded_is_all_ = false;  // and none of these could stay
  Statement::Checkpoint start_ = 0;
  bool stands_ = false;  // the whole group's solution, already
  SearchBounds bounds_;
  bool knows_hope_ = false;
  bool is_hopeless_ = false;
  QuotaCount request_;  // of the part that is being placed
  std::set<ScenarioKey> failed_;
  WaitingRuns waiting_;                           // when the search began; without the group
  IndexVector<PodGroupId, uint8_t> takes_part_;   // in the scenario that is simulated
  IndexVector<PodClassId, uint8_t> has_no_room_;  // found out in it
};

}  // namespace kai

#endif  // KAI_ACTIONS_VICTIM_SEARCH_H_

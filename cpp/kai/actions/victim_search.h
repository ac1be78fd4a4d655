// VictimSearch: finds pods to evict so that a waiting pod group can be placed (spec 2 V1-V17).
//
//   VictimSearch search(
//       cycle.view, group, all, ...
//   const SearchOutcome outcome = search.Run();
//   if (outcome == SearchOutcome::kSolved) ...       // the solution is in the statement
//
// The search increases the part of the group that it makes room for (1, 2, 4, ... pods), and each
// time starts from the victims of the last solution. For each part it adds victims one batch at a
// time, in the order of the victim queue, and simulates scenarios of them: evict, place the group,
// and place the victims again if there is room. The first scenario that works and that the
// validator accepts is the result.
//
// Invariants: an unsolved search leaves the statement as it was; equal input without a stopwatch
// gives the same victims. Cost: O(log pods) parts, and for each a simulation per scenario that
// search_bounds.h does not rule out; SearchMeter limits them. Not thread-safe.
#ifndef KAI_ACTIONS_VICTIM_SEARCH_H_
#define KAI_ACTIONS_VICTIM_SEARCH_H_

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "kai/actions/action.h"
#include "kai/actions/lasting_places.h"
#include "kai/actions/return_bounds.h"
#include "kai/actions/scenario.h"
#include "kai/actions/search_bounds.h"
#include "kai/actions/search_meter.h"
#include "kai/actions/turn_bounds.h"
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
  // Called after a simulation, while its changes are in place; `request` is the request of the
  // placed part of the group.
  using Validator = std::function<bool(const Scenario&, const QuotaCount& request)>;

  struct Options {
    bool whole_groups = true;  // a group that lost pods before counts as a loser (decision 0008)
    // Set if the validator rejects every scenario in which a victim finds no new place: bounds of
    // the current state.
    ReturnBounds* returns = nullptr;
  };

  // The candidates must live longer.
  VictimSearch(CycleView& cycle, PodGroupId group, const Candidates& candidates,
               Validator validator, SearchMeter* meter, Options options);
  ~VictimSearch();

  SearchOutcome Run();

  // The scenario of a solved search: lost victims first, then moved ones, without those that could
  // stay.
  const std::vector<Victim>& victims() const { return recorded_; }

 private:
  enum class Probe : uint8_t { kSolved, kFailed, kDeadline };

  size_t LargestSolved(ScenarioGenerator generator, Probe* last);
  // True: the solution for the whole group is already in the statement.
  bool IsStanding(Probe last) const;
  Probe RunProbe(ScenarioGenerator generator, size_t pods, bool keep);
  Probe TryNodeLocal(const ScenarioBase& base, bool keep);
  Probe TryMultiNode(const ScenarioBase& base, bool keep);
  // Tries these victims in addition to the recorded ones.
  Probe TryVictims(const ScenarioBase& base, std::span<const Victim> added, bool keep);
  std::vector<Victim> WithRecorded(const ScenarioBase& base, std::span<const Victim> added) const;
  Probe TryScenario(const Scenario& scenario, bool keep);
  bool Simulate(const Scenario& scenario);
  // After the evictions of the scenario, which began at `start`.
  bool PlaceLasting(const Scenario& scenario, Statement::Checkpoint start);
  std::vector<Victim> NeededOf(const Scenario& scenario) const;
  bool PlaceAll(const Scenario& scenario);
  // False: nothing changed; the group finds no places, or its gang would not be whole without pods
  // that are leaving.
  bool PlaceWhole(PodGroupId group);
  // After the group is placed: true if none of the remaining victims can be placed again.
  bool NoVictimReturns(const Scenario& scenario, std::span<const PodGroupId> groups);
  bool IsSatisfied(int32_t active_before) const;
  // False: it is proved that the generator cannot place this number of pods.
  bool MayWork(ScenarioGenerator generator, size_t pods);
  // True: not even the first pod could be placed without all candidates.
  bool CannotSucceed();

  CycleView& cycle_;
  PodGroupId group_;
  Validator validator_;
  SearchMeter* meter_;
  Options options_;
  const Candidates& candidates_;
  std::optional<ReturnBounds::Movable> movable_;  // the candidates; only with Options::returns
  std::optional<VictimPool> pool_;
  PodList pods_;                 // to place, in order
  bool gpu_nodes_only_ = false;  // every pod of the group requests a GPU (spec 2 V3)
  IndexVector<NodeId, uint8_t> offered_;
  std::vector<NodeId> offered_by_scenario_;
  std::vector<Victim> recorded_;  // the victims of the last solved part
  bool recorded_is_all_ = false;  // none of these could stay
  Statement::Checkpoint start_ = 0;
  LastingPlaces places_;
  bool stands_ = false;  // the whole group's solution is in the statement
  SearchBounds bounds_;
  bool is_success_checked_ = false;
  bool cannot_succeed_ = false;
  QuotaCount request_;  // of the part that is placed
  std::set<ScenarioKey> failed_;
  WaitingRuns waiting_;                           // at the start of the search; without the group
  std::optional<TurnBounds> turn_bounds_;         // made when it is needed
  IndexVector<PodGroupId, uint8_t> takes_part_;   // groups in the simulated scenario
  IndexVector<PodClassId, uint8_t> has_no_room_;  // classes without room in it
};

}  // namespace kai

#endif  // KAI_ACTIONS_VICTIM_SEARCH_H_

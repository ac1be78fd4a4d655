// An Action is one thing a cycle does: it walks over pod groups in order and changes the cluster
// through the statement it is given. Run() is called once per cycle, in the configured order; what
// it decides it tells the CycleLog as it goes. To add one: a file here, a line in
// session/registry.cc.
#ifndef KAI_ACTIONS_ACTION_H_
#define KAI_ACTIONS_ACTION_H_

#include <string>
#include <vector>

#include "kai/actions/search_budgets.h"
#include "kai/actions/search_meter.h"
#include "kai/actions/worklist.h"
#include "kai/base/mends.h"
#include "kai/fairshare/usage.h"
#include "kai/model/statement.h"
#include "kai/placement/group_placer.h"
#include "kai/placement/pod_order.h"

namespace kai {

// What happened to pods and pod groups so far, in order.
struct CycleLog {
  struct Decision {
    enum class Kind : uint8_t { kBind, kPipeline, kEvict };
    Kind kind = Kind::kBind;
    PodId pod;
    NodeId node;
    std::string action;    // kEvict
    PodGroupId for_group;  // kEvict
    std::string message;   // kEvict
  };
  std::vector<Decision> decisions;
  IndexVector<PodGroupId, std::vector<PlaceError>> errors;
  IndexVector<PodGroupId, uint8_t>
      started_now;  // first real allocation of the group in this cycle (spec 2 A1)
  IndexVector<PodGroupId, uint8_t> placed_now;      // some pod was placed or promised a place
  IndexVector<PodGroupId, uint8_t> evicted_now;     // lost a pod to another group (spec 2 T7)
  IndexVector<PodGroupId, int64_t> stale_since_ns;  // INT64_MIN: not stale (spec 2 D6)
  IndexVector<PodGroupId, uint8_t> is_stale;
  std::vector<std::pair<std::string, int64_t>> spent_searches;  // SearchMeter::spent()
  IndexVector<PodGroupId, uint8_t> search_budget_spent;  // a search for it ended early (spec 2 V17)
};

// What a cycle works with.
struct CycleView {
  const PodGroupLists& lists() const { return cluster->pod_groups().lists; }
  bool MayRun(PodGroupId group) const { return cluster->pod_groups().may_run[group] != 0; }

  Cluster* cluster = nullptr;
  int64_t now_ns = 0;
  Statement* statement = nullptr;
  QueueUsage* usage = nullptr;
  PodOrder* order = nullptr;
  NodeSearch* search = nullptr;
  GroupPlacer* placer = nullptr;
  Worklist::Options worklist;                 // without the depth, which is the action's own
  std::vector<ScenarioGenerator> generators;  // in plugin order
  const SearchBudgets* budgets = nullptr;
  const Clock* stopwatch = nullptr;  // of searches; null: no budget of time
  const Mends* mends = nullptr;
  bool plain_search = false;  // search for victims without shortcuts: for comparison with them
  CycleLog* log = nullptr;
};

class Action {
 public:
  virtual ~Action() = default;
  virtual void Run(CycleView& cycle) = 0;
};

}  // namespace kai

#endif  // KAI_ACTIONS_ACTION_H_

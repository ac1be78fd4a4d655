#include "kai/session/outcome.h"

#include <algorithm>
#include <limits>
#include <set>

#include "kai/actions/candidates.h"
#include "kai/base/text.h"
#include "kai/model/messages.h"

namespace kai {
namespace {

constexpr int64_t kNoTime = std::numeric_limits<int64_t>::min();

// The stable word for a pod that found no node, from the text that says why.
std::string_view CodeOfNoNode(std::string_view text) {
  if (text.find(messages::kNotEnoughGpus) != std::string_view::npos)
    return reason_codes::kNotEnoughGpus;
  if (text.find("didn't have enough") != std::string_view::npos)
    return reason_codes::kNotEnoughResources;
  if (text == messages::kNoNodeWithResources)  // GPUs that others claim (spec 3 E5)
    return reason_codes::kNotEnoughGpus;
  if (messages::IsAboutClaims(text)) return reason_codes::kResourceClaimNotReady;
  if (messages::IsAboutDevices(text)) return reason_codes::kNoFreeDevices;
  if (text.substr(0, 21) ==
      "Scheduling conditions") {  // the first line that says what (spec 3 P15)
    if (text.find("\nVolumeBinding: ") != std::string_view::npos)
      return reason_codes::kVolumeNotReady;
    return text.find("\nConfigMap: ") != std::string_view::npos ? reason_codes::kConfigMapMissing
                                                                : reason_codes::kLargerThanAnyNode;
  }
  return reason_codes::kNoMatchingNode;
}

class Describer {
 public:
  Describer(const CycleView& cycle, Plan* plan)
      : cycle_(cycle), cluster_(*cycle.cluster), plan_(*plan) {}

  void Run() {
    FindEvictions();
    plan_.groups.Resize(cluster_.pod_groups().size());
    const std::vector<PodGroupId> groups = NotableOrChanged(*cycle_.statement);
    plan_.groups.Reserve(groups.size());
    for (const PodGroupId group : groups) Describe(group);
    std::sort(plan_.pod_messages.begin(), plan_.pod_messages.end());
  }

 private:
  // Pods that leave without a promise to come back; the last word on a pod counts.
  void FindEvictions() {
    const std::vector<CycleLog::Decision>& decisions = cycle_.log->decisions;
    std::vector<Plan::Eviction>& evictions = plan_.evictions;
    for (size_t i = 0; i < decisions.size(); ++i) {
      const PodId pod = decisions[i].pod;
      if (decisions[i].kind == CycleLog::Decision::Kind::kEvict &&
          cluster_.pods().status[pod] == PodStatus::kReleasing) {
        evictions.push_back({.group = cluster_.pods().group[pod], .pod = pod, .decision = i});
      }
    }
    std::sort(evictions.begin(), evictions.end());
    const auto is_same = [](const Plan::Eviction& a, const Plan::Eviction& b) {
      return a.pod == b.pod;
    };
    evictions.erase(evictions.begin(),
                    std::unique(evictions.rbegin(), evictions.rend(), is_same).base());
  }
  bool LosesPods(PodGroupId group) const {
    return std::ranges::binary_search(plan_.evictions, group, {}, &Plan::Eviction::group);
  }

  Verdict VerdictOf(PodGroupId group, int32_t waiting, bool ready) const {
    const int32_t bound = cycle_.order->CountOf(group, PodStatus::kAllocated);
    const int32_t pipelined = cycle_.order->CountOf(group, PodStatus::kPipelined);
    if (bound + pipelined > 0) {
      if (waiting > 0 || HasWaitingMisfits(group) || LosesPods(group))
        return Verdict::kPartlyPlaced;
      if (pipelined == 0) return Verdict::kPlaced;
      return bound == 0 ? Verdict::kPipelined : Verdict::kPartlyPlaced;
    }
    if (!cluster_.pod_groups().queue[group].valid()) return Verdict::kInvalid;
    if (waiting == 0)
      return HasActivePods(group) || HasEnded(group) ? Verdict::kRunning : Verdict::kNotReady;
    return ready ? Verdict::kUnschedulable : Verdict::kNotReady;
  }

  // Pods that name a sub-group that does not exist: they wait for ever.
  bool HasWaitingMisfits(PodGroupId group) const {
    const std::vector<PodId>& misfits = cluster_.pod_groups().misfits[group];
    return std::any_of(misfits.begin(), misfits.end(), [&](PodId pod) {
      return cluster_.pods().status[pod] == PodStatus::kPending;
    });
  }

  bool HasActivePods(PodGroupId group) const {
    const Span32 range = cluster_.pod_groups().pod_sets[group];
    for (int32_t i = range.begin; i < range.end; ++i) {
      if (cluster_.sub_groups()
              .counts[cluster_.pod_groups().pod_set_list[static_cast<size_t>(i)]]
              .active_used() > 0)
        return true;
    }
    return false;
  }
  bool HasEnded(PodGroupId group) const {
    return cycle_.order->CountOf(group, PodStatus::kSucceeded) > 0;
  }

  void Describe(PodGroupId group) {
    GroupOutcome& outcome = plan_.groups.At(group);
    const int32_t waiting = cycle_.order->CountOf(group, PodStatus::kPending) +
                            cycle_.order->CountOf(group, PodStatus::kGated);
    const bool ready = waiting == 0 || cycle_.order->IsReady(group);
    outcome.verdict = VerdictOf(group, waiting, ready);
    // KAI loses what it wanted to write on groups that wait for pods of their own (spec 2 W5).
    if (ready || cycle_.mends->on(Mend::kNotReadyWrites)) DescribeWrites(group, &outcome);
    if (SaysItIsStale(group)) outcome.messages.push_back(StaleText(group));
    DescribeMisfits(group, &outcome);
    DescribeState(group, waiting, ready, &outcome);
    if (IsStale(group))
      outcome.reasons.push_back({reason_codes::kStale, StaleText(group), PodId()});
  }

  void DescribeBudget(PodGroupId group, GroupOutcome* outcome) const {
    if (cycle_.log->search_budget_spent[group] == 0) return;
    outcome->reasons.push_back({reason_codes::kSearchBudgetSpent,
                                "the search for pods to evict ended before it was complete: its "
                                "budget was spent",
                                PodId()});
  }

  void DescribeState(PodGroupId group, int32_t waiting, bool ready, GroupOutcome* outcome) {
    if (waiting == 0) {
      if (outcome->verdict == Verdict::kNotReady) {
        outcome->reasons.push_back(
            {reason_codes::kNoPods, "the pod group has no pods yet", PodId()});
      } else if (outcome->verdict == Verdict::kRunning && !HasActivePods(group)) {
        outcome->reasons.push_back({reason_codes::kCompleted, "all pods have ended", PodId()});
      } else if (outcome->verdict == Verdict::kInvalid) {
        DescribeMissingQueue(group, outcome);
      }
      DescribeBudget(group, outcome);  // one action was cut short, and a later one found room
      return;
    }
    if (!ready) {
      outcome->messages.push_back(NotReadyText(group));
      outcome->reasons.push_back({reason_codes::kNotReady, outcome->messages.back(), PodId()});
      DescribeBudget(group, outcome);  // an action was cut short before a later one broke its gang
      // KAI's text stops here; that no queue is waiting for the pods is worth knowing all the same.
      if (outcome->verdict == Verdict::kInvalid) DescribeMissingQueue(group, outcome);
      return;
    }

    std::vector<std::pair<std::string, std::string>>
        errors;  // (reason, message), as KAI collects them
    if (!cluster_.pod_groups().queue[group].valid()) {
      errors.emplace_back(messages::kQueueDoesNotExist, DescribeMissingQueue(group, outcome));
    }
    for (const PlaceError& error : cycle_.log->ErrorsOf(group)) {
      if (!error.is_ours) errors.emplace_back(error.reason, error.message);
      DescribeError(error, outcome);
    }
    DescribeBudget(group, outcome);
    DescribeWhatKeepsOut(group, errors.empty(), outcome);
    const std::string text = messages::PodGroupText(errors);
    outcome->messages.push_back(Prefixed(group, text));
    if (cycle_.order->CountOf(group, PodStatus::kPending) > 0)
      DescribePods(group, errors.empty() ? std::string(messages::kUnableToSchedulePod) : text);
  }

  void DescribeWrites(PodGroupId group, GroupOutcome* outcome) const {
    outcome->writes_last_start = cycle_.log->started_now[group] != 0;
    outcome->writes_last_eviction = cycle_.log->evicted_now[group] != 0;
    const int64_t since_ns = cycle_.StaleSince(group);
    if (since_ns == cluster_.pod_groups().stale_since_ns[group]) return;
    outcome->writes_stale_since = since_ns == kNoTime ? StampWrite::kRemove : StampWrite::kNow;
  }

  // KAI says so from the second cycle on, or when it evicts (spec 2 D6, M1).
  bool SaysItIsStale(PodGroupId group) const {
    const int64_t since_ns = cycle_.StaleSince(group);
    const bool was_stale =
        since_ns != kNoTime && since_ns == cluster_.pod_groups().stale_since_ns[group];
    return was_stale || cycle_.log->is_stale[group] != 0;
  }

  // Programs hear of it at once. Without the action that clears it, a time stamp may have outlived
  // its cause.
  bool IsStale(PodGroupId group) const {
    return cycle_.StaleSince(group) != kNoTime && !cycle_.order->IsGangSatisfied(group);
  }

  std::string StaleText(PodGroupId group) const {
    const SubGroupColumns& sets = cluster_.sub_groups();
    std::vector<messages::StalePodSet> all;
    const Span32 range = cluster_.pod_groups().pod_sets[group];
    for (int32_t i = range.begin; i < range.end; ++i) {
      const SubGroupId id = cluster_.pod_groups().pod_set_list[static_cast<size_t>(i)];
      all.push_back({.subgroup = std::string(cluster_.SubgroupText(id)),
                     .minimum = sets.minimum[id],
                     .active = sets.counts[id].active_used()});
    }
    return messages::StaleJob(all);
  }

  // Pods of sub-groups that do not exist (spec 2 M9).
  void DescribeMisfits(PodGroupId group, GroupOutcome* outcome) {
    for (const PodId pod : cluster_.pod_groups().misfits[group]) {
      std::string text = messages::UnknownSubgroup(cluster_.Text(cluster_.pods().subgroup[pod]),
                                                   cluster_.PodGroupName(group));
      outcome->reasons.push_back({reason_codes::kSubgroupDoesNotExist, text, pod});
      plan_.pod_messages.emplace_back(pod, std::move(text));
    }
  }

  std::string DescribeMissingQueue(PodGroupId group, GroupOutcome* outcome) {
    std::string text =
        messages::QueueDoesNotExist(cluster_.Text(cluster_.pod_groups().queue_name[group]));
    outcome->reasons.push_back({reason_codes::kQueueDoesNotExist, text, PodId()});
    return text;
  }

  static void DescribeError(const PlaceError& error, GroupOutcome* outcome) {
    switch (error.kind) {
      case PlaceError::Kind::kOverLimit:
        outcome->reasons.push_back({reason_codes::kOverLimit, error.message, PodId()});
        return;
      case PlaceError::Kind::kNonPreemptibleOverQuota:
        outcome->reasons.push_back(
            {reason_codes::kNonPreemptibleOverQuota, error.message, PodId()});
        return;
      case PlaceError::Kind::kPreemptionDelay:
        outcome->reasons.push_back({reason_codes::kPreemptionDelay, error.message, PodId()});
        return;
      case PlaceError::Kind::kNoDomain:
        outcome->reasons.push_back({reason_codes::kTopologyTooSmall, error.message, PodId()});
        return;
      case PlaceError::Kind::kNoNode:
        if (error.below_minimum) {
          outcome->reasons.push_back({reason_codes::kGangIncomplete, error.message, PodId()});
        }
        outcome->reasons.push_back({CodeOfNoNode(error.pod_message), error.pod_message, error.pod});
        return;
    }
  }

  // What no action says a word about: features that are not built, queues that are no leaves.
  void DescribeWhatKeepsOut(PodGroupId group, bool no_errors, GroupOutcome* outcome) {
    const QueueId queue = cluster_.pod_groups().queue[group];
    if (queue.valid() && !cluster_.queues().IsLeaf(queue)) {
      outcome->reasons.push_back(
          {reason_codes::kQueueNotLeaf,
           StrCat("queue ", cluster_.Text(cluster_.queues().name[queue]),
                  " has queues below it; pod groups run in leaf queues only"),
           PodId()});
      return;
    }
    if (cycle_.MayRun(group)) {
      if (no_errors && outcome->reasons.empty() && outcome->verdict == Verdict::kUnschedulable) {
        outcome->reasons.push_back({reason_codes::kNotConsidered,
                                    "no action that ran in this cycle considered the pod group",
                                    PodId()});
      }
      return;
    }
    std::set<NameId> features;
    const Span32 range = cluster_.pod_groups().pod_sets[group];
    for (int32_t i = range.begin; i < range.end; ++i) {
      for (const PodId pod :
           cycle_.order->PodsOf(cluster_.pod_groups().pod_set_list[static_cast<size_t>(i)])) {
        const PodStatus status = cluster_.pods().status[pod];
        if (status != PodStatus::kPending && status != PodStatus::kGated) continue;
        const std::vector<NameId>& needed = cluster_.ClassOf(pod).not_built;
        features.insert(needed.begin(), needed.end());
      }
    }
    std::set<std::string_view> names;
    for (const NameId feature : features) names.insert(cluster_.Text(feature));
    for (const std::string_view name : names) {
      outcome->reasons.push_back(
          {reason_codes::kNotBuilt, StrCat("needs ", name, ", which is not built yet"), PodId()});
    }
  }

  std::string NotReadyText(PodGroupId group) const {
    const SubGroupColumns& sets = cluster_.sub_groups();
    std::vector<messages::NotReadyPodSet> unready;
    const Span32 range = cluster_.pod_groups().pod_sets[group];
    for (int32_t i = range.begin; i < range.end; ++i) {
      const SubGroupId id = cluster_.pod_groups().pod_set_list[static_cast<size_t>(i)];
      const StatusCounts& counts = sets.counts[id];
      const int32_t alive = counts.alive();
      const int32_t gated = counts[PodStatus::kGated];
      const int32_t minimum = cycle_.order->MinimumOf(id);
      if (alive - gated >= minimum) continue;
      unready.push_back({.subgroup = std::string(cluster_.SubgroupText(id)),
                         .minimum = minimum,
                         .alive = alive,
                         .gated = gated});
    }
    return messages::NotReady(unready);
  }

  std::string Prefixed(PodGroupId group, std::string text) const {
    if (cluster_.pod_groups().backoff_prefix[group] == 0) return text;
    return messages::WithNodePool(cluster_.Text(cluster_.pod_groups().node_pool[group]), text);
  }

  // Every waiting pod gets the reason why it found no node itself, else its group's (spec 2 M2).
  void DescribePods(PodGroupId group, const std::string& group_text) {
    const Span32 range = cluster_.pod_groups().pod_sets[group];
    for (int32_t i = range.begin; i < range.end; ++i) {
      for (const PodId pod :
           cycle_.order->PodsOf(cluster_.pod_groups().pod_set_list[static_cast<size_t>(i)])) {
        if (cluster_.pods().status[pod] != PodStatus::kPending) continue;
        const std::span<const PlaceError> errors = cycle_.log->ErrorsOf(group);
        const auto own = std::find_if(errors.begin(), errors.end(), [&](const PlaceError& error) {
          return error.pod == pod && !error.pod_message.empty();
        });
        plan_.pod_messages.emplace_back(
            pod, Prefixed(group, own != errors.end() ? own->pod_message : group_text));
      }
    }
  }

  const CycleView& cycle_;
  const Cluster& cluster_;
  Plan& plan_;
};

}  // namespace

void DescribeOutcomes(const CycleView& cycle, Plan* plan) { Describer(cycle, plan).Run(); }

}  // namespace kai

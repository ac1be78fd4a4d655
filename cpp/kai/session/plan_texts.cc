#include "kai/session/plan_texts.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "kai/base/clock.h"
#include "kai/base/text.h"
#include "kai/texts/messages.h"
#include "kai/texts/reason_text.h"

namespace kai {
namespace {

std::string TextOf(const QueueUse& use, const Cluster& cluster) {
  return messages::QueueUse({.name = cluster.Text(cluster.queues().display_name[use.queue]),
                             .used = use.used,
                             .quota = use.quota,
                             .fair_share = use.fair_share,
                             .priority = cluster.queues().priority[use.queue]});
}

std::string Prefixed(const Cluster& cluster, PodGroupId group, std::string text) {
  const PodGroupColumns& groups = cluster.pod_groups();
  if (groups.backoff_prefix[group] == 0) return text;
  return messages::WithNodePool(cluster.Text(groups.node_pool[group]), text);
}

// The errors that keep pods of the group waiting, as KAI collects them.
std::vector<std::pair<std::string, std::string>> ErrorsOf(const GroupOutcome& outcome,
                                                          PodGroupId group,
                                                          const Cluster& cluster) {
  std::vector<std::pair<std::string, std::string>> errors;
  for (const OutcomeReason& each : outcome.reasons) {
    if (!each.in_event || std::holds_alternative<Stale>(each.reason)) continue;
    EventError error = EventErrorOf(each.reason, group, cluster);
    errors.emplace_back(error.name, std::move(error.message));
  }
  return errors;
}

// The condition of a pod without a reason of its own.
std::string ConditionOfGroup(const GroupOutcome& outcome, PodGroupId group,
                             const Cluster& cluster) {
  const auto errors = ErrorsOf(outcome, group, cluster);
  return errors.empty() ? std::string(messages::kUnableToSchedulePod)
                        : messages::PodGroupText(errors);
}

}  // namespace

std::string MessageOf(const Plan& plan, const CycleLog::Decision& decision) {
  const Cluster& cluster = *plan.cluster;
  const std::string pod = cluster.PodName(decision.pod);
  const auto use = [&](size_t side) {
    return TextOf(plan.queue_uses[static_cast<size_t>(decision.queue_uses[side])], cluster);
  };
  switch (decision.note) {
    case EvictionNote::kNone:
      break;
    case EvictionNote::kReclaimed:
      return messages::Reclaimed(pod, cluster.PodGroupName(decision.for_group), use(0), use(1));
    case EvictionNote::kPreempted:
      return messages::Preempted(pod, cluster.PodGroupName(decision.for_group));
    case EvictionNote::kConsolidated:
      return messages::Consolidated(pod);
    case EvictionNote::kStale: {
      const SubGroupId pod_set = cluster.pods().pod_set[decision.pod];
      return messages::StaleEviction(pod, cluster.sub_groups().minimum[pod_set],
                                     cluster.SubgroupText(pod_set));
    }
  }
  return {};
}

std::vector<std::string> EventsOf(const Plan& plan, PodGroupId group) {
  const Cluster& cluster = *plan.cluster;
  const GroupOutcome outcome = plan.OutcomeOf(group);
  std::vector<std::string> events;
  for (const OutcomeReason& each : outcome.reasons) {
    if (each.in_event && (std::holds_alternative<Stale>(each.reason) || !outcome.has_errors_event))
      events.push_back(MessageOf(each.reason, group, cluster));
  }
  if (outcome.has_errors_event)
    events.push_back(
        Prefixed(cluster, group, messages::PodGroupText(ErrorsOf(outcome, group, cluster))));
  return events;
}

std::vector<ReportedReason> ReasonsOf(const Plan& plan, PodGroupId group, bool evictions) {
  std::vector<ReportedReason> reasons;
  const GroupOutcome outcome = plan.OutcomeOf(group);
  for (const OutcomeReason& each : outcome.reasons) {
    if (!each.in_plan) continue;
    reasons.push_back({.code = CodeOf(each.reason),
                       .message = MessageOf(each.reason, group, *plan.cluster),
                       .pod = PodOf(each.reason),
                       .reason = each.reason});
  }
  if (!evictions) return reasons;
  for (const Plan::Eviction& each :
       std::ranges::equal_range(plan.evictions, group, {}, &Plan::Eviction::group)) {
    const CycleLog::Decision& decision = plan.decisions[each.decision];
    reasons.push_back({.code = reason_codes::kEvicted,
                       .message = MessageOf(plan, decision),
                       .pod = each.pod,
                       .eviction = &decision});
  }
  return reasons;
}

Facts FactsOf(const Plan& plan, const ReportedReason& reason, PodGroupId group) {
  if (reason.reason) return FactsOf(*reason.reason, group, *plan.cluster);
  const PodGroupId winner = reason.eviction->for_group;
  return {{"action", std::string(reason.eviction->action)},
          {"for", winner.valid() ? FactValue(plan.cluster->PodGroupName(winner)) : FactValue()}};
}

std::vector<std::pair<PodId, std::string>> ConditionsOf(const Plan& plan) {
  const Cluster& cluster = *plan.cluster;
  std::vector<std::pair<PodId, std::string>> conditions;
  for (const PodGroupId group : cluster.pod_groups().name.ids()) {
    if (plan.outcomes->IsSimplyRunning(group)) continue;
    const GroupOutcome outcome = plan.OutcomeOf(group);
    std::optional<std::string> of_group;
    for (const auto& [pod, place] : outcome.waiting_pods) {
      std::string own;
      bool is_prefixed = true;
      if (place >= 0) {
        const Reason& reason = outcome.reasons[static_cast<size_t>(place)].reason;
        own = MessageOf(reason, group, cluster);
        is_prefixed = !std::holds_alternative<NoSubgroup>(reason);
      }
      if (own.empty()) {
        if (!of_group) of_group = ConditionOfGroup(outcome, group, cluster);
        own = *of_group;
      }
      conditions.emplace_back(pod, is_prefixed ? Prefixed(cluster, group, std::move(own)) : own);
    }
  }
  std::ranges::sort(conditions, [&](const auto& a, const auto& b) {
    return cluster.IsNamedBefore(a.first, b.first);
  });
  return conditions;
}

namespace {

// "3600", "0.25": with as many digits as needed.
std::string SecondsText(int64_t nanos) {
  std::string text = std::to_string(nanos / kSecondNs);
  std::string digits = std::to_string(kSecondNs + nanos % kSecondNs).substr(1);
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits.empty() ? text : StrCat(text, ".", digits);
}

std::string DateText(int64_t nanos) {
  using std::chrono::days, std::chrono::nanoseconds, std::chrono::sys_time;
  const sys_time<nanoseconds> time{nanoseconds(nanos)};
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date(day);
  const auto two = [](int64_t number) { return StrCat(number < 10 ? "0" : "", number); };
  const int64_t left_ns = (time - day).count();
  const int64_t left_s = left_ns / kSecondNs;
  return StrCat(static_cast<int>(date.year()), "-", two(static_cast<unsigned>(date.month())), "-",
                two(static_cast<unsigned>(date.day())), "T", two(left_s / 3600), ":",
                two(left_s / 60 % 60), ":", left_s % 60 < 10 ? "0" : "",
                SecondsText(left_ns % (60 * kSecondNs)), "Z");
}

}  // namespace

std::string ServiceText(const ServiceRow& service) {
  return StrCat("run=", SecondsText(service.run_ns), " gpu=", SecondsText(service.gpu_ns),
                " evictions=", service.evictions, " until=", DateText(service.until_ns));
}

}  // namespace kai

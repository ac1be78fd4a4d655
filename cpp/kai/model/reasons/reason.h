// Reason: why a pod group, or one of its pods, waits, as data: a code with the numbers and names it
// speaks of.
//
//   report.Count(Refusal::NotEnough(kCpuSlot), 4);
//
//   FactsOf(OverLimit{{.queue = queue,
//                      .resource = kQuotaCpu,
//
// A reason is made where the fact is found, travels with the plan, and becomes a sentence in
// kai/texts only. To add one: a struct here, a sentence in texts/reason_text.cc, its members in
// texts/reason_facts.cc, a section in docs/reference/reasons.md.
//
// Invariants: a reason owns what it holds, and its ids are those of the cluster that was planned.
// Cost: a few words; the answers of the nodes, which may be many, are shared by all reasons that
// speak of them. Threads: plain values.
#ifndef KAI_MODEL_REASONS_REASON_H_
#define KAI_MODEL_REASONS_REASON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kai/model/columns/ids.h"
#include "kai/model/columns/resources.h"
#include "kai/model/reasons/reason_codes.h"
#include "kai/model/reasons/refusal.h"

namespace kai {

struct NoNode {
  PodId pod;
  NoNodeCausePtr cause;
};
// So many pods of the gang had found room when this one found none (spec 2 P6).
struct GangIncomplete {
  static constexpr std::string_view kCode = reason_codes::kGangIncomplete;
  PodId pod;
  NoNodeCausePtr cause;
  int32_t found = 0;
  int32_t minimum = 0;
  SubGroupId pod_set;
  bool is_whole_group = true;  // the group has no sub-groups
};
struct PreemptionDelay {  // spec 2 D2
  static constexpr std::string_view kCode = reason_codes::kPreemptionDelay;
  int64_t delay_ns = 0;
  int64_t end_ns = 0;  // since 1970
};

// Of topologies (spec 4 M1-M5). Names of domains are theirs in the topology.
struct NoSuchTopology {
  static constexpr std::string_view kCode = reason_codes::kTopologyTooSmall;
  NameId topology;
};
struct UnknownLevel {
  static constexpr std::string_view kCode = reason_codes::kTopologyTooSmall;
  NameId topology;
  NameId subgroup;
  NameId level;
  bool is_required = false;  // else it is preferred
};
struct NoLevel {
  static constexpr std::string_view kCode = reason_codes::kTopologyTooSmall;
  NameId topology;
  NameId subgroup;
};
struct DomainTooSmall {
  static constexpr std::string_view kCode = reason_codes::kTopologyTooSmall;
  std::string domain;
  int64_t holds = 0;
  int64_t wanted = 0;    // pods
  bool is_best = false;  // the best of many: KAI does not name it
};
struct DomainsLack {
  static constexpr std::string_view kCode = reason_codes::kTopologyTooSmall;
  ResourceSlot slot;
  bool is_outside = false;  // was no candidate: KAI's event counts it, and nothing else
};
struct TopologyNotSatisfied {
  static constexpr std::string_view kCode = reason_codes::kTopologyTooSmall;
  NameId topology;
  NameId level;                       // invalid: none is required
  NameId subgroup;                    // empty text: the group as a whole
  std::optional<std::string> within;  // too little, so nothing was tried; "": the cluster
};
struct DomainCountNotMet {  // ours: KAI counts no domains
  static constexpr std::string_view kCode = reason_codes::kTopologyTooSmall;
  NameId level;
  int32_t least = 0;
  int32_t most = 0;  // 0: any number
  bool is_balanced = false;
};

// A pod set that keeps its group from starting or from going on.
struct PodSetState {
  SubGroupId pod_set;
  int32_t minimum = 0;
  int32_t pods = 0;     // NotReady: that exist; Stale: that are active
  int32_t gated = 0;    // NotReady: of these
  int32_t leaving = 0;  // Stale: of these, those that left before this cycle evicted any
};
struct NotReady {  // spec 2 M4
  static constexpr std::string_view kCode = reason_codes::kNotReady;
  std::vector<PodSetState> pod_sets;  // those that lack pods
};
struct Stale {
  static constexpr std::string_view kCode = reason_codes::kStale;
  std::vector<PodSetState> pod_sets;  // all
};
struct NoQueue {  // the one that the group names
  static constexpr std::string_view kCode = reason_codes::kQueueDoesNotExist;
};
struct QueueNotLeaf {
  static constexpr std::string_view kCode = reason_codes::kQueueNotLeaf;
  QueueId queue;
};
struct NoSubgroup {  // spec 2 G6
  static constexpr std::string_view kCode = reason_codes::kSubgroupDoesNotExist;
  PodId pod;
};
struct NotBuilt {  // it needs labels of namespaces, which the input lacks
  static constexpr std::string_view kCode = reason_codes::kNotBuilt;
};
struct NoPods {
  static constexpr std::string_view kCode = reason_codes::kNoPods;
};
struct Completed {
  static constexpr std::string_view kCode = reason_codes::kCompleted;
};
struct NotConsidered {
  static constexpr std::string_view kCode = reason_codes::kNotConsidered;
};
struct SearchBudgetSpent {
  static constexpr std::string_view kCode = reason_codes::kSearchBudgetSpent;
};

using Reason =
    std::variant<NoNode, GangIncomplete, OverLimit, OverQuota, PreemptionDelay, NoSuchTopology,
                 UnknownLevel, NoLevel, DomainTooSmall, DomainsLack, TopologyNotSatisfied,
                 DomainCountNotMet, NotReady, Stale, NoQueue, QueueNotLeaf, NoSubgroup, NotBuilt,
                 NoPods, Completed, NotConsidered, SearchBudgetSpent>;

std::string_view CodeOf(const Reason& reason);  // one of reason_codes
// The pod that the reason is about; invalid: the group as a whole.
PodId PodOf(const Reason& reason);

}  // namespace kai

#endif  // KAI_MODEL_REASONS_REASON_H_

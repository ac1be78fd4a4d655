// Reason: why a pod group, or one of its pods, waits: a code with numbers and names.
//
//   report.Count(Refusal::NotEnough(kCpuSlot), 4);
//
//   FactsOf(OverLimit{{.queue = queue,
//                      .resource = kQuotaCpu,
//
// Code creates a reason where it finds the fact. The plan contains it, and only kai/texts makes a
// sentence of it. To add one: a struct here, a sentence in texts/reason_text.cc, its members in
// texts/reason_facts.cc, a section in docs/reference/reasons.md.
//
// Invariants: a reason owns its data, and its ids are those of the planned cluster. Cost: a few
// words of memory; reasons share the list of the nodes' answers, which may be long. Threads: plain
// values.
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
// This pod of a gang found no node after `found` other pods had found one (spec 2 P6).
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
  int64_t unkept =
      0;  // how often in a row it lost the room of its victims; 0: the delay is its own
};

// Reasons about topologies (spec 4 M1-M5). Domains have the names that their topology gives them.
struct NoSuchTopology {
  static constexpr std::string_view kCode = reason_codes::kTopologyTooSmall;
  NameId topology;
};
struct UnknownLevel {
  static constexpr std::string_view kCode = reason_codes::kTopologyTooSmall;
  NameId topology;
  NameId subgroup;
  NameId level;
  bool is_required = false;  // false: preferred
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
  bool is_best = false;  // the best of several: KAI does not give its name
};
struct DomainsLack {
  static constexpr std::string_view kCode = reason_codes::kTopologyTooSmall;
  ResourceSlot slot;
  bool is_outside = false;  // was not a candidate: only KAI's event counts it
};
struct TopologyNotSatisfied {
  static constexpr std::string_view kCode = reason_codes::kTopologyTooSmall;
  NameId topology;
  NameId level;                       // invalid: none is required
  NameId subgroup;                    // empty text: the group as a whole
  std::optional<std::string> within;  // this domain, or the cluster (""), is too small
};
struct DomainCountNotMet {  // not in KAI, which counts no domains
  static constexpr std::string_view kCode = reason_codes::kTopologyTooSmall;
  NameId level;
  int32_t least = 0;
  int32_t most = 0;  // 0: any number
  bool is_balanced = false;
};

// A pod set that prevents its group from starting or from continuing.
struct PodSetState {
  SubGroupId pod_set;
  int32_t minimum = 0;
  int32_t pods = 0;     // NotReady: existing pods; Stale: active pods
  int32_t gated = 0;    // NotReady: gated pods among `pods`
  int32_t leaving = 0;  // Stale: among `pods`, left before the evictions of this cycle
};
struct NotReady {  // spec 2 M4
  static constexpr std::string_view kCode = reason_codes::kNotReady;
  std::vector<PodSetState> pod_sets;  // only those that lack pods
};
struct Stale {
  static constexpr std::string_view kCode = reason_codes::kStale;
  std::vector<PodSetState> pod_sets;  // all
};
struct NoQueue {  // the group's queue does not exist
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
struct NotBuilt {  // the group needs labels of namespaces, which the input lacks
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

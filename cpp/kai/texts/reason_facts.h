// The facts of a reason as names and values for programs: the members `facts` of a plan's reasons.
//
//   FactsOf(reason, group_, *cluster_)    // queue: "ns", resource: "gpu", limit: 8, ...
//
// Amounts are in cores, bytes and devices; unlimited is null. docs/reference/reasons.md lists the
// names.
//
// Invariants: lists are sorted by their texts, so equal input gives equal facts in any order of its
// objects. Cost: a vector of the facts, and strings for names. Threads: a pure function of a
// cluster that does not change.
#ifndef KAI_TEXTS_REASON_FACTS_H_
#define KAI_TEXTS_REASON_FACTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kai/model/columns/cluster.h"
#include "kai/model/reasons/reason.h"

namespace kai {

struct Fact;
using Facts = std::vector<Fact>;
using FactValue = std::variant<std::monostate, bool, int64_t, double, std::string,
                               std::vector<std::string>, std::vector<Facts>>;
struct Fact {
  std::string_view name;
  FactValue value;  // std::monostate: null
};

Facts FactsOf(const Reason& reason, PodGroupId group, const Cluster& cluster);
// The cause of a refusal, as "cause", and what belongs to it.
Facts FactsOf(Refusal refusal, const Cluster& cluster);
Facts FactsOf(const NamedRefusal& refusal, const Cluster& cluster);
Facts FactsOf(const PodRefusal& refusal, PodId pod, const Cluster& cluster);

}  // namespace kai

#endif  // KAI_TEXTS_REASON_FACTS_H_

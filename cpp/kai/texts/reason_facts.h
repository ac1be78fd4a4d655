// What a reason speaks of, as names and values for programs: the members `facts` of a plan's
// reasons.
//
//   FactsOf(OverLimit{...}, cluster)   // queue: "vision", resource: "gpu", limit: 8, allocated: 8,
//   requested: 1
//
// Amounts are those of people: cores, bytes, devices; unlimited is null. docs/reference/reasons.md
// lists the names. Lists are in the order of their texts, so that equal input gives equal facts
// whatever the order of its objects.
#ifndef KAI_TEXTS_REASON_FACTS_H_
#define KAI_TEXTS_REASON_FACTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kai/model/cluster.h"
#include "kai/model/reason.h"

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

}  // namespace kai

#endif  // KAI_TEXTS_REASON_FACTS_H_

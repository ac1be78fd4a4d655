// Calls a filter as NodeSearch does, with texts as result: for tests.
//
//   EXPECT_EQ(AnswerOf(*MakeTaintFilter(*cluster), *cluster, "ns/p-0", "n1"), "");   // yes
#ifndef KAI_PLACEMENT_FILTERS_FILTER_FOR_TEST_H_
#define KAI_PLACEMENT_FILTERS_FILTER_FOR_TEST_H_

#include <string>
#include <string_view>

#include "kai/placement/filter.h"
#include "kai/testing/makers/cluster_maker.h"

namespace kai {

// Why the filter refuses, with "; " between reasons; empty: it does not.
std::string AnswerOf(const Filter& filter, const Cluster& cluster, std::string_view pod,
                     std::string_view node);

Filter::Scope ScopeOf(const Filter& filter, const Cluster& cluster, std::string_view pod);

}  // namespace kai

#endif  // KAI_PLACEMENT_FILTERS_FILTER_FOR_TEST_H_

#include "kai/placement/filters/filter_for_test.h"

#include <gtest/gtest.h>

#include <set>

#include "kai/base/text.h"
#include "kai/texts/reason_text.h"

namespace kai {

std::string AnswerOf(const Filter& filter, const Cluster& cluster, std::string_view pod,
                     std::string_view node) {
  const PodClassId pod_class = cluster.pods().pod_class[PodNamed(cluster, pod)];
  const NodeId id = NodeNamed(cluster, node);
  if (filter.ScopeFor(pod_class) == Filter::Scope::kNothing) return "";
  FitReport report;
  const bool fits = filter.Check(pod_class, id, &report);
  EXPECT_EQ(filter.Check(pod_class, id, nullptr), fits) << "the report must not change the result";
  EXPECT_EQ(report.empty(), fits);
  if (fits) return "";
  const NoNodeCause cause = report.cause();
  std::set<std::string> texts;
  for (const auto& [refusal, times] : cause.refusals)
    texts.insert(TextOf(refusal, PodNamed(cluster, pod), cluster));
  for (const auto& [refusal, times] : cause.named) texts.insert(TextOf(refusal, cluster));
  std::string all;
  for (const std::string& text : texts) StrAppend(&all, all.empty() ? "" : "; ", text);
  return all;
}

Filter::Scope ScopeOf(const Filter& filter, const Cluster& cluster, std::string_view pod) {
  return filter.ScopeFor(cluster.pods().pod_class[PodNamed(cluster, pod)]);
}

}  // namespace kai

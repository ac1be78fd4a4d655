#include "kai/placement/filters/filter_for_test.h"

#include <gtest/gtest.h>

namespace kai {

std::string AnswerOf(const Filter& filter, const Cluster& cluster, std::string_view pod,
                     std::string_view node) {
  const PodClassId pod_class = cluster.pods().pod_class[PodNamed(cluster, pod)];
  const NodeId id = NodeNamed(cluster, node);
  if (filter.ScopeFor(pod_class) == Filter::Scope::kNothing) return "";
  FitReport report;
  const bool fits = filter.Check(pod_class, id, &report);
  EXPECT_EQ(filter.Check(pod_class, id, nullptr), fits) << "the report must not decide";
  EXPECT_EQ(report.empty(), fits);
  if (fits) return "";
  // The report reads "no nodes with enough resources were found: 1 reason. \n1 reason."
  std::string text = report.Text(cluster.slots());
  text = text.substr(text.find(": 1 ") + 4);
  text.pop_back();
  constexpr std::string_view kBetween = ". \n1 ";
  for (size_t at = text.find(kBetween); at != std::string::npos; at = text.find(kBetween)) {
    text.replace(at, kBetween.size(), "; ");
  }
  return text;
}

Filter::Scope ScopeOf(const Filter& filter, const Cluster& cluster, std::string_view pod) {
  return filter.ScopeFor(cluster.pods().pod_class[PodNamed(cluster, pod)]);
}

}  // namespace kai

#include "kai/fairshare/division.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "absl/container/inlined_vector.h"

namespace kai {
namespace {

constexpr size_t kFew = 16;  // siblings: up to this number, no heap allocation

struct Contender {
  Sibling sibling;
  double remainder = 0;  // the fraction of a unit lost by rounding down; 0: none
};

// One round of spec 1 F44. True: another round may give out more.
bool Round(std::span<Contender> group, double k_value, double* left) {
  absl::InlinedVector<Contender*, kFew> unsatisfied;
  double weights = 0;
  for (Contender& each : group) {
    if (Satisfied(*each.sibling.share)) continue;
    unsatisfied.push_back(&each);
    weights += each.sibling.share->over_quota_weight;
  }
  if (weights == 0) return false;
  absl::InlinedVector<double, kFew> parts;
  double all_parts = 0;
  for (const Contender* each : unsatisfied) {
    const double weight = each->sibling.share->over_quota_weight / weights;
    parts.push_back(std::max(0.0, weight + k_value * (weight - each->sibling.share->usage)));
    all_parts += parts.back();
  }
  if (all_parts == 0) return false;

  const double to_give = *left;
  bool some_queue_is_satisfied = false;
  for (size_t i = 0; i < unsatisfied.size(); ++i) {
    Share& share = *unsatisfied[i]->sibling.share;
    if (share.over_quota_weight == 0) continue;
    if (*left <= 0) break;
    const double fair = to_give * parts[i] / all_parts;
    const double wanted = std::max(0.0, Requestable(share) - share.fair_share);
    double grant = wanted;
    if (wanted <= fair) {
      unsatisfied[i]->remainder = 0;
    } else {
      grant = std::floor(fair);  // spec 1 F45: whole units
      if (fair - grant > 0) unsatisfied[i]->remainder = fair - grant;
    }
    some_queue_is_satisfied = some_queue_is_satisfied || wanted < fair;
    share.fair_share += grant;
    *left -= grant;
  }
  return some_queue_is_satisfied && *left > 0;
}

}  // namespace

double DivideOverQuota(double left, double k_value, std::span<Sibling> siblings) {
  if (left <= 0) return 0;  // spec 1 F42
  std::vector<Contender> contenders;
  contenders.reserve(siblings.size());
  for (const Sibling& sibling : siblings) contenders.push_back({.sibling = sibling});
  const auto goes_first = [](const Contender& a, const Contender& b) {
    return a.sibling.priority > b.sibling.priority;
  };
  if (!std::ranges::is_sorted(contenders, goes_first))  // usually all have the same priority
    std::stable_sort(contenders.begin(), contenders.end(), goes_first);

  absl::InlinedVector<std::span<Contender>, 4> groups;  // one per priority, highest first
  for (size_t begin = 0; begin < contenders.size();) {
    size_t end = begin;
    while (end < contenders.size() &&
           contenders[end].sibling.priority == contenders[begin].sibling.priority)
      ++end;
    groups.push_back(std::span(contenders).subspan(begin, end - begin));
    begin = end;
  }
  for (const std::span<Contender> group : groups) {
    while (left > 0 && Round(group, k_value, &left)) {
    }
  }
  for (const std::span<Contender> group : groups) {  // spec 1 F50
    std::sort(group.begin(), group.end(), [](const Contender& a, const Contender& b) {
      return std::tuple(-a.remainder, a.sibling.created_ns, a.sibling.name) <
             std::tuple(-b.remainder, b.sibling.created_ns, b.sibling.name);
    });
    for (const Contender& each : group) {
      if (left <= 0) return left;
      if (each.remainder == 0) break;
      const double grant = std::min(1.0, left);
      each.sibling.share->fair_share += grant;
      left -= grant;
    }
  }
  return left;
}

double Divide(double total, double k_value, std::span<Sibling> siblings) {
  double left = total;
  for (const Sibling& sibling : siblings) {  // spec 1 F41
    Share& share = *sibling.share;
    const double deserved = share.deserved == kUnlimited ? total : share.deserved;
    share.fair_share = std::min(deserved, Requestable(share));
    left -= share.fair_share;
  }
  return DivideOverQuota(left, k_value, siblings);
}

}  // namespace kai

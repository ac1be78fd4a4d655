#include "kai/placement/fit_report.h"

#include <algorithm>

namespace kai {

void FitReport::Count(NamedRefusal refusal, int64_t times) {
  const auto known = std::ranges::find(named_, refusal, &std::pair<NamedRefusal, int64_t>::first);
  if (known != named_.end()) {
    known->second += times;
  } else {
    named_.emplace_back(std::move(refusal), times);
  }
}

void FitReport::Add(const Answer& answer, int64_t times) {
  for (const uint16_t index : answer.refusals) At(index) += times;
  if (answer.named) Count(*answer.named, times);
}

FitReport::Answer FitReport::answer() const {
  Answer answer;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0) answer.refusals.push_back(static_cast<uint16_t>(i));
  }
  const auto named =
      std::ranges::find_if(named_, [](const auto& each) { return each.second != 0; });
  if (named != named_.end()) answer.named = named->first;
  return answer;
}

NoNodeCause FitReport::cause() const {
  NoNodeCause cause;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0) cause.refusals.emplace_back(Refusal::AtIndex(i), counts_[i]);
  }
  std::ranges::copy_if(named_, std::back_inserter(cause.named),
                       [](const auto& each) { return each.second != 0; });
  return cause;
}

}  // namespace kai

#include "kai/dra/device_selector.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "kai/dra/cel_reads.h"

namespace kai {

struct DeviceSelector::State {
  State(absl::StatusOr<CelSelector> its_selector, std::shared_ptr<std::atomic<int64_t>> its_free)
      : selector(std::move(its_selector)), free(std::move(its_free)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { *free += static_cast<int64_t>(answers.size()); }

  const absl::StatusOr<CelSelector> selector;
  const std::shared_ptr<std::atomic<int64_t>> free;
  std::mutex mutex;                                  // guards the answers
  absl::flat_hash_map<std::string, Answer> answers;  // by content
};

DeviceSelector::DeviceSelector(absl::StatusOr<CelSelector> selector)
    : state_(std::make_shared<State>(std::move(selector), std::make_shared<std::atomic<int64_t>>(
                                                              SelectorCache::kMostAnswers))) {}

namespace {

bool IsExhausted(const DeviceSelector::Answer& answer) {
  return absl::IsResourceExhausted(answer.matches.status());
}

}  // namespace

std::string DeviceSelector::ContentOf(const Device& device) const {
  std::string content;
  if (state_->selector.ok()) AppendContent(state_->selector->reads(), device, &content);
  return content;
}

DeviceSelector::Answer DeviceSelector::Evaluate(const Device& device, int64_t budget) const {
  const absl::StatusOr<CelSelector>& selector = state_->selector;
  if (!selector.ok()) return {.matches = selector.status(), .steps = 0};
  const auto run = [&](int64_t most) {
    Answer answer;
    answer.matches = selector->Matches(device, most, &answer.steps);
    return answer;
  };
  const int64_t quick = std::min(budget, kQuickSteps);
  if (Answer answer = run(quick); quick == budget || !IsExhausted(answer)) return answer;
  std::string content = ContentOf(device);
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->answers.find(content);
  if (found != state_->answers.end()) {
    Answer& known = found->second;
    if (known.steps > budget || (IsExhausted(known) && known.steps == budget))
      return {.matches = CelSelector::TooManySteps(budget), .steps = budget};
    if (IsExhausted(known)) known = run(budget);
    return known;
  }
  Answer answer = run(budget);
  if (state_->free->fetch_sub(1) > 0) {
    state_->answers.emplace(std::move(content), answer);
  } else {
    ++*state_->free;
  }
  return answer;
}

SelectorCache::SelectorCache() : free_(std::make_shared<std::atomic<int64_t>>(kMostAnswers)) {}

DeviceSelector SelectorCache::Get(std::string_view expression) {
  std::string key(expression);
  auto found = selectors_.find(key);
  if (found == selectors_.end()) {
    DeviceSelector selector(
        std::make_shared<DeviceSelector::State>(CelSelector::Compile(expression), free_));
    found = selectors_.emplace(std::move(key), Entry{.selector = std::move(selector)}).first;
  }
  found->second.is_used = true;
  return found->second.selector;
}

void SelectorCache::DropUnused() {
  absl::erase_if(selectors_, [](auto& each) { return !std::exchange(each.second.is_used, false); });
}

}  // namespace kai

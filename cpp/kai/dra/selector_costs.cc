#include "kai/dra/selector_costs.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"

namespace kai {
namespace {

class Meter {
 public:
  explicit Meter(int64_t budget) : left_(budget) {}

  // False: the budget is spent.
  bool Ask(std::span<const DeviceRequest> requests, const Device& device) {
    asked_.clear();
    return std::ranges::all_of(requests, [&](const DeviceRequest& request) {
      return request.device_class == nullptr || !request.first_available.empty() ||
             AskFor(request, device);
    });
  }

 private:
  bool AskFor(const DeviceRequest& request, const Device& device) {
    for (const auto* selectors : {&request.device_class->selectors, &request.selectors}) {
      for (const DeviceSelector& selector : *selectors) {
        bool matches = false;
        if (!AskSelector(selector, device, &matches)) return false;
        if (!matches) return true;
      }
    }
    return true;
  }

  bool AskSelector(const DeviceSelector& selector, const Device& device, bool* matches) {
    for (const auto& [identity, answer] : asked_) {
      if (identity != selector.identity()) continue;
      *matches = answer;
      return true;
    }
    if (!AskOnce(selector, device, matches)) return false;
    asked_.emplace_back(selector.identity(), *matches);
    return true;
  }

  bool AskOnce(const DeviceSelector& selector, const Device& device, bool* matches) {
    const auto spend = [&](const DeviceSelector::Answer& answer) {
      left_ -= answer.steps;
      *matches = answer.matches.ok() && *answer.matches;
      return !absl::IsResourceExhausted(answer.matches.status());
    };
    const int64_t quick = std::min(left_, DeviceSelector::kQuickSteps);
    const DeviceSelector::Answer answer = selector.Evaluate(device, quick);
    if (!absl::IsResourceExhausted(answer.matches.status())) return spend(answer);
    const auto [known, is_new] =
        slow_.try_emplace({selector.identity(), selector.ContentOf(device)}, false);
    if (is_new && !spend(selector.Evaluate(device, left_))) return false;
    if (is_new) known->second = *matches;
    *matches = known->second;
    return true;
  }

  int64_t left_;
  std::vector<std::pair<const void*, bool>> asked_;                      // about the current device
  absl::flat_hash_map<std::pair<const void*, std::string>, bool> slow_;  // by selector and content
};

}  // namespace

bool SelectorsCostTooMuch(std::span<const DeviceRequest> requests,
                          std::span<const ResourceSlice> slices) {
  size_t devices = 0;
  for (const ResourceSlice& slice : slices) devices += slice.devices.size();
  Meter meter(SelectorBudget(devices));
  return !std::ranges::all_of(slices, [&](const ResourceSlice& slice) {
    return std::ranges::all_of(slice.devices, [&](const Device& device) {
      return device.has_binding_conditions || meter.Ask(requests, device);
    });
  });
}

}  // namespace kai

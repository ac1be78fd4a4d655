// DeviceSelector: a selector of devices with the answers that it has given. A selector that takes
// long is evaluated once for all devices that are equal in what it reads.
// SelectorCache: the selectors of a cluster, by expression. It lives longer than the cluster, so
// that unchanged devices are not evaluated again for the next one.
//
//   SelectorCache cache;
//   const DeviceSelector keeping = cache.Get(expression);
//   const DeviceSelector::Answer answer = keeping.Evaluate(device, budget);
//   cache.DropUnused();    // those that Get() has not returned since the last call
//
// A selector that does not compile keeps its error. As in Kubernetes, the error matters only when
// the selector is about to run on a device.
//
// Invariants: an answer depends on the expression, the device and the budget alone, never on
// earlier calls. The answers of a cache are at most kMostAnswers. Cost: an evaluation of up to
// kQuickSteps steps, or a lookup of the device's content. Copies share their answers. Threads: a
// selector may be used by several threads; a cache is not thread-safe.
#ifndef KAI_DRA_DEVICE_SELECTOR_H_
#define KAI_DRA_DEVICE_SELECTOR_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "kai/dra/cel.h"
#include "kai/dra/device.h"

namespace kai {

class DeviceSelector {
 public:
  // Evaluations of at most this many steps are as quick as a lookup, and are not kept.
  static constexpr int64_t kQuickSteps = 64;

  struct Answer {
    // ResourceExhausted: it takes more than the budget.
    absl::StatusOr<bool> matches = false;
    int64_t steps = 0;  // at most the budget
  };

  DeviceSelector(absl::StatusOr<CelSelector> selector);  // NOLINT(google-explicit-constructor)

  absl::StatusOr<bool> Matches(const Device& device) const {
    return Evaluate(device, CelSelector::kBudget).matches;
  }
  Answer Evaluate(const Device& device, int64_t budget) const;

  // Selectors with equal identities have equal expressions.
  const void* identity() const { return state_.get(); }
  // What the selector reads of the device.
  std::string ContentOf(const Device& device) const;

 private:
  friend class SelectorCache;
  struct State;
  explicit DeviceSelector(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

class SelectorCache {
 public:
  static constexpr int64_t kMostAnswers = 500'000;

  SelectorCache();

  // The selector with this expression, compiled once.
  DeviceSelector Get(std::string_view expression);
  // Drops the selectors that Get() has not returned since the last call, with their answers.
  void DropUnused();

  size_t size() const { return selectors_.size(); }
  int64_t answers() const { return kMostAnswers - *free_; }

 private:
  struct Entry {
    DeviceSelector selector;
    bool is_used = false;
  };

  std::shared_ptr<std::atomic<int64_t>> free_;  // how many more answers may be kept
  absl::flat_hash_map<std::string, Entry> selectors_;
};

}  // namespace kai

#endif  // KAI_DRA_DEVICE_SELECTOR_H_

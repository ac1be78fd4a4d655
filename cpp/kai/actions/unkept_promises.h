// UnkeptPromises: the pod groups that lost the room for which pods were evicted: before they
// started (the promise ended unkept), or afterwards, as their own pods were evicted. Such a group
// evicts no pod for a while, so that no group evicts without end (decision 0031).
//
//   const UnkeptPromise* unkept = cycle.unkept->Of(group);
//
// Invariants: a group that has kept its room for kLastsNs starts to count again from 1. Cost: O(1)
// per look-up. Threads: those of action.h.
#ifndef KAI_ACTIONS_UNKEPT_PROMISES_H_
#define KAI_ACTIONS_UNKEPT_PROMISES_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/base/clock.h"
#include "kai/base/saturating.h"
#include "kai/model/columns/ids.h"

namespace kai {

struct UnkeptPromise {
  static constexpr int64_t kFirstDelayNs = 10 * kSecondNs;
  static constexpr int64_t kLongestDelayNs = 320 * kSecondNs;
  // Room that a group has kept for so long was not in vain. Longer than all delays: a group that
  // waits is not forgotten.
  static constexpr int64_t kLastsNs = 2 * kLongestDelayNs;

  PodGroupId group;
  int64_t times = 0;       // that it lost its room, in a row; 0: it did not
  int64_t since_ns = 0;    // when it last did
  int64_t evicted_ns = 0;  // when pods were last evicted for it
  bool pods_left = false;  // for a promise that is still open

  // 10 s after the first one, then 20 s, up to 320 s.
  int64_t DelayNs() const {
    int64_t delay_ns = kFirstDelayNs;
    for (int64_t i = 1; i < times && delay_ns < kLongestDelayNs; ++i) delay_ns *= 2;
    return delay_ns;
  }
  int64_t EndNs() const { return AddSaturating(since_ns, DelayNs()); }
  // True: it kept its room, or had no reason to evict, for long enough to start again from 1.
  bool IsOver(int64_t now_ns) const {
    return now_ns > AddSaturating(std::max(since_ns, evicted_ns), kLastsNs);
  }
  // The group has lost its room.
  void Count(int64_t now_ns) {
    times = IsOver(now_ns) ? 1 : AddSaturating(times, 1);
    since_ns = now_ns;
  }
};

class UnkeptPromises {
 public:
  // `known`: from earlier cycles.
  explicit UnkeptPromises(std::span<const UnkeptPromise> known) {
    for (const UnkeptPromise& each : known) {
      all_.emplace(each.group, each);
      any_ = any_ || each.times > 0;
    }
  }

  // False: Of() is null for all groups.
  bool any() const { return any_; }
  // Null: it has not lost its room.
  const UnkeptPromise* Of(PodGroupId group) const {
    const auto found = all_.find(group);
    return found == all_.end() || found->second.times == 0 ? nullptr : &found->second;
  }
  // A promise of the group has ended. It counts if pods left for it: a plan that was not carried
  // out has no consequence. Returns whether it counts.
  bool Add(PodGroupId group, int64_t now_ns) {
    const auto found = all_.find(group);
    if (found == all_.end() || !found->second.pods_left) return false;
    found->second.Count(now_ns);
    found->second.pods_left = false;
    return any_ = true;
  }
  // In any order.
  std::vector<UnkeptPromise> All() const {
    std::vector<UnkeptPromise> all;
    all.reserve(all_.size());
    for (const auto& [group, each] : all_) {
      if (each.times > 0) all.push_back(each);
    }
    return all;
  }

 private:
  absl::flat_hash_map<PodGroupId, UnkeptPromise> all_;
  bool any_ = false;
};

}  // namespace kai

#endif  // KAI_ACTIONS_UNKEPT_PROMISES_H_

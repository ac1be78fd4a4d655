// SplitPods: how many of a group's pods each of several topology domains gets, where one does not
// hold them all or the group says in how many it wants to be.
//
//   const Pods rooms = {8, 4, 5}, standing = {0, 0, 0};
//   SplitPods({.pods = 10, .rooms = rooms, .standing = standing})                      // {8, 2, 0}
//   SplitPods({.pods = 10, .rooms = rooms, .standing = standing, .balanced = true})    // {5, 0, 5}
//   SplitPods({.pods = 3, .rooms = rooms, .standing = standing, .least = 2})           // {0, 2, 1}
//
// Few domains before many. The roomiest are filled, and what is left goes where the least room is
// left over. Balanced, each gets as many as any other, or one more, as far as there is room.
//
// Invariants: an answer has one number for each domain, none above its room, all of them together
// `pods`; there is one whenever the question can be met. Cost: O(domains) for every number of
// domains that is tried; for balanced splits also times the number of pods. Threads: a pure
// function, thread-safe.
#ifndef KAI_PLACEMENT_DOMAIN_SPLIT_H_
#define KAI_PLACEMENT_DOMAIN_SPLIT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace kai {

struct SplitQuestion {
  int64_t pods = 0;
  std::span<const int64_t> rooms;     // by domain: pods that fit
  std::span<const int64_t> standing;  // by domain: pods of the group that are there already
  int64_t least = 1;                  // domains that are to be used, those with pods included
  int64_t most = 0;                   // 0: any number
  bool balanced = false;
};

// Pods by domain; nothing: it cannot be done.
std::optional<std::vector<int64_t>> SplitPods(const SplitQuestion& question);

}  // namespace kai

#endif  // KAI_PLACEMENT_DOMAIN_SPLIT_H_

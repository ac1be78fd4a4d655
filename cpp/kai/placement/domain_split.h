// SplitPods: divides the pods of a group among several topology domains, if one domain does not
// hold them all or the group sets the number of domains.
//
//   const Pods rooms = {8, 4, 5}, standing = {0, 0, 0};
//   SplitPods({.pods = 10, .rooms = rooms, .standing = standing})                      // {8, 2, 0}
//   SplitPods({.pods = 10, .rooms = rooms, .standing = standing, .balanced = true})    // {5, 0, 5}
//   SplitPods({.pods = 3, .rooms = rooms, .standing = standing, .least = 2})           // {0, 2, 1}
//
// It uses as few domains as possible. It fills the roomiest domains, and puts the rest where the
// least room remains. With `balanced`, the numbers of any two domains differ by at most one, as far
// as there is room.
//
// Invariants: an answer has one number for each domain, none above its room, and their sum is
// `pods`; there is an answer whenever the question can be met. Cost: O(domains) for every number of
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
  std::span<const int64_t> standing;  // by domain: pods of the group already in it
  int64_t least = 1;                  // domains to use, including those with pods already
  int64_t most = 0;                   // 0: any number
  bool balanced = false;
};

// The number of pods by domain; nothing: impossible.
std::optional<std::vector<int64_t>> SplitPods(const SplitQuestion& question);

}  // namespace kai

#endif  // KAI_PLACEMENT_DOMAIN_SPLIT_H_

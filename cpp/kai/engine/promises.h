// Promises: the places that the last plan promised, by name, so that they stay valid when the
// cluster is rebuilt (decision 0020).
//
//   open_ = promises_.In(*live_->cluster, &live_->writers.directory);
//   promises_.TakeOver(*made_, open_, take_turns);
//
// A promise belongs to a pod group, identified by name, creation time and queue, and not to a pod
// with a certain UID: a pod that moves is created again, often with another name.
//
// Invariants: all promises of a group are from one plan, or from an earlier one and currently
// without a pod. Cost: O(places); a copy O(1). Threads: those of the store's writer.
#ifndef KAI_ENGINE_PROMISES_H_
#define KAI_ENGINE_PROMISES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kai/actions/promises.h"
#include "kai/model/building/directory.h"
#include "kai/session/plan.h"

namespace kai {

// One promised place, as it is exported.
struct Promise {
  std::string namespace_name;
  std::string pod_group;
  std::string queue;
  int64_t created_ns = 0;  // of the pod group
  std::string pod_set;
  std::string pod;
  std::string node;
  std::vector<std::string> gpus;  // the devices that it shares, by the names of their groups
  int64_t kept_ns = 0;            // when a pod last had it

  friend bool operator==(const Promise&, const Promise&) = default;
};

// A pod that was evicted or moved, and its node then.
struct EvictedPod {
  std::string namespace_name;
  std::string pod_group;
  std::string pod;
  std::string node;

  friend bool operator==(const EvictedPod&, const EvictedPod&) = default;
};

// A pod group for which pods were evicted, and how often it lost their room
// (actions/unkept_promises.h), as it is exported.
struct Evictor {
  std::string namespace_name;
  std::string pod_group;
  std::string queue;
  int64_t created_ns = 0;           // of the pod group
  int64_t unkept = 0;               // how often in a row it lost its room
  int64_t since_ns = 0;             // when it last did
  int64_t evicted_ns = 0;           // when pods were last evicted for it
  std::vector<EvictedPod> victims;  // of its open promises
  // Its own pods that were evicted since, by the plan of lost_ns, and may not have left yet.
  std::vector<EvictedPod> lost;
  int64_t lost_ns = 0;

  friend bool operator==(const Evictor&, const Evictor&) = default;
};

class Promises {
 public:
  const std::vector<Promise>& all() const { return *all_; }
  const std::vector<Evictor>& evictors() const { return *evictors_; }
  void Set(std::vector<Promise> all, std::vector<Evictor> evictors) {
    all_ = std::make_shared<const std::vector<Promise>>(std::move(all));
    evictors_ = std::make_shared<const std::vector<Evictor>>(std::move(evictors));
  }

  // The promises whose group, pod set and node exist in the cluster; the others have no effect.
  struct Open {
    std::vector<PromisedPlace> places;
    std::vector<size_t> numbers;  // indices in all(), parallel to `places`
    std::vector<UnkeptPromise> unkept;
    std::vector<Evictor> evictors;  // parallel to `unkept`

    Promised promised() const { return {.places = places, .unkept = unkept}; }
  };
  // `directory`: of the cluster. Null: names are searched among all, which costs O(pod groups and
  // nodes) for each group and place.
  Open In(const Cluster& cluster, const Directory* directory) const;

  // Notes the losses that the plan, which was made with `open`, has found. The same plan again
  // finds none more, so that the delay begins once, also if no object changes until it is over.
  void TakeLosses(const Plan& plan, const Open& open);
  // Replaces the promises by those of the plan, which was made with `open`. `take_turns`: groups
  // get room from each other in turns, as intended, so no group has lost its room when its own pods
  // are evicted.
  void TakeOver(const Plan& plan, const Open& open, bool take_turns = false);

 private:
  std::vector<Evictor> EvictorsAfter(const Plan& plan, const Open& open,
                                     std::span<const PodGroupId> promised, bool take_turns) const;

  // Sorted so that a group's promises are adjacent; shared with copies.
  std::shared_ptr<const std::vector<Promise>> all_ = std::make_shared<const std::vector<Promise>>();
  // Sorted by name; shared with copies.
  std::shared_ptr<const std::vector<Evictor>> evictors_ =
      std::make_shared<const std::vector<Evictor>>();
};

}  // namespace kai

#endif  // KAI_ENGINE_PROMISES_H_

// Promises: the places that the last plan promised, by name, so that they stay valid when the
// cluster is rebuilt (decision 0020).
//
//   open_ = promises_.In(*live_->cluster, &live_->writers.directory);
//   promises_.TakeOver(*made_, open_);
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
  int64_t kept_ns = 0;  // when a pod last had it

  friend bool operator==(const Promise&, const Promise&) = default;
};

class Promises {
 public:
  const std::vector<Promise>& all() const { return *all_; }
  void Set(std::vector<Promise> all) {
    all_ = std::make_shared<const std::vector<Promise>>(std::move(all));
  }

  // The promises whose group, pod set and node exist in the cluster; the others have no effect.
  struct Open {
    std::vector<PromisedPlace> places;
    std::vector<size_t> numbers;  // indices in all(), parallel to `places`
  };
  // `directory`: of the cluster. Null: names are searched among all, which costs O(pod groups and
  // nodes) for each group and place.
  Open In(const Cluster& cluster, const Directory* directory) const;

  // Replaces the promises by those of the plan, which was made with `open`.
  void TakeOver(const Plan& plan, const Open& open);

 private:
  // Sorted so that a group's promises are adjacent; shared with copies.
  std::shared_ptr<const std::vector<Promise>> all_ = std::make_shared<const std::vector<Promise>>();
};

}  // namespace kai

#endif  // KAI_ENGINE_PROMISES_H_

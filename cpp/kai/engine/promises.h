// Promises: the places that the last plan has promised, by name, so that they outlive the cluster
// that was planned (decision 0020).
//
//   open_ = promises_.In(*live_->cluster, &live_->writers.directory);
//   promises_.TakeOver(*made_, open_);
//
// A promise speaks of a pod group of that age in that queue. It is not about a pod of some UID:
// what moves comes back as another pod, often under another name.
//
// Invariants: of a group all promises are those of one plan, or of one before it that rest. Cost:
// O(places); a copy O(1). Threads: those of the store's writer.
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

// One place, as it is exported.
struct Promise {
  std::string namespace_name;
  std::string pod_group;
  std::string queue;
  int64_t created_ns = 0;  // the pod group
  std::string pod_set;
  std::string pod;
  std::string node;
  int64_t kept_ns = 0;  // when it was last held

  friend bool operator==(const Promise&, const Promise&) = default;
};

class Promises {
 public:
  const std::vector<Promise>& all() const { return *all_; }
  void Set(std::vector<Promise> all) {
    all_ = std::make_shared<const std::vector<Promise>>(std::move(all));
  }

  // Those that the cluster has everything for; the others mean nothing there.
  struct Open {
    std::vector<PromisedPlace> places;
    std::vector<size_t> numbers;  // in all(), beside `places`
  };
  // `directory`: of the cluster; null: names are looked for among all, which costs O(pod groups and
  // nodes) for each group and place.
  Open In(const Cluster& cluster, const Directory* directory) const;

  // From now on those of the plan, which was made with `open`.
  void TakeOver(const Plan& plan, const Open& open);

 private:
  // Those of a group together; shared with copies.
  std::shared_ptr<const std::vector<Promise>> all_ = std::make_shared<const std::vector<Promise>>();
};

}  // namespace kai

#endif  // KAI_ENGINE_PROMISES_H_

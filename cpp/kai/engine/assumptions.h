// Assumptions: bindings and evictions that a scheduler has requested or is about to request, and
// that the store does not show yet. Each counts as done until the store shows it (confirmed), the
// store shows that it no longer applies, or the scheduler withdraws it. There is no timeout: after
// a lost answer, the caller has to find out what happened.
//
//   const auto id = engine_.AssumeBound(RequestFor("a-0", "n"));
//   engine_.Forget(*id)                          // the API server refused it
//
// A pod is bound by a BindRequest. The assumption is that this object exists; it ends when the
// store has an object of its name, or when the pod has a node, is another one (by UID) or is gone.
// A pod is evicted by its deletion. The assumption is its deletion time; it ends when the pod in
// the store has one, is another one or is gone.
// Invariants: objects of the store never change; FindRequest() and FindPod() return them as they
// are assumed to be. Cost: O(1) for an assumption or a look-up; Forget() loops over all. Threads:
// those of the store's writer.
// Cost: O(1) for an assumption or a look-up; Forget() loops over all. Threads: those of the store's
// writer.
#ifndef KAI_ENGINE_ASSUMPTIONS_H_
#define KAI_ENGINE_ASSUMPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "kai/store/store.h"

namespace kai {

using AssumptionId = int64_t;

class Assumptions {
 public:
  explicit Assumptions(const Store* store) : store_(*store) {}

  // Objects whose assumed state changed.
  using Changes = std::vector<std::pair<Kind, std::string>>;

  // Empty if the store has no such pod. A new assumption replaces the one that the pod had.
  std::optional<AssumptionId> Bind(BindRequestRow request, Changes* changes);
  std::optional<AssumptionId> Evict(std::string_view pod, int64_t now_ns, Changes* changes);
  // False if it was confirmed or is unknown.
  bool Forget(AssumptionId id, Changes* changes);

  // Called when the store has changed this object: ends what is confirmed or no longer applies.
  void Review(Kind kind, std::string_view name, Changes* changes);

  // All assumptions in the order of their numbers, for the export.
  struct Bound {
    AssumptionId id = 0;
    std::string uid;  // of the pod
    BindRequestRow request;
    bool replaces = false;  // the store has another object of its name
  };
  struct Evicted {
    AssumptionId id = 0;
    std::string pod;
    std::string uid;
    int64_t at_ns = 0;
  };
  struct All {
    AssumptionId last_id = 0;
    std::vector<Bound> bound;
    std::vector<Evicted> evicted;
  };
  std::shared_ptr<const All> all() const;
  // Replaces all assumptions by these, except those that the store shows as done or as no longer
  // applicable.
  void Set(const All& all, Changes* changes);
  // Puts the assumed objects in place of the store's.
  static void Apply(const All& all, ClusterRows* rows);

  // The assumed bindings among these, in the order of their numbers.
  std::vector<Bound> BoundBy(std::span<const AssumptionId> ids) const;

  bool empty() const { return binds_.empty() && evictions_.empty(); }
  size_t size() const { return binds_.size() + evictions_.size(); }
  size_t HeapBytes() const;

  // The object as it is assumed to be; null: use the store's. Its address is stable while the
  // assumption lasts.
  const BindRequestRow* FindRequest(std::string_view name) const;
  const CompactPod* FindPod(std::string_view name) const;
  // Puts the assumed objects in place of the store's.
  void Apply(std::vector<const CompactPod*>* pods) const;
  void Apply(std::vector<BindRequestRow>* requests) const;

 private:
  struct Leaving {
    AssumptionId id = 0;
    CompactPod row;
  };

  void AddBind(const Bound& bound, Changes* changes);
  void AddEviction(AssumptionId id, std::string_view pod, const CompactPod& row, int64_t now_ns,
                   Changes* changes);
  void EndBind(const std::string& request, Changes* changes);
  void EndEviction(const std::string& pod, Changes* changes);

  const Store& store_;
  AssumptionId last_ = 0;
  template <typename T>
  using ByName = absl::node_hash_map<std::string, T, NameHash, std::equal_to<>>;
  ByName<Bound> binds_;                     // by the name of the request
  ByName<std::string> bound_by_;            // pod -> request
  ByName<Leaving> evictions_;               // by pod
  mutable std::shared_ptr<const All> all_;  // null: not computed since the last change
};

}  // namespace kai

#endif  // KAI_ENGINE_ASSUMPTIONS_H_

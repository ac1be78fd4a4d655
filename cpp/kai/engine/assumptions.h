// Assumptions: what a scheduler is about to do, or has asked for and not seen done yet. It counts
// as done until the store shows it (confirmed), shows that it is beside the point, or the scheduler
// takes it back. It does not end with time: what became of a lost answer is for the caller to find
// out.
//
//   const auto id = engine_.AssumeBound(RequestFor("a-0", "n"));
//   engine_.Forget(*id)                          // the API server said no
//
// A pod is bound by a BindRequest: assumed is that object, until the store has one of its name, or
// the pod has a node, is another one (by UID) or is gone. A pod is evicted by its deletion: assumed
// is its time stamp, until the pod in the store has one, is another one or is gone.
//
// Invariants: an object of the store is never changed; Row() gives it as it is assumed to be. Cost:
// O(1) an assumption and a question; Forget() looks at all. Threads: those of the store's writer.
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

  // Objects that look different now.
  using Changes = std::vector<std::pair<Kind, std::string>>;

  // Nothing: the store has no such pod. One that is made again takes the place of the one before.
  std::optional<AssumptionId> Bind(BindRequestRow request, Changes* changes);
  std::optional<AssumptionId> Evict(std::string_view pod, int64_t now_ns, Changes* changes);
  // False: it was confirmed, or is not known.
  bool Forget(AssumptionId id, Changes* changes);

  // The store says something new of these objects: what is confirmed or beside the point ends.
  void Review(Kind kind, std::string_view name, Changes* changes);

  // All, by their numbers, as they can be exported.
  struct Bound {
    AssumptionId id = 0;
    std::string uid;  // of the pod
    BindRequestRow request;
    bool replaces = false;  // another one of its name is still there
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
  // These in the place of those that there are, but for what the store shows to have happened, or
  // to be beside the point.
  void Set(const All& all, Changes* changes);
  // Puts them in the place of those of a store.
  static void Apply(const All& all, ClusterRows* rows);

  // Of these the bindings that are assumed still, in the order of their numbers.
  std::vector<Bound> BoundBy(std::span<const AssumptionId> ids) const;

  bool empty() const { return binds_.empty() && evictions_.empty(); }
  size_t size() const { return binds_.size() + evictions_.size(); }
  size_t HeapBytes() const;

  // Objects as they are assumed to be; null: the store knows best. They stay where they are for as
  // long as they are assumed.
  const BindRequestRow* FindRequest(std::string_view name) const;
  const CompactPod* FindPod(std::string_view name) const;
  // Puts them in the place of the store's.
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
  mutable std::shared_ptr<const All> all_;  // null: not asked for since something changed
};

}  // namespace kai

#endif  // KAI_ENGINE_ASSUMPTIONS_H_

// History: what the objects of a store were at moments that are still of interest, for plans that
// are read after the cluster went on.
//
//   const History::Moment before = history.Now();
//   store.Delete(Kind::kQueue, name);
//   history.RowsAt(before)              // as store.Rows() was; without rejections
//
// Invariants: a moment is of interest as long as a plan holds it; every object is kept once
// between two of them. Cost: an event copies the row, and nothing is kept for moments that no plan
// holds; Now() looks at all that are held; RowsAt() costs what Store::Rows() does. Threads: those
// of the store's writer.
#ifndef KAI_STORE_HISTORY_H_
#define KAI_STORE_HISTORY_H_

#include <any>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "kai/store/store.h"

namespace kai {

class History final : private Follower {
  using Key = std::pair<Kind, std::string>;
  // From one moment to the next.
  struct Span {
    bool knows_config_maps = false;
    absl::flat_hash_map<Key, std::any> rows;  // as they were; empty: there was none
  };

 public:
  using Moment = std::shared_ptr<const Span>;

  // `store` has to outlive it.
  explicit History(Store* store) : store_(*store) { store->Follow(this); }
  History(const History&) = delete;
  History& operator=(const History&) = delete;
  ~History() override { store_.Unfollow(this); }

  Moment Now();
  ClusterRows RowsAt(const Moment& moment) const;
  MemoryReport Memory() const;

 private:
  void Changing(Kind kind, std::string_view name) override;
  void Changed(Kind, std::string_view) override {}
  void Forget();

  Store& store_;
  std::deque<std::shared_ptr<Span>> spans_;  // oldest first
};

}  // namespace kai

#endif  // KAI_STORE_HISTORY_H_

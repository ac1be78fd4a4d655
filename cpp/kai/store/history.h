// History: the objects of a store at earlier moments, for plans that are read after the cluster has
// changed.
//
//   const History::Moment before = history.Now();
//   store.Delete(Kind::kQueue, name);
//   history.RowsAt(before)              // store.Rows() at that moment, without rejections
//
// Invariants: a moment is kept while a plan refers to it; an object is stored once between two
// moments. Cost: an event copies the row, but only if a plan refers to an earlier moment; Now()
// loops over all moments in use; RowsAt() costs as much as Store::Rows(). Threads: those of the
// store's writer.
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
  // The time from one moment to the next.
  struct Span {
    bool has_config_maps = false;
    absl::flat_hash_map<Key, std::any> rows;  // at its start; empty: there was no object
  };

 public:
  using Moment = std::shared_ptr<const Span>;

  // `store` must outlive it.
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

// History: what the objects of a store were at moments that are still of interest, for plans that
// are read after the cluster went on.
//
//   const History::Moment before = history.Now();
//   history.Keep(Kind::kQueue, name);    // before each event
//   store.Delete(Kind::kQueue, name);
//   history.RowsAt(before)              // as store.Rows() was; without rejections
//
// Invariants: a moment is of interest as long as a plan holds it; every object is kept once
// between two of them. Cost: Keep() copies the row, and nothing is kept for moments that no plan
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

class History {
  using Key = std::pair<Kind, std::string>;
  // From one moment to the next.
  struct Span {
    bool knows_config_maps = false;
    absl::flat_hash_map<Key, std::any> rows;  // as they were; empty: there was none
  };

 public:
  using Moment = std::shared_ptr<const Span>;

  explicit History(const Store* store) : store_(*store) {}

  Moment Now();
  void Keep(Kind kind, std::string_view name);
  ClusterRows RowsAt(const Moment& moment) const;
  MemoryReport Memory() const;

 private:
  void Forget();

  const Store& store_;
  std::deque<std::shared_ptr<Span>> spans_;  // oldest first
};

}  // namespace kai

#endif  // KAI_STORE_HISTORY_H_

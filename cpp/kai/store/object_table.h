// ObjectTable: the objects of one kind by name, each with the version that it was last seen in.
//
//   ObjectTable<QueueRow> queues;
//   queues.Add("q", 7, row);
//   queues.Find("q")->row.parent
//
// An object that makes no sense has its name, its version, and a rejection in place of its row.
//
// A re-list counts as a whole: what was not seen between BeginList() and EndList() is gone. Names
// that were deleted are remembered for a while with the version at which they went, so that what is
// late by less than that does not bring them back.
//
// Invariants: one object per name. Cost: one hash look-up per call; EndList() walks over all. Not
// thread-safe.
#ifndef KAI_STORE_OBJECT_TABLE_H_
#define KAI_STORE_OBJECT_TABLE_H_

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/hash/hash.h"
#include "kai/model/rows/rows.h"

namespace kai {

// metadata.resourceVersion; 0: not known, which is never late.
using Version = uint64_t;

// Finds std::string keys by std::string_view, which Abseil's own hash cannot where its string_view
// is a type of its own.
struct NameHash {
  using is_transparent = void;
  size_t operator()(std::string_view name) const { return absl::Hash<std::string_view>()(name); }
};

template <typename Row>
class ObjectTable {
 public:
  struct Object {
    Row row;
    std::unique_ptr<Rejection> rejection;  // null: the row is good
    Version version = 0;
    uint32_t list = 0;  // the last one that had it
  };

  // Null: it is not there. An object stays at its address until it is deleted.
  const Object* Find(std::string_view name) const {
    const auto found = objects_.find(name);
    return found == objects_.end() ? nullptr : &found->second;
  }

  // Something later is known of the name: this version of it is of no use. The version that is
  // known may come again, as it was or as somebody who tries things out edited it. While a list is
  // read it is what counts, whatever its versions.
  bool IsLate(std::string_view name, Version version) const {
    if (version == 0 || is_listing_) return false;
    if (const Object* object = Find(name)) return version < object->version;
    const auto gone = gone_.find(name);
    return gone != gone_.end() && version <= gone->second;
  }

  // False: the row that was there says the same.
  bool Add(std::string_view name, Version version, Row row,
           std::unique_ptr<Rejection> rejection = nullptr) {
    const auto [found, added] = objects_.try_emplace(name);
    if (added) gone_.erase(found->first);
    Object& object = found->second;
    bool is_same = false;
    if constexpr (std::equality_comparable<Row>) {
      is_same = !added && object.rejection == nullptr && rejection == nullptr && object.row == row;
    }
    if (!is_same) object.row = std::move(row);
    if (rejection != nullptr) {
      rejected_.insert(found->first);
    } else if (object.rejection != nullptr) {
      rejected_.erase(found->first);
    }
    object.rejection = std::move(rejection);
    object.version = version;
    object.list = list_;
    return !is_same;
  }

  // Whether it was there.
  bool Delete(std::string_view name, Version version) {
    if (version != 0) Remember(name, version);
    const auto found = objects_.find(name);
    if (found == objects_.end()) return false;
    rejected_.erase(found->first);
    objects_.erase(found);
    return true;
  }

  void BeginList() {
    is_listing_ = true;
    ++list_;
    gone_.clear();
    gone_order_.clear();
  }
  // Calls gone(name) for each object that the list did not have.
  template <typename Gone>
  void EndList(const Gone& gone) {
    is_listing_ = false;
    std::vector<std::string> missing;
    for (const auto& [name, object] : objects_) {
      if (object.list != list_) missing.push_back(name);
    }
    for (const std::string& name : missing) {
      Delete(name, 0);
      gone(name);
    }
  }

  // Rows that are good, by name.
  std::vector<const Row*> Sorted() const {
    std::vector<std::pair<std::string_view, const Row*>> good;
    for (const auto& [name, object] : objects_) {
      if (object.rejection == nullptr) good.emplace_back(name, &object.row);
    }
    std::ranges::sort(good);
    std::vector<const Row*> rows;
    rows.reserve(good.size());
    for (const auto& [name, row] : good) rows.push_back(row);
    return rows;
  }
  // By name. Costs nothing for objects that are good.
  std::vector<Rejection> rejections() const {
    std::vector<Rejection> all;
    for (const std::string& name : rejected_) all.push_back(*Find(name)->rejection);
    return all;
  }

 private:
  static constexpr size_t kMostRemembered = 1 << 14;

  void Remember(std::string_view name, Version version) {
    Version& gone = gone_[name];
    if (gone == 0) gone_order_.emplace_back(name);
    gone = std::max(gone, version);
    while (gone_order_.size() > kMostRemembered) {
      gone_.erase(gone_order_.front());
      gone_order_.pop_front();
    }
  }

  absl::node_hash_map<std::string, Object, NameHash, std::equal_to<>> objects_;
  std::set<std::string, std::less<>> rejected_;  // names of objects that make no sense
  absl::flat_hash_map<std::string, Version, NameHash, std::equal_to<>> gone_;
  std::deque<std::string> gone_order_;  // of gone_, oldest first
  bool is_listing_ = false;
  uint32_t list_ = 0;
};

}  // namespace kai

#endif  // KAI_STORE_OBJECT_TABLE_H_

// ObjectTable: the objects of one kind by name, each with the version that it was last seen in.
//
//   ObjectTable<QueueRow> queues;
//   queues.Add("q", 7, row);
//   queues.Find("q")->row.parent
//
// An object that makes no sense has its name, its version, and a rejection in place of its row.
//
// A table is told of a re-list as a whole: what was not seen between BeginList() and EndList() is
// gone. Names that were deleted are remembered for a while with the version at which they went, so
// that what is late by less than that does not bring them back.
//
// Invariants: one object per name; a Slot is good until its object is deleted, and is then given
// to another. Cost: one hash look-up per call; EndList() walks over all. Not thread-safe.
#ifndef KAI_STORE_OBJECT_TABLE_H_
#define KAI_STORE_OBJECT_TABLE_H_

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
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

// The place of an object in its table.
using Slot = int32_t;
inline constexpr Slot kNoSlot = -1;

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
    uint32_t list = 0;                  // the last one that had it
    const std::string* name = nullptr;  // null: the slot is free
  };

  // Null: it is not there.
  const Object* Find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &objects_[static_cast<size_t>(found->second)];
  }
  const Object& operator[](Slot slot) const { return objects_[static_cast<size_t>(slot)]; }

  // Something later is known of the name: this version of it is of no use. While a list is read it
  // is what counts, whatever its versions.
  bool IsLate(std::string_view name, Version version) const {
    if (version == 0 || is_listing_) return false;
    if (const Object* object = Find(name)) return version <= object->version;
    const auto gone = gone_.find(name);
    return gone != gone_.end() && version <= gone->second;
  }

  struct Put {
    Slot slot = kNoSlot;
    bool has_changed = true;  // false: the row that was there says the same
  };
  Put Add(std::string_view name, Version version, Row row,
          std::unique_ptr<Rejection> rejection = nullptr) {
    const auto [found, added] = by_name_.try_emplace(name, kNoSlot);
    if (added) {
      found->second = TakeSlot();
      gone_.erase(found->first);
    }
    Object& object = At(found->second);
    bool is_same = false;
    if constexpr (std::equality_comparable<Row>) {
      is_same = !added && object.rejection == nullptr && rejection == nullptr && object.row == row;
    }
    if (!is_same) object.row = std::move(row);
    object.rejection = std::move(rejection);
    object.version = version;
    object.list = list_;
    object.name = &found->first;
    return {.slot = found->second, .has_changed = !is_same};
  }

  // The slot that it had; kNoSlot: it was not there.
  Slot Delete(std::string_view name, Version version) {
    if (version != 0) Remember(name, version);
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return kNoSlot;
    const Slot slot = found->second;
    by_name_.erase(found);
    At(slot) = Object();
    free_.push_back(slot);
    return slot;
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
    for (const auto& [name, slot] : by_name_) {
      if (At(slot).list != list_) missing.push_back(name);
    }
    for (const std::string& name : missing) {
      Delete(name, 0);
      gone(name);
    }
  }

  // Rows that are good, by name.
  std::vector<const Row*> Sorted() const {
    std::vector<const Object*> good;
    for (const Object& object : objects_) {
      if (object.name != nullptr && object.rejection == nullptr) good.push_back(&object);
    }
    std::ranges::sort(good, {},
                      [](const Object* each) -> const std::string& { return *each->name; });
    std::vector<const Row*> rows;
    for (const Object* each : good) rows.push_back(&each->row);
    return rows;
  }
  std::vector<Rejection> rejections() const {
    std::vector<Rejection> all;
    for (const Object& object : objects_) {
      if (object.rejection != nullptr) all.push_back(*object.rejection);
    }
    std::ranges::sort(all);
    return all;
  }

 private:
  static constexpr size_t kMostRemembered = 1 << 14;

  Object& At(Slot slot) { return objects_[static_cast<size_t>(slot)]; }

  Slot TakeSlot() {
    if (free_.empty()) {
      objects_.emplace_back();
      return static_cast<Slot>(objects_.size()) - 1;
    }
    const Slot slot = free_.back();
    free_.pop_back();
    return slot;
  }

  void Remember(std::string_view name, Version version) {
    Version& gone = gone_[name];
    if (gone == 0) gone_order_.emplace_back(name);
    gone = std::max(gone, version);
    while (gone_order_.size() > kMostRemembered) {
      gone_.erase(gone_order_.front());
      gone_order_.pop_front();
    }
  }

  // A node_hash_map, as objects point to their names.
  absl::node_hash_map<std::string, Slot, NameHash, std::equal_to<>> by_name_;
  std::deque<Object> objects_;
  std::vector<Slot> free_;
  absl::flat_hash_map<std::string, Version, NameHash, std::equal_to<>> gone_;
  std::deque<std::string> gone_order_;  // of gone_, oldest first
  bool is_listing_ = false;
  uint32_t list_ = 0;
};

}  // namespace kai

#endif  // KAI_STORE_OBJECT_TABLE_H_

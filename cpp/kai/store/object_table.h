// ObjectTable: the objects of one kind by name, each with its last known version.
//
//   ObjectTable<QueueRow> queues;
//   queues.Add("q", 7, row);
//   queues.Find("q")->row.parent
//
// A rejected object has its name, its version, and a rejection instead of its row.
//
// A new list replaces what was known: objects that were not added between BeginList() and EndList()
// are gone. Names of deleted objects are kept for a while with the version of the deletion, so that
// late events do not restore them. A planned object does not exist on the API server yet, so lists
// do not have it, and a deletion is about another object of its name.
//
// Invariants: one object per name. Cost: one hash look-up per call; EndList() and Memory() walk
// over all objects. Not thread-safe.
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
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "kai/base/check.h"
#include "kai/base/memory_report.h"
#include "kai/base/sparse_table.h"
#include "kai/base/text.h"
#include "kai/model/rows/row_memory.h"
#include "kai/model/rows/rows.h"

namespace kai {

// metadata.resourceVersion; 0: unknown, and never late.
using Version = uint64_t;

// Finds std::string keys by std::string_view. Abseil's own hash cannot, if its string_view is a
// separate type.
struct NameHash {
  using is_transparent = void;
  size_t operator()(std::string_view name) const { return absl::Hash<std::string_view>()(name); }
};

template <typename Row>
concept HasNamespace = requires(Row row) { row.namespace_name; };

// "namespace/name", or just "name" for a kind or an object without a namespace.
template <typename Row>
std::string NameInTable(const Row& row) {
  if constexpr (HasNamespace<Row>) {
    if (!row.namespace_name.empty()) return StrCat(row.namespace_name, "/", row.name);
  }
  return row.name;
}

template <typename Row>
struct NameKey {
  explicit NameKey(std::string_view text) : name(text) {
    const size_t slash = HasNamespace<Row> ? text.find('/') : text.npos;
    if (slash == text.npos) return;
    space = text.substr(0, slash);
    name = text.substr(slash + 1);
  }
  explicit NameKey(const Row& row) : name(row.name) {
    if constexpr (HasNamespace<Row>) space = row.namespace_name;
  }
  friend bool operator==(const NameKey&, const NameKey&) = default;

  std::string_view space;
  std::string_view name;
};

template <typename Row>
class ObjectTable {
 public:
  static constexpr auto kIgnore = [](Row&&) {};
  struct Object {
    Row row;
    std::unique_ptr<Rejection> rejection;  // null: the row is valid
    Version version = 0;
    uint32_t list = 0;  // the last list that had it
    bool is_planned = false;
  };

  ObjectTable() = default;
  // A copy with its own objects.
  ObjectTable(const ObjectTable& other)
      : rejected_(other.rejected_),
        gone_(other.gone_),
        gone_order_(other.gone_order_),
        is_listing_(other.is_listing_),
        list_(other.list_) {
    objects_.reserve(other.objects_.size());
    for (const std::unique_ptr<Object>& object : other.objects_) {
      auto copy = std::make_unique<Object>();
      copy->row = object->row;
      if (object->rejection != nullptr)
        copy->rejection = std::make_unique<Rejection>(*object->rejection);
      copy->version = object->version;
      copy->list = object->list;
      copy->is_planned = object->is_planned;
      objects_.insert(std::move(copy));
    }
  }
  ObjectTable& operator=(const ObjectTable&) = delete;

  // Null if it does not exist. An object keeps its address until it is deleted.
  const Object* Find(std::string_view name) const {
    const auto found = objects_.find(Key(name));
    return found == objects_.end() ? nullptr : found->get();
  }

  // True if a later version of this name is known, so that this one is ignored. The known version
  // itself may come again, unchanged or edited without a new version. While a list is read, its
  // objects always count.
  bool IsLate(std::string_view name, Version version) const {
    if (version == 0 || is_listing_) return false;
    if (const Object* object = Find(name)) return version < object->version;
    const auto gone = gone_.find(name);
    return gone != gone_.end() && version <= gone->second;
  }

  // False if the previous row is equal. `row` has this name, if it is valid. Calls gone(row) with
  // the row that it replaces.
  template <typename Gone = decltype(kIgnore)>
  bool Add(std::string_view name, Version version, Row row,
           std::unique_ptr<Rejection> rejection = nullptr, const Gone& gone = {}) {
    const auto found = objects_.find(Key(name));
    const bool is_new = found == objects_.end();
    if (is_new && !gone_.empty()) gone_.erase(name);
    std::unique_ptr<Object> added = is_new ? std::make_unique<Object>() : nullptr;
    Object& object = is_new ? *added : **found;
    bool is_same = false;
    if constexpr (std::equality_comparable<Row>) {
      is_same = !is_new && object.rejection == nullptr && rejection == nullptr && object.row == row;
    }
    KAI_DCHECK(rejection != nullptr || Key(row) == Key(name));
    if (!is_same) {
      Row before = std::exchange(object.row, rejection == nullptr ? std::move(row) : Named(name));
      if (!is_new) gone(std::move(before));
    }
    if (rejection != nullptr) {
      rejected_.emplace(name);
    } else if (object.rejection != nullptr) {
      rejected_.erase(rejected_.find(name));
    }
    object.rejection = std::move(rejection);
    object.version = version;
    object.list = list_;
    object.is_planned = false;
    if (is_new) objects_.insert(std::move(added));
    return !is_same;
  }

  // Marks it as planned, until the next Add().
  void MarkPlanned(std::string_view name) { (*objects_.find(Key(name)))->is_planned = true; }

  // Replaces the row of a valid object, but not its version. Results and calls are those of Add().
  template <typename Gone = decltype(kIgnore)>
  bool Replace(std::string_view name, Row row, const Gone& gone = {}) {
    Row& known = (*objects_.find(Key(name)))->row;
    const bool is_same = known == row;
    gone(std::exchange(known, std::move(row)));
    return !is_same;
  }

  // True if it existed; then calls gone(row).
  template <typename Gone = decltype(kIgnore)>
  bool Delete(std::string_view name, Version version, const Gone& gone = {}) {
    if (version != 0) KeepDeletion(name, version);
    const auto found = objects_.find(Key(name));
    if (found == objects_.end()) return false;
    if ((*found)->rejection != nullptr) rejected_.erase(rejected_.find(name));
    Row row = std::move((*found)->row);
    objects_.erase(found);
    gone(std::move(row));
    ShrinkIfSparse(&objects_);
    return true;
  }

  void BeginList() {
    is_listing_ = true;
    ++list_;
    gone_.clear();
    gone_order_.clear();
  }
  // Names of objects that the list did not have.
  std::vector<std::string> EndList() {
    is_listing_ = false;
    std::vector<std::string> missing;
    for (const std::unique_ptr<Object>& object : objects_) {
      if (object->list != list_ && !object->is_planned) missing.push_back(NameInTable(object->row));
    }
    return missing;
  }

  // Valid rows, in any order.
  std::vector<const Row*> Rows() const {
    std::vector<const Row*> rows;
    rows.reserve(objects_.size());
    for (const std::unique_ptr<Object>& object : objects_) {
      if (object->rejection == nullptr) rows.push_back(&object->row);
    }
    return rows;
  }
  // By name. Cost depends on rejected objects only.
  std::vector<Rejection> rejections() const {
    std::vector<Rejection> all;
    for (const std::string& name : rejected_) all.push_back(*Find(name)->rejection);
    return all;
  }
  void Memory(std::string_view kind, MemoryReport* report) const {
    size_t texts = 0;
    size_t rejections = HeapBytes(rejected_);
    for (const std::unique_ptr<Object>& object : objects_) {
      texts += HeapBytesOfRow(object->row);
      rejections += HeapBytes(object->rejection);
    }
    report->Add(kind, "index", objects_.size(), HashTableBytes(objects_, sizeof(void*)));
    report->Add(kind, "rows", objects_.size(), objects_.size() * BlockBytes(sizeof(Object)));
    report->Add(kind, "texts", objects_.size(), texts);
    report->Add(kind, "rejections", rejected_.size(), rejections);
    report->Add(kind, "deleted names", gone_.size(), HeapBytesOfAll(gone_, gone_order_));
  }

 private:
  static constexpr size_t kMostDeletions = 1 << 14;

  // Keys are the names in the rows: copies of names would take most of a small object's memory.
  using Key = NameKey<Row>;
  struct KeyHash {
    using is_transparent = void;
    size_t operator()(const Key& key) const { return absl::HashOf(key.space, key.name); }
    size_t operator()(const std::unique_ptr<Object>& object) const {
      return operator()(Key(object->row));
    }
  };
  struct KeyEqual {
    using is_transparent = void;
    static Key KeyOf(const std::unique_ptr<Object>& object) { return Key(object->row); }
    static const Key& KeyOf(const Key& key) { return key; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return KeyOf(a) == KeyOf(b);
    }
  };

  static Row Named(std::string_view name) {
    const Key key(name);
    Row row;
    row.name = key.name;
    if constexpr (HasNamespace<Row>) row.namespace_name = key.space;
    return row;
  }

  void KeepDeletion(std::string_view name, Version version) {
    Version& gone = gone_[name];
    if (gone == 0) gone_order_.emplace_back(name);
    gone = std::max(gone, version);
    while (gone_order_.size() > kMostDeletions) {
      gone_.erase(gone_order_.front());
      gone_order_.pop_front();
    }
  }

  absl::flat_hash_set<std::unique_ptr<Object>, KeyHash, KeyEqual> objects_;
  std::set<std::string, std::less<>> rejected_;  // names of rejected objects
  absl::flat_hash_map<std::string, Version, NameHash, std::equal_to<>> gone_;
  std::deque<std::string> gone_order_;  // keys of gone_, oldest first
  bool is_listing_ = false;
  uint32_t list_ = 0;
};

}  // namespace kai

#endif  // KAI_STORE_OBJECT_TABLE_H_

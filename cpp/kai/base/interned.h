// Interned: a set of values with one id per distinct value.
//
//   Interned<WordId, std::string> words;
//   words.Add("queue") == words.Add("queue")     // true
//   words[words.Add("gang")]                     // "gang"
//
// Invariants: equal values have the same id; ids are 0 to size()-1, in the order of first use. If
// AbslHashValue() leaves a member out, look-ups are slower but still right, as values are compared
// whole. Cost: one hash look-up per Add(), an array access per []. Threads: many readers, or one
// thread that adds. It cannot be moved, because its look-up table points into it.
#ifndef KAI_BASE_INTERNED_H_
#define KAI_BASE_INTERNED_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "kai/base/index_vector.h"

namespace kai {

template <typename T>
size_t HeapBytes(const T& value);  // heap_bytes.h

template <typename IdT, typename T>
class Interned {
 public:
  Interned() : ids_(0, Hash{&values_}, Equal{&values_}) {}
  Interned(const Interned&) = delete;
  Interned& operator=(const Interned&) = delete;

  IdT Add(T value) {
    const auto known = ids_.find(value);
    if (known != ids_.end()) return *known;
    const IdT id = values_.Add(std::move(value));
    ids_.insert(id);
    return id;
  }

  const T& operator[](IdT id) const { return values_[id]; }
  const IndexVector<IdT, T>& values() const { return values_; }
  IdRange<IdT> ids() const { return values_.ids(); }
  const std::vector<T>& raw() const { return values_.raw(); }
  size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  size_t HeapBytes() const { return kai::HeapBytes(values_) + kai::HeapBytes(ids_); }

 private:
  using Values = IndexVector<IdT, T>;

  static const T& In(const Values&, const T& value) { return value; }
  static const T& In(const Values& values, IdT id) { return values[id]; }
  struct Hash {
    using is_transparent = void;
    const Values* values;
    template <typename Key>
    size_t operator()(const Key& key) const {
      return absl::HashOf(In(*values, key));
    }
  };
  struct Equal {
    using is_transparent = void;
    const Values* values;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return In(*values, a) == In(*values, b);
    }
  };

  Values values_;
  absl::flat_hash_set<IdT, Hash, Equal> ids_;
};

}  // namespace kai

#endif  // KAI_BASE_INTERNED_H_

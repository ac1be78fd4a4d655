// A vector that only its own id type can index.
//
//   const IndexVector<NodeId, double> scores(3, 9.0);
//   for (const NodeId node : scores.ids()) seen.push_back(node);    // scores[pod] does not compile
//
// Invariants: its ids are 0 to size()-1; debug builds check every access. Cost: as std::vector.
// Threads: as std::vector: many readers, or one writer.
#ifndef KAI_BASE_INDEX_VECTOR_H_
#define KAI_BASE_INDEX_VECTOR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kai/base/check.h"

namespace kai {

// The ids first, first+1, ... last-1, for range-based for loops.
template <typename IdT>
class IdRange {
 public:
  using Id = IdT;

  class Iterator {
   public:
    explicit Iterator(size_t at) : at_(at) {}
    IdT operator*() const { return IdT(at_); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    size_t at_;
  };

  IdRange(size_t first, size_t last) : first_(first), last_(last) {}
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(last_); }
  size_t size() const { return last_ - first_; }
  bool empty() const { return first_ == last_; }

 private:
  size_t first_;
  size_t last_;
};

template <typename IdT, typename T>
class IndexVector {
 public:
  using Reference = typename std::vector<T>::reference;
  using ConstReference = typename std::vector<T>::const_reference;

  IndexVector() = default;
  explicit IndexVector(size_t size) : rows_(size) {}
  IndexVector(size_t size, const T& value) : rows_(size, value) {}

  Reference operator[](IdT id) {
    KAI_DCHECK(id.valid() && id.index() < rows_.size());
    return rows_[id.index()];
  }
  ConstReference operator[](IdT id) const {
    KAI_DCHECK(id.valid() && id.index() < rows_.size());
    return rows_[id.index()];
  }

  IdT Add(T value) {
    rows_.push_back(std::move(value));
    return IdT(rows_.size() - 1);
  }
  void Resize(size_t size) { rows_.resize(size); }
  void Resize(size_t size, const T& value) { rows_.resize(size, value); }
  void Reserve(size_t size) { rows_.reserve(size); }

  size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  IdRange<IdT> ids() const { return IdRange<IdT>(0, rows_.size()); }
  const std::vector<T>& raw() const { return rows_; }

  bool operator==(const IndexVector&) const = default;

 private:
  std::vector<T> rows_;
};

// The ids in ascending rank. The ranks are 0 to size()-1, each once.
template <typename IdT>
std::vector<IdT> InOrderOf(const IndexVector<IdT, int32_t>& rank) {
  std::vector<IdT> ids(rank.size());
  for (const IdT id : rank.ids()) ids[static_cast<size_t>(rank[id])] = id;
  return ids;
}

}  // namespace kai

#endif  // KAI_BASE_INDEX_VECTOR_H_

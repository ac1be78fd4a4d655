// A typed integer id: a row number that cannot be confused with a row of another kind.
//
//   using NodeId = Id<struct NodeTag>;
//   NodeId(7).index()      // numbers convert only explicitly
//   NodeId().valid()       // false: it refers to no row
//
// Invariants: a valid id is not negative; ids of two kinds do not convert or compare. Cost: one
// int32. Ids compare and hash by value. Threads: a plain value.
#ifndef KAI_BASE_ID_H_
#define KAI_BASE_ID_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace kai {

template <typename Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(int32_t value) : value_(value) {}
  constexpr explicit Id(size_t value) : value_(static_cast<int32_t>(value)) {}

  constexpr bool valid() const { return value_ >= 0; }
  constexpr int32_t value() const { return value_; }
  constexpr size_t index() const { return static_cast<size_t>(value_); }

  friend constexpr auto operator<=>(Id, Id) = default;

  template <typename H>
  friend H AbslHashValue(H h, Id id) {
    return H::combine(std::move(h), id.value_);
  }

 private:
  int32_t value_ = -1;
};

}  // namespace kai

#endif  // KAI_BASE_ID_H_

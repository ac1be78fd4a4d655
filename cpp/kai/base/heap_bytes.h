// HeapBytes: how many bytes a value holds on the heap, computed from the capacities of its
// containers.
//
//   HeapBytes(std::string(100, 'x'))        // 112: the allocator rounds blocks up to 16 bytes
//
// It covers strings, standard and Abseil containers, plain structs, and classes that have a member
// HeapBytes().
//
// Invariants: shared values are counted at their owner, so a std::shared_ptr counts as zero. Cost:
// a walk over all elements that use the heap. Threads: as for reading the value.
#ifndef KAI_BASE_HEAP_BYTES_H_
#define KAI_BASE_HEAP_BYTES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/container/node_hash_map.h"
#include "kai/base/members.h"

namespace kai {

// The size of a heap block: glibc adds a word in front and rounds up to 16 bytes.
constexpr size_t BlockBytes(size_t bytes) {
  return bytes == 0 ? 0 : std::max<size_t>(32, (bytes + 8 + 15) / 16 * 16);
}

// The block of std::make_shared, without what the value in it holds on the heap.
template <typename T>
constexpr size_t SharedBlockBytes() {
  return BlockBytes(sizeof(T) + 2 * sizeof(void*));
}

namespace internal {

template <typename T, template <typename...> class Template>
inline constexpr bool kIsA = false;
template <template <typename...> class Template, typename... Args>
inline constexpr bool kIsA<Template<Args...>, Template> = true;

template <typename T>
inline constexpr bool kIsInlined = false;
template <typename T, size_t kInline, typename A>
inline constexpr bool kIsInlined<absl::InlinedVector<T, kInline, A>> = true;

template <typename T>
inline constexpr bool kIsArray = false;
template <typename T, size_t kSize>
inline constexpr bool kIsArray<std::array<T, kSize>> = true;

template <typename T>
inline constexpr bool kHoldsNothing =
    std::is_trivially_copyable_v<T> || kIsA<T, std::shared_ptr> || kIsA<T, std::weak_ptr>;

}  // namespace internal

template <typename T>
size_t HeapBytes(const T& value);

// What the elements hold on the heap, without the array of elements itself.
template <typename Elements>
size_t HeapBytesOfEach(const Elements& elements) {
  size_t bytes = 0;
  if constexpr (!internal::kHoldsNothing<typename Elements::value_type>) {
    for (const auto& element : elements) bytes += HeapBytes(element);
  }
  return bytes;
}

template <typename... Values>
size_t HeapBytesOfAll(const Values&... values) {
  return (HeapBytes(values) + ... + 0);
}

// The slots of a hash table, with one control byte each.
template <typename Table>
size_t HashTableBytes(const Table& table, size_t slot_bytes) {
  const size_t capacity = table.capacity();
  return capacity == 0 ? 0 : BlockBytes((capacity + 16 + 7) / 8 * 8 + capacity * slot_bytes);
}

template <typename T>
size_t HeapBytes(const T& value) {
  using internal::kIsA;
  if constexpr (requires { value.HeapBytes(); }) {
    return value.HeapBytes();
  } else if constexpr (requires { value.raw(); }) {  // IndexVector and similar classes
    return HeapBytes(value.raw());
  } else if constexpr (internal::kHoldsNothing<T>) {
    return 0;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value.capacity() < sizeof(std::string) / 2 ? 0 : BlockBytes(value.capacity() + 1);
  } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
    return BlockBytes(value.capacity() / 8);
  } else if constexpr (kIsA<T, std::vector>) {
    return BlockBytes(value.capacity() * sizeof(typename T::value_type)) + HeapBytesOfEach(value);
  } else if constexpr (internal::kIsInlined<T>) {
    const bool is_inline = value.capacity() <= T().capacity();
    return (is_inline ? 0 : BlockBytes(value.capacity() * sizeof(typename T::value_type))) +
           HeapBytesOfEach(value);
  } else if constexpr (internal::kIsArray<T>) {
    return HeapBytesOfEach(value);
  } else if constexpr (kIsA<T, std::deque>) {
    // libstdc++: blocks of 512 bytes, and a list of the blocks.
    const size_t pieces = value.size() * sizeof(typename T::value_type) / 512 + 1;
    return pieces * BlockBytes(512) + BlockBytes(std::max<size_t>(8, pieces + 2) * sizeof(void*)) +
           HeapBytesOfEach(value);
  } else if constexpr (kIsA<T, std::optional>) {
    return value ? HeapBytes(*value) : 0;
  } else if constexpr (kIsA<T, std::variant>) {
    return std::visit([](const auto& each) { return HeapBytes(each); }, value);
  } else if constexpr (kIsA<T, std::pair>) {
    return HeapBytes(value.first) + HeapBytes(value.second);
  } else if constexpr (kIsA<T, std::unique_ptr>) {
    return value == nullptr ? 0 : BlockBytes(sizeof(*value)) + HeapBytes(*value);
  } else if constexpr (kIsA<T, absl::flat_hash_map> || kIsA<T, absl::flat_hash_set>) {
    return HashTableBytes(value, sizeof(typename T::value_type)) + HeapBytesOfEach(value);
  } else if constexpr (kIsA<T, absl::node_hash_map>) {
    return HashTableBytes(value, sizeof(void*)) +
           value.size() * BlockBytes(sizeof(typename T::value_type)) + HeapBytesOfEach(value);
  } else if constexpr (kIsA<T, std::map> || kIsA<T, std::set>) {
    return value.size() * BlockBytes(4 * sizeof(void*) + sizeof(typename T::value_type)) +
           HeapBytesOfEach(value);
  } else if constexpr (kIsA<T, absl::btree_set>) {
    // B-tree nodes of 256 bytes, about three quarters full.
    return value.size() * sizeof(typename T::value_type) * 4 / 3 + HeapBytesOfEach(value);
  } else {
    size_t bytes = 0;
    VisitMembers(value, [&](const auto& member) { bytes += HeapBytes(member); });
    return bytes;
  }
}

}  // namespace kai

#endif  // KAI_BASE_HEAP_BYTES_H_

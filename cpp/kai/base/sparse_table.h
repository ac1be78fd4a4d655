// ShrinkIfSparse: gives back the room of a hash table of which most is gone.
//
//   ShrinkIfSparse(&values_);    // after something was erased
//
// Invariants: afterwards the table is small, or a third of its room is in use. Cost: O(1) per
// erased element, taken over many. Threads: as changing the table.
#ifndef KAI_BASE_SPARSE_TABLE_H_
#define KAI_BASE_SPARSE_TABLE_H_

#include <cstddef>

namespace kai {

template <typename Table>
void ShrinkIfSparse(Table* table) {
  constexpr size_t kSmall = 1024;
  // A table of half that room takes a fifth more elements before it has to grow again.
  if (table->capacity() > kSmall && table->size() < table->capacity() / 3) table->rehash(0);
}

}  // namespace kai

#endif  // KAI_BASE_SPARSE_TABLE_H_

// ShrinkIfSparse: frees memory of a hash table after most elements have been erased.
//
//   ShrinkIfSparse(&values_);    // after something was erased
//
// Invariants: afterwards the table is small, or a third of its capacity is in use. Cost: amortised
// O(1) per erased element. Threads: as for changing the table.
#ifndef KAI_BASE_SPARSE_TABLE_H_
#define KAI_BASE_SPARSE_TABLE_H_

#include <cstddef>

namespace kai {

template <typename Table>
void ShrinkIfSparse(Table* table) {
  constexpr size_t kSmall = 1024;
  // At half of the capacity, the table can take a fifth more elements before it grows again.
  if (table->capacity() > kSmall && table->size() < table->capacity() / 3) table->rehash(0);
}

}  // namespace kai

#endif  // KAI_BASE_SPARSE_TABLE_H_

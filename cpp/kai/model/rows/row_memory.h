// HeapBytesOfRow: the heap memory of a row, without the parts that pods and pod groups share.
//
//   texts += HeapBytesOfRow(object->row);
//
// Invariants: RowParts::Memory() counts the shared parts. Cost: a walk over the row. Threads: like
// reading the row.
#ifndef KAI_MODEL_ROWS_ROW_MEMORY_H_
#define KAI_MODEL_ROWS_ROW_MEMORY_H_

#include <cstddef>
#include <type_traits>

#include "kai/base/heap_bytes.h"
#include "kai/model/rows/pod_group_row.h"
#include "kai/model/rows/pod_row.h"

namespace kai {

template <typename Row>
size_t HeapBytesOfRow(const Row& row) {
  if constexpr (std::is_base_of_v<PodIdentityRow, Row>) {
    return HeapBytes<PodIdentityRow>(row);
  } else if constexpr (std::is_base_of_v<PodGroupIdentityRow, Row>) {
    return HeapBytes<PodGroupIdentityRow>(row);
  } else {
    return HeapBytes(row);
  }
}

}  // namespace kai

#endif  // KAI_MODEL_ROWS_ROW_MEMORY_H_

// What this process holds: for each handle of the driver, the bytes that count for it.
//
//   holdings.Put({Handle::kMemory, 7}, {0, 100});  // row and bytes
//   holdings.Take({Handle::kMemory, 7}, &found)    // true: `found` has them
//
// Invariants: at most one holding for each handle. Cost: O(1), under one lock of the process;
// memory comes from the system in powers of two. Threads: all may call it at once.
#ifndef KAI_GUARD_HOOKS_HOLDINGS_H_
#define KAI_GUARD_HOOKS_HOLDINGS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "guard/region/mutex.h"

namespace kai::guard {

struct Handle {
  enum Kind : uint64_t {
    kNone,
    kMemory,    // of a pointer
    kArray,     // arrays and mipmapped arrays
    kPhysical,  // cuMemCreate
    kMapping,   // of an address to physical memory
    kBinding,   // of a spot in a multicast object to physical memory
    kGraph,     // an executable graph with nodes that allocate
    kModule,    // modules and libraries
    kExternal,  // imported memory of other interfaces
    kContext,   // how often it was attached
    kGreen,     // a green context, of its primary one
    kLimit,     // of a context
  };
  Kind kind = kNone;
  uint64_t value = 0;
};

struct Holding {
  int row = -1;
  uint64_t bytes = 0;
  uint64_t context = 0;  // 0: it outlives contexts
  uint64_t more = 0;     // what the functions of its kind note beside
};

class Holdings {
 public:
  void Put(Handle handle, const Holding& holding);
  bool Take(Handle handle, Holding* holding);
  bool Find(Handle handle, Holding* holding);
  // Takes all that belong to the context, and calls `each` with every one. O(all holdings).
  void TakeAllOf(uint64_t context, void (*each)(const Holding& holding));
  int64_t CountOf(Handle::Kind kind) const { return counts_[kind].load(std::memory_order_relaxed); }
  // In a forked child: what the parent holds is not the child's.
  void Forget();

 private:
  struct Entry {
    Handle handle;
    Holding holding;
  };

  size_t PlaceOf(Handle handle) const;
  void Grow();
  void Erase(size_t at);

  Mutex lock_;
  Entry* entries_ = nullptr;
  size_t room_ = 0;  // a power of two, or 0
  size_t size_ = 0;
  std::atomic<int64_t> counts_[Handle::kLimit + 1] = {};
};

}  // namespace kai::guard

#endif  // KAI_GUARD_HOOKS_HOLDINGS_H_

#include "guard/hooks/holdings.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "guard/region/layout.h"

namespace kai::guard {
namespace {

constexpr size_t kFirstRoom = 1024;

size_t HashOf(Handle handle) {
  return static_cast<size_t>(Mixed(handle.value ^ (static_cast<uint64_t>(handle.kind) << 56)));
}

}  // namespace

// The entry of the handle, or the free one where it belongs.
size_t Holdings::PlaceOf(Handle handle) const {
  size_t at = HashOf(handle) & (room_ - 1);
  while (entries_[at].handle.kind != Handle::kNone &&
         (entries_[at].handle.kind != handle.kind || entries_[at].handle.value != handle.value)) {
    at = (at + 1) & (room_ - 1);
  }
  return at;
}

void Holdings::Grow() {
  Entry* const earlier = entries_;
  const size_t earlier_room = room_;
  room_ = room_ == 0 ? kFirstRoom : 2 * room_;
  void* memory = mmap(nullptr, room_ * sizeof(Entry), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) abort();  // the machine has no memory left: nor would malloc
  entries_ = static_cast<Entry*>(memory);
  for (size_t i = 0; i < earlier_room; ++i) {
    if (earlier[i].handle.kind != Handle::kNone) entries_[PlaceOf(earlier[i].handle)] = earlier[i];
  }
  if (earlier != nullptr) munmap(earlier, earlier_room * sizeof(Entry));
}

// Moves back what came after it only because its place was taken.
void Holdings::Erase(size_t at) {
  --counts_[entries_[at].handle.kind];
  --size_;
  size_t free = at;
  for (size_t i = (at + 1) & (room_ - 1); entries_[i].handle.kind != Handle::kNone;
       i = (i + 1) & (room_ - 1)) {
    const size_t home = HashOf(entries_[i].handle) & (room_ - 1);
    if (((i - home) & (room_ - 1)) >= ((i - free) & (room_ - 1))) {
      entries_[free] = entries_[i];
      free = i;
    }
  }
  entries_[free] = Entry();
}

void Holdings::Put(Handle handle, const Holding& holding) {
  const Locked locked(&lock_);
  if (4 * (size_ + 1) > 3 * room_) Grow();
  Entry& entry = entries_[PlaceOf(handle)];
  if (entry.handle.kind == Handle::kNone) {
    ++size_;
    ++counts_[handle.kind];
  }
  entry = {handle, holding};
}

bool Holdings::Take(Handle handle, Holding* holding) {
  const Locked locked(&lock_);
  if (room_ == 0) return false;
  const size_t at = PlaceOf(handle);
  if (entries_[at].handle.kind == Handle::kNone) return false;
  *holding = entries_[at].holding;
  Erase(at);
  return true;
}

bool Holdings::Find(Handle handle, Holding* holding) {
  const Locked locked(&lock_);
  if (room_ == 0) return false;
  const Entry& entry = entries_[PlaceOf(handle)];
  if (entry.handle.kind == Handle::kNone) return false;
  *holding = entry.holding;
  return true;
}

void Holdings::TakeAllOf(uint64_t context, void (*each)(const Holding& holding)) {
  const Locked locked(&lock_);
  for (size_t i = 0; i < room_;) {
    const Entry entry = entries_[i];
    if (entry.handle.kind == Handle::kNone || entry.holding.context != context) {
      ++i;
      continue;
    }
    Erase(i);  // may move a later one here
    each(entry.holding);
  }
}

void Holdings::Forget() {
  if (entries_ != nullptr) munmap(entries_, room_ * sizeof(Entry));
  lock_.Reset();
  entries_ = nullptr;
  room_ = size_ = 0;
  for (std::atomic<int64_t>& count : counts_) count.store(0, std::memory_order_relaxed);
}

}  // namespace kai::guard

// Memory that the driver keeps for later: stream-ordered pools and the memory of graphs. What
// counts is what the driver has reserved, as no other process can use it, even if it is idle.
//
//   Keepers keepers;
//   Keeper* keeper = keepers.OfGraphs({memory.row, 0, DeviceOf(memory)});
//   keepers.Expect(keeper, memory.bytes)                // false: there is no room
//   const CUresult result = call();                     // the driver's
//   if (!keepers.Settle(keeper)) keepers.Look(keeper);  // more was reserved than there is room for
//
// Invariants: what counts for a keeper is the driver's last answer; it is read again after calls
// that change it, and when other requests would be refused. Cost: two questions to the driver for
// each call that requests memory. Threads: constructing Keepers waits for other threads.
#ifndef KAI_GUARD_HOOKS_POOLS_H_
#define KAI_GUARD_HOOKS_POOLS_H_

#include "guard/hooks/process.h"

namespace kai::guard {

struct Keeper {
  int row = Place::kNowhere;
  CUdevice device = -1;
  CUmemoryPool pool = nullptr;  // null: the memory of the device's graphs
  uint64_t counted = 0;         // bytes in the row
  // What the program wants the pool to keep when it waits for the device. The guard makes the
  // driver keep all: if it made pools smaller by itself, another thread's request could make one
  // grow by more than was counted for it. So the guard makes them smaller, one thread at a time.
  cuuint64_t threshold = 0;
  // Pools grow by multiples of it, as far as was seen: requests are rounded up, so that no pool
  // is larger than what counts, not even during a call.
  uint64_t grain = uint64_t{32} << 20;
  // The program has destroyed the pool while its memory was in use. The driver still has it, as the
  // guard destroys it when it is empty: until then the driver says what it has.
  bool is_left = false;
};

class Keepers {
 public:
  Keepers() : locked_(&mutex_) {}

  // Null: there is no place for more of them, or it does not count.
  Keeper* OfGraphs(const Place& place) { return Of(place, nullptr); }
  Keeper* Of(const Place& place, CUmemoryPool pool);
  Keeper* Find(CUmemoryPool pool) const;
  // The program destroys the pool.
  CUresult Destroy(Keeper* keeper);

  // Counts what the driver has now.
  void Look(Keeper* keeper);
  // Counts bytes more, before a call of the driver. False: there is no room, also after Trim.
  bool Expect(Keeper* keeper, uint64_t bytes);
  // Counts what a call has changed. False: the driver has more than is counted, and there is no
  // room.
  bool Settle(Keeper* keeper);
  // Gives back to the driver what is not in use.
  void Trim(int row);
  void LookAtAll();
  // As the driver does when a program waits for the device.
  void Shrink();
  // Destroys pools that the program has destroyed and that are empty now.
  void DestroyEmpty();

  CUresult TrimGraphs(CUdevice device);
  // From 1. A graph that was launched before the last one may have to be given its memory again.
  static uint64_t trims_of_graphs() { return trims_.load(std::memory_order_relaxed); }

  static void Reset() { mutex_.Reset(); }

 private:
  void Drop(Keeper* keeper);

  static Mutex mutex_;
  static std::atomic<uint64_t> trims_;
  Locked locked_;
};

// Memory of a pool was given or taken back: the pool may become smaller at the next wait.
void NoteUseOfPool();
// The same for memory that was taken back, which may be the last of a destroyed pool. Keepers must
// not be in use.
void NoteFreeToPool();
// After waiting for a device: makes pools smaller, if one was used since the last time.
void ShrinkPools();

}  // namespace kai::guard

#endif  // KAI_GUARD_HOOKS_POOLS_H_

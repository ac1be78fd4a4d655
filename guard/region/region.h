// How much device memory the processes of a pod hold together, and how much they may.
//
//   wrong = the_region.Attach(file);  // a sentence
//   const int row = the_region.RowOf(uuid, total, LimitOfDevice(uuid, total), is_mig);
//   if (the_region.Reserve(place.row, bytes)) return true;
//   if (row >= 0) the_region.Release(row, bytes);  // the driver refused, or took it back
//
// Memory is counted before the driver gives it and until it has taken it back, so the sum of what
// processes hold is never above the limit, however their calls interleave.
//
// Invariants: under a row's lock, its sum is that of the slots. A process that ends at any point,
// also inside, leaves a slot whose lock has ended; what it held is given back when a request would
// be refused, when a process starts, or by Clean(). A number that was changed by others is restored
// from the process that it belongs to, or counted again; as long as that is impossible, requests
// are refused. Cost: Reserve and Release are O(1), a free lock and a few stores; a
// refusal is O(processes). Threads: all may call it at once. A process that is stopped inside those
// stores delays the others, for at most ten seconds; then they refuse.
#ifndef KAI_GUARD_REGION_REGION_H_
#define KAI_GUARD_REGION_REGION_H_

#include <array>
#include <cstdint>

#include "guard/region/file.h"
#include "guard/region/layout.h"
#include "guard/region/mutex.h"

namespace kai::guard {

class Region {
 public:
  // Opens the file, which may be empty, and takes a slot. Returns null, or what is wrong.
  const char* Attach(const char* path);
  bool is_attached() const { return layout_ != nullptr; }
  // In a forked child: the slot and all that it holds stay the parent's.
  void Forget();

  // The row of a device. The first process of the pod decides its limit; later ones keep it.
  // -1: there is no row left, or the file is damaged.
  int RowOf(const Uuid& device, uint64_t total, uint64_t limit, bool is_mig = false);
  // -1: no process of the pod has used the device.
  int FindRow(const Uuid& device) const;
  uint64_t LimitOf(int row) const { return limits_[row]; }
  // Also of a row that this process has not asked for.
  uint64_t LimitInFile(int row) const { return layout_->rows[row].limit.value(); }
  uint64_t UsedOf(int row) const { return layout_->rows[row].used.value(); }
  uint64_t UsedByProcess(int row) const { return layout_->slots[slot_].used[row].value(); }

  // What the first context that a process makes takes; 0: no process of the pod has measured it.
  uint64_t ContextOf(int row) const;
  void SetContext(int row, uint64_t bytes);
  // One process at a time, so that none measures another one's context; callers keep threads apart.
  bool BeginMeasuring();
  void EndMeasuring();

  // Adds bytes, unless the sum would exceed the limit.
  [[nodiscard]] bool Reserve(int row, uint64_t bytes);
  // Adds bytes that the driver has given already: they are counted even above the limit.
  void Force(int row, uint64_t bytes);
  void Release(int row, uint64_t bytes);
  // Counts a request that was refused after all attempts.
  void CountRefusal(int row);
  // Takes what processes held that have ended.
  void Clean();

 private:
  enum class Answer : uint8_t { kYes, kNo, kUnsure };  // kUnsure: the numbers are not valid

  void Fill();
  const char* Check() const;
  const char* TakeSlot();
  void GiveBack(int slot);
  int AddRow(const Uuid& device, uint64_t total, uint64_t limit, bool is_mig);
  bool Lock(Row* row);
  void Unlock(Row* row);
  bool IsAlive(uint64_t lock_word);
  bool Recount(int row);
  bool Settle(int row, uint64_t held);
  Answer TryReserve(int row, uint64_t bytes);
  void Change(int row, uint64_t more, uint64_t less);

  RegionFile file_;
  Layout* layout_ = nullptr;
  int slot_ = -1;
  std::array<uint64_t, kMostDevices> held_ = {};    // by this process; written under the row's lock
  std::array<uint64_t, kMostDevices> limits_ = {};  // of known rows
  Mutex cleaning_, adding_;  // the locks of the file keep processes apart, but not threads
};

}  // namespace kai::guard

#endif  // KAI_GUARD_REGION_REGION_H_

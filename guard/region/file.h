// The region's file: shared memory, and locks of single positions in it that end with the process.
//
//   const char* wrong = file_.Open(path, sizeof(Layout));  // a sentence
//   if (!file_.Lock(slot)) ...                             // another process has the slot
//
// The locks belong to the opened file, and shared memory keeps it open: they end when the process
// does, however it ends and whatever descriptors it closes, and in any container of the pod they
// say who is alive. (Process numbers do not: each container counts its own.)
//
// Invariants: a position that another process has locked cannot be locked. If another process
// shortens the file, the memory reads as zeros from then on, and no signal ends this one. Cost: a
// system call for each lock. Threads: the same process may lock a position twice; callers keep
// threads apart.
#ifndef KAI_GUARD_REGION_FILE_H_
#define KAI_GUARD_REGION_FILE_H_

#include <cstddef>
#include <cstdint>

namespace kai::guard {

class RegionFile {
 public:
  // Opens the file, and fills it with zeros if it is empty; the caller has the lock of the whole
  // then, and ends it. Returns null, or what is wrong.
  const char* Open(const char* path, size_t bytes);
  // Leaves the memory and the locks to the process that this one is a fork of.
  void Forget();

  void* memory() const { return memory_; }
  // Its memory reads as zeros since a write or read found no file behind it.
  static bool is_lost();
  static constexpr int kWhole = -1;      // for those that fill the file or add a row
  static constexpr int kMeasuring = -2;  // for the process that measures a context
  // Waits for the lock. Returns null, or what is wrong.
  const char* WaitFor(int position);
  bool Lock(int position);  // false: another process has it
  void Unlock(int position);
  bool IsLockedByOthers(int position);

 private:
  bool IsOurs(int descriptor) const;
  int Descriptor();
  bool Change(int command, short type, int64_t position);

  const char* path_ = nullptr;
  void* memory_ = nullptr;
  size_t bytes_ = 0;
  int descriptor_ = -1;
  uint64_t device_ = 0, inode_ = 0;
};

}  // namespace kai::guard

#endif  // KAI_GUARD_REGION_FILE_H_

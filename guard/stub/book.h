// The memory of pretended cards, which all processes on this machine share: a file in which each
// process writes what it holds. It is kept without any code of the guard, so that tests compare two
// accounts.
//
//   Book book;                        // STUB_BOOK, STUB_MEMORY, STUB_DEVICES, STUB_MEANWHILE
//   if (!book.Take(0, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
//
// A process that has ended holds nothing. Each call locks the file and looks at all processes:
// slow, and plain to see that it is right.
#ifndef KAI_GUARD_STUB_BOOK_H_
#define KAI_GUARD_STUB_BOOK_H_

#include <cstdint>

namespace stub {

inline constexpr int kMostDevices = 8;
inline constexpr int kMostProcesses = 512;

// Of an environment variable.
uint64_t NumberIn(const char* variable, uint64_t otherwise);

class Book {
 public:
  Book();
  int devices() const { return devices_; }
  uint64_t size() const { return size_; }

  bool Take(int device, uint64_t bytes);
  void Give(int device, uint64_t bytes);
  uint64_t Used(int device);
  // The most that was ever used.
  uint64_t Peak(int device);
  // What another process does while this function runs, by STUB_MEANWHILE.
  void Meanwhile(const char* function);

  struct Holder {
    int64_t pid;
    uint64_t used;
  };
  // Writes the processes that hold memory, up to `room` of them, and returns how many there are.
  unsigned int Holders(int device, Holder* found, unsigned int room);

 private:
  struct Entry {
    int64_t pid;
    uint64_t used[kMostDevices];
  };
  struct File {
    uint64_t peak[kMostDevices];
    Entry entries[kMostProcesses];
  };

  void Lock();
  void Unlock();
  uint64_t Sum(int device);
  Entry* EntryOf(int64_t pid);

  int devices_ = 1;
  uint64_t size_ = 0;
  int descriptor_ = -1;
  int64_t pid_ = 0;  // of the process that opened the file
  int calls_ = 0;    // of the function in STUB_MEANWHILE
  const char* path_ = nullptr;
  File* file_ = nullptr;
};

}  // namespace stub

#endif  // KAI_GUARD_STUB_BOOK_H_

#include "guard/stub/book.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

namespace stub {
namespace {

pthread_mutex_t of_process = PTHREAD_MUTEX_INITIALIZER;

// A process that was killed and that its parent has not waited for has no memory any more.
bool HasEnded(int64_t pid) {
  char path[64];
  char text[512];
  snprintf(path, sizeof(path), "/proc/%ld/stat", static_cast<long>(pid));
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return true;
  const ssize_t size = read(descriptor, text, sizeof(text) - 1);
  close(descriptor);
  if (size <= 0) return true;
  text[size] = '\0';
  const char* state = strrchr(text, ')');
  return state == nullptr || state[2] == 'Z' || state[2] == 'X';
}

}  // namespace

uint64_t NumberIn(const char* variable, uint64_t otherwise) {
  const char* text = getenv(variable);
  return text == nullptr || text[0] == '\0' ? otherwise : strtoull(text, nullptr, 10);
}

Book::Book()
    : devices_(static_cast<int>(NumberIn("STUB_DEVICES", 1))),
      size_(NumberIn("STUB_MEMORY", uint64_t{1} << 30)),
      path_(getenv("STUB_BOOK")) {
  if (path_ == nullptr) {
    fprintf(stderr, "stub: STUB_BOOK names no file\n");
    abort();
  }
}

void Book::Lock() {
  pthread_mutex_lock(&of_process);
  if (pid_ != getpid()) {  // a forked child locks for itself
    pid_ = getpid();
    descriptor_ = open(path_, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0 || ftruncate(descriptor_, sizeof(File)) != 0) abort();
    void* memory = mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (memory == MAP_FAILED) abort();
    file_ = static_cast<File*>(memory);
  }
  while (flock(descriptor_, LOCK_EX) != 0) {
  }
}

void Book::Unlock() {
  flock(descriptor_, LOCK_UN);
  pthread_mutex_unlock(&of_process);
}

uint64_t Book::Sum(int device) {
  uint64_t sum = 0;
  for (Entry& entry : file_->entries) {
    if (entry.pid == 0) continue;
    if (HasEnded(entry.pid)) entry = Entry();
    sum += entry.used[device];
  }
  return sum;
}

Book::Entry* Book::EntryOf(int64_t pid) {
  for (Entry& entry : file_->entries) {
    if (entry.pid == pid) return &entry;
  }
  for (Entry& entry : file_->entries) {
    if (entry.pid != 0) continue;
    entry.pid = pid;
    return &entry;
  }
  abort();
}

bool Book::Take(int device, uint64_t bytes) {
  Lock();
  const uint64_t used = Sum(device);
  const bool fits = used <= size_ && bytes <= size_ - used;
  if (fits) {
    EntryOf(pid_)->used[device] += bytes;
    if (file_->peak[device] < used + bytes) file_->peak[device] = used + bytes;
  }
  Unlock();
  return fits;
}

void Book::Give(int device, uint64_t bytes) {
  Lock();
  EntryOf(pid_)->used[device] -= bytes;
  Unlock();
}

uint64_t Book::Used(int device) {
  Lock();
  const uint64_t used = Sum(device);
  Unlock();
  return used;
}

unsigned int Book::Holders(int device, Holder* found, unsigned int room) {
  unsigned int count = 0;
  Lock();
  Sum(device);  // forgets processes that have ended
  for (const Entry& entry : file_->entries) {
    if (entry.pid == 0 || entry.used[device] == 0) continue;
    if (count < room) found[count] = {entry.pid, entry.used[device]};
    ++count;
  }
  Unlock();
  return count;
}

uint64_t Book::Peak(int device) {
  Lock();
  const uint64_t peak = file_->peak[device];
  Unlock();
  return peak;
}

void Book::Meanwhile(const char* function) {
  constexpr int64_t kOther = 1;  // a process that never ends
  const char* text = getenv("STUB_MEANWHILE");
  const size_t length = strlen(function);
  if (text == nullptr || strncmp(text, function, length) != 0 || text[length] != ':') return;
  Lock();
  const char* at = text + length;
  for (int call = 0; call < calls_ && at != nullptr; ++call) at = strchr(at + 1, ',');
  ++calls_;
  if (at != nullptr) {
    // Numbers below zero wrap around, as does the sum.
    EntryOf(kOther)->used[0] += static_cast<uint64_t>(strtoll(at + 1, nullptr, 10));
  }
  Unlock();
}

}  // namespace stub

#include "guard/region/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace kai::guard {
namespace {

constexpr int64_t kFirstLock = int64_t{1} << 40;  // behind the end of the file

// The wrappers of fstat are newer than the systems on which the library has to load.
bool StatOf(int descriptor, struct stat* found) {
  return syscall(SYS_fstat, descriptor, found) == 0;
}

// Programs without standard streams would write their texts into the file.
int AboveStandard(int descriptor) {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  const int above = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(descriptor);
  return above;
}

struct flock LockOf(short type, int64_t position) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = kFirstLock + 1 + position;
  lock.l_len = 1;
  return lock;
}

// ---- a file that another process shortens -------------------------------------------------------

std::atomic<uintptr_t> mapped_at{0};
std::atomic<size_t> mapped_bytes{0};
std::atomic<bool> was_lost{false};
struct sigaction earlier;

void OnBusError(int signal, siginfo_t* info, void* context) {
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  const uintptr_t start = mapped_at.load(std::memory_order_relaxed);
  const size_t bytes = mapped_bytes.load(std::memory_order_relaxed);
  if (start != 0 && at >= start && at < start + bytes) {
    was_lost.store(true, std::memory_order_relaxed);
    // Zeros are no valid numbers, so that all requests are refused from now on.
    if (mmap(reinterpret_cast<void*>(start), bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
      return;
    }
  }
  if ((earlier.sa_flags & SA_SIGINFO) != 0 && earlier.sa_sigaction != nullptr) {
    earlier.sa_sigaction(signal, info, context);
  } else if (earlier.sa_handler != SIG_DFL && earlier.sa_handler != SIG_IGN) {
    earlier.sa_handler(signal);
  } else {
    sigaction(signal, &earlier, nullptr);  // the instruction fails again, and ends the process
  }
}

void SurviveAShortFile(void* memory, size_t bytes) {
  const bool is_first = mapped_at.load(std::memory_order_relaxed) == 0;
  mapped_bytes.store(bytes, std::memory_order_relaxed);
  mapped_at.store(reinterpret_cast<uintptr_t>(memory), std::memory_order_relaxed);
  if (!is_first) return;
  struct sigaction action = {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;  // threads of Go have small stacks
  sigaction(SIGBUS, &action, &earlier);
}

}  // namespace

bool RegionFile::is_lost() { return was_lost.load(std::memory_order_relaxed); }

const char* RegionFile::Open(const char* path, size_t bytes) {
  was_lost.store(false, std::memory_order_relaxed);
  path_ = path;
  bytes_ = bytes;
  struct stat found;
  // It is not made here: a process that finds none would count apart from those that have one.
  const int descriptor = AboveStandard(open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (descriptor < 0 && errno == ENOENT) {
    return "it is missing: one empty file has to be made for the pod, and never be removed";
  }
  if (descriptor < 0) return "it cannot be opened for writing";
  if (!StatOf(descriptor, &found) || !S_ISREG(found.st_mode)) {
    close(descriptor);
    return "it is not a regular file";
  }
  descriptor_ = descriptor;
  device_ = found.st_dev;
  inode_ = found.st_ino;
  if (const char* wrong = WaitFor(kWhole)) return wrong;
  if (StatOf(descriptor, &found) && found.st_size == 0) {
    // Not only its size: a full file system would end the process when a page is first written.
    if (posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)) != 0) {
      static_cast<void>(!ftruncate(descriptor, 0));
      Unlock(kWhole);
      return "its file system has no room for it";
    }
  } else if (found.st_size != static_cast<off_t>(bytes)) {
    Unlock(kWhole);
    return "it has another size: it belongs to another version of the guard, or was shortened";
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) {
    Unlock(kWhole);
    return "it cannot be mapped";
  }
  memory_ = memory;
  SurviveAShortFile(memory, bytes);
  return nullptr;
}

void RegionFile::Forget() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
  if (IsOurs(descriptor_)) close(descriptor_);
  *this = RegionFile();
}

// Not by a call that waits: a signal would end it, and a process that was stopped here would stop
// all others.
const char* RegionFile::WaitFor(int position) {
  constexpr int kMostTries = 10'000;
  const timespec pause = {.tv_sec = 0, .tv_nsec = 1'000'000};
  for (int i = 0; i < kMostTries; ++i) {
    if (Lock(position)) return nullptr;
    if (errno != EAGAIN && errno != EACCES) return "its file system has no locks of opened files";
    nanosleep(&pause, nullptr);
  }
  return "another process has kept the lock of the file for ten seconds";
}
bool RegionFile::Lock(int position) { return Change(F_OFD_SETLK, F_WRLCK, position); }
void RegionFile::Unlock(int position) { Change(F_OFD_SETLK, F_UNLCK, position); }

bool RegionFile::IsLockedByOthers(int position) {
  struct flock lock = LockOf(F_WRLCK, position);
  const int descriptor = Descriptor();
  // Without an answer it counts as alive, so that nothing is taken from it.
  return descriptor < 0 || fcntl(descriptor, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

bool RegionFile::IsOurs(int descriptor) const {
  struct stat found;
  return descriptor >= 0 && StatOf(descriptor, &found) && found.st_dev == device_ &&
         found.st_ino == inode_;
}

// Programs that become daemons close all descriptors, and may have given the number to another
// file.
int RegionFile::Descriptor() {
  if (IsOurs(descriptor_)) return descriptor_;
  const int descriptor = AboveStandard(open(path_, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (descriptor < 0) return -1;
  if (!IsOurs(descriptor)) {
    close(descriptor);
    return -1;
  }
  descriptor_ = descriptor;
  return descriptor;
}

bool RegionFile::Change(int command, short type, int64_t position) {
  struct flock lock = LockOf(type, position);
  const int descriptor = Descriptor();
  return descriptor >= 0 && fcntl(descriptor, command, &lock) == 0;
}

}  // namespace kai::guard

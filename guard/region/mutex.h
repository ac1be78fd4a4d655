// A lock of this process that needs no C++ library, and can be made new in a forked child.
//
//   Mutex joining;
//   const Locked locked(&joining);
//   joining.Reset();                // in a forked child
//
// Invariants: its memory needs no constructor to run, so it works before all others have. Cost:
// that of a pthread_mutex_t. Threads: any, except for Reset, which belongs to a child's only
// thread.
#ifndef KAI_GUARD_REGION_MUTEX_H_
#define KAI_GUARD_REGION_MUTEX_H_

#include <pthread.h>

namespace kai::guard {

class Mutex {
 public:
  void Lock() { pthread_mutex_lock(&mutex_); }
  void Unlock() { pthread_mutex_unlock(&mutex_); }
  // In a forked child: a thread that the child does not have may have had the lock.
  void Reset() { mutex_ = PTHREAD_MUTEX_INITIALIZER; }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class Locked {
 public:
  explicit Locked(Mutex* mutex) : mutex_(mutex) { mutex_->Lock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() { mutex_->Unlock(); }

 private:
  Mutex* mutex_;
};

}  // namespace kai::guard

#endif  // KAI_GUARD_REGION_MUTEX_H_

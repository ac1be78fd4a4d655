// Checks for our own bugs: KAI_CHECK always, KAI_DCHECK only where NDEBUG is off (hot loops).
//
//   KAI_CHECK(groups > 0) << "the pod has " << groups << " groups"
//
// A failed check prints file, line, condition and message, and aborts. What a user can cause is
// never a check: it is a Status (see status_macros.h). The oldest Abseil we build with (20220623)
// has no absl/log, hence these few lines.
//
// Invariants: the message is put together only when the check fails; a KAI_DCHECK in a release
// build does not even evaluate its condition. Cost: one branch. Threads: any.
#ifndef KAI_BASE_CHECK_H_
#define KAI_BASE_CHECK_H_

#include <sstream>

namespace kai::internal {

class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure();
  std::ostream& stream() { return message_; }

 private:
  std::ostringstream message_;
};

// Gives the streaming expression type void, so that it can stand in a conditional operator.
struct Voidify {
  void operator&(std::ostream&) const {}
};

}  // namespace kai::internal

#define KAI_CHECK(condition)                 \
  (condition) ? static_cast<void>(0)         \
              : ::kai::internal::Voidify() & \
                    ::kai::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()

#ifdef NDEBUG
#define KAI_DCHECK(condition) KAI_CHECK(true || (condition))
#else
#define KAI_DCHECK(condition) KAI_CHECK(condition)
#endif

#endif  // KAI_BASE_CHECK_H_

// Checks for bugs of our own: KAI_CHECK in every build, KAI_DCHECK (for hot loops) only without
// NDEBUG.
//
//   KAI_CHECK(groups > 0) << "the pod has " << groups << " groups"
//
// A failed check prints file, line, condition and message, and aborts. An error that a user can
// cause is never a check but a Status (see status_macros.h). These lines exist because the oldest
// Abseil we build with (20220623) has no absl/log.
//
// Invariants: the message is built only when the check fails; in a release build, a KAI_DCHECK does
// not evaluate its condition. Cost: one branch. Threads: any.
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

// Gives the streaming expression the type void, so that it can be an operand of `?:`.
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

// FieldStatus: OK, or which field of an object is wrong and why.
//
//   const FieldStatus status = FieldStatus::Bad("is negative") ...
//   .Inside("requests")
//   .Inside("spec")
//   status.field()                      // "spec.containers[0].requests[\"cpu\"]"
//
// Invariants: the path grows from the innermost field outwards as the readers return; OK stays OK.
// Cost: an OK status is one null pointer. Threads: a plain value.
#ifndef KAI_INGEST_FIELD_STATUS_H_
#define KAI_INGEST_FIELD_STATUS_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace kai {

class [[nodiscard]] FieldStatus {
 public:
  FieldStatus() = default;  // OK

  static FieldStatus Bad(std::string message) { return Bad("", std::move(message)); }
  static FieldStatus Bad(std::string field, std::string message);

  bool ok() const { return error_ == nullptr; }
  const std::string& field() const { return error_->field; }      // only if not ok()
  const std::string& message() const { return error_->message; }  // only if not ok()

  // Adds the enclosing object to the path: `step` is a member's name, or "[3]", or "[\"cpu\"]".
  FieldStatus Inside(std::string_view step) &&;

 private:
  struct Error {
    std::string field;
    std::string message;
  };
  struct Delete {
    void operator()(Error* error) const;  // not inline: readers have one per field
  };
  std::unique_ptr<Error, Delete> error_;
};

}  // namespace kai

#define KAI_RETURN_IF_BAD(expression)                    \
  do {                                                   \
    ::kai::FieldStatus kai_field_status = (expression);  \
    if (!kai_field_status.ok()) return kai_field_status; \
  } while (false)

#endif  // KAI_INGEST_FIELD_STATUS_H_

#include "kai/ingest/field_status.h"

namespace kai {

void FieldStatus::Delete::operator()(Error* error) const { delete error; }

FieldStatus FieldStatus::Bad(std::string field, std::string message) {
  FieldStatus status;
  status.error_.reset(new Error{std::move(field), std::move(message)});
  return status;
}

FieldStatus FieldStatus::Inside(std::string_view step) && {
  if (ok()) return FieldStatus();
  std::string& field = error_->field;
  const bool joined = field.empty() || field.front() == '[';
  field = std::string(step) + (joined ? "" : ".") + field;
  return std::move(*this);
}

}  // namespace kai

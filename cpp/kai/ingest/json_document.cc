#include "kai/ingest/json_document.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "absl/status/status.h"
#include "kai/base/status_macros.h"
#include "kai/base/text.h"
#include "kai/ingest/json_check.h"

namespace kai {

absl::StatusOr<JsonObject> JsonDocument::Parse(std::string_view json) {
  if (json.size() > simdjson::SIMDJSON_MAXSIZE_BYTES - simdjson::SIMDJSON_PADDING) {
    return absl::InvalidArgumentError("is larger than 4 GB");
  }
  if (absl::Status status = CheckJson(json); !status.ok()) {
    return absl::InvalidArgumentError(StrCat("is not valid JSON: ", std::string(status.message())));
  }

  const size_t padded = json.size() + simdjson::SIMDJSON_PADDING;
  if (padded > capacity_) {
    bytes_.reset(new (std::nothrow) char[padded]);
    capacity_ = bytes_ == nullptr ? 0 : padded;
    if (bytes_ == nullptr) return absl::ResourceExhaustedError("does not fit into memory");
  }
  std::memcpy(bytes_.get(), json.data(), json.size());
  std::memset(bytes_.get() + json.size(), 0, simdjson::SIMDJSON_PADDING);

  simdjson::error_code error = parser_.iterate(bytes_.get(), json.size(), capacity_).get(document_);
  JsonObject object;
  if (error == simdjson::SUCCESS) {
    simdjson::ondemand::json_type type;
    error = document_.type().get(type);
    if (error == simdjson::SUCCESS && type != simdjson::ondemand::json_type::object) {
      return absl::InvalidArgumentError("is not a JSON object");
    }
  }
  if (error == simdjson::SUCCESS) error = document_.get_object().get(object);
  if (error == simdjson::MEMALLOC) return absl::ResourceExhaustedError("does not fit into memory");
  if (error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(StrCat("cannot be read: ", simdjson::error_message(error)));
  }
  return object;
}

}  // namespace kai

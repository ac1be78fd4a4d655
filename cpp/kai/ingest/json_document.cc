#include "kai/ingest/json_document.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "absl/status/status.h"
#include "kai/base/status_macros.h"
#include "kai/base/text.h"
#include "kai/ingest/json_check.h"
#include "kai/ingest/json_inside.h"

namespace kai {

struct JsonDocument::State {
  std::unique_ptr<char[]> bytes;
  size_t capacity = 0;
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
};

JsonDocument::JsonDocument() : state_(std::make_unique<State>()) {}
JsonDocument::~JsonDocument() = default;

absl::StatusOr<JsonObject> JsonDocument::Parse(std::string_view json) {
  if (json.size() > simdjson::SIMDJSON_MAXSIZE_BYTES - simdjson::SIMDJSON_PADDING) {
    return absl::InvalidArgumentError("is larger than 4 GB");
  }
  if (absl::Status status = CheckJson(json); !status.ok()) {
    return absl::InvalidArgumentError(StrCat("is not valid JSON: ", std::string(status.message())));
  }

  const size_t padded = json.size() + simdjson::SIMDJSON_PADDING;
  if (padded > state_->capacity) {
    state_->bytes.reset(new (std::nothrow) char[padded]);
    state_->capacity = state_->bytes == nullptr ? 0 : padded;
    if (state_->bytes == nullptr) return absl::ResourceExhaustedError("does not fit into memory");
  }
  std::memcpy(state_->bytes.get(), json.data(), json.size());
  std::memset(state_->bytes.get() + json.size(), 0, simdjson::SIMDJSON_PADDING);

  simdjson::error_code error =
      state_->parser.iterate(state_->bytes.get(), json.size(), state_->capacity)
          .get(state_->document);
  simdjson::ondemand::object object;
  if (error == simdjson::SUCCESS) {
    simdjson::ondemand::json_type type;
    error = state_->document.type().get(type);
    if (error == simdjson::SUCCESS && type != simdjson::ondemand::json_type::object) {
      return absl::InvalidArgumentError("is not a JSON object");
    }
  }
  if (error == simdjson::SUCCESS) error = state_->document.get_object().get(object);
  if (error == simdjson::MEMALLOC) return absl::ResourceExhaustedError("does not fit into memory");
  if (error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(StrCat("cannot be read: ", simdjson::error_message(error)));
  }
  return JsonInside::Wrap<JsonObject>(object);
}

}  // namespace kai

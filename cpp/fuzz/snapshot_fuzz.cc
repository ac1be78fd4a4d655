// Snapshots of any bytes: never a crash; an error is one sentence, and a rejected object has a kind
// and a reason.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kai/base/check.h"
#include "kai/ingest/json_check.h"
#include "kai/ingest/snapshot_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<kai::SnapshotFile> file = kai::ReadSnapshot(json);
  if (!file.ok()) {
    const std::string message(file.status().message());
    KAI_CHECK(!message.empty() && message.size() < 1000) << message;
    // Readers may report wrong types and values, but only CheckJson reports invalid grammar.
    if (kai::CheckJson(json).ok())
      KAI_CHECK(message.find("not valid JSON") == message.npos) << message;
    return 0;
  }
  KAI_CHECK(file->cluster != nullptr);
  for (const kai::Rejection& rejection : file->cluster->rejections()) {
    KAI_CHECK(!rejection.kind.empty() && !rejection.message.empty()) << rejection.name;
  }
  return 0;
}

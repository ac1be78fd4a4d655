// For tests: reads one object from a JSON literal.
//
//   EXPECT_EQ(ReadForTest(&ReadPod, R"({"metadata": {"name": "p"}})").name, "p");
//   EXPECT_EQ(Complaint(&ReadPod, R"({"metadata": {"name": "p"}, "spec": 5})"),
//             "Pod p: spec: expected an object, found a number");
#ifndef KAI_INGEST_READ_FOR_TEST_H_
#define KAI_INGEST_READ_FOR_TEST_H_

#include <optional>
#include <string>
#include <string_view>

#include "kai/base/check.h"
#include "kai/base/text.h"
#include "kai/ingest/json_document.h"
#include "kai/ingest/json_reader.h"
#include "kai/model/rows/rows.h"

namespace kai {

template <typename Row>
struct ReadResult {
  Row row;
  std::optional<Rejection> rejection;
};

template <typename Row>
ReadResult<Row> TryReadForTest(std::optional<Rejection> (*read)(JsonObject, Row*),
                               std::string_view json) {
  JsonDocument document;
  const absl::StatusOr<JsonObject> object = document.Parse(json);
  KAI_CHECK(object.ok()) << object.status().message() << "\n" << json;
  ReadResult<Row> result;
  result.rejection = read(*object, &result.row);
  return result;
}

// The row of an object that must be valid.
template <typename Row>
Row ReadForTest(std::optional<Rejection> (*read)(JsonObject, Row*), std::string_view json) {
  ReadResult<Row> result = TryReadForTest(read, json);
  KAI_CHECK(!result.rejection.has_value())
      << result.rejection->field << ": " << result.rejection->message << "\n"
      << json;
  return std::move(result.row);
}

// "Kind name: field: message" for an invalid object, otherwise "fine".
template <typename Row>
std::string Complaint(std::optional<Rejection> (*read)(JsonObject, Row*), std::string_view json) {
  const ReadResult<Row> result = TryReadForTest(read, json);
  if (!result.rejection.has_value()) return "fine";
  return StrCat(result.rejection->kind, " ", result.rejection->name, ": ", result.rejection->field,
                ": ", result.rejection->message);
}

}  // namespace kai

#endif  // KAI_INGEST_READ_FOR_TEST_H_

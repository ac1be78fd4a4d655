#include "kai/ingest/json_document.h"

#include <gtest/gtest.h>

#include <string>

namespace kai::json_document_test {
namespace {

TEST(JsonDocumentTest, SaysWhatIsNoJson) {
  JsonDocument document;
  EXPECT_EQ(document.Parse("{\"a\": }").status().message(),
            "is not valid JSON: byte 6: expected a value, found '}'");
  EXPECT_EQ(document.Parse("").status().message(),
            "is not valid JSON: byte 0: expected a value, found the end");
}

TEST(JsonDocumentTest, SaysWhatIsNoObject) {
  JsonDocument document;
  for (const char* json : {"[]", "[{}]", "5", "\"{}\"", "null", "true"}) {
    EXPECT_EQ(document.Parse(json).status().message(), "is not a JSON object") << json;
  }
}

TEST(JsonDocumentTest, ReadsOneTextAfterAnotherWithTheSameBuffers) {
  JsonDocument document;
  for (int size : {10, 1'000'000, 100, 0, 10'000}) {
    const std::string json = R"({"metadata": {"name": ")" + std::string(size, 'x') + R"("}})";
    absl::StatusOr<JsonObject> object = document.Parse(json);
    ASSERT_TRUE(object.ok());
    EXPECT_EQ(NameOf(*object).size(), size);
    EXPECT_FALSE(document.Parse(json.substr(1)).ok());
  }
}

TEST(JsonDocumentTest, NeedsNoPaddingBehindTheText) {
  const std::string padded = "{\"metadata\": {\"name\": \"n\"}}garbage";
  JsonDocument document;
  absl::StatusOr<JsonObject> object =
      document.Parse(std::string_view(padded).substr(0, padded.size() - 7));
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(NameOf(*object), "n");
}

}  // namespace
}  // namespace kai::json_document_test

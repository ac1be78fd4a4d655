#include "kai/ingest/json_document.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include "kai/base/text.h"
#include "kai/ingest/json_check.h"

namespace kai::json_document_test {
namespace {

TEST(JsonDocumentTest, RejectsInvalidJson) {
  JsonDocument document;
  EXPECT_EQ(document.Parse("{\"a\": }").status().message(),
            "is not valid JSON: byte 6: expected a value, found '}'");
  EXPECT_EQ(document.Parse("").status().message(),
            "is not valid JSON: byte 0: expected a value, found the end");
}

TEST(JsonDocumentTest, RejectsAValueThatIsNoObject) {
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

TEST(JsonDocumentTest, NeedsNoPaddingWithAnyOfSimdjsonsImplementations) {
  const std::string json = R"({"metadata": {"name": "caf)"
                           "\u00e9"
                           R"("}})";
  const simdjson::implementation* const active = simdjson::get_active_implementation();
  for (const simdjson::implementation* each : simdjson::get_available_implementations()) {
    if (!each->supported_by_runtime_system()) continue;
    simdjson::get_active_implementation() = each;
    const auto exact = std::make_unique<char[]>(json.size());
    JsonDocument document;
    for (size_t size = 0; size <= json.size(); ++size) {
      const std::string_view text(std::copy_n(json.data(), size, exact.get()) - size, size);
      absl::StatusOr<JsonObject> object = document.Parse(text);
      EXPECT_EQ(object.ok(), size == json.size()) << each->name() << size;
      if (!object.ok()) continue;
      EXPECT_EQ(NameOf(*object), "caf\u00e9");
    }
  }
  simdjson::get_active_implementation() = active;
}

TEST(JsonDocumentTest, AcceptsEveryTextThatTheCheckAccepts) {
  const std::string seed = R"({"a":[1,-2.5e3,"x\n\u0041\"",{"b":null,"c":true}],"d":"caf)"
                           "\u00e9"
                           R"(","e":{},"f":[],"g":[[{}],false, 0 ,"\\"]} )";
  constexpr std::string_view kBytes = "{}[]\",:\\ 0e-.tnux\x80\xc3\n\f\x1a";
  std::mt19937 random(1);
  JsonDocument document;
  int accepted = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string text = seed;
    for (uint64_t changes = 1 + random() % 3; changes > 0 && text.size() > 1; --changes) {
      text[random() % text.size()] = kBytes[random() % kBytes.size()];
      if (random() % 2 == 0) text.erase(random() % text.size(), 1);
      if (random() % 8 == 0) text.resize(1 + random() % text.size());
    }
    const absl::Status check = CheckJson(text);
    const absl::StatusOr<JsonObject> object = document.Parse(text);
    const bool is_object = check.ok() && text.find_first_not_of(" \n") == text.find('{');
    EXPECT_EQ(object.ok(), is_object) << text;
    accepted += object.ok() ? 1 : 0;
    if (object.ok()) continue;
    EXPECT_EQ(object.status().message(),
              check.ok() ? std::string("is not a JSON object")
                         : StrCat("is not valid JSON: ", std::string(check.message())))
        << text;
  }
  EXPECT_GT(accepted, 1000);
}

TEST(JsonDocumentTest, RejectsTextNestedTooDeepOrNotClosed) {
  const auto nested = [](int levels, int closed) {
    std::string text = R"({"x":)";
    for (int i = 1; i < levels; ++i) text += '[';
    for (int i = 1; i < closed; ++i) text += ']';
    return text + '}';
  };
  JsonDocument document;
  EXPECT_TRUE(document.Parse(nested(1000, 1000)).ok());
  EXPECT_FALSE(document.Parse(nested(1001, 1001)).ok());
  for (const char* text : {R"({"a":{})", R"({"a":{"b":{})", R"({"a":{"b":{"c":{})", R"({"a":[{})",
                           R"({"a"})", R"({"a":})", R"({"a":{}}})", R"({"a":tr})", R"({,})", "}"}) {
    EXPECT_FALSE(document.Parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace kai::json_document_test

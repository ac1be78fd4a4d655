#include "kai/ingest/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/base/text.h"
#include "kai/ingest/json_document.h"

namespace kai::json_reader_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// Reads the member "x" of an object; returns "" if it is OK, otherwise "field: message".
template <typename Visit>
std::string ReadX(std::string_view json, Visit&& visit) {
  JsonDocument document;
  absl::StatusOr<JsonObject> object = document.Parse(json);
  if (!object.ok()) return std::string(object.status().message());
  const FieldStatus status = ForEachMember(*object, [&](std::string_view key, JsonValue& value) {
    return key == "x" ? visit(value) : Skip();
  });
  return status.ok() ? "" : status.field() + ": " + status.message();
}

TEST(JsonReaderTest, SkipsUnknownMembersWithAnyContent) {
  std::string text;
  EXPECT_EQ(ReadX(R"({"a": [[{"x": 1}], "}"], "b": {"x": {"x": "\""}}, "x": "found", "c": 1e999})",
                  [&](JsonValue& x) { return ReadString(x, &text); }),
            "");
  EXPECT_EQ(text, "found");
}

TEST(JsonReaderTest, TreatsNullAsAbsent) {
  std::string text = "before";
  EXPECT_EQ(ReadX(R"({"x": null})", [&](JsonValue& x) { return ReadString(x, &text); }), "");
  EXPECT_EQ(text, "before");
}

TEST(JsonReaderTest, TheLastOfTwoEqualMembersIsUsed) {
  std::string text;
  EXPECT_EQ(
      ReadX(R"({"x": "first", "x": "last"})", [&](JsonValue& x) { return ReadString(x, &text); }),
      "");
  EXPECT_EQ(text, "last");
  StringPairs labels;
  EXPECT_EQ(ReadX(R"({"x": {"k": "first", "j": "", "k": "last"}})",
                  [&](JsonValue& x) { return ReadStringMap(x, &labels); }),
            "");
  EXPECT_THAT(labels, ElementsAre(Pair("j", ""), Pair("k", "last")));
}

TEST(JsonReaderTest, KeepsTheOrderOfAMapWithoutRepeats) {
  StringPairs labels;
  EXPECT_EQ(ReadX(R"({"x": {"b": "1", "a": "2", "c": null}})",
                  [&](JsonValue& x) { return ReadStringMap(x, &labels); }),
            "");
  EXPECT_THAT(labels, ElementsAre(Pair("b", "1"), Pair("a", "2")));
}

TEST(JsonReaderTest, FindsRepeatsInAMapOfMillions) {
  std::string json = R"({"x": {)";
  for (int i = 0; i < 200'000; ++i) StrAppend(&json, '"', i % 100'000, "\": \"", i, "\",");
  json.back() = '}';
  StringPairs labels;
  EXPECT_EQ(ReadX(json + "}", [&](JsonValue& x) { return ReadStringMap(x, &labels); }), "");
  EXPECT_EQ(labels.size(), 100'000);
  EXPECT_THAT(labels.front(), Pair("0", "100000"));
}

TEST(JsonReaderTest, DecodesEscapesInKeysAndValues) {
  std::string text;
  EXPECT_EQ(ReadX(R"({"\u0078": "a\"\\\/\b\f\n\r\t\u00e9\u4e2d\ud83d\ude00z"})",
                  [&](JsonValue& x) { return ReadString(x, &text); }),
            "");
  EXPECT_EQ(text, "a\"\\/\b\f\n\r\t\u00e9\u4e2d\U0001f600z");
}

TEST(JsonReaderTest, ReplacesHalfASurrogatePair) {
  std::string text;
  EXPECT_EQ(ReadX(R"({"x": "\ud83d \ude00 \ud83d\u0041 \ud83d\ud83d\ude00"})",
                  [&](JsonValue& x) { return ReadString(x, &text); }),
            "");
  EXPECT_EQ(text, "\ufffd \ufffd \ufffdA \ufffd\U0001f600");
}

TEST(JsonReaderTest, ErrorsNameTheExpectedAndTheFoundType) {
  std::string text;
  bool flag = false;
  double number = 0;
  int64_t integer = 0;
  std::vector<std::string> list;
  StringPairs map;
  const auto any = [](JsonValue&) { return Skip(); };
  const auto member = [](std::string_view, JsonValue&) { return Skip(); };
  EXPECT_EQ(ReadX(R"({"x": 1})", [&](JsonValue& x) { return ReadString(x, &text); }),
            "x: expected a string, found a number");
  EXPECT_EQ(ReadX(R"({"x": []})", [&](JsonValue& x) { return ReadString(x, &text); }),
            "x: expected a string, found a list");
  EXPECT_EQ(ReadX(R"({"x": "true"})", [&](JsonValue& x) { return ReadBool(x, &flag); }),
            "x: expected a boolean, found a string");
  EXPECT_EQ(ReadX(R"({"x": {}})", [&](JsonValue& x) { return ReadDouble(x, &number); }),
            "x: expected a number, found an object");
  EXPECT_EQ(ReadX(R"({"x": true})", [&](JsonValue& x) { return ReadInt(x, &integer); }),
            "x: expected a whole number, found a boolean");
  EXPECT_EQ(ReadX(R"({"x": {}})", [&](JsonValue& x) { return ReadStrings(x, &list); }),
            "x: expected a list, found an object");
  EXPECT_EQ(ReadX(R"({"x": ["a", null]})", [&](JsonValue& x) { return ReadStrings(x, &list); }),
            "x[1]: expected a string, found null");
  EXPECT_EQ(ReadX(R"({"x": {"app": 5}})", [&](JsonValue& x) { return ReadStringMap(x, &map); }),
            "x[\"app\"]: expected a string, found a number");
  EXPECT_EQ(ReadX(R"({"x": 5})", [&](JsonValue& x) { return ForEachElement(x, any); }),
            "x: expected a list, found a number");
  EXPECT_EQ(ReadX(R"({"x": [5]})", [&](JsonValue& x) { return ForEachMember(x, member); }),
            "x: expected an object, found a list");
}

TEST(JsonReaderTest, ReadsIntegersExactlyAndChecksTheirRange) {
  int64_t number = 0;
  const auto read = [&](std::string_view json) {
    return ReadX(json, [&](JsonValue& x) { return ReadInt(x, &number); });
  };
  EXPECT_EQ(read(R"({"x": 9223372036854775807 })"), "");
  EXPECT_EQ(number, 9223372036854775807);
  EXPECT_EQ(read(R"({"x": -9223372036854775808})"), "");
  EXPECT_EQ(read(R"({"x": 9223372036854775808})"), "x: 9223372036854775808 is out of range");
  EXPECT_EQ(read(R"({"x": 123456789012345678901234567890})"),
            "x: 123456789012345678901234567890 is out of range");
  EXPECT_EQ(read(R"({"x": 1.5})"), "x: expected a whole number, found 1.5");
  EXPECT_EQ(read(R"({"x": 1e3})"), "x: expected a whole number, found 1e3");
  const auto read32 = [&](std::string_view json) {
    return ReadX(json, [&](JsonValue& x) { return ReadInt(x, &number, 0, kMaxInt32); });
  };
  EXPECT_EQ(read32(R"({"x": 2147483647})"), "");
  EXPECT_EQ(read32(R"({"x": 2147483648})"), "x: 2147483648 is out of range");
  EXPECT_EQ(read32(R"({"x": -1})"), "x: -1 is negative");
}

TEST(JsonReaderTest, ReadsDoubles) {
  double number = 0;
  const auto read = [&](std::string_view json) {
    return ReadX(json, [&](JsonValue& x) { return ReadDouble(x, &number); });
  };
  EXPECT_EQ(read(R"({"x": -1})"), "");
  EXPECT_EQ(number, -1);
  EXPECT_EQ(read(R"({"x": 0.30000000000000004})"), "");
  EXPECT_EQ(number, 0.30000000000000004);
  EXPECT_EQ(read(R"({"x": 1e999})"), "x: 1e999 is out of range");
}

TEST(JsonReaderTest, CutsLongKeysInPaths) {
  StringPairs map;
  EXPECT_EQ(ReadX(R"({"x": {")" + std::string(50'000'000, 'k') + R"(": 5}})",
                  [&](JsonValue& x) { return ReadStringMap(x, &map); }),
            "x[\"" + std::string(64, 'k') + "...\"]: expected a string, found a number");
}

TEST(JsonReaderTest, FindsTheNameOfAnObjectThatWasReadHalfway) {
  const auto name_of = [](std::string_view json, int members) {
    JsonDocument document;
    absl::StatusOr<JsonObject> object = document.Parse(json);
    const FieldStatus stopped = ForEachMember(*object, [&](std::string_view, JsonValue&) {
      return members-- == 0 ? FieldStatus::Bad("stop") : Skip();
    });
    return NameOf(*object);
  };
  constexpr std::string_view kPod =
      R"({"spec": {"a": [1, {"b": 2}]}, "metadata": {"labels": {"name": "x"}, "name": "p",
          "namespace": "ns"}, "status": {}})";
  for (int members = 0; members < 5; ++members) EXPECT_EQ(name_of(kPod, members), "ns/p");
  EXPECT_EQ(name_of(R"({"metadata": {"name": "q"}})", 0), "q");
  EXPECT_EQ(name_of(R"({"metadata": {"name": 5, "namespace": "ns"}})", 0), "");
  EXPECT_EQ(name_of(R"({"metadata": "q"})", 0), "");
  EXPECT_EQ(name_of(R"({})", 0), "");
}

}  // namespace
}  // namespace kai::json_reader_test

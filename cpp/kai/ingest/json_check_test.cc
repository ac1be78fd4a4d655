#include "kai/ingest/json_check.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <random>
#include <string>

namespace kai::json_check_test {
namespace {

std::string Check(std::string_view text) {
  const absl::Status status = CheckJson(text);
  return status.ok() ? "fine" : std::string(status.message());
}

TEST(JsonCheckTest, AcceptsJson) {
  for (const char* text :
       {"{}", "[]", "null", " \t\r\n[ 1 , 2 ] ", R"({"a": {"b": [true, false, null]}, "": ""})",
        "0", "-0", "-1.5e+10", "1E9", "0.0", R"("\"\\\/\b\f\n\r\tA\ud83d\ude00")",
        "\"caf\u00e9 \u4e2d \U0001f600\"", R"("\ud800")"}) {
    EXPECT_EQ(Check(text), "fine") << text;
  }
}

TEST(JsonCheckTest, ReportsThePositionOfTheFirstError) {
  EXPECT_EQ(Check(""), "byte 0: expected a value, found the end");
  EXPECT_EQ(Check("{\"a\": [1, 2}"), "byte 11: expected ',' or ']', found '}'");
  EXPECT_EQ(Check("{\"a\" 1}"), "byte 5: expected ':', found '1'");
  EXPECT_EQ(Check("{\"a\": 1,}"), "byte 8: expected a member's name, found '}'");
  EXPECT_EQ(Check("{a: 1}"), "byte 1: expected a member's name or '}', found 'a'");
  EXPECT_EQ(Check("[1 2]"), "byte 3: expected ',' or ']', found '2'");
  EXPECT_EQ(Check("[1,]"), "byte 3: expected a value, found ']'");
  EXPECT_EQ(Check("{} {}"), "byte 3: expected the end, found '{'");
  EXPECT_EQ(Check("{\"a\": nul}"), "byte 6: expected a value, found 'n'");
  EXPECT_EQ(Check("[NaN]"), "byte 1: expected a value, found 'N'");
  EXPECT_EQ(Check("[01]"), "byte 2: expected ',' or ']', found '1'");
  EXPECT_EQ(Check("[1.]"), "byte 3: expected a digit, found ']'");
  EXPECT_EQ(Check("[.5]"), "byte 1: expected a value, found '.'");
  EXPECT_EQ(Check("[+1]"), "byte 1: expected a value, found '+'");
  EXPECT_EQ(Check("\"abc"), "byte 4: the string is not closed");
  EXPECT_EQ(Check("\"a long string with a\ttab\""), "byte 21: a control character inside a string");
  EXPECT_EQ(Check("\"\\x41\""), "byte 1: not a valid escape sequence");
  EXPECT_EQ(Check("\"\\u12g4\""), "byte 1: not a valid escape sequence");
  EXPECT_EQ(Check("'a'"), "byte 0: expected a value, found '''");
  EXPECT_EQ(Check("\xef\xbb\xbf{}"), "byte 0: expected a value, found byte value 239");
  EXPECT_EQ(Check(std::string_view("[\0]", 3)), "byte 1: expected a value, found byte value 0");
}

TEST(JsonCheckTest, RejectsInvalidUtf8) {
  for (const char* inside : {"\xff", "\xc3\x28", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                             "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\x80", "\xe4\xb8"}) {
    EXPECT_EQ(Check(std::string("\"12345") + inside + "\""), "byte 6: not valid UTF-8");
  }
}

TEST(JsonCheckTest, RejectsTextNestedTooDeep) {
  const auto nested = [](int levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_EQ(Check(nested(1000)), "fine");
  EXPECT_EQ(Check(nested(1001)), "byte 1000: nested deeper than 1000 levels");
  EXPECT_EQ(Check(std::string(50'000'000, '[')), "byte 1000: nested deeper than 1000 levels");
}

TEST(JsonCheckTest, AgreesWithSimdjsonOnTextsWithOneByteChanged) {
  const std::string seed = R"({"a":[1,-2.5e3,"x\n\u0041",{"b":null,"c":true}],"d":"caf)"
                           "\u00e9"
                           R"(","e":{},"f":[]} )";
  std::mt19937 random(1);
  simdjson::dom::parser parser;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = seed;
    text[random() % text.size()] = "{}[]\",:\\ 0e-.tn\x80\xc3\n"[random() % 18];
    if (random() % 2 == 0) text.erase(random() % text.size(), 1);
    const bool by_simdjson =
        parser.parse(simdjson::padded_string(text)).error() == simdjson::SUCCESS;
    EXPECT_EQ(CheckJson(text).ok(), by_simdjson) << text;
  }
}

}  // namespace
}  // namespace kai::json_check_test

#include "kai/session/json_writer.h"

#include <gtest/gtest.h>

#include <utility>

namespace kai::json_writer_test {
namespace {

TEST(PythonFloatTest, PrintsTheSameAsRepr) {
  const std::pair<double, const char*> printed[] = {
      {0, "0.0"},
      {1, "1.0"},
      {-2.5, "-2.5"},
      {0.1, "0.1"},
      {0.30000000000000004, "0.30000000000000004"},
      {0.0001, "0.0001"},
      {0.00001, "1e-05"},
      {1.5e-7, "1.5e-07"},
      {123456789012345.6, "123456789012345.6"},
      {1e15, "1000000000000000.0"},
      {1e16, "1e+16"},
      {1.25e17, "1.25e+17"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {5e-324, "5e-324"},
  };
  for (const auto& [value, text] : printed) EXPECT_EQ(PythonFloat(value), text);
}

TEST(JsonWriterTest, WritesCommasAndEscapes) {
  JsonWriter json;
  json.Begin('{');
  json.Pair("a \"name\"", "two\nlines\x01");
  json.Key("list");
  json.Begin('[');
  json.Int(-1);
  json.Begin('{');
  json.End('}');
  json.Bool(true);
  json.Null();
  json.Plain(1e20);
  json.Float(0.5);
  json.End(']');
  json.End('}');
  EXPECT_EQ(std::move(json).Take(), R"({"a \"name\"": "two\nlines\u0001", )"
                                    R"("list": [-1, {}, true, null, 100000000000000000000, 0.5]})");
}

}  // namespace
}  // namespace kai::json_writer_test

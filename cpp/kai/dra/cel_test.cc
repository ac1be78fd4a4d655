#include "kai/dra/cel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kai/base/text.h"

namespace kai::cel_test {
namespace {

using ::testing::HasSubstr;

Device Gpu() {
  Device gpu{.driver = "gpu.nvidia.com", .pool = "node-1", .name = "gpu-0"};
  gpu.SetAttribute("productName", std::string("NVIDIA A100-SXM4-80GB"));
  gpu.SetAttribute("type", std::string("gpu"));
  gpu.SetAttribute("index", int64_t{3});
  gpu.SetAttribute("mig", false);
  gpu.SetAttribute("driverVersion", Semver::Parse("550.54.15").value());
  gpu.SetAttribute("dra.net/numaNode", int64_t{1});
  gpu.SetCapacity("memory", {.value = Quantity::Parse("80Gi").value()});
  gpu.SetCapacity("cores", {.value = Quantity::Parse("2500m").value()});
  return gpu;
}

// "true", "false", or the error.
std::string Answer(std::string_view expression, const Device& device = Gpu()) {
  const auto selector = CelSelector::Compile(expression);
  if (!selector.ok()) return StrCat("refused: ", std::string(selector.status().message()));
  const auto matches = selector->Matches(device);
  if (!matches.ok()) return StrCat("error: ", std::string(matches.status().message()));
  return *matches ? "true" : "false";
}

void ExpectAll(std::string_view answer, std::initializer_list<std::string_view> expressions) {
  for (const std::string_view expression : expressions) {
    EXPECT_EQ(Answer(expression), answer) << expression;
  }
}

TEST(CelTest, SelectsDevicesAsClassesAndClaimsDo) {
  ExpectAll("true",
            {"device.driver == 'gpu.nvidia.com'",
             "device.driver == \"gpu.nvidia.com\" && "
             "device.attributes[\"gpu.nvidia.com\"].type == 'gpu'",
             "device.attributes['gpu.nvidia.com'].productName.lowerAscii().matches('^.*a100.*$')",
             "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0",
             "device.attributes['gpu.nvidia.com'].driverVersion.isGreaterThan(semver('550.0.0'))",
             "device.attributes['dra.net'].numaNode in [0, 1]",
             "has(device.attributes['gpu.nvidia.com'].index) && "
             "device.attributes['gpu.nvidia.com'].index < 4",
             "cel.bind(nv, device.attributes['gpu.nvidia.com'], nv.type == 'gpu' && !nv.mig)"});
  ExpectAll("false",
            {"device.driver == 'dra.example.com'", "'dra.example.com' in device.attributes",
             "device.attributes['gpu.nvidia.com'].mig",
             "device.capacity['gpu.nvidia.com'].memory.isLessThan(quantity('80Gi'))",
             "device.allowMultipleAllocations"});
}

TEST(CelTest, FindsAnEmptyMapUnderAnUnusedDomain) {
  ExpectAll("true", {"size(device.attributes['other.example.com']) == 0",
                     "!('type' in device.attributes['other.example.com'])",
                     "!has(device.attributes['other.example.com'].type)",
                     "!has(device.capacity['other.example.com'].type)",
                     "'gpu.nvidia.com' in device.attributes",
                     "'memory' in device.capacity['gpu.nvidia.com']"});
  EXPECT_EQ(Answer("device.attributes['other.example.com'].type == 'gpu'"),
            "error: byte 39: the device has no \"type\" here");
  EXPECT_EQ(Answer("device.attributes['gpu.nvidia.com']['model'] == 'x'"),
            "error: byte 35: the device has no \"model\" here");
}

TEST(CelTest, AnOperandThatDecidesTheResultHidesErrorsOfTheOther) {
  ExpectAll("true", {"true || 1/0 == 1", "1/0 == 1 || true", "false || 1/0 == 1 || true",
                     "[1, 0].exists(x, 1/x == 1)", "[0, 1].exists(x, 1/x == 1)",
                     "!(1/0 == 1 && false)", "!(false && 1)", "!(1 && false)"});
  ExpectAll("false", {"false && 1/0 == 1", "1/0 == 1 && false", "[0, 2].all(x, 1/x == 1)"});
  EXPECT_EQ(Answer("1/0 == 1 || false"), "error: byte 1: division by zero");
  EXPECT_EQ(Answer("true && 1/0 == 1"), "error: byte 9: division by zero");
  EXPECT_EQ(Answer("[1, 0].all(x, 1/x == 1)"), "error: byte 15: division by zero");
  EXPECT_EQ(Answer("true && 1"), "error: byte 5: && does not take int");
  EXPECT_EQ(Answer("[0, 1].exists_one(x, 1/x == 1)"), "error: byte 22: division by zero");
}

TEST(CelTest, EvaluatesOnlyTheChosenBranch) {
  ExpectAll("true",
            {"true ? true : 1/0 == 1", "false ? 1/0 == 1 : true", "(true ? 1 : 2) == 1",
             "true ? (false ? false : true) : false", "false ? false : false ? false : true"});
  EXPECT_EQ(Answer("1 ? true : false"), "error: byte 2: ?: does not take int");
}

TEST(CelTest, CalculatesWithNumbersOfOneType) {
  ExpectAll(
      "true",
      {"1 + 2 * 3 == 7", "(1 + 2) * 3 == 9", "7 / 2 == 3", "-7 / 2 == -3", "-7 % 3 == -1",
       "10 - 3 - 2 == 5", "2u * 3u == 6u", "0x1F == 31", "1.5 + 2.5 == 4.0", ".5 + 1e-1 == 0.6",
       "3.0 / 2.0 == 1.5", "1.0 / 0.0 > 1e300", "-(1) == -1", "- - 1 == 1", "-1.5 < 0.0",
       "'a' + 'b' == 'ab'", "[1] + [2] == [1, 2]", "-9223372036854775808 < 0", "!!true"});
  for (const std::string_view expression :
       {"9223372036854775807 + 1 == 0", "-9223372036854775808 - 1 == 0",
        "9223372036854775807 * 2 == 0", "-9223372036854775808 / -1 == 0",
        "-(-9223372036854775808) == 0", "0u - 1u == 0u", "-9223372036854775808 % -1 == 0"}) {
    EXPECT_THAT(Answer(expression), HasSubstr("the result is out of range")) << expression;
  }
  EXPECT_EQ(Answer("1 + 1u == 2"), "error: byte 2: + does not take int and uint");
  EXPECT_EQ(Answer("'a' - 'b' == ''"), "error: byte 4: - does not take string and string");
  EXPECT_EQ(Answer("1.5 % 1.0 == 0.5"), "error: byte 4: % does not take double and double");
  EXPECT_EQ(Answer("-'a' == 'a'"), "error: byte 0: - does not take string");
  EXPECT_EQ(Answer("!1"), "error: byte 0: ! does not take int");
  EXPECT_EQ(Answer("1 % 0 == 0"), "error: byte 2: division by zero");
  EXPECT_EQ(Answer("1 == 9223372036854775808"), "refused: byte 5: the number is out of range");
  EXPECT_EQ(Answer("1 == 18446744073709551616"),
            "refused: byte 5: number \"18446744073709551616\" is out of range");
}

TEST(CelTest, ComparesNumbersAcrossTypesAndNothingElse) {
  ExpectAll("true", {"1 == 1u",
                     "1 == 1.0",
                     "2u > 1.5",
                     "1 < 1.5",
                     "-1 < 0u",
                     "-1 < 1u",
                     "9007199254740993 > 9007199254740992.0",
                     "9223372036854775807 < 1e19",
                     "18446744073709551615u > 1e19",
                     "1 != 'one'",
                     "[1, 2] != [2, 1]",
                     "[1, [2]] == [1u, [2.0]]",
                     "'a' < 'b'",
                     "'a' < 'aa'",
                     "false < true",
                     "1 in [1u]",
                     "!('1' in [1])",
                     "!(1 in device.attributes)",
                     "semver('1.0.0') == semver('1.0.0+x')",
                     "quantity('1Gi') == quantity('1024Mi')",
                     "quantity('1Gi') != 1073741824",
                     "!('1.0.0' == semver('1.0.0'))",
                     "!(semver('1.0.0') in ['1.0.0'])"});
  ExpectAll("false", {"0.0 / 0.0 == 0.0 / 0.0", "device.attributes == device.attributes"});
  EXPECT_EQ(Answer("0.0 / 0.0 < 1.0"), "error: byte 10: NaN cannot be compared");
  EXPECT_EQ(Answer("1 < 'a'"), "error: byte 2: < does not take int and string");
  EXPECT_EQ(Answer("[1] < [2]"), "error: byte 4: < does not take list and list");
  EXPECT_EQ(Answer("device.attributes['gpu.nvidia.com'].driverVersion == '550.54.15'"),
            "error: byte 50: == does not take version and string");
  EXPECT_EQ(Answer("1 in 1"), "error: byte 2: in does not take int and int");
}

TEST(CelTest, FollowsTheOperatorPrecedenceOfTheLanguage) {
  ExpectAll("true",
            {"true || false && false", "!false && true", "1 + 1 == 2 && 2 < 3", "1 in [1] == true",
             "2 * 3 % 4 == 2", "false ? true : true || false", "1 < 2 == true"});
}

TEST(CelTest, ParsesAllKindsOfStringLiterals) {
  ExpectAll("true", {R"('a"b' == "a\"b")", R"('\x41\u00e9\U0001F600\101' == 'Aé😀A')",
                     R"(r'\d' == '\\d')", R"(R"\n".size() == 2)", R"('''a'b''' == 'a\'b')",
                     "\"\"\"a\nb\"\"\" == 'a\\nb'", R"('\a\b\f\n\r\t\v\\\?\`'.size() == 10)",
                     "'größe'.size() == 5", "size('') == 0", "'a' // a comment\n == 'a'"});
  EXPECT_EQ(Answer("'abc"), "refused: byte 0: a string is not closed");
  EXPECT_EQ(Answer("'a\nb' == ''"), "refused: byte 0: a string is not closed");
  EXPECT_EQ(Answer(R"('\d' == '')"), "refused: byte 1: an invalid escape sequence in a string");
  EXPECT_EQ(Answer(R"('\ud800' == '')"), "refused: byte 1: an invalid escape sequence in a string");
  EXPECT_EQ(Answer("b'a' == b'a'"), "refused: byte 0: literals of bytes are not supported");
}

TEST(CelTest, EvaluatesTheMethodsOfStrings) {
  ExpectAll("true",
            {"'abc'.startsWith('ab')", "'abc'.endsWith('bc')", "'abc'.contains('b')",
             "'aBc'.lowerAscii() == 'abc'", "'aBc'.upperAscii() == 'ABC'", "'abc'.matches('^a.c$')",
             "matches('abc', 'b')", "'A100'.matches('[AH]' + '100')", "!'abc'.contains('x')"});
  EXPECT_EQ(Answer("'a'.matches('(')"),
            "refused: byte 12: regular expression \"(\" is invalid: missing ): (");
  EXPECT_EQ(Answer("'a'.matches('(' + '')"),
            "error: byte 4: regular expression \"(\" is invalid: missing ): (");
  EXPECT_EQ(Answer("'a'.startsWith(1)"),
            "error: byte 4: startsWith() does not take string and int");
  EXPECT_EQ(Answer("1.startsWith('a')"),
            "error: byte 2: startsWith() does not take int and string");
}

TEST(CelTest, EvaluatesQuantities) {
  ExpectAll(
      "true",
      {"quantity('10Gi').isGreaterThan(quantity('9Gi'))",
       "quantity('1').compareTo(quantity('2')) == -1", "isQuantity('10Gi')", "!isQuantity('10Gb')",
       "quantity('3k').asInteger() == 3000", "quantity('3k').isInteger()",
       "!quantity('3m').isInteger()", "quantity('1500m').asApproximateFloat() == 1.5",
       "quantity('-1').sign() == -1", "quantity('0').sign() == 0",
       "quantity('1').add(quantity('2')) == quantity('3')", "quantity('1').add(2) == quantity('3')",
       "quantity('1').sub(2).isLessThan(quantity('0'))",
       "device.capacity['gpu.nvidia.com'].cores.asApproximateFloat() == 2.5"});
  EXPECT_EQ(Answer("quantity('10Gb').sign() == 1"),
            "error: byte 0: quantity \"10Gb\" is not valid");
  EXPECT_EQ(Answer("quantity('1m').asInteger() == 1"),
            "error: byte 15: the quantity is not an integer");
  EXPECT_EQ(Answer("quantity('1').isGreaterThan(1)"),
            "error: byte 14: isGreaterThan() does not take quantity and int");
}

TEST(CelTest, EvaluatesVersions) {
  ExpectAll("true", {"semver('1.2.3').major() == 1", "semver('1.2.3').minor() == 2",
                     "semver('1.2.3').patch() == 3", "isSemver('1.2.3')", "!isSemver('v1.2')",
                     "isSemver('v1.2', true)", "semver('v1.2', true) == semver('1.2.0')",
                     "semver('1.2.3-a').isLessThan(semver('1.2.3'))",
                     "semver('2.0.0').compareTo(semver('1.9.9')) == 1",
                     "device.attributes['gpu.nvidia.com'].driverVersion.major() == 550"});
  EXPECT_EQ(Answer("semver('1.2').major() == 1"), "error: byte 0: version \"1.2\" is not valid");
  EXPECT_EQ(Answer("semver('1.2.3').isLessThan(quantity('2'))"),
            "error: byte 16: isLessThan() does not take version and quantity");
}

TEST(CelTest, MacrosIterateOverListsAndTheKeysOfMaps) {
  ExpectAll(
      "true",
      {"[1, 2, 3].all(x, x > 0)", "[].all(x, false)", "![].exists(x, true)",
       "[1, 2, 3].exists_one(x, x == 2)", "![2, 2].exists_one(x, x == 2)",
       "[1, 2, 3].filter(x, x % 2 == 1) == [1, 3]", "[1, 2, 3].map(x, x * 2) == [2, 4, 6]",
       "[1, 2, 3].map(x, x > 1, x * 2) == [4, 6]", "[1, 2].exists(x, [3, 4].exists(y, x + y == 6))",
       "[[1], [2]].map(x, x.map(x, x + 1)) == [[2], [3]]", "[1, 2][1] == 2",
       "device.attributes.exists(d, d == 'dra.net')",
       "device.attributes['gpu.nvidia.com'].filter(k, k.startsWith('i')) == ['index']",
       "size([1, 2]) == 2", "[1, 2,].size() == 2", "cel.bind(x, 1, cel.bind(y, x + 1, x + y)) == 3",
       "cel.bind(x, 1/0, true)"});
  EXPECT_EQ(Answer("cel.bind(x, 1/0, x == 1)"), "error: byte 13: division by zero");
  EXPECT_EQ(Answer("[1][1] == 1"), "error: byte 3: the list has no item 1");
  EXPECT_EQ(Answer("[1][-1] == 1"), "error: byte 3: the list has no item -1");
  EXPECT_EQ(Answer("[1]['a'] == 1"), "error: byte 3: [] does not take list and string");
  EXPECT_EQ(Answer("1.all(x, true)"), "error: byte 2: a macro does not take int");
  EXPECT_EQ(Answer("[1].filter(x, 1) == []"), "error: byte 4: a macro does not take int");
  EXPECT_EQ(Answer("[1].map(x, x) == x"), "refused: byte 17: there is no variable \"x\"");
}

TEST(CelTest, RejectsAnExpressionThatDoesNotGiveABool) {
  EXPECT_EQ(Answer("1"), "error: the expression gives int instead of bool");
  EXPECT_EQ(Answer("device"), "error: the expression gives device instead of bool");
  EXPECT_EQ(Answer("device.attributes['gpu.nvidia.com'].type"),
            "error: the expression gives string instead of bool");
}

TEST(CelTest, RejectsInvalidExpressionsWithTheirPosition) {
  EXPECT_EQ(Answer(""), "refused: byte 0: the expression ends too early");
  EXPECT_EQ(Answer("true &&"), "refused: byte 7: the expression ends too early");
  EXPECT_EQ(Answer("true true"), "refused: byte 5: unexpected \"true\"");
  EXPECT_EQ(Answer("true)"), "refused: byte 4: unexpected \")\"");
  EXPECT_EQ(Answer("true 1"), "refused: byte 5: unexpected literal");
  EXPECT_EQ(Answer("a & b"), "refused: byte 2: \"&\" is not part of CEL");
  EXPECT_EQ(Answer("pod.name == 'x'"), "refused: byte 0: there is no variable \"pod\"");
  EXPECT_EQ(Answer("null == null"), "refused: byte 0: there is no variable \"null\"");
  EXPECT_EQ(Answer("device.name == 'x'"), "refused: byte 7: a device has no field \"name\"");
  EXPECT_EQ(Answer("{'a': 1}.size() == 1"), "refused: byte 0: map literals are not supported");
  EXPECT_EQ(Answer("device.attributes['a'].?b.orValue(true)"),
            "refused: byte 23: optional values are not supported");
  EXPECT_EQ(Answer("timestamp('2026-01-01T00:00:00Z') == 1"),
            "refused: byte 0: there is no function or macro \"timestamp\" here, or not with this "
            "number of "
            "arguments");
  EXPECT_THAT(Answer("'a'.split(',') == []"), HasSubstr("byte 4: there is no function"));
  EXPECT_THAT(Answer("'a'.startsWith() == true"), HasSubstr("byte 4: there is no function"));
  EXPECT_THAT(Answer("startsWith('a', 'b')"), HasSubstr("byte 0: there is no function"));
  EXPECT_EQ(Answer("has(device)"), "refused: byte 0: has() takes one argument of the form a.b");
  EXPECT_EQ(Answer("[1].all(1, true)"), "refused: byte 8: expected a variable's name and a comma");
  EXPECT_EQ(Answer("[1].all(x, true, true)"), "refused: byte 4: all() has too many arguments");
  EXPECT_EQ(Answer("[1].all(x,)"),
            "refused: byte 4: a macro needs an expression after its variable");
  EXPECT_EQ(Answer("cel.bound(x, 1, true)"), "refused: byte 4: unexpected \"bound\"");
  EXPECT_EQ(Answer("1abc == 1"), "refused: byte 0: a name follows a number without a space");
  EXPECT_EQ(Answer(StrCat("true || '", std::string(20'000, 'x'), "' == ''")),
            "refused: the expression is longer than 10240 bytes");
}

std::string Repeat(std::string_view text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += text;
  return repeated;
}

TEST(CelTest, RejectsEveryKindOfDeepNesting) {
  for (const std::string& expression :
       {Repeat("(", 4000) + "true" + Repeat(")", 4000), Repeat("!", 9000) + "true",
        Repeat("-", 9000) + "1 == 1", Repeat("[", 4000) + Repeat("]", 4000) + " == []",
        "1" + Repeat("+1", 4000) + " == 1", Repeat("true?true:", 1000) + "true",
        "device" + Repeat("[0]", 3000) + " == 1", Repeat("size(", 1500) + "1" + Repeat(")", 1500),
        Repeat("[1].map(x,", 900) + "x" + Repeat(")", 900)}) {
    EXPECT_THAT(Answer(expression), HasSubstr("nested too deeply")) << expression.substr(0, 40);
  }
  EXPECT_EQ(Answer(Repeat("(", 40) + "true" + Repeat(")", 40)), "true");
  EXPECT_EQ(Answer("true" + Repeat("&&true", 1000)), "true") << "long chains do not nest";
  EXPECT_EQ(Answer("false" + Repeat("||false", 1000)), "false");
}

TEST(CelTest, StopsWhenTheBudgetEndsAndNoOperatorHidesTheError) {
  const std::string ten = "[0,1,2,3,4,5,6,7,8,9]";
  std::string loops = "true";
  for (const char variable : {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}) {
    loops = StrCat(ten, ".all(", variable, ", ", loops, ")");
  }
  std::string doubling = "x == ''";
  for (int i = 0; i < 40; ++i) doubling = StrCat("cel.bind(x, x + x, ", doubling, ")");
  doubling = StrCat("cel.bind(x, '0123456789abcdef', ", doubling, ")");
  std::string sharing = "x == y";
  for (int i = 0; i < 40; ++i) {
    sharing = StrCat("cel.bind(x, [x, x], cel.bind(y, [y, y], ", sharing, "))");
  }
  sharing = StrCat("cel.bind(x, [0], cel.bind(y, [0], ", sharing, "))");
  const std::string slow_regex = StrCat(ten, ".all(i, ", ten, ".all(j, !'", std::string(5000, 'a'),
                                        "'.matches('(a*){999}b')))");
  for (const std::string& expression : {loops, doubling, sharing, slow_regex}) {
    for (const std::string& hidden :
         {expression, "(" + expression + ") || true", "true ? " + expression + " : true"}) {
      const auto selector = CelSelector::Compile(hidden);
      ASSERT_TRUE(selector.ok()) << selector.status();
      EXPECT_EQ(selector->Matches(Gpu()).status(),
                absl::ResourceExhaustedError("the expression takes more than 1000000 steps"))
          << hidden.substr(0, 80);
    }
  }
}

TEST(CelTest, RejectsExpressionsWithTooManyLargePatterns) {
  std::string expression = "''.matches('x{9}')";
  for (int i = 0; i < 25; ++i) StrAppend(&expression, " || ''.matches('\\\\pL{40}')");
  EXPECT_THAT(Answer(expression), testing::EndsWith("\"\\\\pL{40}\" is too large"));
}

TEST(CelTest, CountsOneStepPerOperation) {
  const auto selector = CelSelector::Compile("1 + 2 == 3");
  ASSERT_TRUE(selector.ok());
  EXPECT_FALSE(selector->Matches(Gpu(), 5).ok());  // five nodes and one comparison
  EXPECT_TRUE(selector->Matches(Gpu(), 6).ok());
}

TEST(CelTest, EvaluatesManyDevicesAfterOneCompilation) {
  const auto selector = CelSelector::Compile("device.attributes['a.b'].x == 1");
  ASSERT_TRUE(selector.ok());
  for (int64_t x : {0, 1, 2, 1}) {
    Device device{.driver = "d", .pool = "p", .name = "n"};
    device.SetAttribute("a.b/x", x);
    EXPECT_EQ(*selector->Matches(device), x == 1);
  }
}

}  // namespace
}  // namespace kai::cel_test

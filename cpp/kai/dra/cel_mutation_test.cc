// Expressions are untrusted: all users who may create a ResourceClaim write them. Compiling and
// matching must end with a result or an error for any text.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kai/dra/cel.h"

namespace kai::cel_mutation_test {
namespace {

constexpr std::string_view kSeeds[] = {
    "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == \"gpu\"",
    "device.capacity['d.e'].memory.compareTo(quantity('40Gi')) >= 0 || has(device.capacity['d'].x)",
    "cel.bind(a, device.attributes['d.e'], a.name.lowerAscii().matches('^(a|b)*[0-9]{2,3}$'))",
    "[1, 2u, 3.5, -4].exists(x, x * 2 > 3 ? true : !(x in [1, 'a\\n\\x41']))",
    "semver('1.2.3-rc.1').isLessThan(device.attributes['d.e'].version) != isSemver('v1', true)",
    "[[1], []].map(x, x.size() > 0, x[0] + 1).all(y, y % 2 == 0) // and so on",
    "r'\\d' + '''a'b''' == \"\\u00e9\" && 0x1F / 1e3 < .5",
};

constexpr std::string_view kPieces[] = {
    "(",           ")",          "[",          "]",          "{",
    "}",           ".",          ",",          "?",          ":",
    "!",           "-",          "+",          "*",          "/",
    "%",           "<",          "==",         "&&",         "||",
    " in ",        "'",          "\"",         "\\",         "r'",
    "'''",         "//",         "\n",         "0",          "1u",
    "0x",          "1e",         "1e999",      "9",          "-9223372036854775808",
    "true",        "null",       "device",     ".driver",    ".attributes",
    "['d.e']",     "x",          ".map(x,",    ".exists(x,", "has(",
    "cel.bind(x,", ".matches('", "quantity('", "size(",      ".size()",
    "\xff",        "\xc3",       "é",          "{1000}",     "(?i)"};

Device SomeDevice() {
  Device device{.driver = "d.e", .pool = "p", .name = "n"};
  device.SetAttribute("name", std::string("a100"));
  device.SetAttribute("version", Semver::Parse("1.2.3").value());
  device.SetCapacity("memory", {.value = Quantity::Parse("40Gi").value()});
  return device;
}

std::string Mutate(std::string text, std::mt19937_64* random) {
  const auto below = [&](size_t bound) { return static_cast<size_t>((*random)() % bound); };
  for (size_t changes = 1 + below(4); changes > 0; --changes) {
    const size_t at = below(text.size() + 1);
    switch (below(5)) {
      case 0:
        text.insert(at, kPieces[below(std::size(kPieces))]);
        break;
      case 1:
        text.erase(at, 1 + below(8));
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>((*random)());
        break;
      case 3: {
        const std::string part = text.substr(at, 1 + below(20));
        for (size_t times = 1 + below(12); times > 0; --times) text.insert(at, part);
        break;
      }
      default: {
        const std::string_view other = kSeeds[below(std::size(kSeeds))];
        text.insert(at, other.substr(below(other.size())));
        break;
      }
    }
  }
  return text;
}

TEST(CelMutationTest, EveryMutatedExpressionEndsWithAResultOrAnError) {
  const uint64_t seed = 20260101;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const Device device = SomeDevice();
  int compiled = 0, answered = 0;
  std::vector<std::string> pool(std::begin(kSeeds), std::end(kSeeds));
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = Mutate(pool[random() % pool.size()], &random);
    const auto selector = CelSelector::Compile(text);
    if (!selector.ok()) {
      ASSERT_EQ(selector.status().code(), absl::StatusCode::kInvalidArgument) << text;
      ASSERT_FALSE(selector.status().message().empty()) << text;
      continue;
    }
    ++compiled;
    const auto matches = selector->Matches(device, 20'000);
    if (matches.ok()) ++answered;
    // Mutates expressions that still compile further.
    if (pool.size() < 500 && text.size() < 1000) pool.push_back(text);
  }
  EXPECT_GT(compiled, 1000);
  EXPECT_GT(answered, 300);
}

}  // namespace
}  // namespace kai::cel_mutation_test

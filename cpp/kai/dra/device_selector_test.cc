#include "kai/dra/device_selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kai/base/text.h"
#include "kai/dra/cel_reads.h"

namespace kai::device_selector_test {
namespace {

Device Gpu(std::string_view uuid) {
  Device gpu{.driver = "gpu.nvidia.com", .pool = "node-1", .name = StrCat("gpu-", uuid)};
  gpu.SetAttribute("type", std::string("gpu"));
  gpu.SetAttribute("uuid", std::string(uuid));
  gpu.SetCapacity("memory", {.value = Quantity::Parse("80Gi").value()});
  return gpu;
}

// Takes some hundred steps.
std::string Slow(std::string_view condition) {
  return StrCat("[1, 2, 3, 4, 5, 6, 7, 8].all(i, [1, 2, 3, 4, 5, 6, 7, 8].all(j, i + j > 0 && ",
                condition, "))");
}

TEST(DeviceSelectorTest, AsksEqualDevicesOnce) {
  SelectorCache cache;
  const DeviceSelector by_type =
      cache.Get(Slow("device.attributes['gpu.nvidia.com'].type == 'gpu'"));
  EXPECT_TRUE(*by_type.Matches(Gpu("a")));
  EXPECT_EQ(cache.answers(), 1);
  EXPECT_TRUE(*by_type.Matches(Gpu("b")));  // only its uuid differs
  EXPECT_EQ(cache.answers(), 1);
  const DeviceSelector by_uuid = cache.Get(Slow("device.attributes['gpu.nvidia.com'].uuid < 'c'"));
  EXPECT_TRUE(*by_uuid.Matches(Gpu("a")));
  EXPECT_TRUE(*by_uuid.Matches(Gpu("b")));
  EXPECT_EQ(cache.answers(), 3);
}

TEST(DeviceSelectorTest, KeepsNoAnswersThatAreAsQuickAsALookup) {
  SelectorCache cache;
  EXPECT_TRUE(*cache.Get("device.driver == 'gpu.nvidia.com'").Matches(Gpu("a")));
  EXPECT_EQ(cache.answers(), 0);
}

TEST(DeviceSelectorTest, ASelectorWithAnErrorGivesTheErrorForEveryDevice) {
  SelectorCache cache;
  const DeviceSelector selector = cache.Get("device.name == 'x'");
  EXPECT_EQ(selector.Matches(Gpu("a")).status(),
            CelSelector::Compile("device.name == 'x'").status());
}

TEST(DeviceSelectorTest, UnusedSelectorsAreDroppedWithTheirAnswers) {
  SelectorCache cache;
  EXPECT_TRUE(cache.Get(Slow("true")).Matches(Gpu("a")).ok());
  cache.DropUnused();
  EXPECT_EQ(cache.answers(), 1);  // it was used since the last call
  cache.DropUnused();
  EXPECT_EQ(cache.size(), 0);
  EXPECT_EQ(cache.answers(), 0);
}

TEST(DeviceSelectorTest, ABudgetEndsAnEvaluationInTheSameWayAfterAnyOther) {
  const std::string expression = Slow("true");
  const int64_t enough = DeviceSelector(CelSelector::Compile(expression))
                             .Evaluate(Gpu("a"), CelSelector::kBudget)
                             .steps;
  for (const int64_t before : {enough + 1, enough, enough - 1, enough - 2}) {
    SelectorCache cache;
    const DeviceSelector selector = cache.Get(expression);
    selector.Evaluate(Gpu("a"), before);
    for (const int64_t budget : {enough - 1, enough, enough - 1, enough + 1}) {
      const DeviceSelector::Answer answer = selector.Evaluate(Gpu("a"), budget);
      EXPECT_EQ(answer.matches.status(),
                budget < enough ? CelSelector::TooManySteps(budget) : absl::OkStatus());
      EXPECT_EQ(answer.steps, std::min(budget, enough));
    }
  }
}

// A random device, and random expressions that read parts of it in all ways.
class Random {
 public:
  explicit Random(uint64_t seed) : random_(seed) {}

  size_t Below(size_t bound) { return static_cast<size_t>(random_() % bound); }
  template <size_t size>
  std::string_view OneOf(const std::string_view (&of)[size]) {
    return of[Below(size)];
  }

  Device MakeDevice() {
    static constexpr std::string_view kNames[] = {"type", "x", "d.e/x", "d.e/type", "f.g/y"};
    Device device{.driver = std::string(OneOf({"d.e", "f.g"})), .pool = "p", .name = "n"};
    device.allow_multiple_allocations = Below(2) == 0;
    for (size_t i = Below(4); i > 0; --i) {
      const std::string_view name = OneOf(kNames);
      switch (Below(4)) {
        case 0:
          device.SetAttribute(name, Below(2) == 0);
          break;
        case 1:
          device.SetAttribute(name, static_cast<int64_t>(Below(3)));
          break;
        case 2:
          device.SetAttribute(name, std::string(OneOf({"a", "b", "x"})));
          break;
        default:
          device.SetAttribute(name, Semver::Parse(OneOf({"1.2.3", "1.2.3+b"})).value());
          break;
      }
    }
    if (Below(2) == 0) {
      device.SetCapacity(OneOf(kNames),
                         {.value = Quantity::Parse(OneOf({"1Gi", "2Gi", "500m"})).value()});
    }
    return device;
  }

  std::string MakeMap() { return StrCat("device.", OneOf({"attributes", "capacity"})); }
  std::string MakeDomain() {
    return StrCat(MakeMap(), OneOf({"['d.e']", "['f.g']", "[device.driver]", ".z"}));
  }
  std::string MakeValue() {
    return StrCat(MakeDomain(), OneOf({".x", ".type", "['y']", "['t' + 'ype']"}));
  }
  std::string MakeCondition(int depth) {
    if (depth > 0) {
      const std::string one = MakeCondition(depth - 1);
      switch (Below(7)) {
        case 0:
          return StrCat("(", one, " && ", MakeCondition(depth - 1), ")");
        case 1:
          return StrCat("(", one, " || ", MakeCondition(depth - 1), ")");
        case 2:
          return StrCat("!", one);
        case 3:
          return StrCat("[1, 2, 3, 4, 5, 6].all(i, [1, 2, 3, 4].exists(j, i > j || ", one, "))");
        case 4:
          return StrCat("cel.bind(m, ", MakeDomain(), ", has(m.x) && ", one, ")");
        case 5:
          return StrCat(MakeDomain(), ".exists(k, k == 'x' && ", one, ")");
        default:
          return StrCat("(", one, " ? ", MakeCondition(depth - 1), " : true)");
      }
    }
    switch (Below(8)) {
      case 0:
        return StrCat("device.driver == '", OneOf({"d.e", "f.g"}), "'");
      case 1:
        return "device.allowMultipleAllocations";
      case 2:
        return StrCat("has(", MakeDomain(), ".x)");
      case 3:
        return StrCat("'x' in ", MakeDomain());
      case 4:
        return StrCat("'d.e' in ", MakeMap());
      case 5:
        return StrCat("size(", Below(2) == 0 ? MakeMap() : MakeDomain(), ") > 1");
      case 6:
        return StrCat(MakeMap(), ".exists(k, k == 'd.e')");
      default:
        return StrCat(MakeValue(), " == ", OneOf({"1", "'a'", "true", "quantity('1Gi')"}));
    }
  }

 private:
  std::mt19937_64 random_;
};

TEST(DeviceSelectorTest, GivesTheSameAnswersWithAndWithoutKeptOnes) {
  const uint64_t seed = 20261128;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  SelectorCache cache;
  int64_t most_kept = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string expression = random.MakeCondition(static_cast<int>(1 + random.Below(4)));
    const absl::StatusOr<CelSelector> selector = CelSelector::Compile(expression);
    ASSERT_TRUE(selector.ok()) << expression << ": " << selector.status();
    const DeviceSelector keeping = cache.Get(expression);
    for (int j = 0; j < 12; ++j) {
      const Device device = random.MakeDevice();
      const int64_t budget =
          random.Below(3) == 0 ? static_cast<int64_t>(random.Below(400)) : 100'000;
      int64_t steps = 0;
      const absl::StatusOr<bool> expected = selector->Matches(device, budget, &steps);
      const DeviceSelector::Answer answer = keeping.Evaluate(device, budget);
      ASSERT_EQ(answer.matches, expected) << expression;
      ASSERT_EQ(answer.steps, steps) << expression;
    }
    most_kept = std::max(most_kept, cache.answers());
    if (i % 100 == 0) cache.DropUnused();
  }
  EXPECT_GT(most_kept, 100);
}

TEST(DeviceSelectorTest, ReadsOnlyWhatAnExpressionNames) {
  const auto content = [](std::string_view expression, const Device& device) {
    return DeviceSelector(CelSelector::Compile(expression)).ContentOf(device);
  };
  const Device a = Gpu("a"), b = Gpu("b");
  for (const std::string_view expression :
       {"device.driver == 'x'", "device.attributes['gpu.nvidia.com'].type == 'gpu'",
        "has(device.attributes['gpu.nvidia.com'].type)", "'uuid' in device.attributes['other.com']",
        "device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('40Gi'))"}) {
    EXPECT_EQ(content(expression, a), content(expression, b)) << expression;
  }
  for (const std::string_view expression :
       {"device.attributes['gpu.nvidia.com'].uuid == 'a'",
        "device.attributes['gpu.nvidia.com']['uu' + 'id'] == 'a'",
        "device.attributes[device.driver].uuid == 'a'",
        "cel.bind(nv, device.attributes['gpu.nvidia.com'], nv.uuid == 'a')",
        "cel.bind(d, device, d.attributes['gpu.nvidia.com'].uuid == 'a')",
        "[device.attributes].all(m, m['gpu.nvidia.com'].uuid == 'a')"}) {
    EXPECT_NE(content(expression, a), content(expression, b)) << expression;
  }
}

}  // namespace
}  // namespace kai::device_selector_test

#include "guard/hooks/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace kai::guard {
namespace {

constexpr uint64_t kCard = 85'899'345'920;  // 80 GiB
constexpr const char* kUuid = "GPU-01020304-0506-0708-090a-0b0c0d0e0f10";

class SettingsTest : public testing::Test {
 protected:
  ~SettingsTest() override {
    for (const char* name : {"KAI_GUARD_LIMIT", "KAI_GUARD_LIMITS", "KAI_GUARD_CONTEXT"})
      unsetenv(name);
  }
  static const char* Read(const char* name, const char* value, Settings* settings) {
    setenv(name, value, 1);
    return ReadSettings(settings);
  }
};

TEST_F(SettingsTest, LimitsAreBytesOrPartsOfADevice) {
  const std::pair<const char*, uint64_t> cases[] = {
      {"16Gi", uint64_t{16} << 30},
      {"500Mi", uint64_t{500} << 20},
      {"1234", 1234},
      {"0.5", kCard / 2},
      {"0.333", 28'604'482'191},
      {"1.0", kCard},
      {"100Gi", kCard},
      {"0", 0},
  };
  for (const auto& [text, bytes] : cases) {
    Settings settings;
    EXPECT_EQ(Read("KAI_GUARD_LIMIT", text, &settings), nullptr) << text;
    EXPECT_EQ(settings.limit.Of(kCard), bytes) << text;
  }
}

TEST_F(SettingsTest, WhatIsNoLimitIsRefused) {
  for (const char* text :
       {"", "half", "-1", "1.5", "16GB", "0.5,", "99999999999999999999", "16 Gi"}) {
    Settings settings;
    EXPECT_NE(Read("KAI_GUARD_LIMIT", text, &settings), nullptr) << text;
  }
}

TEST_F(SettingsTest, DevicesHaveLimitsOfTheirOwn) {
  Settings settings;
  setenv("KAI_GUARD_LIMIT", "0.25", 1);
  const std::string list = std::string(kUuid) + "=0.5";
  ASSERT_EQ(Read("KAI_GUARD_LIMITS", list.c_str(), &settings), nullptr);
  Uuid uuid;
  ASSERT_TRUE(ReadUuid(kUuid, &uuid));
  EXPECT_EQ(settings.LimitFor(uuid).Of(kCard), kCard / 2);
  EXPECT_EQ(settings.LimitFor({}).Of(kCard), kCard / 4);
  for (const char* wrong : {"GPU-12=0.5", "0.5", "GPU-01020304-0506-0708-090a-0b0c0d0e0f10=x"}) {
    Settings refused;
    EXPECT_NE(Read("KAI_GUARD_LIMITS", wrong, &refused), nullptr) << wrong;
  }
}

}  // namespace
}  // namespace kai::guard

#include "kai/base/status_macros.h"

#include <gtest/gtest.h>

#include <memory>

namespace kai::status_macros_test {
namespace {

absl::Status Half(int number) {
  return number % 2 == 0 ? absl::OkStatus() : absl::InvalidArgumentError("odd");
}

absl::StatusOr<std::unique_ptr<int>> Box(int number) {
  KAI_RETURN_IF_ERROR(Half(number));
  return std::make_unique<int>(number / 2);
}

absl::StatusOr<int> Quarter(int number) {
  KAI_ASSIGN_OR_RETURN(const std::unique_ptr<int> half, Box(number));
  KAI_ASSIGN_OR_RETURN(std::unique_ptr<int> quarter, Box(*half));
  return *quarter;
}

TEST(StatusMacrosTest, PassValuesOnAndReturnTheFirstError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status(), absl::InvalidArgumentError("odd"));
  EXPECT_EQ(Quarter(1).status().message(), "odd");
}

}  // namespace
}  // namespace kai::status_macros_test

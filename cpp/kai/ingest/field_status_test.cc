#include "kai/ingest/field_status.h"

#include <gtest/gtest.h>

namespace kai::field_status_test {
namespace {

TEST(FieldStatusTest, BuildsItsPathFromTheInnermostField) {
  const FieldStatus status = FieldStatus::Bad("is negative")
                                 .Inside("[\"cpu\"]")
                                 .Inside("requests")
                                 .Inside("[0]")
                                 .Inside("containers")
                                 .Inside("spec");
  EXPECT_EQ(status.field(), "spec.containers[0].requests[\"cpu\"]");
  EXPECT_EQ(status.message(), "is negative");
}

TEST(FieldStatusTest, StaysOkInsideAnyField) { EXPECT_TRUE(FieldStatus().Inside("spec").ok()); }

}  // namespace
}  // namespace kai::field_status_test

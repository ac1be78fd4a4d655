#include "kai/store/fill_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

namespace kai::fill_store_test {
namespace {

using testing::ElementsAre;
using testing::Field;

constexpr std::string_view kQueues = R"({"rawObjects": {"queues": [
    {"metadata": {"name": "a"}}, {"metadata": {"name": "b"}, "spec": {"parentQueue": 7}}, 5]}})";
constexpr std::string_view kTwice = R"({"rawObjects": {"queues": [
    {"metadata": {"name": "a"}}, {"metadata": {"name": "a"}}]}})";
constexpr std::string_view kGoodAndBad = R"({"rawObjects": {"queues": [
    {"metadata": {"name": "a"}}, {"metadata": {"name": "a"}, "spec": {"parentQueue": 7}}]}})";
constexpr std::string_view kNothingToClaim = R"({"discovery": {"resources": []},
    "rawObjects": {"configMaps": []}})";

// True if it succeeded.
bool Fill(std::string_view json, Store* store) {
  absl::StatusOr<SnapshotRows> snapshot = ReadSnapshotRows(json);
  EXPECT_TRUE(snapshot.ok());
  return FillStore(&*snapshot, store);
}

TEST(FillStoreTest, AddsValidObjectsAndRejections) {
  Store store;
  EXPECT_TRUE(Fill(kQueues, &store));
  EXPECT_THAT(store.Rows().queues, ElementsAre(Field(&QueueRow::name, "a")));
  EXPECT_THAT(store.rejections(), ElementsAre(Field(&Rejection::name, ""),
                                              Field(&Rejection::field, "spec.parentQueue")));
  EXPECT_FALSE(store.Rows().config_maps.has_value()) << "the file does not list ConfigMaps";
  EXPECT_FALSE(store.Rows().serves_claims.has_value());
}

TEST(FillStoreTest, FailsForAFileWithADuplicateObject) {
  Store twice;
  EXPECT_FALSE(Fill(kTwice, &twice));
  Store good_and_bad;
  EXPECT_FALSE(Fill(kGoodAndBad, &good_and_bad));
}

TEST(FillStoreTest, AnEmptyListMeansThatNoneExist) {
  Store store;
  EXPECT_TRUE(Fill(kNothingToClaim, &store));
  EXPECT_TRUE(store.Rows().config_maps.has_value());
  EXPECT_EQ(store.Rows().serves_claims, false);
}

}  // namespace
}  // namespace kai::fill_store_test

#include "kai/store/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kai/base/text.h"

namespace kai::history_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class HistoryTest : public testing::Test {
 protected:
  void Upsert(std::string_view name, std::string_view parent = "") {
    QueueRow row;
    row.name = name;
    row.parent = parent;
    store.Upsert(row);
  }
  void Delete(std::string_view name) { store.Delete(Kind::kQueue, name); }
  std::vector<std::string> QueuesAt(const History::Moment& moment) const {
    std::vector<std::string> names;
    for (const QueueRow& row : history.RowsAt(moment).queues)
      names.push_back(StrCat(row.parent, "/", row.name));
    return names;
  }

  Store store;
  History history{&store};
};

TEST_F(HistoryTest, ReturnsTheObjectsOfAMoment) {
  Upsert("a");
  Upsert("b");
  const History::Moment before = history.Now();
  Upsert("a", "org");
  Delete("b");
  Upsert("c");
  const History::Moment between = history.Now();
  Upsert("a", "other");
  Delete("c");
  Upsert("c", "new");
  EXPECT_THAT(QueuesAt(before), UnorderedElementsAre("/a", "/b"));
  EXPECT_THAT(QueuesAt(between), UnorderedElementsAre("org/a", "/c"));
  EXPECT_THAT(QueuesAt(history.Now()), UnorderedElementsAre("other/a", "new/c"));
}

TEST_F(HistoryTest, ReturnsTheUsageOfQueuesAtAMoment) {
  Upsert("a");
  store.SetPastUsages({{"a", {0, 0, 0.5}}});
  const History::Moment before = history.Now();
  store.SetPastUsages({{"a", {0, 0, 0.25}}});
  EXPECT_EQ(history.RowsAt(before).queues.at(0).past_usage, (QuotaVector{0, 0, 0.5}));
  EXPECT_EQ(history.RowsAt(history.Now()).queues.at(0).past_usage, (QuotaVector{0, 0, 0.25}));
}

TEST_F(HistoryTest, AnObjectAddedAndDeletedLaterIsNotInAMoment) {
  const History::Moment before = history.Now();
  Upsert("a");
  Delete("a");
  EXPECT_THAT(QueuesAt(before), IsEmpty());
}

TEST_F(HistoryTest, ReleasingAMomentKeepsTheOthers) {
  Upsert("a", "first");
  const History::Moment first = history.Now();
  Upsert("a", "second");
  History::Moment second = history.Now();
  Upsert("a", "third");
  Upsert("b");
  second = nullptr;
  const History::Moment third = history.Now();
  Delete("a");
  EXPECT_THAT(QueuesAt(first), ElementsAre("first/a"));
  EXPECT_THAT(QueuesAt(third), UnorderedElementsAre("third/a", "/b"));
}

TEST_F(HistoryTest, ARejectedObjectIsNotInAMoment) {
  store.Upsert(Kind::kQueue, R"({"metadata": {"name": "a"}, "spec": 7})");
  const History::Moment before = history.Now();
  Upsert("a");
  EXPECT_THAT(QueuesAt(before), IsEmpty());
  EXPECT_THAT(history.RowsAt(before).rejections, IsEmpty());
}

TEST_F(HistoryTest, ReturnsWhetherConfigMapsWereSynced) {
  const History::Moment before = history.Now();
  store.Synced(Kind::kConfigMap);
  const History::Moment after = history.Now();
  EXPECT_FALSE(history.RowsAt(before).config_maps.has_value());
  EXPECT_TRUE(history.RowsAt(after).config_maps.has_value());
}

}  // namespace
}  // namespace kai::history_test

#include "kai/store/object_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kai/base/text.h"

namespace kai::object_table_test {
namespace {

using testing::ElementsAre;

QueueRow Row(std::string name, std::string parent = "") {
  QueueRow row;
  row.name = std::move(name);
  row.parent = std::move(parent);
  return row;
}

TEST(ObjectTableTest, FindsObjectsByName) {
  ObjectTable<QueueRow> queues;
  const QueueRow row = Row("q", "org");
  queues.Add("q", 7, row);
  EXPECT_EQ(queues.Find("q")->row.parent, "org");
  EXPECT_EQ(queues.Find("r"), nullptr);
}

TEST(ObjectTableTest, ASlotIsGivenToAnotherObjectOnceItsOwnIsGone) {
  ObjectTable<QueueRow> queues;
  const Slot first = queues.Add("a", 0, Row("a")).slot;
  const Slot second = queues.Add("b", 0, Row("b")).slot;
  EXPECT_NE(first, second);
  EXPECT_EQ(queues.Add("a", 0, Row("a", "org")).slot, first) << "a new version of the same";
  EXPECT_EQ(queues.Delete("a", 0), first);
  EXPECT_EQ(queues.Delete("a", 0), kNoSlot);
  EXPECT_EQ(queues.Add("c", 0, Row("c")).slot, first);
  EXPECT_EQ(queues[first].row.name, "c");
  EXPECT_EQ(queues[second].row.name, "b");
}

TEST(ObjectTableTest, TellsWhetherTheRowSaysSomethingElse) {
  ObjectTable<QueueRow> queues;
  EXPECT_TRUE(queues.Add("q", 1, Row("q")).has_changed);
  EXPECT_FALSE(queues.Add("q", 2, Row("q")).has_changed);
  EXPECT_EQ(queues.Find("q")->version, 2);
  EXPECT_TRUE(queues.Add("q", 3, Row("q", "org")).has_changed);
  const auto bad = [&] {
    return queues.Add("q", 4, QueueRow(), std::make_unique<Rejection>()).has_changed;
  };
  EXPECT_TRUE(bad());
  EXPECT_TRUE(bad()) << "why it makes no sense may be another reason";
  EXPECT_TRUE(queues.Add("q", 5, QueueRow()).has_changed);
}

TEST(ObjectTableTest, RowsGoByNameWhateverTheirSlots) {
  ObjectTable<QueueRow> queues;
  for (const char* name : {"c", "a", "b"}) queues.Add(name, 0, Row(name));
  queues.Add("bad", 0, QueueRow(), std::make_unique<Rejection>());
  std::string names;
  for (const QueueRow* row : queues.Sorted()) names += row->name;
  EXPECT_EQ(names, "abc");
  EXPECT_EQ(queues.rejections().size(), 1);
}

}  // namespace
}  // namespace kai::object_table_test

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
  queues.Put("q", 7, row);
  EXPECT_EQ(queues.Find("q")->row.parent, "org");
  EXPECT_EQ(queues.Find("r"), nullptr);
}

TEST(ObjectTableTest, ASlotIsGivenToAnotherObjectOnceItsOwnIsGone) {
  ObjectTable<QueueRow> queues;
  const Slot first = queues.Put("a", 0, Row("a"));
  const Slot second = queues.Put("b", 0, Row("b"));
  EXPECT_NE(first, second);
  EXPECT_EQ(queues.Put("a", 0, Row("a", "org")), first) << "a new version of the same";
  EXPECT_EQ(queues.Delete("a", 0), first);
  EXPECT_EQ(queues.Delete("a", 0), kNoSlot);
  EXPECT_EQ(queues.Put("c", 0, Row("c")), first);
  EXPECT_EQ(queues[first].row.name, "c");
  EXPECT_EQ(queues[second].row.name, "b");
}

TEST(ObjectTableTest, RowsGoByNameWhateverTheirSlots) {
  ObjectTable<QueueRow> queues;
  for (const char* name : {"c", "a", "b"}) queues.Put(name, 0, Row(name));
  queues.Put("bad", 0, QueueRow(), std::make_unique<Rejection>());
  std::string names;
  for (const QueueRow* row : queues.Sorted()) names += row->name;
  EXPECT_EQ(names, "abc");
  EXPECT_EQ(queues.rejections().size(), 1);
}

}  // namespace
}  // namespace kai::object_table_test

#include "kai/store/object_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "kai/base/text.h"

namespace kai::object_table_test {
namespace {

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

TEST(ObjectTableTest, ARowKeepsItsAddressUntilItsObjectIsDeleted) {
  ObjectTable<QueueRow> queues;
  queues.Add("a", 0, Row("a"));
  const QueueRow* row = &queues.Find("a")->row;
  for (int i = 0; i < 1000; ++i) queues.Add(StrCat("other-", i), 0, Row(StrCat("other-", i)));
  queues.Add("a", 0, Row("a", "org"));
  EXPECT_EQ(&queues.Find("a")->row, row) << "the new version keeps its address";
  EXPECT_EQ(row->parent, "org");
  EXPECT_TRUE(queues.Delete("a", 0));
  EXPECT_FALSE(queues.Delete("a", 0));
  EXPECT_EQ(queues.Find("a"), nullptr);
}

TEST(ObjectTableTest, AddReturnsWhetherTheRowChanged) {
  ObjectTable<QueueRow> queues;
  EXPECT_TRUE(queues.Add("q", 1, Row("q")));
  EXPECT_FALSE(queues.Add("q", 2, Row("q")));
  EXPECT_EQ(queues.Find("q")->version, 2);
  EXPECT_TRUE(queues.Add("q", 3, Row("q", "org")));
  const auto bad = [&] { return queues.Add("q", 4, QueueRow(), std::make_unique<Rejection>()); };
  EXPECT_TRUE(bad());
  EXPECT_TRUE(bad()) << "the reason of a rejection may have changed";
  EXPECT_TRUE(queues.Add("q", 5, Row("q")));
}

TEST(ObjectTableTest, HasARowForEachValidObject) {
  ObjectTable<QueueRow> queues;
  for (const char* name : {"c", "a", "b"}) queues.Add(name, 0, Row(name));
  queues.Add("bad", 0, QueueRow(), std::make_unique<Rejection>());
  std::set<std::string> names;
  for (const QueueRow* row : queues.Rows()) names.insert(row->name);
  EXPECT_EQ(names, (std::set<std::string>{"a", "b", "c"}));
  EXPECT_EQ(queues.rejections().size(), 1);
  queues.Add("bad", 0, Row("bad"));
  EXPECT_EQ(queues.rejections().size(), 0);
}

TEST(ObjectTableTest, DistinguishesNamespaces) {
  ObjectTable<PodGroupRow> groups;
  const auto add = [&](const char* space, const char* name, const char* queue) {
    PodGroupRow row;
    row.namespace_name = space;
    row.name = name;
    row.queue = queue;
    const std::string key = NameInTable(row);
    groups.Add(key, 0, std::move(row));
  };
  add("a", "g", "first");
  add("b", "g", "second");
  add("", "g", "third");
  EXPECT_EQ(groups.Find("a/g")->row.queue, "first");
  EXPECT_EQ(groups.Find("b/g")->row.queue, "second");
  EXPECT_EQ(groups.Find("g")->row.queue, "third");
  EXPECT_EQ(groups.Find("a/"), nullptr);
  groups.Add("c/bad", 3, PodGroupRow(), std::make_unique<Rejection>());
  EXPECT_TRUE(groups.IsLate("c/bad", 2));
  groups.BeginList();
  add("b", "g", "second");
  const std::vector<std::string> gone = groups.EndList();
  EXPECT_EQ(std::set<std::string>(gone.begin(), gone.end()),
            (std::set<std::string>{"a/g", "c/bad", "g"}));
}

}  // namespace
}  // namespace kai::object_table_test

#include "kai/model/building/sub_group_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace kai::sub_group_tree_test {
namespace {

using ::testing::ElementsAre;

PodGroupRow GroupOf(std::vector<std::pair<std::string, std::string>> sub_groups) {
  PodGroupRow row;
  for (auto& [name, parent] : sub_groups) {
    SubGroupRow& sub = row.sub_groups.emplace_back();
    sub.name = name;
    if (!parent.empty()) sub.parent = parent;
    sub.min_member = 2;
  }
  return row;
}

// "name under parent, minimum"
std::vector<std::string> Texts(const PodGroupRow& row) {
  const SubGroupTree tree = SubGroupTreeOf(row);
  std::vector<std::string> texts;
  for (const SubGroupTree::Set& set : tree.sets) {
    const bool is_root = set.parent < 0;
    const std::string_view parent =
        is_root ? "nothing" : tree.sets[static_cast<size_t>(set.parent)].name;
    texts.push_back(std::string(set.name) + " under " + std::string(parent) + ", " +
                    std::to_string(set.minimum) + (set.is_pod_set ? " pods" : " children"));
  }
  return texts;
}

TEST(SubGroupTreeTest, AGroupWithoutSubGroupsIsARootWithOnePodSet) {
  PodGroupRow row;
  row.min_member = 3;
  EXPECT_THAT(Texts(row), ElementsAre(" under nothing, 1 children", "default under , 3 pods"));
}

TEST(SubGroupTreeTest, SetsFollowTheirParentsAndSiblingsAreSortedByName) {
  EXPECT_THAT(Texts(GroupOf({{"workers", ""}, {"b", "Workers"}, {"leader", ""}, {"a", "workers"}})),
              ElementsAre(" under nothing, 2 children", "leader under , 2 pods",
                          "workers under , 2 children", "a under workers, 2 pods",
                          "b under workers, 2 pods"));
}

TEST(SubGroupTreeTest, AnInvalidTreeIsReplacedByTheDefaultTree) {
  const PodGroupRow row = GroupOf({{"a", "b"}, {"b", "a"}});
  const SubGroupTree tree = SubGroupTreeOf(row);
  EXPECT_EQ(tree.problem, "cycle detected in subgroups");
  EXPECT_EQ(tree.sets.size(), size_t{2});
  EXPECT_EQ(tree.sets[0].topology, nullptr) << "no topology constraint (spec 4 H3)";
  EXPECT_EQ(SubGroupTreeOf(GroupOf({{"a", ""}, {"a", ""}})).problem, "subgroup a already exists");
  EXPECT_EQ(SubGroupTreeOf(GroupOf({{"a", "x"}})).problem, "parent subgroup x of a not found");
}

TEST(SubGroupTreeTest, AThresholdIsNeverBelowZero) {
  PodGroupRow row;
  row.min_member = -1;
  EXPECT_EQ(SubGroupTreeOf(row).sets[1].minimum, 0);
}

}  // namespace
}  // namespace kai::sub_group_tree_test

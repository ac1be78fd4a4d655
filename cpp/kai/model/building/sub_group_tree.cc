#include "kai/model/building/sub_group_tree.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <utility>

#include "kai/base/text.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

using SubGroupByName = std::map<std::string_view, const SubGroupRow*>;
using Children = std::map<std::string, std::vector<const SubGroupRow*>>;  // "" is the root

// A threshold as an object has it; negative values become 0.
int32_t Threshold(int64_t written) {
  return static_cast<int32_t>(std::clamp<int64_t>(written, 0, std::numeric_limits<int32_t>::max()));
}

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Fills in the children of each sub-group, by name. Returns why that is not possible; empty: it is.
std::string ChildrenOf(const PodGroupSpecRow& row, Children* children) {
  SubGroupByName by_name;
  for (const SubGroupRow& sub : row.sub_groups) {
    if (!by_name.emplace(sub.name, &sub).second)
      return StrCat("subgroup ", sub.name, " already exists");
  }
  for (const auto& [name, sub] : by_name) {
    const std::string parent = LowerCase(sub->parent.value_or(""));
    if (!parent.empty() && !by_name.contains(parent))
      return StrCat("parent subgroup ", parent, " of ", name, " not found");
    (*children)[parent].push_back(sub);
  }
  // Sub-groups that the root does not reach are in a cycle.
  std::vector<const SubGroupRow*> reached = (*children)[""];
  for (size_t i = 0; i < reached.size(); ++i) {
    const std::vector<const SubGroupRow*>& below = (*children)[reached[i]->name];
    reached.insert(reached.end(), below.begin(), below.end());
  }
  return reached.size() == by_name.size() ? "" : "cycle detected in subgroups";
}

// Adds all sets below the root, breadth first.
void AddDescendants(const Children& children, std::vector<SubGroupTree::Set>* sets) {
  std::vector<std::pair<const SubGroupRow*, int32_t>> queue;
  const auto enqueue = [&](const std::string& parent, int32_t place) {
    for (const SubGroupRow* sub : children.at(parent)) queue.emplace_back(sub, place);
  };
  enqueue("", 0);
  for (size_t i = 0; i < queue.size(); ++i) {
    const auto [sub, parent] = queue[i];
    const size_t below = children.at(sub->name).size();
    const bool is_pod_set = below == 0;
    const int64_t minimum = is_pod_set ? sub->min_member.value_or(0)
                                       : sub->min_sub_group.value_or(static_cast<int64_t>(below));
    sets->push_back({.parent = parent,
                     .name = sub->name,
                     .is_pod_set = is_pod_set,
                     .minimum = Threshold(minimum),
                     .minimum_given = !is_pod_set && sub->min_sub_group.has_value(),
                     .topology = &sub->topology});
    enqueue(sub->name, static_cast<int32_t>(sets->size()) - 1);
  }
}

}  // namespace

SubGroupTree SubGroupTreeOf(const PodGroupSpecRow& row) {
  SubGroupTree tree;
  SubGroupTree::Set root{.minimum_given = row.min_sub_group.has_value(), .topology = &row.topology};
  Children children;
  if (!row.sub_groups.empty()) tree.problem = ChildrenOf(row, &children);
  if (!tree.problem.empty()) {
    // KAI keeps its built-in tree (spec 2 G5), which has no topology constraint (spec 4 H3).
    tree.sets = {{}, {.parent = 0, .name = kDefaultSubgroup, .is_pod_set = true}};
    return tree;
  }
  const size_t top = row.sub_groups.empty() ? 0 : children[""].size();
  root.minimum = Threshold(row.min_sub_group.value_or(top == 0 ? 1 : static_cast<int64_t>(top)));
  tree.sets.push_back(root);
  if (top == 0) {
    tree.sets.push_back({.parent = 0,
                         .name = kDefaultSubgroup,
                         .is_pod_set = true,
                         .minimum = Threshold(row.min_member.value_or(1))});
    return tree;
  }
  AddDescendants(children, &tree.sets);
  return tree;
}

}  // namespace kai

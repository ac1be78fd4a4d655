// Small questions to rows, shared by all that builds.
//
//   SortedAndUnique(&rows->pods, "Pod", NamespacedKey<PodRow>, &w_.rejections, w_.seed)
//
// Invariants: what is found does not depend on the order of the input. Cost: O(labels), or
// O(rows · log). Threads: thread-safe, but for what a function is given to change.
#ifndef KAI_MODEL_BUILDING_ROW_LOOKUP_H_
#define KAI_MODEL_BUILDING_ROW_LOOKUP_H_

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/api/accelerators.h"
#include "kai/base/text.h"
#include "kai/model/building/numbering.h"
#include "kai/model/rows/rows.h"

namespace kai {

inline constexpr int64_t kNoTime =
    std::numeric_limits<int64_t>::min();  // a time that was not given
inline constexpr std::string_view kDefaultSubgroup =
    "default";  // the pod set of groups without sub-groups (spec 2 G5)
inline constexpr std::string_view kDefaultNodePool =
    "default";  // what messages call the pool without a label

inline const std::string* FindLabelText(const StringPairs& labels, std::string_view key) {
  const auto found = std::find_if(labels.begin(), labels.end(),
                                  [&](const auto& label) { return label.first == key; });
  return found == labels.end() ? nullptr : &found->second;
}

// The first that is there of a label that each vendor has a name for (accelerators.h).
inline const std::string* FindDeviceLabel(const StringPairs& labels,
                                          std::string_view Accelerator::* label) {
  for (const Accelerator& each : kAccelerators) {
    if ((each.*label).empty()) continue;
    if (const std::string* text = FindLabelText(labels, each.*label)) return text;
  }
  return nullptr;
}

inline bool HasLabel(const StringPairs& labels, std::string_view key, std::string_view value) {
  const std::string* text = FindLabelText(labels, key);
  return text != nullptr && *text == value;
}

inline int64_t AmountOf(const ResourceAmounts& amounts, std::string_view name) {
  const auto found = std::find_if(amounts.begin(), amounts.end(),
                                  [&](const auto& amount) { return amount.first == name; });
  return found == amounts.end() ? 0 : found->second;
}

inline std::string QualifiedName(std::string_view namespace_name, std::string_view name) {
  return StrCat(namespace_name, "/", name);
}

// What identifies an object among those of its kind.
template <typename Row>
std::string_view NameKey(const Row& row) {
  return row.name;
}
template <typename Row>
std::pair<std::string_view, std::string_view> NamespacedKey(const Row& row) {
  return {row.namespace_name, row.name};
}

template <typename Row>
std::string NameOf(const Row& row) {
  if constexpr (requires { row.namespace_name; }) {
    return QualifiedName(row.namespace_name, row.name);
  } else {
    return row.name;
  }
}

// The rows in the order of `key`, which names an object; with a seed, as OrderForIds() has them.
// Objects that share one name all go: which of them is kept must not depend on their order. Rows
// are large; they stay where they are.
template <typename Row, typename KeyOf>
std::vector<Row*> SortedAndUnique(std::vector<Row>* rows, const char* kind, const KeyOf& key,
                                  std::vector<Rejection>* rejections, uint64_t seed = 0) {
  std::vector<Row*> sorted;
  sorted.reserve(rows->size());
  for (Row& row : *rows) sorted.push_back(&row);
  std::sort(sorted.begin(), sorted.end(),
            [&](const Row* a, const Row* b) { return key(*a) < key(*b); });
  size_t kept = 0;
  for (size_t begin = 0; begin < sorted.size();) {
    size_t end = begin + 1;
    while (end < sorted.size() && key(*sorted[begin]) == key(*sorted[end])) ++end;
    if (end == begin + 1) {
      sorted[kept++] = sorted[begin];
    } else {
      rejections->push_back(
          {.kind = kind,
           .name = NameOf(*sorted[begin]),
           .field = "metadata.name",
           .message = StrCat("is given ", end - begin,
                             " times; which one counts cannot be told, so all are left out")});
    }
    begin = end;
  }
  sorted.resize(kept);
  OrderForIds(seed, &sorted);
  return sorted;
}

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_ROW_LOOKUP_H_

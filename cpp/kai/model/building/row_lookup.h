// Small questions to rows, shared by all that builds.
//
//   SortedAndUnique(rows.topologies, "Topology", &w_.rejections, w_.seed)
//
// Invariants: what is found does not depend on the order of the input. Cost: O(labels), or
// O(rows · log). Threads: thread-safe, but for what a function is given to change.
#ifndef KAI_MODEL_BUILDING_ROW_LOOKUP_H_
#define KAI_MODEL_BUILDING_ROW_LOOKUP_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/api/accelerators.h"
#include "kai/base/text.h"
#include "kai/base/text_head.h"
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

template <typename Row>
std::vector<const Row*> PointersTo(const std::vector<Row>& rows) {
  std::vector<const Row*> pointers;
  pointers.reserve(rows.size());
  for (const Row& row : rows) pointers.push_back(&row);
  return pointers;
}

// By namespace and name. Each row is looked at once, and again where names are long and alike.
template <typename Row>
void SortByName(std::vector<const Row*>* rows) {
  const auto space_of = [](const Row& row) -> std::string_view {
    if constexpr (requires { row.namespace_name; }) return row.namespace_name;
    return "";
  };
  const auto is_before = [&](const Row* a, const Row* b) {
    return std::pair(space_of(*a), std::string_view(a->name)) <
           std::pair(space_of(*b), std::string_view(b->name));
  };
  if (std::is_sorted(rows->begin(), rows->end(), is_before)) return;
  std::map<std::string_view, uint32_t> spaces;
  size_t prefix = rows->front()->name.size();
  for (const Row* row : *rows) {
    spaces.emplace(space_of(*row), 0);
    prefix = CommonPrefix(rows->front()->name, prefix, row->name);
  }
  uint32_t rank = 0;
  for (auto& [name, its_rank] : spaces) its_rank = rank++;
  struct Entry {
    uint64_t head;
    uint32_t space;
    const Row* row;
  };
  std::vector<Entry> entries;
  entries.reserve(rows->size());
  for (const Row* row : *rows)
    entries.push_back({TextHead(row->name, prefix), spaces.find(space_of(*row))->second, row});
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    if (a.space != b.space) return a.space < b.space;
    return a.head != b.head ? a.head < b.head : a.row->name < b.row->name;
  });
  for (size_t i = 0; i < entries.size(); ++i) (*rows)[i] = entries[i].row;
}

// The rows in the order of their names; with a seed, as OrderForIds() has them. Objects that share
// one name all go: which of them is kept must not depend on their order.
template <typename Row>
std::vector<const Row*> SortedAndUnique(std::vector<const Row*> rows, const char* kind,
                                        std::vector<Rejection>* rejections, uint64_t seed = 0) {
  SortByName(&rows);
  const auto are_same = [](const Row* a, const Row* b) {
    if constexpr (requires { a->namespace_name; }) {
      if (a->namespace_name != b->namespace_name) return false;
    }
    return a->name == b->name;
  };
  size_t kept = 0;
  for (size_t begin = 0; begin < rows.size();) {
    size_t end = begin + 1;
    while (end < rows.size() && are_same(rows[begin], rows[end])) ++end;
    if (end == begin + 1) {
      rows[kept++] = rows[begin];
    } else {
      rejections->push_back(
          {.kind = kind,
           .name = NameOf(*rows[begin]),
           .field = "metadata.name",
           .message = StrCat("occurs ", end - begin,
                             " times, and it is unknown which one is valid: all are left out")});
    }
    begin = end;
  }
  rows.resize(kept);
  OrderForIds(seed, &rows);
  return rows;
}
template <typename Row>
std::vector<const Row*> SortedAndUnique(const std::vector<Row>& rows, const char* kind,
                                        std::vector<Rejection>* rejections, uint64_t seed = 0) {
  return SortedAndUnique(PointersTo(rows), kind, rejections, seed);
}

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_ROW_LOOKUP_H_

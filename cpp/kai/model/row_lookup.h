// Small questions to rows, shared by the steps of the assembler.
#ifndef KAI_MODEL_ROW_LOOKUP_H_
#define KAI_MODEL_ROW_LOOKUP_H_

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/base/text.h"
#include "kai/model/rows.h"

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

// Objects that share one name all go: which of them is kept must not depend on their order.
template <typename Row, typename NameOf>
void DropDuplicates(std::vector<Row>* rows, const char* kind, const NameOf& name_of,
                    std::vector<Rejection>* rejections) {
  std::map<std::string, size_t> times;
  for (const Row& row : *rows) ++times[name_of(row)];
  if (times.size() == rows->size()) return;
  std::vector<Row> kept;
  for (Row& row : *rows) {
    if (times[name_of(row)] == 1) kept.push_back(std::move(row));
  }
  for (const auto& [name, count] : times) {
    if (count == 1) continue;
    rejections->push_back(
        {.kind = kind,
         .name = name,
         .field = "metadata.name",
         .message = StrCat("is given ", count,
                           " times; which one counts cannot be told, so all are left out")});
  }
  *rows = std::move(kept);
}

}  // namespace kai

#endif  // KAI_MODEL_ROW_LOOKUP_H_

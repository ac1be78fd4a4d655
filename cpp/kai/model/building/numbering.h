// In which order the objects of a kind get their ids: by name, or, in tests, at random; and the
// order of names, which is what counts where two of them are alike in all else.
//
//   OrderForIds(seed_, &order);
//   RankByName(c_.names_, &c_.nodes_);
//
// Invariants: the same seed gives the same order; 0 leaves it as it is. Cost: O(objects), and
// RankByName() O(objects · log) where ids do not follow names. Threads: pure functions.
#ifndef KAI_MODEL_BUILDING_NUMBERING_H_
#define KAI_MODEL_BUILDING_NUMBERING_H_

#include <algorithm>
#include <random>
#include <vector>

#include "kai/base/index_vector.h"
#include "kai/base/interner.h"

namespace kai {

template <typename T>
void OrderForIds(uint64_t seed, std::vector<T>* objects) {
  if (seed == 0) return;
  std::mt19937_64 random(seed);
  std::shuffle(objects->begin(), objects->end(), random);
}

// Fills `name_rank` of nodes, queues, pods or pod groups.
template <typename Columns>
void RankByName(const Interner& names, Columns* columns) {
  using IdT = decltype(InOrderOf(columns->name_rank))::value_type;
  std::vector<IdT> order;
  for (const IdT id : columns->name.ids()) order.push_back(id);
  const auto is_before = [&](IdT a, IdT b) {
    if constexpr (requires { columns->namespace_name; }) {
      if (columns->namespace_name[a] != columns->namespace_name[b])
        return names.Text(columns->namespace_name[a]) < names.Text(columns->namespace_name[b]);
    }
    return names.Text(columns->name[a]) < names.Text(columns->name[b]);
  };
  if (!std::is_sorted(order.begin(), order.end(), is_before))
    std::sort(order.begin(), order.end(), is_before);
  columns->name_rank.Resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) columns->name_rank[order[i]] = static_cast<int32_t>(i);
}

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_NUMBERING_H_

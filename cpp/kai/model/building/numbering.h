// The order in which the objects of a kind get their ids: by name, or in tests at random; and the
// order of names, which decides ties.
//
//   OrderForIds(w_.seed, &order);
//   RankByName(c_.names_, &c_.nodes_);
//
// Invariants: the same seed gives the same order; with seed 0 the order does not change. Cost:
// O(objects), and O(objects · log) for the order of names if ids do not follow it. Threads: pure
// functions.
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

// Compares two nodes, queues, pods or pod groups: by namespace, then name.
template <typename Columns, typename IdT>
bool IsNamedBefore(const Interner& names, const Columns& columns, IdT a, IdT b) {
  if constexpr (requires { columns.namespace_name; }) {
    if (columns.namespace_name[a] != columns.namespace_name[b])
      return names.Text(columns.namespace_name[a]) < names.Text(columns.namespace_name[b]);
  }
  return names.Text(columns.name[a]) < names.Text(columns.name[b]);
}

// The existing objects in that order.
template <typename Columns>
auto InOrderOfNames(const Interner& names, const Columns& columns) {
  using IdT = typename decltype(columns.name.ids())::Id;
  std::vector<IdT> order;
  order.reserve(columns.name.size());
  for (const IdT id : columns.name.ids()) {
    if (columns.name[id].valid()) order.push_back(id);
  }
  const auto is_before = [&](IdT a, IdT b) { return IsNamedBefore(names, columns, a, b); };
  if (!std::is_sorted(order.begin(), order.end(), is_before))
    std::sort(order.begin(), order.end(), is_before);
  return order;
}

// Fills `name_rank` of nodes or queues.
template <typename Columns>
void RankByName(const Interner& names, Columns* columns) {
  const auto order = InOrderOfNames(names, *columns);
  columns->name_rank.Resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) columns->name_rank[order[i]] = static_cast<int32_t>(i);
}

// Ranks one more object. Its columns are complete except for the rank. The others keep their order.
template <typename Columns, typename IdT>
void RankOneMore(const Interner& names, IdT id, Columns* columns) {
  std::vector<IdT> order(columns->name_rank.size() - 1);
  for (const IdT other : columns->name_rank.ids()) {
    if (other != id) order[static_cast<size_t>(columns->name_rank[other])] = other;
  }
  const auto before = std::ranges::partition_point(
      order, [&](IdT other) { return IsNamedBefore(names, *columns, other, id); });
  columns->name_rank[id] = static_cast<int32_t>(before - order.begin());
  for (auto behind = before; behind != order.end(); ++behind) ++columns->name_rank[*behind];
}

// Removes one object from the ranks.
template <typename Columns, typename IdT>
void RankWithout(IdT id, Columns* columns) {
  for (const IdT other : columns->name_rank.ids()) {
    if (columns->name_rank[other] > columns->name_rank[id]) --columns->name_rank[other];
  }
}

}  // namespace kai

#endif  // KAI_MODEL_BUILDING_NUMBERING_H_

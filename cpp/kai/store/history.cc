#include "kai/store/history.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "kai/base/heap_bytes.h"

namespace kai {
namespace {

template <typename Kept>
auto RowOf(const Kept& kept) {
  if constexpr (requires { kept.Row(); }) {
    return kept.Row();
  } else {
    return kept;
  }
}

// True if only the history refers to it.
template <typename T>
bool IsUnused(const std::shared_ptr<T>& span) {
  return span.use_count() == 1;
}

}  // namespace

History::Moment History::Now() {
  Forget();
  if (spans_.empty() || !spans_.back()->rows.empty() ||
      spans_.back()->has_config_maps != store_.IsSynced(Kind::kConfigMap)) {
    spans_.push_back(std::make_shared<Span>());
    spans_.back()->has_config_maps = store_.IsSynced(Kind::kConfigMap);
  }
  return spans_.back();
}

void History::Forget() {
  std::deque<std::shared_ptr<Span>> used;
  for (std::shared_ptr<Span>& span : spans_) {
    if (!IsUnused(span)) {
      used.push_back(std::move(span));
    } else if (!used.empty()) {
      used.back()->rows.merge(span->rows);  // earlier states that are known are kept
    }
  }
  spans_ = std::move(used);
}

void History::Changing(Kind kind, std::string_view name) {
  if (spans_.size() == 1 && IsUnused(spans_.back())) spans_.clear();
  if (spans_.empty()) return;
  const auto [kept, is_first] = spans_.back()->rows.try_emplace(Key(kind, name));
  if (!is_first) return;
  WithKind(kind, [&, &past = kept->second]<typename Row>(const KindEntry<Row>&) {
    if (const KeptAs<Row>* row = store_.Find<Row>(name)) past = *row;
  });
}

MemoryReport History::Memory() const {
  size_t rows = 0;
  size_t bytes = 0;
  for (const std::shared_ptr<Span>& span : spans_) {
    rows += span->rows.size();
    bytes += SharedBlockBytes<Span>() +
             HashTableBytes(span->rows, sizeof(std::pair<const Key, std::any>));
    for (const auto& [key, row] : span->rows) {
      bytes += HeapBytes(key.second);
      WithKind(key.first, [&]<typename Row>(const KindEntry<Row>&) {
        if (const auto* kept = std::any_cast<KeptAs<Row>>(&row))
          bytes += BlockBytes(sizeof(*kept)) + HeapBytesOfRow(*kept);
      });
    }
  }
  MemoryReport report;
  report.Add("history", "rows", rows, bytes);
  return report;
}

ClusterRows History::RowsAt(const Moment& moment) const {
  ClusterRows rows = store_.Rows();
  rows.rejections.clear();
  absl::flat_hash_map<Key, const std::any*> past;
  for (auto span = std::ranges::find(spans_, moment); span != spans_.end(); ++span) {
    for (const auto& [key, row] : (*span)->rows) past.try_emplace(key, &row);
  }
  AnyKind([&]<typename Row>(const KindEntry<Row>& entry) {
    const bool is_touched =
        std::ranges::any_of(past, [&](const auto& each) { return each.first.first == entry.kind; });
    if (!is_touched) return false;
    std::vector<Row>& now = entry.in(&rows);
    std::erase_if(now,
                  [&](const Row& row) { return past.contains(Key(entry.kind, NameInTable(row))); });
    for (const auto& [key, row] : past) {
      if (key.first == entry.kind && row->has_value())
        now.push_back(RowOf(std::any_cast<const KeptAs<Row>&>(*row)));
    }
    return false;
  });
  if (!moment->has_config_maps && rows.config_maps && rows.config_maps->empty())
    rows.config_maps.reset();
  return rows;
}

}  // namespace kai

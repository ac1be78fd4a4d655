#include "kai/store/overlays.h"

#include <algorithm>
#include <limits>

#include "kai/base/heap_bytes.h"
#include "kai/base/saturating.h"
#include "kai/base/text.h"

namespace kai {

void Overlays::Avoid(std::string_view group, std::vector<std::string> nodes) {
  std::ranges::sort(nodes);
  if (nodes.empty()) {
    avoided_.erase(group);
  } else {
    avoided_[group] = std::move(nodes);
  }
}

void Overlays::HoldOff(std::string_view group, int64_t since_ns, int64_t delay_ns) {
  if (delay_ns <= 0) {
    held_off_.erase(group);
  } else {
    held_off_[group] = {.since_ns = since_ns, .delay_ns = delay_ns};
  }
}

void Overlays::KeepAge(std::string_view group, int64_t planned_ns, int64_t created_ns) {
  if (planned_ns < created_ns) ages_[group] = {.planned_ns = planned_ns, .created_ns = created_ns};
}

void Overlays::PutOn(PodRow* row) const {
  row->avoided_nodes.clear();
  if (avoided_.empty() || !row->node_name.empty()) return;
  const auto found = avoided_.find(StrCat(row->namespace_name, "/", row->pod_group));
  if (found != avoided_.end()) row->avoided_nodes = found->second;
}

void Overlays::PutOn(std::string_view name, PodGroupRow* row) const {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::min();
  if (const auto age = ages_.find(name);
      age != ages_.end() && row->created_ns == age->second.created_ns)
    row->created_ns = age->second.planned_ns;
  const auto found = held_off_.find(name);
  if (found == held_off_.end()) return;
  const HeldOff& held = found->second;
  const int64_t created_ns = row->created_ns.value_or(kNever);
  const int64_t since_ns = std::max(created_ns, row->last_eviction_ns.value_or(kNever));
  const int64_t own_delay_ns = row->preemption_delay_ns.value_or(0);
  const int64_t end_ns = AddSaturating(held.since_ns, held.delay_ns);
  if (own_delay_ns > 0 && AddSaturating(since_ns, own_delay_ns) >= end_ns) return;
  row->last_eviction_ns = std::max(held.since_ns, created_ns);  // the later time counts
  row->preemption_delay_ns = end_ns - *row->last_eviction_ns;
}

void Overlays::PutOn(QueueRow* row) const {
  const auto found = past_usages_.find(row->name);
  row->past_usage = found == past_usages_.end() ? QuotaVector{} : found->second;
}

void Overlays::Forget(std::string_view group) {
  if (!ages_.empty()) ages_.erase(group);
}

void Overlays::Memory(MemoryReport* report) const {
  const auto add = [&](const char* column, const auto& map, size_t values) {
    using Map = std::decay_t<decltype(map)>;
    size_t bytes = HashTableBytes(map, sizeof(typename Map::value_type)) + values;
    for (const auto& [name, value] : map) bytes += HeapBytes(name);
    report->Add("store", column, map.size(), bytes);
  };
  size_t nodes = 0;
  for (const auto& [group, names] : avoided_) nodes += HeapBytes(names);
  add("avoided nodes", avoided_, nodes);
  add("groups held off", held_off_, 0);
  add("groups planned before", ages_, 0);
  report->Add("store", "past usages", past_usages_.size(), kai::HeapBytes(past_usages_));
}

}  // namespace kai

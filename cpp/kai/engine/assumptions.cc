#include "kai/engine/assumptions.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "kai/base/heap_bytes.h"
#include "kai/base/text.h"

namespace kai {

std::optional<AssumptionId> Assumptions::Bind(BindRequestRow request, Changes* changes) {
  const std::string pod = StrCat(request.namespace_name, "/", request.pod);
  const CompactPod* row = store_.Find<PodRow>(pod);
  if (row == nullptr) return std::nullopt;
  if (const auto before = bound_by_.find(pod); before != bound_by_.end())
    EndBind(std::string(before->second), changes);
  const std::string name = NameInTable(request);
  bound_by_[pod] = name;
  binds_[name] = {.id = ++last_, .pod = pod, .uid = row->uid, .request = std::move(request)};
  changes->emplace_back(Kind::kBindRequest, name);
  return last_;
}

std::optional<AssumptionId> Assumptions::Evict(std::string_view pod, int64_t now_ns,
                                               Changes* changes) {
  const CompactPod* row = store_.Find<PodRow>(pod);
  if (row == nullptr) return std::nullopt;
  EndEviction(std::string(pod), changes);
  Evicted& evicted = evictions_[std::string(pod)];
  evicted = {.id = ++last_, .row = *row};
  evicted.row.deletion_ns = now_ns;
  changes->emplace_back(Kind::kPod, std::string(pod));
  return last_;
}

bool Assumptions::Forget(AssumptionId id, Changes* changes) {
  const auto has_id = [&](const auto& each) { return each.second.id == id; };
  if (const auto bind = std::ranges::find_if(binds_, has_id); bind != binds_.end()) {
    EndBind(std::string(bind->first), changes);
    return true;
  }
  const auto eviction = std::ranges::find_if(evictions_, has_id);
  if (eviction == evictions_.end()) return false;
  EndEviction(std::string(eviction->first), changes);
  return true;
}

void Assumptions::Review(Kind kind, std::string_view name, Changes* changes) {
  if (kind == Kind::kBindRequest) {
    const auto bind = binds_.find(name);
    if (bind != binds_.end() && store_.Find<BindRequestRow>(name) != nullptr)
      EndBind(std::string(name), changes);
    return;
  }
  if (kind != Kind::kPod) return;
  const CompactPod* row = store_.Find<PodRow>(name);
  if (const auto request = bound_by_.find(name); request != bound_by_.end()) {
    const Bound& bound = binds_.find(request->second)->second;
    if (row == nullptr || row->uid != bound.uid || !row->node_name.empty())
      EndBind(std::string(request->second), changes);
  }
  const auto eviction = evictions_.find(name);
  if (eviction == evictions_.end()) return;
  if (row == nullptr || row->uid != eviction->second.row.uid || row->deletion_ns) {
    EndEviction(std::string(name), changes);
    return;
  }
  const auto deletion_ns = eviction->second.row.deletion_ns;
  eviction->second.row = *row;
  eviction->second.row.deletion_ns = deletion_ns;
}

const BindRequestRow* Assumptions::FindRequest(std::string_view name) const {
  const auto bind = binds_.find(name);
  return bind == binds_.end() ? nullptr : &bind->second.request;
}

const CompactPod* Assumptions::FindPod(std::string_view name) const {
  const auto eviction = evictions_.find(name);
  return eviction == evictions_.end() ? nullptr : &eviction->second.row;
}

void Assumptions::Apply(std::vector<BindRequestRow>* requests) const {
  if (binds_.empty()) return;
  std::erase_if(*requests,
                [&](const BindRequestRow& row) { return binds_.contains(NameInTable(row)); });
  for (const auto& [name, bound] : binds_) requests->push_back(bound.request);
}

void Assumptions::Apply(std::vector<const CompactPod*>* pods) const {
  if (evictions_.empty()) return;
  absl::flat_hash_map<const CompactPod*, const CompactPod*> assumed;
  for (const auto& [name, evicted] : evictions_) assumed[store_.Find<PodRow>(name)] = &evicted.row;
  for (const CompactPod*& pod : *pods) {
    if (const auto its = assumed.find(pod); its != assumed.end()) pod = its->second;
  }
}

size_t Assumptions::HeapBytes() const {
  size_t bytes = HashTableBytes(evictions_, sizeof(void*)) + HeapBytesOfAll(binds_, bound_by_);
  for (const auto& [name, evicted] : evictions_)
    bytes += BlockBytes(sizeof(name) + sizeof(evicted)) + kai::HeapBytes(name) +
             HeapBytesOfRow(evicted.row);
  return bytes;
}

void Assumptions::EndBind(const std::string& request, Changes* changes) {
  const auto bind = binds_.find(request);
  if (bind == binds_.end()) return;
  bound_by_.erase(bind->second.pod);
  binds_.erase(bind);
  changes->emplace_back(Kind::kBindRequest, request);
}

void Assumptions::EndEviction(const std::string& pod, Changes* changes) {
  const auto eviction = evictions_.find(pod);
  if (eviction == evictions_.end()) return;
  evictions_.erase(eviction);
  changes->emplace_back(Kind::kPod, pod);
}

}  // namespace kai

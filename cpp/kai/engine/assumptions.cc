#include "kai/engine/assumptions.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kai/base/heap_bytes.h"
#include "kai/base/text.h"

namespace kai {
namespace {

std::string PodOf(const BindRequestRow& request) {
  return StrCat(request.namespace_name, "/", request.pod);
}

}  // namespace

std::optional<AssumptionId> Assumptions::Bind(BindRequestRow request, Changes* changes) {
  const CompactPod* row = store_.Find<PodRow>(PodOf(request));
  if (row == nullptr) return std::nullopt;
  const bool replaces = store_.Find<BindRequestRow>(NameInTable(request)) != nullptr;
  AddBind({.id = ++last_,
           .uid = std::string(row->uid),
           .request = std::move(request),
           .replaces = replaces},
          changes);
  return last_;
}

void Assumptions::AddBind(const Bound& bound, Changes* changes) {
  all_ = nullptr;
  const std::string pod_name = PodOf(bound.request);
  if (const auto before = bound_by_.find(pod_name); before != bound_by_.end())
    EndBind(std::string(before->second), changes);
  const std::string name = NameInTable(bound.request);
  EndBind(name, changes);  // for another pod
  bound_by_[pod_name] = name;
  binds_[name] = bound;
  changes->emplace_back(Kind::kBindRequest, name);
}

std::optional<AssumptionId> Assumptions::Evict(std::string_view pod, int64_t now_ns,
                                               Changes* changes) {
  const CompactPod* row = store_.Find<PodRow>(pod);
  if (row == nullptr) return std::nullopt;
  AddEviction(++last_, pod, *row, now_ns, changes);
  return last_;
}

void Assumptions::AddEviction(AssumptionId id, std::string_view pod, const CompactPod& row,
                              int64_t now_ns, Changes* changes) {
  all_ = nullptr;
  EndEviction(std::string(pod), changes);
  Leaving& leaving = evictions_[std::string(pod)];
  leaving = {.id = id, .row = row};
  leaving.row.deletion_ns = now_ns;
  changes->emplace_back(Kind::kPod, std::string(pod));
}

std::shared_ptr<const Assumptions::All> Assumptions::all() const {
  if (all_ != nullptr) return all_;
  All all{.last_id = last_, .bound = {}, .evicted = {}};
  for (const auto& [name, bound] : binds_) all.bound.push_back(bound);
  for (const auto& [pod, leaving] : evictions_) {
    all.evicted.push_back({.id = leaving.id,
                           .pod = pod,
                           .uid = std::string(leaving.row.uid),
                           .at_ns = *leaving.row.deletion_ns});
  }
  std::ranges::sort(all.bound, {}, &Bound::id);
  std::ranges::sort(all.evicted, {}, &Evicted::id);
  return all_ = std::make_shared<const All>(std::move(all));
}

void Assumptions::Apply(const All& all, ClusterRows* rows) {
  absl::flat_hash_set<std::string> requested;
  for (const Bound& each : all.bound) requested.insert(NameInTable(each.request));
  std::erase_if(rows->bind_requests, [&](const BindRequestRow& row) {
    return !requested.empty() && requested.contains(NameInTable(row));
  });
  for (const Bound& each : all.bound) rows->bind_requests.push_back(each.request);
  absl::flat_hash_map<std::string, int64_t> leaving;
  for (const Evicted& each : all.evicted) leaving[each.pod] = each.at_ns;
  if (leaving.empty()) return;
  for (PodRow& row : rows->pods) {
    if (const auto at = leaving.find(NameInTable(row)); at != leaving.end())
      row.deletion_ns = at->second;
  }
}

void Assumptions::Set(const All& all, Changes* changes) {
  while (!binds_.empty()) EndBind(std::string(binds_.begin()->first), changes);
  while (!evictions_.empty()) EndEviction(std::string(evictions_.begin()->first), changes);
  all_ = nullptr;
  last_ = all.last_id;
  for (const Bound& each : all.bound) {
    last_ = std::max(last_, each.id);
    const std::string pod = PodOf(each.request);
    const CompactPod* row = store_.Find<PodRow>(pod);
    if (row == nullptr || row->uid != each.uid) continue;
    const bool is_there = store_.Find<BindRequestRow>(NameInTable(each.request)) != nullptr;
    if (!row->node_name.empty() || (is_there && !each.replaces)) continue;
    AddBind(each, changes);
    if (!is_there) binds_[NameInTable(each.request)].replaces = false;
  }
  for (const Evicted& each : all.evicted) {
    last_ = std::max(last_, each.id);
    const CompactPod* row = store_.Find<PodRow>(each.pod);
    if (row == nullptr || row->uid != each.uid) continue;
    if (!row->deletion_ns) AddEviction(each.id, each.pod, *row, each.at_ns, changes);
  }
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

std::vector<Assumptions::Bound> Assumptions::BoundBy(std::span<const AssumptionId> ids) const {
  const absl::flat_hash_set<AssumptionId> wanted(ids.begin(), ids.end());
  std::vector<Bound> found;
  for (const auto& [name, bound] : binds_) {
    if (wanted.contains(bound.id)) found.push_back(bound);
  }
  std::ranges::sort(found, {}, &Bound::id);
  return found;
}

void Assumptions::Review(Kind kind, std::string_view name, Changes* changes) {
  if (kind == Kind::kBindRequest) {
    const auto bind = binds_.find(name);
    if (bind == binds_.end()) return;
    if (store_.Find<BindRequestRow>(name) != nullptr) {
      EndBind(std::string(name), changes);
    } else {
      all_ = nullptr;
      bind->second.replaces = false;
    }
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
  all_ = nullptr;
  bound_by_.erase(PodOf(bind->second.request));
  binds_.erase(bind);
  changes->emplace_back(Kind::kBindRequest, request);
}

void Assumptions::EndEviction(const std::string& pod, Changes* changes) {
  const auto eviction = evictions_.find(pod);
  if (eviction == evictions_.end()) return;
  all_ = nullptr;
  evictions_.erase(eviction);
  changes->emplace_back(Kind::kPod, pod);
}

}  // namespace kai

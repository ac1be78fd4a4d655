#include "kai/store/store.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "kai/api/keys.h"
#include "kai/base/heap_bytes.h"
#include "kai/base/text.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

constexpr size_t kMostUnnamed = 1000;  // rejections of objects without a name, per kind

// The name in tables: kinds without namespaces ignore the namespace.
template <typename Row>
std::string_view TableName(std::string_view name) {
  if (!HasNamespace<Row> && name.find('/') != name.npos) name.remove_prefix(name.find('/') + 1);
  return name;
}

}  // namespace

// Clients should treat versions as opaque, but they are numbers wherever Kubernetes runs on etcd.
Version VersionOf(std::string_view text) {
  Version version = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, version);
  return error == std::errc() && stop == end ? version : 0;
}

void Store::RejectUnnamed(Rejection rejection, Kind kind) {
  std::vector<Rejection>& known = unnamed_[static_cast<size_t>(kind)];
  if (known.size() < kMostUnnamed) known.push_back(std::move(rejection));
  Notify(kind, "");
}

void Store::Reject(Kind kind, Rejection rejection) {
  if (rejection.name.empty()) return RejectUnnamed(std::move(rejection), kind);
  const std::string name = rejection.name;
  NotifyBefore(kind, name);
  WithKind(kind, [&]<typename Row>(const KindEntry<Row>&) {
    Put<Row>(name, 0, KeptAs<Row>(), std::make_unique<Rejection>(std::move(rejection)));
  });
  Notify(kind, name);
}

Store::Outcome Store::Upsert(Kind kind, std::string_view json) {
  absl::StatusOr<JsonObject> object = document_.Parse(json);
  if (object.ok()) return Upsert(kind, *object);
  RejectUnnamed({.kind = std::string(kai::NameOf(kind)),
                 .name = "",
                 .field = "",
                 .message = std::string(object.status().message())},
                kind);
  return Outcome::kRejected;
}

Store::Outcome Store::Upsert(Kind kind, JsonObject object, const ObjectIdentity& identity) {
  Outcome outcome = Outcome::kStale;
  WithKind(kind, [&]<typename Row>(const KindEntry<Row>& entry) {
    const std::string_view name = TableName<Row>(identity.name);
    const Version version = VersionOf(identity.version);
    ObjectTable<KeptAs<Row>>& table = Table<Row>();
    if (!name.empty() && table.IsLate(name, version)) return;
    Row row;
    std::optional<Rejection> rejection = entry.read(object, &row);
    outcome = rejection ? Outcome::kRejected : Outcome::kApplied;
    if (rejection && name.empty()) {
      RejectUnnamed(*std::move(rejection), kind);
      return;
    }
    NotifyBefore(kind, name);
    if constexpr (std::is_same_v<Row, PodRow>) {
      if (!rejection) {
        TakeAssigned(name, &row);
        overlays_.PutOn(&row);
      }
    } else if constexpr (std::is_same_v<Row, PodGroupRow>) {
      if (!rejection) {
        const auto* known = table.Find(name);
        if (known != nullptr && known->is_planned && version != 0 && row.created_ns)
          overlays_.KeepAge(name, known->row.created_ns.value_or(*row.created_ns), *row.created_ns);
        overlays_.PutOn(name, &row);
      }
    } else if constexpr (std::is_same_v<Row, QueueRow>) {
      if (!rejection) overlays_.PutOn(&row);
    }
    const bool is_change = rejection ? Put<Row>(name, version, KeptAs<Row>(),
                                                std::make_unique<Rejection>(*std::move(rejection)))
                                     : Put<Row>(name, version, Keep(std::move(row)));
    if (is_change) Notify(kind, name);
  });
  return outcome;
}

bool Store::Delete(Kind kind, std::string_view name, Version version) {
  bool is_gone = false;
  WithKind(kind, [&]<typename Row>(const KindEntry<Row>&) {
    auto& table = Table<Row>();
    const auto* object = table.Find(name);
    if (object == nullptr) {
      table.Delete(name, version);  // so that late events do not restore it
    } else if (version == 0 || (!object->is_planned && version >= object->version)) {
      is_gone = true;
    }
  });
  if (is_gone) Remove(kind, name, version);
  return is_gone;
}

void Store::Remove(Kind kind, std::string_view name, Version version) {
  NotifyBefore(kind, name);
  WithKind(kind, [&]<typename Row>(const KindEntry<Row>&) {
    Table<Row>().Delete(name, version, [this](KeptAs<Row>&& row) { Release(std::move(row)); });
  });
  if (kind == Kind::kPod && !assigned_.empty()) assigned_.erase(name);
  if (kind == Kind::kPodGroup) overlays_.Forget(name);
  Notify(kind, name);
}

Store::Outcome Store::UpsertPlanned(Kind kind, JsonObject object) {
  ObjectIdentity identity = IdentityOf(object);
  identity.version.clear();
  bool is_known = false;
  WithKind(kind, [&]<typename Row>(const KindEntry<Row>&) {
    const auto* known = Table<Row>().Find(TableName<Row>(identity.name));
    is_known = known != nullptr && !known->is_planned;
  });
  if (is_known) return Outcome::kStale;
  const Outcome outcome = Upsert(kind, object, identity);
  if (identity.name.empty()) return outcome;
  WithKind(kind, [&]<typename Row>(const KindEntry<Row>&) {
    Table<Row>().MarkPlanned(TableName<Row>(identity.name));
  });
  return outcome;
}

bool Store::Withdraw(Kind kind, std::string_view name) {
  bool is_planned = false;
  WithKind(kind, [&]<typename Row>(const KindEntry<Row>&) {
    const auto* object = Table<Row>().Find(name);
    is_planned = object != nullptr && object->is_planned;
  });
  if (is_planned) Remove(kind, name, 0);
  return is_planned;
}

bool Store::Assign(std::string_view pod, std::string_view uid, std::string_view group,
                   std::string_view subgroup) {
  const CompactPod* known = Find<PodRow>(pod);
  if (known == nullptr || known->uid != uid) return false;
  const auto before = assigned_.find(pod);
  const std::string named(before == assigned_.end() ? std::string_view(known->pod_group)
                                                    : std::string_view(before->second.named));
  NotifyBefore(Kind::kPod, pod);
  PodRow row = known->Row();
  row.pod_group = named;
  assigned_[pod] = {std::string(uid), named, std::string(group), std::string(subgroup)};
  row.subgroup.clear();
  for (const auto& [key, value] : row.labels) {
    if (key == keys::kSubgroup) row.subgroup = value;
  }
  TakeAssigned(pod, &row);
  overlays_.PutOn(&row);
  Replace(Kind::kPod, pod, std::move(row));
  return true;
}

template <typename Row>
void Store::Replace(Kind kind, std::string_view name, Row row) {
  const bool is_change = Table<Row>().Replace(
      name, Keep(std::move(row)), [this](KeptAs<Row>&& before) { Release(std::move(before)); });
  if (is_change) Notify(kind, name);
}

void Store::Avoid(std::string_view group, std::vector<std::string> nodes) {
  overlays_.Avoid(group, std::move(nodes));
  std::vector<std::string> pods;
  for (const CompactPod* row : Table<PodRow>().Rows()) {
    if (row->node_name.empty() && StrCat(row->namespace_name, "/", row->pod_group) == group)
      pods.push_back(NameInTable(*row));
  }
  for (const std::string& name : pods) {
    NotifyBefore(Kind::kPod, name);
    PodRow row = Find<PodRow>(name)->Row();
    overlays_.PutOn(&row);
    Replace(Kind::kPod, name, std::move(row));
  }
}

void Store::HoldOff(std::string_view group, int64_t since_ns, int64_t delay_ns) {
  overlays_.HoldOff(group, since_ns, delay_ns);
  const CompactPodGroup* known = Find<PodGroupRow>(group);
  if (known == nullptr) return;
  NotifyBefore(Kind::kPodGroup, group);
  PodGroupRow row = known->Row();
  overlays_.PutOn(group, &row);
  Replace(Kind::kPodGroup, group, std::move(row));
}

void Store::SetPastUsages(PastUsages usages) {
  overlays_.SetPastUsages(std::move(usages));
  std::vector<QueueRow> changed;
  for (const QueueRow& known : RowsOfKind<QueueRow>()) {
    QueueRow row = known;
    overlays_.PutOn(&row);
    if (row.past_usage != known.past_usage) changed.push_back(std::move(row));
  }
  for (QueueRow& row : changed) {
    const std::string name = row.name;
    NotifyBefore(Kind::kQueue, name);
    Replace(Kind::kQueue, name, std::move(row));
  }
}

void Store::TakeAssigned(std::string_view name, PodRow* row) {
  if (assigned_.empty()) return;
  const auto found = assigned_.find(name);
  if (found == assigned_.end()) return;
  const Assigned& assigned = found->second;
  const bool is_named = row->pod_group == assigned.group &&
                        (assigned.subgroup.empty() || row->subgroup == assigned.subgroup);
  if (row->uid != assigned.uid || row->pod_group != assigned.named || is_named) {
    assigned_.erase(found);
    return;
  }
  row->pod_group = assigned.group;
  if (!assigned.subgroup.empty()) row->subgroup = assigned.subgroup;
}

void Store::BeginList(Kind kind) {
  WithKind(kind, [&]<typename Row>(const KindEntry<Row>&) { Table<Row>().BeginList(); });
  std::vector<Rejection>& unnamed = unnamed_[static_cast<size_t>(kind)];
  if (!unnamed.empty()) Notify(kind, "");
  unnamed.clear();
}

void Store::EndList(Kind kind) {
  std::vector<std::string> missing;
  WithKind(kind, [&]<typename Row>(const KindEntry<Row>&) { missing = Table<Row>().EndList(); });
  for (const std::string& name : missing) Remove(kind, name, 0);
  Synced(kind);
}

void Store::Synced(Kind kind) {
  bool& is_synced = is_synced_[static_cast<size_t>(kind)];
  if (!is_synced) Notify(kind, "");
  is_synced = true;
}

void Store::ServeClaims(bool serves) {
  if (serves_claims_ != serves) Notify(Kind::kResourceClaim, "");
  serves_claims_ = serves;
}

const Rejection* Store::FindRejection(Kind kind, std::string_view name) const {
  const Rejection* rejection = nullptr;
  WithKind(kind, [&]<typename Row>(const KindEntry<Row>&) {
    if (const auto* object = Table<Row>().Find(name)) rejection = object->rejection.get();
  });
  return rejection;
}

bool Store::Has(Kind kind, std::string_view name) const {
  bool has = false;
  WithKind(kind,
           [&]<typename Row>(const KindEntry<Row>&) { has = Table<Row>().Find(name) != nullptr; });
  return has;
}

std::vector<Rejection> Store::rejections() const {
  std::vector<Rejection> all;
  AnyKind([&]<typename Row>(const KindEntry<Row>& entry) {
    const std::vector<Rejection>& unnamed = unnamed_[static_cast<size_t>(entry.kind)];
    all.insert(all.end(), unnamed.begin(), unnamed.end());
    const std::vector<Rejection> named = Table<Row>().rejections();
    all.insert(all.end(), named.begin(), named.end());
    return false;
  });
  return all;
}

MemoryReport Store::Memory() const {
  MemoryReport report;
  AnyKind([&]<typename Row>(const KindEntry<Row>& entry) {
    Table<Row>().Memory(entry.name, &report);
    return false;
  });
  parts_.Memory(&report);
  report.Add("store", "nameless rejections", 0, HeapBytes(unnamed_));
  size_t assigned = HashTableBytes(assigned_, sizeof(std::pair<std::string, Assigned>));
  for (const auto& [pod, to] : assigned_)
    assigned += HeapBytes(pod) + HeapBytes(to.uid) + HeapBytes(to.named) + HeapBytes(to.group) +
                HeapBytes(to.subgroup);
  report.Add("store", "assigned pods", assigned_.size(), assigned);
  overlays_.Memory(&report);
  report.Add("store", "JSON buffers", 0, document_.HeapBytes());
  return report;
}

ClusterRows Store::Rows() const {
  ClusterRows rows = RowsOfFew();
  RowsInPlace many = RowsOfMany();
  SortByName(&many.pod_groups);
  SortByName(&many.pods);
  for (const CompactPodGroup* row : many.pod_groups) rows.pod_groups.push_back(row->Row());
  for (const CompactPod* row : many.pods) rows.pods.push_back(row->Row());
  return rows;
}

RowsInPlace Store::RowsOfMany() const {
  return {.nodes = {}, .pod_groups = Table<PodGroupRow>().Rows(), .pods = Table<PodRow>().Rows()};
}

ClusterRows Store::RowsOfFew() const {
  ClusterRows rows;
  AnyKind([&]<typename Row>(const KindEntry<Row>& entry) {
    if constexpr (!std::is_same_v<Row, PodRow> && !std::is_same_v<Row, PodGroupRow>) {
      std::vector<const Row*> sorted = Table<Row>().Rows();
      if (sorted.empty() && !is_synced_[static_cast<size_t>(entry.kind)]) return false;
      SortByName(&sorted);
      std::vector<Row>& out = entry.in(&rows);
      out.reserve(sorted.size());
      for (const Row* row : sorted) out.push_back(*row);
    }
    return false;
  });
  // If an API server does not have these claims, they are not requested (spec 3 D1).
  if (is_synced_[static_cast<size_t>(Kind::kResourceClaim)]) rows.serves_claims = true;
  if (serves_claims_) rows.serves_claims = serves_claims_;
  rows.rejections = rejections();
  return rows;
}

}  // namespace kai

#include "kai/store/store.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "kai/base/text.h"
#include "kai/model/building/row_lookup.h"

namespace kai {
namespace {

constexpr size_t kMostUnnamed = 1000;  // objects without a name, of a kind

// Versions are opaque to clients by contract, but numbers wherever Kubernetes runs on etcd.
Version VersionOf(std::string_view text) {
  Version version = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, version);
  return error == std::errc() && stop == end ? version : 0;
}

}  // namespace

void Store::RejectUnnamed(Rejection rejection, Kind kind) {
  std::vector<Rejection>& known = unnamed_[static_cast<size_t>(kind)];
  if (known.size() < kMostUnnamed) known.push_back(std::move(rejection));
  Tell(kind, "");
}

void Store::Reject(Kind kind, Rejection rejection) {
  if (rejection.name.empty()) return RejectUnnamed(std::move(rejection), kind);
  const std::string name = rejection.name;
  WithKind(kind, [&]<typename Row>(const KindEntry<Row>&) {
    Put<Row>(name, 0, KeptAs<Row>(), std::make_unique<Rejection>(std::move(rejection)));
  });
  Tell(kind, name);
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

Store::Outcome Store::Upsert(Kind kind, JsonObject object) {
  Outcome outcome = Outcome::kStale;
  WithKind(kind, [&]<typename Row>(const KindEntry<Row>& entry) {
    const ObjectIdentity identity = IdentityOf(object);
    std::string_view name = identity.name;
    if (!HasNamespace<Row> && name.find('/') != name.npos) name.remove_prefix(name.find('/') + 1);
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
    const bool is_change = rejection ? Put<Row>(name, version, KeptAs<Row>(),
                                                std::make_unique<Rejection>(*std::move(rejection)))
                                     : Put<Row>(name, version, Keep(std::move(row)));
    if (is_change) Tell(kind, name);
  });
  return outcome;
}

bool Store::Delete(Kind kind, std::string_view name, Version version) {
  bool is_gone = false;
  WithKind(kind, [&]<typename Row>(const KindEntry<Row>&) {
    auto& table = Table<Row>();
    const auto* object = table.Find(name);
    if (object != nullptr && version != 0 && version < object->version) return;
    is_gone = table.Delete(name, version, [this](KeptAs<Row>&& row) { Release(std::move(row)); });
  });
  if (is_gone) Tell(kind, name);
  return is_gone;
}

void Store::BeginList(Kind kind) {
  WithKind(kind, [&]<typename Row>(const KindEntry<Row>&) { Table<Row>().BeginList(); });
  std::vector<Rejection>& unnamed = unnamed_[static_cast<size_t>(kind)];
  if (!unnamed.empty()) Tell(kind, "");
  unnamed.clear();
}

void Store::EndList(Kind kind) {
  WithKind(kind, [&]<typename Row>(const KindEntry<Row>&) {
    Table<Row>().EndList([&](const std::string& name, KeptAs<Row>&& row) {
      Release(std::move(row));
      Tell(kind, name);
    });
  });
  Synced(kind);
}

void Store::Synced(Kind kind) {
  bool& is_synced = is_synced_[static_cast<size_t>(kind)];
  if (!is_synced) Tell(kind, "");
  is_synced = true;
}

void Store::ServeClaims(bool serves) {
  if (serves_claims_ != serves) Tell(Kind::kResourceClaim, "");
  serves_claims_ = serves;
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
  // An API server that has no such claims is not asked for them (spec 3 D1).
  if (is_synced_[static_cast<size_t>(Kind::kResourceClaim)]) rows.serves_claims = true;
  if (serves_claims_) rows.serves_claims = serves_claims_;
  rows.rejections = rejections();
  return rows;
}

}  // namespace kai

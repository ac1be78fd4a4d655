#include "kai/store/store.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "kai/base/text.h"

namespace kai {
namespace {

constexpr size_t kMostUnnamed = 1000;  // objects without a name, of a kind

struct Identity {
  std::string name;  // "namespace/name", or "name"; empty: it has none
  Version version = 0;
};

// Versions are opaque to clients by contract, but numbers wherever Kubernetes runs on etcd.
Version VersionOf(std::string_view text) {
  Version version = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, version);
  return error == std::errc() && stop == end ? version : 0;
}

Identity IdentityOf(JsonObject& object) {
  Identity identity{.name = NameOf(object)};
  const FieldStatus ignored = ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key != "metadata") return Skip();
    return ForEachMember(value, [&](std::string_view member, JsonValue& part) {
      if (member != "resourceVersion") return Skip();
      JsonText text;
      KAI_RETURN_IF_BAD(text.Read(part));
      identity.version = VersionOf(text.view());
      return FieldStatus();
    });
  });
  return identity;
}

}  // namespace

Store::Outcome Store::RejectUnnamed(Rejection rejection, Kind kind) {
  std::vector<Rejection>& known = unnamed_[static_cast<size_t>(kind)];
  if (known.size() < kMostUnnamed) known.push_back(std::move(rejection));
  Tell(kind, "");
  return Outcome::kRejected;
}

Store::Outcome Store::Upsert(Kind kind, std::string_view json) {
  absl::StatusOr<JsonObject> object = document_.Parse(json);
  if (object.ok()) return Upsert(kind, *object);
  return RejectUnnamed({.kind = std::string(NameOf(kind)),
                        .name = "",
                        .field = "",
                        .message = std::string(object.status().message())},
                       kind);
}

Store::Outcome Store::Upsert(Kind kind, JsonObject object) {
  Outcome outcome = Outcome::kStale;
  WithKind(kind, [&]<typename Row>(const KindEntry<Row>& entry) {
    const Identity identity = IdentityOf(object);
    ObjectTable<Row>& table = Table<Row>();
    if (!identity.name.empty() && table.IsLate(identity.name, identity.version)) return;
    Row row;
    std::optional<Rejection> rejection = entry.read(object, &row);
    outcome = rejection ? Outcome::kRejected : Outcome::kApplied;
    if (rejection && identity.name.empty()) {
      RejectUnnamed(*std::move(rejection), kind);
      return;
    }
    std::unique_ptr<Rejection> bad;
    if (rejection) {
      bad = std::make_unique<Rejection>(*std::move(rejection));
      row = Row();
    }
    if (table.Add(identity.name, identity.version, std::move(row), std::move(bad)).has_changed)
      Tell(kind, identity.name);
  });
  return outcome;
}

bool Store::Delete(Kind kind, std::string_view name, Version version) {
  bool is_gone = false;
  WithKind(kind, [&]<typename Row>(const KindEntry<Row>&) {
    ObjectTable<Row>& table = Table<Row>();
    const auto* object = table.Find(name);
    if (object != nullptr && version != 0 && version < object->version) return;
    is_gone = table.Delete(name, version) != kNoSlot;
  });
  if (is_gone) Tell(kind, name);
  return is_gone;
}

void Store::BeginList(Kind kind) {
  WithKind(kind, [&]<typename Row>(const KindEntry<Row>&) { Table<Row>().BeginList(); });
  unnamed_[static_cast<size_t>(kind)].clear();
  Tell(kind, "");
}

void Store::EndList(Kind kind) {
  WithKind(kind, [&]<typename Row>(const KindEntry<Row>&) {
    Table<Row>().EndList([&](const std::string& name) { Tell(kind, name); });
  });
  Synced(kind);
}

void Store::Synced(Kind kind) {
  bool& is_synced = is_synced_[static_cast<size_t>(kind)];
  if (!is_synced) Tell(kind, "");
  is_synced = true;
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

ClusterRows Store::Rows() const {
  ClusterRows rows;
  AnyKind([&]<typename Row>(const KindEntry<Row>& entry) {
    const std::vector<const Row*> sorted = Table<Row>().Sorted();
    if (sorted.empty() && !is_synced_[static_cast<size_t>(entry.kind)]) return false;
    std::vector<Row>& out = entry.in(&rows);
    out.reserve(sorted.size());
    for (const Row* row : sorted) out.push_back(*row);
    return false;
  });
  // An API server that has no such claims is not asked for them (spec 3 D1).
  if (is_synced_[static_cast<size_t>(Kind::kResourceClaim)]) rows.serves_claims = true;
  rows.rejections = rejections();
  return rows;
}

}  // namespace kai

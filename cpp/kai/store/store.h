// Store: what is known of a cluster's objects, one event at a time: a writer feeds it what it reads
// from a file or from watches, and engines follow it.
//
//   Store store;
//   store.Upsert(Kind::kQueue, Queue("q", "5"));    // the object as JSON
//   store.Delete(Kind::kQueue, "q", 9)
//   const ClusterRows rows = store.Rows();
//
// Events may come late, twice and in any order, and an object before those that it refers to: the
// store keeps the latest version of each. What makes no sense is a rejection until a version comes
// that does, or the object goes; the last version that was good does not linger.
//
// A list that is read anew (BeginList, Upsert of each, EndList) is the truth about its kind: what
// it lacks is deleted, and its versions count whatever came before. Synced() says that there is
// nothing more of a kind, so that none is a fact. An object that is about to be created is planned:
// lists do not have it yet, and it counts until the server's own is seen or it is withdrawn.
//
// A pod can be assigned to a pod group before it names that; more of the kind is in overlays.h.
//
// Followers hear of what changed for the engine: a heartbeat, or a list that says what is known, is
// no change.
//
// Invariants: it knows no configuration, and no object looks at another; what an object held is
// given back when it goes. Cost: reading the object, and a hash look-up; Memory() walks over all of
// them. Threads: one writer; readers while it does not write.
#ifndef KAI_STORE_STORE_H_
#define KAI_STORE_STORE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/ingest/json_document.h"
#include "kai/ingest/kinds.h"
#include "kai/model/building/cluster_assembler.h"
#include "kai/store/object_table.h"
#include "kai/store/overlays.h"

namespace kai {

// What is kept of an object that was read as a Row.
template <typename Row>
using KeptAs =
    std::conditional_t<std::is_same_v<Row, PodRow>, CompactPod,
                       std::conditional_t<std::is_same_v<Row, PodGroupRow>, CompactPodGroup, Row>>;

// Of metadata.resourceVersion; 0: it is no number.
Version VersionOf(std::string_view text);

// Hears which objects of a store changed, came or went.
class Follower {
 public:
  virtual ~Follower() = default;
  // Something may happen to an object, which is still what it was.
  virtual void Changing(Kind, std::string_view) {}
  // `name`: as in Store::Delete(); empty: something of the kind that has no name.
  virtual void Changed(Kind kind, std::string_view name) = 0;
};

class Store {
 public:
  Store() = default;
  // The same objects, which from now on change by themselves; it has no followers yet.
  Store(const Store& other)
      : parts_(other.parts_),
        tables_(other.tables_),
        is_synced_(other.is_synced_),
        serves_claims_(other.serves_claims_),
        unnamed_(other.unnamed_),
        assigned_(other.assigned_),
        overlays_(other.overlays_) {}
  Store& operator=(const Store&) = delete;

  enum class Outcome : uint8_t {
    kApplied,
    kStale,     // a version that is as late, or later, is known
    kRejected,  // it makes no sense: rejections() says why
  };

  // `json`: the object.
  Outcome Upsert(Kind kind, std::string_view json);
  Outcome Upsert(Kind kind, JsonObject object) { return Upsert(kind, object, IdentityOf(object)); }
  Outcome Upsert(Kind kind, JsonObject object, const ObjectIdentity& identity);
  // An object that was never JSON; of any row of kKindTable.
  template <typename Row>
  Outcome Upsert(Row row, Version version = 0) {
    const std::string name = NameInTable(row);
    if (Table<Row>().IsLate(name, version)) return Outcome::kStale;
    TellBefore(KindOf<Row>(), name);
    if constexpr (std::is_same_v<Row, PodRow>) TakeAssigned(name, &row);
    if constexpr (std::is_same_v<Row, PodGroupRow>) overlays_.PutOn(name, &row);
    if constexpr (requires { overlays_.PutOn(&row); }) overlays_.PutOn(&row);
    if (Put<Row>(name, version, Keep(std::move(row)))) Tell(KindOf<Row>(), name);
    return Outcome::kApplied;
  }

  // `name`: "namespace/name", or "name" where a kind has no namespaces. `version`: that of the
  // deletion; what is known of a later one stays. False: it stays, or was not there.
  bool Delete(Kind kind, std::string_view name, Version version = 0);

  // It is about to be created, whatever lists lack. kStale: the server has one of its name.
  Outcome UpsertPlanned(Kind kind, JsonObject object);
  // It is not created after all. False: it is not planned any more.
  bool Withdraw(Kind kind, std::string_view name);

  // A pod belongs to this pod group, not to the one that it names, and so do its later versions,
  // until one names another group or has another UID. `group`: empty: it belongs to none.
  // `subgroup`: empty: its label's. False: the pod does not exist.
  bool Assign(std::string_view pod, std::string_view uid, std::string_view group,
              std::string_view subgroup);

  // Overlays on known and later objects. Ages(): of pod groups that the server calls younger.
  void Avoid(std::string_view group, std::vector<std::string> nodes);
  void HoldOff(std::string_view group, int64_t since_ns, int64_t delay_ns);
  void SetPastUsages(PastUsages usages);
  std::map<std::string, Overlays::Age> Ages() const { return overlays_.Ages(); }

  // An object that could not be read, for readers of their own; `kind` is that of the rejection.
  void Reject(Kind kind, Rejection rejection);

  // Whether the API server has the API of resource claims. Unless said, it has if claims are
  // synced, or if there are any (spec 3 D1).
  void ServeClaims(bool serves);

  void BeginList(Kind kind);
  void EndList(Kind kind);
  void Synced(Kind kind);

  // In the order of kinds and names.
  std::vector<Rejection> rejections() const;

  // Everything that is there, in the order of names, with its rejections; without parameters.
  ClusterRows Rows() const;
  // The same in two parts, for an engine: pods and pod groups as they stay here, in any order; and
  // a copy of all the others.
  RowsInPlace RowsOfMany() const;
  ClusterRows RowsOfFew() const;

  // Those of one kind, in any order.
  template <typename Row>
  std::vector<Row> RowsOfKind() const {
    std::vector<Row> rows;
    for (const Row* row : Table<Row>().Rows()) rows.push_back(*row);
    return rows;
  }

  // The row of an object that makes sense; null: there is none. It stays at its address until the
  // object goes.
  template <typename Row>
  const KeptAs<Row>* Find(std::string_view name) const {
    const auto* object = Table<Row>().Find(name);
    return object == nullptr || object->rejection != nullptr ? nullptr : &object->row;
  }

  bool IsSynced(Kind kind) const { return is_synced_[static_cast<size_t>(kind)]; }

  // Why an object makes no sense; null: it does, or is not there.
  const Rejection* FindRejection(Kind kind, std::string_view name) const;

  // Whether there is an object of the name, good or rejected.
  bool Has(Kind kind, std::string_view name) const;

  // What it holds, by kind: rows without their texts, the texts, the table that finds them by name,
  // rejections, names that were deleted, and what pods and pod groups share.
  MemoryReport Memory() const;

  // It hears of every change until Unfollow().
  void Follow(Follower* follower) { followers_.push_back(follower); }
  void Unfollow(Follower* follower) { std::erase(followers_, follower); }

 private:
  template <typename... Rows>
  static std::tuple<ObjectTable<KeptAs<Rows>>...> TablesFor(const std::tuple<KindEntry<Rows>...>&);
  using Tables = decltype(TablesFor(kKindTable));

  template <typename Row>
  ObjectTable<KeptAs<Row>>& Table() {
    return std::get<ObjectTable<KeptAs<Row>>>(tables_);
  }
  template <typename Row>
  const ObjectTable<KeptAs<Row>>& Table() const {
    return std::get<ObjectTable<KeptAs<Row>>>(tables_);
  }
  template <typename Row>
  Row&& Keep(Row&& row) {
    return std::move(row);
  }
  CompactPod Keep(PodRow&& row) { return parts_.Compact(std::move(row)); }
  CompactPodGroup Keep(PodGroupRow&& row) { return parts_.Compact(std::move(row)); }

  // Of a row that goes.
  template <typename Row>
  void Release(Row&& row) {
    if constexpr (requires { parts_.Release(std::move(row)); }) parts_.Release(std::move(row));
  }
  // False: the row that was there says the same.
  template <typename Row>
  bool Put(std::string_view name, Version version, KeptAs<Row> row,
           std::unique_ptr<Rejection> rejection = nullptr) {
    return Table<Row>().Add(name, version, std::move(row), std::move(rejection),
                            [this](KeptAs<Row>&& before) { Release(std::move(before)); });
  }

  template <typename Row>
  static Kind KindOf() {
    return std::get<KindEntry<Row>>(kKindTable).kind;
  }
  void Tell(Kind kind, std::string_view name) {
    for (Follower* follower : followers_) follower->Changed(kind, name);
  }
  void TellBefore(Kind kind, std::string_view name) {
    for (Follower* follower : followers_) follower->Changing(kind, name);
  }
  void RejectUnnamed(Rejection rejection, Kind kind);
  void TakeAssigned(std::string_view name, PodRow* row);
  // It is there, and becomes this one.
  template <typename Row>
  void Replace(Kind kind, std::string_view name, Row row);
  // It is there, and goes.
  void Remove(Kind kind, std::string_view name, Version version);

  RowParts parts_;
  Tables tables_;
  std::array<bool, kKinds> is_synced_ = {};
  std::optional<bool> serves_claims_;
  // Of objects without a name, by kind: until the kind is listed anew.
  std::array<std::vector<Rejection>, kKinds> unnamed_;
  struct Assigned {
    std::string uid, named;  // of the pod, and the group that it names itself
    std::string group, subgroup;
  };
  absl::flat_hash_map<std::string, Assigned, NameHash, std::equal_to<>> assigned_;  // by pod
  Overlays overlays_;
  JsonDocument document_;
  std::vector<Follower*> followers_;
};

}  // namespace kai

#endif  // KAI_STORE_STORE_H_

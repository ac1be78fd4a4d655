// Store: the known objects of a cluster, changed by one event at a time. A writer adds what it
// reads from a file or from watches, and engines follow the store.
//
//   Store store;
//   store.Upsert(Kind::kQueue, Queue("q", "5"));    // the object as JSON
//   store.Delete(Kind::kQueue, "q", 9)
//   const ClusterRows rows = store.Rows();
//
// Events may come late, twice and in any order, and an object may come before those that it refers
// to: the store keeps the latest version of each. An invalid object is a rejection until a valid
// version comes or the object is deleted; its last valid version is not kept.
//
// A new list of a kind (BeginList, Upsert of each, EndList) replaces what was known: missing
// objects are deleted, and its versions count even if they are lower. Synced() reports that a kind
// is complete; then a kind without objects is known to be empty. An object that is about to be
// created can be planned: lists do not have it yet, and it counts until the server's object is seen
// or it is withdrawn.
//
// A pod can be assigned to a pod group before its annotation names it (see also overlays.h).
//
// Followers are notified of changes that matter to the engine, not of heartbeats or equal lists.
//
// Invariants: it has no configuration, and objects do not depend on each other; the memory of a
// deleted object is freed. Cost: reading the object, and a hash look-up; Memory() walks over all
// objects. Threads: one writer; readers while it does not write.
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

// How an object that was read as a Row is stored.
template <typename Row>
using KeptAs =
    std::conditional_t<std::is_same_v<Row, PodRow>, CompactPod,
                       std::conditional_t<std::is_same_v<Row, PodGroupRow>, CompactPodGroup, Row>>;

// The number in metadata.resourceVersion; 0 if it is not a number.
Version VersionOf(std::string_view text);

// Is notified when objects of a store change, come or go.
class Follower {
 public:
  virtual ~Follower() = default;
  // Called before an object may change.
  virtual void Changing(Kind, std::string_view) {}
  // `name`: as in Store::Delete(); empty: an object without a name.
  virtual void Changed(Kind kind, std::string_view name) = 0;
};

class Store {
 public:
  Store() = default;
  // A copy with the same objects; the two change independently. The copy has no followers.
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
    kStale,     // a later version, or the same one, is known
    kRejected,  // invalid: rejections() has the reason
  };

  // `json`: the object.
  Outcome Upsert(Kind kind, std::string_view json);
  Outcome Upsert(Kind kind, JsonObject object) { return Upsert(kind, object, IdentityOf(object)); }
  Outcome Upsert(Kind kind, JsonObject object, const ObjectIdentity& identity);
  // Adds an object that was never JSON, for any row of kKindTable.
  template <typename Row>
  Outcome Upsert(Row row, Version version = 0) {
    const std::string name = NameInTable(row);
    if (Table<Row>().IsLate(name, version)) return Outcome::kStale;
    NotifyBefore(KindOf<Row>(), name);
    if constexpr (std::is_same_v<Row, PodRow>) TakeAssigned(name, &row);
    if constexpr (std::is_same_v<Row, PodGroupRow>) overlays_.PutOn(name, &row);
    if constexpr (requires { overlays_.PutOn(&row); }) overlays_.PutOn(&row);
    if (Put<Row>(name, version, Keep(std::move(row)))) Notify(KindOf<Row>(), name);
    return Outcome::kApplied;
  }

  // `name`: "namespace/name", or "name" for kinds without namespaces. `version`: that of the
  // deletion; a later known version stays. False if it stays or did not exist.
  bool Delete(Kind kind, std::string_view name, Version version = 0);

  // Adds an object that is about to be created and that lists do not have. kStale: the server has
  // one of its name.
  Outcome UpsertPlanned(Kind kind, JsonObject object);
  // The object will not be created. False if it is not planned any more.
  bool Withdraw(Kind kind, std::string_view name);

  // The pod, in this and later versions, belongs to this pod group instead of the one that it
  // names, until a version names another group or has another UID. `group`: empty: no group.
  // `subgroup`: empty: from the pod's label. False: there is no such pod.
  bool Assign(std::string_view pod, std::string_view uid, std::string_view group,
              std::string_view subgroup);

  // Overlays on current and later objects (overlays.h).
  void Avoid(std::string_view group, std::vector<std::string> nodes);
  void HoldOff(std::string_view group, int64_t since_ns, int64_t delay_ns);
  void SetPastUsages(PastUsages usages);
  std::map<std::string, Overlays::Age> Ages() const { return overlays_.Ages(); }

  // For readers of other formats: adds an object that could not be read; `kind` is that of the
  // rejection.
  void Reject(Kind kind, Rejection rejection);

  // Sets whether the API server has the API of resource claims. By default it has, if claims are
  // synced or exist (spec 3 D1).
  void ServeClaims(bool serves);

  void BeginList(Kind kind);
  void EndList(Kind kind);
  void Synced(Kind kind);

  // Sorted by kind and name.
  std::vector<Rejection> rejections() const;

  // All objects sorted by name, with the rejections; without parameters.
  ClusterRows Rows() const;
  // The same in two parts, for an engine: pointers to pods and pod groups in any order, and a copy
  // of all others.
  RowsInPlace RowsOfMany() const;
  ClusterRows RowsOfFew() const;

  // The rows of one kind, in any order.
  template <typename Row>
  std::vector<Row> RowsOfKind() const {
    std::vector<Row> rows;
    for (const Row* row : Table<Row>().Rows()) rows.push_back(*row);
    return rows;
  }

  // The row of a valid object, or null. It keeps its address until the object is deleted.
  template <typename Row>
  const KeptAs<Row>* Find(std::string_view name) const {
    const auto* object = Table<Row>().Find(name);
    return object == nullptr || object->rejection != nullptr ? nullptr : &object->row;
  }

  bool IsSynced(Kind kind) const { return is_synced_[static_cast<size_t>(kind)]; }

  // Why an object was rejected; null if it is valid or does not exist.
  const Rejection* FindRejection(Kind kind, std::string_view name) const;

  // True if there is an object of this name, valid or rejected.
  bool Has(Kind kind, std::string_view name) const;

  // Memory by kind: rows without their texts, the texts, the tables of names, rejections, names of
  // deleted objects, and what pods and pod groups share.
  MemoryReport Memory() const;

  // Notifies the follower of every change until Unfollow().
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

  // Frees what a removed row shared.
  template <typename Row>
  void Release(Row&& row) {
    if constexpr (requires { parts_.Release(std::move(row)); }) parts_.Release(std::move(row));
  }
  // False if the previous row is equal.
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
  void Notify(Kind kind, std::string_view name) {
    for (Follower* follower : followers_) follower->Changed(kind, name);
  }
  void NotifyBefore(Kind kind, std::string_view name) {
    for (Follower* follower : followers_) follower->Changing(kind, name);
  }
  void RejectUnnamed(Rejection rejection, Kind kind);
  void TakeAssigned(std::string_view name, PodRow* row);
  // Replaces the row of an existing object.
  template <typename Row>
  void Replace(Kind kind, std::string_view name, Row row);
  // Removes an existing object.
  void Remove(Kind kind, std::string_view name, Version version);

  RowParts parts_;
  Tables tables_;
  std::array<bool, kKinds> is_synced_ = {};
  std::optional<bool> serves_claims_;
  // Rejections of objects without a name, by kind, until the kind is listed again.
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

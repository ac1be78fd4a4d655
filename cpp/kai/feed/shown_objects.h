// ShownObjects: which objects lists and watches have shown, with their versions. A comparison with
// the API server finds events that were lost on their way.
//
//   shown_.BeginList(item.kind);
//   shown_.Put(kind, name, VersionOf(identity.version));
//   drained.shown = shown_.states();
//
// Unlike the store it has no objects that are planned, or that were read one by one.
//
// Invariants: names are kept as hashes. Cost: one hash look-up for an event, about 28 bytes for an
// object. Not thread-safe.
#ifndef KAI_FEED_SHOWN_OBJECTS_H_
#define KAI_FEED_SHOWN_OBJECTS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kai/ingest/kinds.h"
#include "kai/store/object_table.h"

namespace kai {

class ShownObjects {
 public:
  // What a later list has changed.
  struct Relisted {
    Kind kind{};
    int64_t added = 0;
    int64_t gone = 0;
    int64_t changed = 0;
    std::vector<std::string> names = {};  // some of these objects
  };
  // A kind that is completely listed: its version, and how many objects it has.
  struct State {
    Kind kind{};
    std::string version;
    int64_t objects = 0;
  };

  void BeginList(Kind kind);
  void Put(Kind kind, std::string_view name, Version version);
  void Drop(Kind kind, std::string_view name);
  // `gone`: the names of objects that the list did not have. Empty: it was the first list.
  std::optional<Relisted> EndList(Kind kind, std::vector<std::string> gone);
  // All events up to this version were shown. An empty version is ignored.
  void At(Kind kind, std::string_view version);

  std::vector<State> states() const;
  // True if the object is known, and was shown only at earlier versions.
  bool IsBehind(Kind kind, std::string_view name, Version version) const;

 private:
  static constexpr size_t kMostNames = 10;
  using Versions = absl::flat_hash_map<uint64_t, Version>;
  struct OfKind {
    Versions objects;
    Versions before;  // the objects before the list that is being read
    std::string version;
    Relisted relisted;
    bool is_listing = false;
    bool was_listed = false;  // completely
  };
  OfKind& Of(Kind kind) { return kinds_[static_cast<size_t>(kind)]; }

  std::array<OfKind, kKinds> kinds_;
};

}  // namespace kai

#endif  // KAI_FEED_SHOWN_OBJECTS_H_

// Reading Kubernetes objects from JSON: walk the members, take those you know, and get every error
// with its path for free.
//
//   FieldStatus ReadToleration(JsonValue& toleration, Toleration* out) {
//     return ForEachMember(toleration, [&](std::string_view key, JsonValue& value) {
//       if (key == "key") return ReadString(value, &out->key);
//       if (key == "effect") return ReadTaintEffect(value, &out->effect);
//       return Skip();
//     });
//   }
//
// A thin layer over simdjson on demand with the habits of Kubernetes: members come in any order,
// unknown ones are skipped unread, null is the same as absent, the last of two equal members wins.
// The JSON must have passed CheckJson (JsonDocument sees to it): then nothing but types and values
// can be wrong, and nothing here checks grammar again. Strings are read straight from the input,
// never through simdjson's own buffer, so that an object may be looked at twice (NameOf). A value
// must be looked at before the walk moves on to the next.
#ifndef KAI_INGEST_JSON_READER_H_
#define KAI_INGEST_JSON_READER_H_

#include <simdjson.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kai/ingest/field_status.h"
#include "kai/model/rows.h"

namespace kai {

using JsonObject = simdjson::ondemand::object;
using JsonArray = simdjson::ondemand::array;
using JsonValue = simdjson::ondemand::value;

// ---- walking ------------------------------------------------------------------------------------

// What a visitor answers about a member it has no use for.
inline FieldStatus Skip() { return FieldStatus(); }

// Calls visit(key, value) for each member that is not null, until one is bad; a bad one gets the
// path ".key".
template <typename Visit>
FieldStatus ForEachMember(JsonObject object, Visit&& visit);
template <typename Visit>
FieldStatus ForEachMember(JsonValue& value, Visit&& visit);

// The same for maps, whose keys are data: a bad entry gets the path "[\"key\"]".
template <typename Visit>
FieldStatus ForEachEntry(JsonValue& map, Visit&& visit);

// Calls visit(value) for each element of a list; a bad one gets the path "[index]". Null elements
// are visited, too.
template <typename Visit>
FieldStatus ForEachElement(JsonValue& list, Visit&& visit);

// The same in steps, for who wants to know how many elements there are before they come:
// array.count_elements() skims the list once more, and must be asked before the walk.
FieldStatus OpenList(JsonValue& list, JsonArray* array);
template <typename Visit>
FieldStatus ForEachElement(JsonArray array, Visit&& visit);

// ---- values -------------------------------------------------------------------------------------

// The text of a string. Usually a view into the input; escape sequences need a copy, which it then
// owns.
class JsonText {
 public:
  FieldStatus Read(JsonValue& value);
  std::string_view view() const { return owns_ ? std::string_view(unescaped_) : view_; }

 private:
  friend class JsonKey;
  void Set(const char* inside, const char* end);

  bool owns_ = false;
  std::string_view view_;
  std::string unescaped_;
};

inline bool IsNull(JsonValue& value) { return value.raw_json_token().front() == 'n'; }
FieldStatus ReadString(JsonValue& value, std::string* out);
FieldStatus ReadBool(JsonValue& value, bool* out);
FieldStatus ReadDouble(JsonValue& value, double* out);
FieldStatus ReadInt(JsonValue& value, int64_t* out,
                    int64_t lowest = std::numeric_limits<int64_t>::min(),
                    int64_t highest = std::numeric_limits<int64_t>::max());
FieldStatus ReadInt(JsonValue& value, std::optional<int64_t>* out,
                    int64_t lowest = std::numeric_limits<int64_t>::min(),
                    int64_t highest = std::numeric_limits<int64_t>::max());
inline constexpr int64_t kMinInt32 = std::numeric_limits<int32_t>::min();
inline constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

FieldStatus ReadStrings(JsonValue& list, std::vector<std::string>* out);
FieldStatus ReadStringMap(JsonValue& map, StringPairs* out);  // keys once each: the last one wins

FieldStatus ReadTimestamp(JsonValue& value, std::optional<int64_t>* out_ns);  // RFC 3339
FieldStatus ReadDuration(JsonValue& value, std::optional<int64_t>* out_ns);   // "1h30m"

// The value as it stands in the input: a scalar without the space behind it, or the first character
// of an object or a list.
std::string_view RawToken(JsonValue& value);

// "expected a string, found a number"
FieldStatus Expected(std::string_view what, JsonValue& value);

// Keeps one pair per key, the last one; leaves the order alone as long as no key repeats.
void KeepLastOfEach(StringPairs* pairs);

// ---- objects ------------------------------------------------------------------------------------

// "ns/name", or "name", or "" where even that cannot be found. Starts over at the beginning of the
// object, which ends any walk over it.
std::string NameOf(JsonObject& object);

// The outcome of a reader: nothing, or why the object is left out.
std::optional<Rejection> RejectIfBad(std::string_view kind, JsonObject& object, FieldStatus status);

// ---- implementation of the templates ------------------------------------------------------------

// A member's name. Most are compared and forgotten, so nothing is copied unless it has escape
// sequences.
class JsonKey {
 public:
  explicit JsonKey(const char* inside);
  std::string_view view() const { return text_.view(); }
  std::string AsStep() const;   // the name as a step of a path, cut when long
  std::string AsEntry() const;  // ["name"]

 private:
  JsonText text_;
};

namespace internal {
FieldStatus BrokenJson();  // cannot happen after CheckJson
std::string IndexStep(size_t index);

template <bool kIsMap, typename Visit>
FieldStatus VisitFields(JsonObject object, Visit&& visit) {
  for (auto result : object) {
    simdjson::ondemand::field field;
    if (std::move(result).get(field) != simdjson::SUCCESS) return BrokenJson();
    JsonValue& value = field.value();
    if (IsNull(value)) continue;
    const JsonKey key(field.key().raw());
    FieldStatus status = visit(key.view(), value);
    if (!status.ok()) return std::move(status).Inside(kIsMap ? key.AsEntry() : key.AsStep());
  }
  return FieldStatus();
}
}  // namespace internal

template <typename Visit>
FieldStatus ForEachMember(JsonObject object, Visit&& visit) {
  return internal::VisitFields<false>(object, visit);
}

template <typename Visit>
FieldStatus ForEachMember(JsonValue& value, Visit&& visit) {
  JsonObject object;
  if (RawToken(value).front() != '{') return Expected("an object", value);
  if (value.get_object().get(object) != simdjson::SUCCESS) return internal::BrokenJson();
  return internal::VisitFields<false>(object, visit);
}

template <typename Visit>
FieldStatus ForEachEntry(JsonValue& map, Visit&& visit) {
  JsonObject object;
  if (RawToken(map).front() != '{') return Expected("an object", map);
  if (map.get_object().get(object) != simdjson::SUCCESS) return internal::BrokenJson();
  return internal::VisitFields<true>(object, visit);
}

template <typename Visit>
FieldStatus ForEachElement(JsonValue& list, Visit&& visit) {
  JsonArray array;
  KAI_RETURN_IF_BAD(OpenList(list, &array));
  return ForEachElement(array, visit);
}

template <typename Visit>
FieldStatus ForEachElement(JsonArray array, Visit&& visit) {
  size_t index = 0;
  for (auto result : array) {
    JsonValue value;
    if (std::move(result).get(value) != simdjson::SUCCESS) return internal::BrokenJson();
    FieldStatus status = visit(value);
    if (!status.ok()) return std::move(status).Inside(internal::IndexStep(index));
    ++index;
  }
  return FieldStatus();
}

}  // namespace kai

#endif  // KAI_INGEST_JSON_READER_H_

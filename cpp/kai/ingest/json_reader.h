// Reading Kubernetes objects from JSON: walk the members, take those you know, and get every error
// with its path for free.
//
//   return ForEachMember(metadata, [&](std::string_view key, JsonValue& value) {
//   if (key == "name") return ReadString(value, &row->name);
//   if (key == "labels") return ReadStringMap(value, &row->labels);
//   return Skip();
//
// With the habits of Kubernetes: members come in any order, unknown ones are skipped unread, null
// is the same as absent, the last of two equal members wins.
//
// Invariants: the JSON is valid (JsonDocument sees to it), so nothing here checks grammar again.
// Values are places in the document: they may be looked at more than once, in any order. Cost: one
// pass over what is read; a member that is skipped costs the same whatever it holds. Threads: those
// of the document: one.
#ifndef KAI_INGEST_JSON_READER_H_
#define KAI_INGEST_JSON_READER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "kai/ingest/field_status.h"
#include "kai/model/rows/rows.h"

namespace kai {

struct JsonTokens;

// A place in a JsonDocument.
class JsonPlace {
 public:
  JsonPlace() = default;
  JsonPlace(const JsonTokens* tokens, uint32_t token) : tokens_(tokens), token_(token) {}

  const JsonTokens& tokens() const { return *tokens_; }
  uint32_t token() const { return token_; }  // where the value starts

 private:
  const JsonTokens* tokens_ = nullptr;
  uint32_t token_ = 0;
};
class JsonValue : public JsonPlace {
  using JsonPlace::JsonPlace;
};
class JsonObject : public JsonPlace {
  using JsonPlace::JsonPlace;
};

// ---- walking ------------------------------------------------------------------------------------

using MemberVisitor = absl::FunctionRef<FieldStatus(std::string_view key, JsonValue& value)>;
using ElementVisitor = absl::FunctionRef<FieldStatus(JsonValue& value)>;

// What a visitor answers about a member it has no use for.
inline FieldStatus Skip() { return FieldStatus(); }

// Calls visit(key, value) for each member that is not null, until one is bad; a bad one gets the
// path ".key". An object may be walked again.
FieldStatus ForEachMember(JsonObject object, MemberVisitor visit);
FieldStatus ForEachMember(JsonValue& value, MemberVisitor visit);

// The same for maps, whose keys are data: a bad entry gets the path "[\"key\"]".
FieldStatus ForEachEntry(JsonValue& map, MemberVisitor visit);

// Calls visit(value) for each element of a list; a bad one gets the path "[index]". Null elements
// are visited, too.
FieldStatus ForEachElement(JsonValue& list, ElementVisitor visit);

// The object that a value is.
FieldStatus ReadObject(JsonValue& value, JsonObject* out);

// ---- values -------------------------------------------------------------------------------------

// The text of a string. Usually a view into the input; escape sequences need a copy, which it then
// owns.
class JsonText {
 public:
  FieldStatus Read(const JsonValue& value);
  // Of a token that is a string.
  JsonText(const JsonTokens& tokens, uint32_t token);
  JsonText() = default;

  std::string_view view() const { return owns_ ? std::string_view(unescaped_) : view_; }

 private:
  bool owns_ = false;
  std::string_view view_;
  std::string unescaped_;
};

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
// An object as it stands in the input, whole.
FieldStatus ReadRawObject(JsonValue& value, std::string* out);

// "expected a string, found a number"
FieldStatus Expected(std::string_view what, const JsonValue& value);

// Keeps one pair per key, the last one; leaves the order alone as long as no key repeats.
void KeepLastOfEach(StringPairs* pairs);

// ---- objects ------------------------------------------------------------------------------------

// What metadata says an object is; what cannot be found is empty.
struct ObjectIdentity {
  std::string name;     // "ns/name", or "name"
  std::string version;  // resourceVersion
};
ObjectIdentity IdentityOf(JsonObject& object);
inline std::string NameOf(JsonObject& object) { return IdentityOf(object).name; }

// The outcome of a reader: nothing, or why the object is left out.
std::optional<Rejection> RejectIfBad(std::string_view kind, JsonObject& object, FieldStatus status);

}  // namespace kai

#endif  // KAI_INGEST_JSON_READER_H_

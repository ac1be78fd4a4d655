// Reads Kubernetes objects from JSON: a reader walks over members and takes those it uses; errors
// get their path automatically.
//
//   return ForEachMember(metadata, [&](std::string_view key, JsonValue& value) {
//   if (key == "name") return ReadString(value, &row->name);
//   if (key == "labels") return ReadStringMap(value, &row->labels);
//   return Skip();
//
// The rules are those of Kubernetes: members come in any order, unknown ones are skipped, null is
// the same as absent, and the last of two equal members wins.
//
// Invariants: the JSON is valid (JsonDocument ensures it), so the grammar is not checked again.
// Values are positions in the document: they may be read more than once, in any order. Cost: one
// pass over what is read; skipping a member costs the same whatever is in it. Threads: those of the
// document: one.
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

// A position in a JsonDocument.
class JsonPlace {
 public:
  JsonPlace() = default;
  JsonPlace(const JsonTokens* tokens, uint32_t token) : tokens_(tokens), token_(token) {}

  const JsonTokens& tokens() const { return *tokens_; }
  uint32_t token() const { return token_; }  // first token of the value

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

// The result of a visitor for a member that it does not use.
inline FieldStatus Skip() { return FieldStatus(); }

// Calls visit(key, value) for each member that is not null, until one returns an error, to whose
// path it adds ".key". An object may be walked again.
FieldStatus ForEachMember(JsonObject object, MemberVisitor visit);
FieldStatus ForEachMember(JsonValue& value, MemberVisitor visit);

// The same for maps, whose keys are data: an error gets the path "[\"key\"]".
FieldStatus ForEachEntry(JsonValue& map, MemberVisitor visit);

// Calls visit(value) for each element of a list; an error gets the path "[index]". Null elements
// are visited, too.
FieldStatus ForEachElement(JsonValue& list, ElementVisitor visit);

// Returns an error if the value is not an object.
FieldStatus ReadObject(JsonValue& value, JsonObject* out);

// ---- values -------------------------------------------------------------------------------------

// The text of a string. Usually a view into the input; a string with escape sequences is copied,
// and this object owns the copy.
class JsonText {
 public:
  FieldStatus Read(const JsonValue& value);
  // The text of a string token.
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
FieldStatus ReadStringMap(JsonValue& map, StringPairs* out);  // one entry per key: the last one

FieldStatus ReadTimestamp(JsonValue& value, std::optional<int64_t>* out_ns);  // RFC 3339
FieldStatus ReadDuration(JsonValue& value, std::optional<int64_t>* out_ns);   // "1h30m"

// The value as written in the input: a scalar without trailing white space, or the first character
// of an object or a list.
std::string_view RawToken(JsonValue& value);
// A complete object as written in the input.
FieldStatus ReadRawObject(JsonValue& value, std::string* out);

// "expected a string, found a number"
FieldStatus Expected(std::string_view what, const JsonValue& value);

// Keeps the last pair of each key. Sorts the pairs if a key repeats, or if there are more than 16.
void KeepLastOfEach(StringPairs* pairs);

// ---- objects ------------------------------------------------------------------------------------

// The identity of an object from its metadata; fields that cannot be read are empty.
struct ObjectIdentity {
  std::string name;     // "ns/name", or "name"
  std::string version;  // resourceVersion
};
ObjectIdentity IdentityOf(JsonObject& object);
inline std::string NameOf(JsonObject& object) { return IdentityOf(object).name; }

// The result of a reader: nothing, or why the object is rejected.
std::optional<Rejection> RejectIfBad(std::string_view kind, JsonObject& object, FieldStatus status);

}  // namespace kai

#endif  // KAI_INGEST_JSON_READER_H_

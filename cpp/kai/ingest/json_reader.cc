#include "kai/ingest/json_reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "kai/base/check.h"
#include "kai/base/duration.h"
#include "kai/base/quote.h"
#include "kai/base/text.h"
#include "kai/ingest/json_check.h"
#include "kai/ingest/json_inside.h"
#include "kai/ingest/timestamp.h"

namespace kai {
namespace {

std::string_view TrimRight(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\t' ||
                           text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

std::string_view KindOf(std::string_view token) {
  switch (token.front()) {
    case '{':
      return "an object";
    case '[':
      return "a list";
    case '"':
      return "a string";
    case 'n':
      return "null";
    case 't':
    case 'f':
      return "a boolean";
    default:
      return "a number";
  }
}

bool IsNumber(std::string_view token) { return KindOf(token) == "a number"; }

unsigned FourHexDigits(const char* at) {
  unsigned code = 0;
  std::from_chars(at, at + 4, code, 16);
  return code;
}

void AppendUtf8(unsigned code, std::string* out) {
  const auto byte = [](unsigned bits) { return static_cast<char>(bits); };
  if (code < 0x80) {
    *out += byte(code);
  } else if (code < 0x800) {
    *out += {byte(0xC0 | code >> 6), byte(0x80 | (code & 0x3F))};
  } else if (code < 0x10000) {
    *out += {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
  } else {
    *out += {byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 0x3F)),
             byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
  }
}

// The meaning of a string's inside, from its first backslash up to the closing quote.
std::string Unescape(const char* at) {
  std::string text;
  for (; *at != '"'; ++at) {
    if (*at != '\\') {
      text += *at;
      continue;
    }
    constexpr std::string_view kLetters = "bfnrt", kMeanings = "\b\f\n\r\t";
    ++at;
    if (const size_t letter = kLetters.find(*at); letter != kLetters.npos) {
      text += kMeanings[letter];
    } else if (*at != 'u') {
      text += *at;  // a quote, a slash or a backslash
    } else {
      unsigned code = FourHexDigits(at + 1);
      at += 4;
      const bool high = code >= 0xD800 && code < 0xDC00;
      if (high && at[1] == '\\' && at[2] == 'u') {
        const unsigned low = FourHexDigits(at + 3);
        if (low >= 0xDC00 && low < 0xE000) {
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
          at += 6;
        }
      }
      // Half a surrogate pair means nothing; like Go, we keep a replacement character.
      AppendUtf8(code >= 0xD800 && code < 0xE000 ? 0xFFFD : code, &text);
    }
  }
  return text;
}

// Cut short, for paths and messages.
std::string Cut(std::string_view text) {
  const std::string quoted = Quote(text);
  return quoted.substr(1, quoted.size() - 2);
}

FieldStatus BrokenJson() {  // cannot happen after CheckJson
  KAI_DCHECK(false) << "JSON that was checked turned out broken";
  return FieldStatus::Bad("is not valid JSON");
}

std::string_view TokenOf(const JsonValue& value) {
  return JsonInside::Unwrap<simdjson::ondemand::value>(value).raw_json_token();
}

using InsideObject = simdjson::ondemand::object;
using InsideArray = simdjson::ondemand::array;
using InsideValue = simdjson::ondemand::value;

FieldStatus OpenObject(JsonValue& value, InsideObject* object) {
  if (TokenOf(value).front() != '{') return Expected("an object", value);
  return JsonInside::Unwrap<InsideValue>(value).get_object().get(*object) == simdjson::SUCCESS
             ? FieldStatus()
             : BrokenJson();
}

FieldStatus OpenList(JsonValue& value, InsideArray* array) {
  if (TokenOf(value).front() != '[') return Expected("a list", value);
  return JsonInside::Unwrap<InsideValue>(value).get_array().get(*array) == simdjson::SUCCESS
             ? FieldStatus()
             : BrokenJson();
}

template <bool kIsMap>
FieldStatus VisitFields(InsideObject object, MemberVisitor visit) {
  for (auto result : object) {
    simdjson::ondemand::field field;
    if (std::move(result).get(field) != simdjson::SUCCESS) return BrokenJson();
    if (field.value().raw_json_token().front() == 'n') continue;
    // Most keys are compared and forgotten: nothing is copied unless there are escape sequences.
    const JsonText key = JsonInside::KeyText(field.key().raw());
    JsonValue value = JsonInside::Wrap<JsonValue>(field.value());
    FieldStatus status = visit(key.view(), value);
    if (!status.ok()) {
      return std::move(status).Inside(kIsMap ? StrCat("[", Quote(key.view()), "]")
                                             : Cut(key.view()));
    }
  }
  return FieldStatus();
}

FieldStatus VisitElements(InsideArray array, ElementVisitor visit) {
  size_t index = 0;
  for (auto result : array) {
    InsideValue element;
    if (std::move(result).get(element) != simdjson::SUCCESS) return BrokenJson();
    JsonValue value = JsonInside::Wrap<JsonValue>(element);
    FieldStatus status = visit(value);
    if (!status.ok()) return std::move(status).Inside(StrCat("[", index, "]"));
    ++index;
  }
  return FieldStatus();
}

}  // namespace

// ---- walking ------------------------------------------------------------------------------------

FieldStatus ForEachMember(JsonObject object, MemberVisitor visit) {
  InsideObject inside = JsonInside::Unwrap<InsideObject>(object);
  if (inside.reset().error() != simdjson::SUCCESS) return BrokenJson();
  return VisitFields<false>(inside, visit);
}

FieldStatus ForEachMember(JsonValue& value, MemberVisitor visit) {
  InsideObject object;
  KAI_RETURN_IF_BAD(OpenObject(value, &object));
  return VisitFields<false>(object, visit);
}

FieldStatus ForEachEntry(JsonValue& map, MemberVisitor visit) {
  InsideObject object;
  KAI_RETURN_IF_BAD(OpenObject(map, &object));
  return VisitFields<true>(object, visit);
}

FieldStatus ForEachElement(JsonValue& list, ElementVisitor visit) {
  InsideArray array;
  KAI_RETURN_IF_BAD(OpenList(list, &array));
  return VisitElements(array, visit);
}

FieldStatus ForEachElement(JsonValue& list, absl::FunctionRef<void(size_t count)> begin,
                           ElementVisitor visit) {
  InsideArray array;
  KAI_RETURN_IF_BAD(OpenList(list, &array));
  size_t count = 0;
  if (array.count_elements().get(count) != simdjson::SUCCESS) return BrokenJson();
  begin(count);
  return VisitElements(array, visit);
}

FieldStatus ReadObject(JsonValue& value, JsonObject* out) {
  InsideObject object;
  KAI_RETURN_IF_BAD(OpenObject(value, &object));
  *out = JsonInside::Wrap<JsonObject>(object);
  return FieldStatus();
}

// ---- values -------------------------------------------------------------------------------------

std::string_view RawToken(JsonValue& value) { return TrimRight(TokenOf(value)); }

FieldStatus ReadRawObject(JsonValue& value, std::string* out) {
  InsideObject object;
  std::string_view text;
  KAI_RETURN_IF_BAD(OpenObject(value, &object));
  if (object.raw_json().get(text) != simdjson::SUCCESS) return BrokenJson();
  *out = text;
  return FieldStatus();
}

FieldStatus Expected(std::string_view what, JsonValue& value) {
  return FieldStatus::Bad(StrCat("expected ", what, ", found ", KindOf(RawToken(value))));
}

// `end` lies behind the closing quote, which is how simdjson lets us see no further than the
// padding.
void JsonText::Set(const char* inside, const char* end) {
  const char* const stop = FindQuoteOrBackslash(inside, end);
  view_ = std::string_view(inside, static_cast<size_t>(stop - inside));
  owns_ = *stop == '\\';
  if (owns_) unescaped_ = std::string(view_) + Unescape(stop);
}

FieldStatus JsonText::Read(JsonValue& value) {
  const std::string_view token = TokenOf(value);
  if (token.front() != '"') return Expected("a string", value);
  Set(token.data() + 1, token.data() + token.size());
  return FieldStatus();
}

FieldStatus ReadString(JsonValue& value, std::string* out) {
  JsonText text;
  KAI_RETURN_IF_BAD(text.Read(value));
  *out = text.view();
  return FieldStatus();
}

FieldStatus ReadBool(JsonValue& value, bool* out) {
  const std::string_view token = RawToken(value);
  if (token != "true" && token != "false") return Expected("a boolean", value);
  *out = token == "true";
  return FieldStatus();
}

FieldStatus ReadDouble(JsonValue& value, double* out) {
  const std::string_view token = RawToken(value);
  if (!IsNumber(token)) return Expected("a number", value);
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), *out);
  if (error != std::errc() || end != token.data() + token.size()) {
    return FieldStatus::Bad(StrCat(Cut(token), " is out of range"));
  }
  return FieldStatus();
}

FieldStatus ReadInt(JsonValue& value, int64_t* out, int64_t lowest, int64_t highest) {
  const std::string_view token = RawToken(value);
  if (!IsNumber(token)) return Expected("a whole number", value);
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), *out);
  if (end != token.data() + token.size()) {
    return FieldStatus::Bad(StrCat("expected a whole number, found ", Cut(token)));
  }
  if (error == std::errc() && *out < lowest && lowest == 0) {
    return FieldStatus::Bad(StrCat(Cut(token), " is negative"));
  }
  if (error != std::errc() || *out < lowest || *out > highest) {
    return FieldStatus::Bad(StrCat(Cut(token), " is out of range"));
  }
  return FieldStatus();
}

FieldStatus ReadInt(JsonValue& value, std::optional<int64_t>* out, int64_t lowest,
                    int64_t highest) {
  return ReadInt(value, &out->emplace(), lowest, highest);
}

FieldStatus ReadStrings(JsonValue& list, std::vector<std::string>* out) {
  out->clear();
  return ForEachElement(list,
                        [&](JsonValue& value) { return ReadString(value, &out->emplace_back()); });
}

FieldStatus ReadStringMap(JsonValue& map, StringPairs* out) {
  out->clear();
  KAI_RETURN_IF_BAD(ForEachEntry(map, [&](std::string_view key, JsonValue& value) {
    return ReadString(value, &out->emplace_back(key, std::string()).second);
  }));
  KeepLastOfEach(out);
  return FieldStatus();
}

FieldStatus ReadTimestamp(JsonValue& value, std::optional<int64_t>* out_ns) {
  JsonText text;
  KAI_RETURN_IF_BAD(text.Read(value));
  const absl::StatusOr<int64_t> nanos = ParseTimestamp(text.view());
  if (!nanos.ok()) return FieldStatus::Bad(std::string(nanos.status().message()));
  *out_ns = *nanos;
  return FieldStatus();
}

FieldStatus ReadDuration(JsonValue& value, std::optional<int64_t>* out_ns) {
  JsonText text;
  KAI_RETURN_IF_BAD(text.Read(value));
  const absl::StatusOr<int64_t> nanos = ParseDuration(text.view());
  if (!nanos.ok()) return FieldStatus::Bad(std::string(nanos.status().message()));
  *out_ns = *nanos;
  return FieldStatus();
}

void KeepLastOfEach(StringPairs* pairs) {
  // Objects written by a program repeat no key, and a handful of keys is quicker compared than
  // sorted.
  constexpr size_t kHandful = 16;
  bool repeats = pairs->size() > kHandful;
  for (size_t i = 1; i < pairs->size() && !repeats; ++i) {
    for (size_t j = 0; j < i && !repeats; ++j) repeats = (*pairs)[i].first == (*pairs)[j].first;
  }
  if (!repeats) return;
  std::stable_sort(pairs->begin(), pairs->end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  size_t kept = 0;
  for (size_t i = 0; i < pairs->size(); ++i) {
    if (i + 1 < pairs->size() && (*pairs)[i].first == (*pairs)[i + 1].first) continue;
    if (kept != i) (*pairs)[kept] = std::move((*pairs)[i]);
    ++kept;
  }
  pairs->resize(kept);
}

// ---- objects ------------------------------------------------------------------------------------

ObjectIdentity IdentityOf(JsonObject& object) {
  ObjectIdentity identity;
  std::string namespace_name;
  const FieldStatus ignored = ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key != "metadata") return Skip();
    return ForEachMember(value, [&](std::string_view member, JsonValue& text) {
      const FieldStatus unreadable = member == "name"        ? ReadString(text, &identity.name)
                                     : member == "namespace" ? ReadString(text, &namespace_name)
                                     : member == "resourceVersion"
                                         ? ReadString(text, &identity.version)
                                         : Skip();
      return Skip();
    });
  });
  if (!identity.name.empty() && !namespace_name.empty())
    identity.name = StrCat(namespace_name, "/", identity.name);
  return identity;
}

std::optional<Rejection> RejectIfBad(std::string_view kind, JsonObject& object,
                                     FieldStatus status) {
  if (status.ok()) return std::nullopt;
  return Rejection{std::string(kind), NameOf(object), status.field(), status.message()};
}

}  // namespace kai

#include "kai/ingest/json_reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "kai/base/check.h"
#include "kai/base/duration.h"
#include "kai/base/quote.h"
#include "kai/base/text.h"
#include "kai/ingest/json_tokens.h"
#include "kai/ingest/timestamp.h"

namespace kai {
namespace {

std::string_view KindOf(char first) {
  switch (first) {
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

bool IsNumber(std::string_view token) { return KindOf(token.front()) == "a number"; }

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

// Decodes the inside of a string, from its first backslash to the closing quote.
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
      // Half a surrogate pair is invalid; like Go, this writes a replacement character.
      AppendUtf8(code >= 0xD800 && code < 0xE000 ? 0xFFFD : code, &text);
    }
  }
  return text;
}

// Shortened, for paths and messages.
std::string Cut(std::string_view text) {
  const std::string quoted = Quote(text);
  return quoted.substr(1, quoted.size() - 2);
}

char FirstOf(const JsonValue& value) { return value.tokens().First(value.token()); }

std::string_view Unquoted(const JsonTokens& tokens, uint32_t token) {
  const std::string_view quoted = tokens.Text(token);
  return quoted.substr(1, quoted.size() - 2);
}

// Visits the object that starts at `token`.
template <bool kIsMap>
FieldStatus VisitFields(const JsonTokens& tokens, uint32_t token, MemberVisitor visit) {
  ++token;
  while (tokens.First(token) != '}') {
    JsonValue value(&tokens, token + 2);  // after the key and the colon
    if (tokens.First(token + 2) != 'n') {
      // Most keys are only compared, so nothing is copied unless there are escape sequences.
      std::string_view key = Unquoted(tokens, token);
      JsonText unescaped;
      if (tokens.has_escapes && key.find('\\') != key.npos) {
        unescaped = JsonText(tokens, token);
        key = unescaped.view();
      }
      FieldStatus status = visit(key, value);
      if (!status.ok())
        return std::move(status).Inside(kIsMap ? StrCat("[", Quote(key), "]") : Cut(key));
    }
    token = tokens.After(token + 2);
    if (tokens.First(token) == ',') ++token;
  }
  return FieldStatus();
}

// Visits the list that starts at `token`.
FieldStatus VisitElements(const JsonTokens& tokens, uint32_t token, ElementVisitor visit) {
  size_t index = 0;
  ++token;
  while (tokens.First(token) != ']') {
    JsonValue value(&tokens, token);
    FieldStatus status = visit(value);
    if (!status.ok()) return std::move(status).Inside(StrCat("[", index, "]"));
    ++index;
    token = tokens.After(token);
    if (tokens.First(token) == ',') ++token;
  }
  return FieldStatus();
}

}  // namespace

// ---- walking ------------------------------------------------------------------------------------

FieldStatus ForEachMember(JsonObject object, MemberVisitor visit) {
  return VisitFields<false>(object.tokens(), object.token(), visit);
}

FieldStatus ForEachMember(JsonValue& value, MemberVisitor visit) {
  if (FirstOf(value) != '{') return Expected("an object", value);
  return VisitFields<false>(value.tokens(), value.token(), visit);
}

FieldStatus ForEachEntry(JsonValue& map, MemberVisitor visit) {
  if (FirstOf(map) != '{') return Expected("an object", map);
  return VisitFields<true>(map.tokens(), map.token(), visit);
}

FieldStatus ForEachElement(JsonValue& list, ElementVisitor visit) {
  if (FirstOf(list) != '[') return Expected("a list", list);
  return VisitElements(list.tokens(), list.token(), visit);
}

FieldStatus ReadObject(JsonValue& value, JsonObject* out) {
  if (FirstOf(value) != '{') return Expected("an object", value);
  *out = JsonObject(&value.tokens(), value.token());
  return FieldStatus();
}

// ---- values -------------------------------------------------------------------------------------

std::string_view RawToken(JsonValue& value) { return value.tokens().Text(value.token()); }

FieldStatus ReadRawObject(JsonValue& value, std::string* out) {
  if (FirstOf(value) != '{') return Expected("an object", value);
  const JsonTokens& tokens = value.tokens();
  const uint32_t begin = tokens.place[value.token()];
  const uint32_t closing = tokens.place[tokens.After(value.token()) - 1];
  *out = std::string_view(tokens.text + begin, closing + 1 - begin);
  return FieldStatus();
}

FieldStatus Expected(std::string_view what, const JsonValue& value) {
  return FieldStatus::Bad(StrCat("expected ", what, ", found ", KindOf(FirstOf(value))));
}

JsonText::JsonText(const JsonTokens& tokens, uint32_t token) {
  view_ = Unquoted(tokens, token);
  if (!tokens.has_escapes) return;
  const size_t escape = view_.find('\\');
  if (escape == view_.npos) return;
  owns_ = true;
  unescaped_ = std::string(view_.substr(0, escape)) + Unescape(view_.data() + escape);
}

FieldStatus JsonText::Read(const JsonValue& value) {
  if (FirstOf(value) != '"') return Expected("a string", value);
  *this = JsonText(value.tokens(), value.token());
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
  // Objects written by programs repeat no key, and comparing a few keys is faster than sorting
  // them.
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

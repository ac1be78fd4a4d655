// What json_reader.h hides: simdjson's own values behind ours. Only json_reader.cc and
// json_document.cc include this.
//
//   JsonInside::Wrap<JsonValue>(field.value())
//   JsonInside::Unwrap<simdjson::ondemand::value>(value).raw_json_token()
//
// Invariants: a wrapped value has the size of what it wraps, and unwraps to the same. Cost: a copy
// of 24 bytes. Threads: those of the document: one.
#ifndef KAI_INGEST_JSON_INSIDE_H_
#define KAI_INGEST_JSON_INSIDE_H_

#include <simdjson.h>

#include <cstring>
#include <type_traits>

#include "kai/ingest/json_reader.h"

namespace kai {

struct JsonInside {
  template <typename Ours, typename Theirs>
  static Ours Wrap(const Theirs& theirs) {
    static_assert(sizeof(Theirs) == sizeof(JsonPlace::bytes_));
    static_assert(std::is_trivially_copyable_v<Theirs>);
    Ours ours;
    std::memcpy(ours.bytes_, &theirs, sizeof(theirs));
    return ours;
  }
  template <typename Theirs>
  static Theirs Unwrap(const JsonPlace& ours) {
    Theirs theirs;
    std::memcpy(static_cast<void*>(&theirs), ours.bytes_, sizeof(theirs));
    return theirs;
  }
  // simdjson does not say where a key ends: its closing quote is there, and behind it at least the
  // padding.
  static JsonText KeyText(const char* inside) {
    JsonText text;
    text.Set(inside, inside + simdjson::SIMDJSON_PADDING);
    return text;
  }
};

}  // namespace kai

#endif  // KAI_INGEST_JSON_INSIDE_H_

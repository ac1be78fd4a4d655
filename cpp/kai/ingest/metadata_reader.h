// Reads the members of metadata that rows of several kinds have.
//
//   if (key == "metadata") return ReadMetadata(value, row);
//
// Invariants: only members that the row has a field for are read. Cost: one walk over the metadata.
// Threads: functions of their own document and row.
#ifndef KAI_INGEST_METADATA_READER_H_
#define KAI_INGEST_METADATA_READER_H_

#include <string_view>

#include "kai/ingest/json_reader.h"

namespace kai {

// Reads a member of metadata if the row has a field for it.
template <typename Row>
FieldStatus ReadMetadataMember(std::string_view key, JsonValue& value, Row* row) {
  if constexpr (requires { row->name; }) {
    if (key == "name") return ReadString(value, &row->name);
  }
  if constexpr (requires { row->namespace_name; }) {
    if (key == "namespace") return ReadString(value, &row->namespace_name);
  }
  if constexpr (requires { row->uid; }) {
    if (key == "uid") return ReadString(value, &row->uid);
  }
  if constexpr (requires { row->labels; }) {
    if (key == "labels") return ReadStringMap(value, &row->labels);
  }
  if constexpr (requires { row->created_ns; }) {
    if (key == "creationTimestamp") return ReadTimestamp(value, &row->created_ns);
  }
  if constexpr (requires { row->deletion_ns; }) {
    if (key == "deletionTimestamp") return ReadTimestamp(value, &row->deletion_ns);
  }
  return Skip();
}

template <typename Row>
FieldStatus ReadMetadata(JsonValue& metadata, Row* row) {
  return ForEachMember(metadata, [&](std::string_view key, JsonValue& value) {
    return ReadMetadataMember(key, value, row);
  });
}

// Every kind needs a name, as an object cannot be identified without one.
inline FieldStatus RequireName(std::string_view name) {
  return name.empty() ? FieldStatus::Bad("metadata.name", "is missing") : FieldStatus();
}

}  // namespace kai

#endif  // KAI_INGEST_METADATA_READER_H_

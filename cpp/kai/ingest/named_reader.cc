#include "kai/ingest/named_reader.h"

#include <string_view>

#include "kai/ingest/metadata_reader.h"

namespace kai {
namespace {

template <typename Row>
FieldStatus ReadMetadataOnly(JsonObject object, Row* row) {
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    return key == "metadata" ? ReadMetadata(value, row) : Skip();
  }));
  return RequireName(row->name);
}

}  // namespace

std::optional<Rejection> ReadConfigMap(JsonObject object, ConfigMapRow* row) {
  return RejectIfBad("ConfigMap", object, ReadMetadataOnly(object, row));
}

std::optional<Rejection> ReadNamespace(JsonObject object, NamespaceRow* row) {
  return RejectIfBad("Namespace", object, ReadMetadataOnly(object, row));
}

}  // namespace kai

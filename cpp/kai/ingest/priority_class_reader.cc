#include "kai/ingest/priority_class_reader.h"

#include <string_view>

#include "kai/ingest/metadata_reader.h"

namespace kai {
namespace {

FieldStatus ReadFields(JsonObject object, PriorityClassRow* row) {
  KAI_RETURN_IF_BAD(ForEachMember(object, [&](std::string_view key, JsonValue& value) {
    if (key == "metadata") return ReadMetadata(value, row);
    if (key == "value") return ReadInt(value, &row->value, kMinInt32, kMaxInt32);
    if (key == "globalDefault") return ReadBool(value, &row->global_default);
    return Skip();
  }));
  return RequireName(row->name);
}

}  // namespace

std::optional<Rejection> ReadPriorityClass(JsonObject object, PriorityClassRow* row) {
  return RejectIfBad("PriorityClass", object, ReadFields(object, row));
}

}  // namespace kai
